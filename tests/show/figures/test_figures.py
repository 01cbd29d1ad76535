"""Figures by their structure: what is drawn, where, and whether it can be read."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

pytest.importorskip("matplotlib", reason="needs the extra: pip install 'calque-embeddings[plots]'")

from matplotlib import style
from matplotlib.text import Text

from calque.api import align
from calque.data.lexicon import Lexicon
from calque.data.space import Space
from calque.errors import SettingsError, UnknownWordError
from calque.linear.maps import NetworkMap, Side
from calque.runs.alignment import Alignment, Record
from calque.show.figures import FIGURES, FORMATS, Scene, draw
from calque.show.figures.convergence import stage_accuracies, stage_courses
from calque.show.figures.fonts import DEFAULT_FONT, Fonts, fonts_for
from calque.show.figures.hubs import hubs
from calque.show.figures.scene import SMALLEST, STYLE, Label, write_labels
from calque.show.views import judge_words, search_starts

MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
ODD = ("$\\frac", "<b>&amp;", "\udce9t\udce9", "x" * 300, "$a$ $b$")


@pytest.fixture(scope="module")
def made(problem: Any) -> Alignment:
    """The synthetic problem with words that a careless figure would take for formulas."""
    source = Space.of([*ODD, *problem.source.words[len(ODD) :]], problem.source.vectors, name="fuente")
    return align(source, problem.target, seed=0)


@pytest.fixture(scope="module")
def gold(problem: Any) -> Lexicon:
    return Lexicon.of(list(problem.pairs.items())[len(ODD) :])


def drawn(made: Alignment, name: str, **given: Any) -> Any:
    scene = Scene(made, fonts_for((*made.source.words, *made.target.words)), **given)
    with style.context(["default", {**STYLE, "font.family": list(scene.fonts.families)}]):
        figure = FIGURES[name](scene)
        figure.draw_without_rendering()
    return figure


def written(figure: Any) -> list[Text]:
    return [each for each in figure.findobj(Text) if each.get_text().strip() and each.get_visible()]


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_as_wide_as_asked_and_all_its_letters_can_be_read(made, gold, name):
    figure = drawn(made, name, lexicon=gold)
    assert figure.get_size_inches()[0] == 3.3
    texts = written(figure)
    assert texts
    assert all(each.get_fontsize() >= SMALLEST for each in texts)
    for axes in figure.axes:
        for each in (axes.xaxis.label, axes.yaxis.label, axes.title):
            box = each.get_window_extent()
            assert not each.get_text() or (box.x0 >= -1 and box.x1 <= figure.bbox.x1 + 1), each.get_text()


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_run_gives_the_same_bytes(made, form):
    one, other = (draw(made, ["search", "words"], [form]) for _ in range(2))
    assert one.pictures == other.pictures
    assert all(each[form].startswith(MAGIC[form]) for each in one.pictures.values())


def test_before_and_after_hold_the_same_words_and_no_two_names_touch(made):
    figure = drawn(made, "words")
    before, after = figure.axes
    assert [each.get_title() for each in (before, after)] == ["before", "after"]
    assert before.get_xlim() == after.get_xlim()
    lines = [[line.get_xydata() for line in each.lines] for each in (before, after)]
    assert len(lines[0]) == len(lines[1]) > 10
    for far, near in zip(*lines, strict=True):
        assert (far[1] == near[1]).all()
    apart = [sum(((line[0] - line[1]) ** 2).sum() for line in each) for each in lines]
    assert apart[1] < apart[0] / 4
    for axes in (before, after):
        boxes = [each.get_window_extent() for each in axes.texts]
        assert len(boxes) > 5
        assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
        marks = [place for line in axes.lines for place in axes.transData.transform(line.get_xydata())]
        assert not any(box.contains(*mark) for box in boxes for mark in marks)


def test_words_whose_marks_crowd_are_all_named_and_lead_to_their_marks():
    """Twelve marks so near each other that most of the places beside them are taken."""
    from matplotlib.figure import Figure

    axes = Figure(figsize=(3.3, 3.3)).subplots()
    axes.set(xlim=(0, 1), ylim=(0, 1))
    marks = [(0.5 + 0.03 * (number % 4), 0.5 + 0.03 * (number // 4)) for number in range(12)]
    write_labels(axes, [Label(mark, f"word{number}", "k") for number, mark in enumerate(marks)], marks)
    assert len(axes.texts) >= 10
    boxes = [text.get_window_extent() for text in axes.texts]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    ends = [line.get_paths()[0].vertices[0].tolist() for line in axes.collections]
    assert ends
    assert all(any(end == pytest.approx(mark) for mark in marks) for end in ends)


def test_letters_stay_clear_of_the_dots_below(made):
    for axes in drawn(made, "words").axes:
        assert all(text.get_path_effects() for text in axes.texts)


def test_accuracy_by_frequency_has_its_counts_and_intervals(made, gold):
    figure = drawn(made, "frequency", lexicon=gold)
    shown = [text.get_text() for text in written(figure)]
    asked = len(judge_words(made, gold))
    assert any(text.endswith(f": {asked} words") for text in shown)
    assert any("words a point" in text for text in shown)
    containers = figure.axes[0].containers
    assert len(containers) == 2
    assert all(container.has_yerr for container in containers)


def test_chosen_words_are_shown_with_their_translations(made):
    figure = drawn(made, "words", words=("fuente0100", "fuente0200"))
    shown = {each.get_text() for each in figure.axes[1].texts}
    best = [each.candidates[0].word for each in made.translate(["fuente0100", "fuente0200"], 1)]
    assert len(figure.axes[1].lines) == 2
    assert shown <= {"fuente0100", "fuente0200", *best}
    with pytest.raises(UnknownWordError, match="did you mean fuente0100"):
        drawn(made, "words", words=("fuente0100x",))


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_of_a_run_that_is_not_to_be_trusted_says_so(made, gold, name):
    """A map of noise looks as tidy as any."""
    for label in ("aligned", "doubtful", "failed"):
        run = replace(made, verdict=replace(made.verdict, label=label))
        told = [each.get_text() for each in written(drawn(run, name, lexicon=gold))]
        assert (f"verdict: {label}" in told) == (label != "aligned")
        assert ("winner" in told) == (name == "search" and label != "failed")


def test_the_search_marks_the_winner_and_those_that_found_the_same(made):
    (axes,) = drawn(made, "search").axes
    starts = search_starts(made.record.log, made.verdict)
    lines = [each for each in axes.lines if len(each.get_xdata()) > 1]
    assert len(lines) == len(starts)
    winner = next(each for each in starts if each.role == "winner")
    (drawn_winner,) = (each for each in lines if each.get_label() == "winner")
    assert tuple(drawn_winner.get_ydata()) == winner.path
    assert len({str(each.get_linestyle()) + each.get_color() for each in lines}) == len({"same", "winner", "crowd"})
    assert made.verdict.label in axes.get_title()


def test_convergence_has_a_panel_a_stage_and_the_lexicon_dashed(made, gold):
    figure = drawn(made, "convergence", lexicon=gold)
    courses = stage_courses(made.record.log)
    titles = [each.get_title() for each in figure.axes]
    assert titles == [*(each.stage for each in courses), "lexicon (not used)"]
    (line,) = figure.axes[-1].lines
    assert line.get_linestyle() == "--"
    worth = stage_accuracies(made, gold, courses[-1].stage)
    assert list(line.get_ydata()) == [100 * each.share for each in worth]
    assert "lexicon (not used)" not in [each.get_title() for each in drawn(made, "convergence").axes]


def test_the_worst_hubs_are_named_and_counted(made):
    _, bars = drawn(made, "hubs").axes
    found = hubs(made, "nn")
    worst = found.worst(8)
    assert [each.get_text() for each in bars.get_yticklabels()] == [made.target.words[row] for row in worst]
    assert [each.get_width() for each in bars.containers[0]] == [int(found.counts[row]) for row in worst]


def test_accuracy_needs_a_lexicon(made):
    with pytest.raises(SettingsError, match=r"'frequency' cannot be drawn.*--lexicon FILE"):
        draw(made, ["frequency"])
    everything = draw(made)
    assert list(everything.left_out) == ["frequency"]
    assert list(everything.pictures) == [name for name in FIGURES if name != "frequency"]


def test_what_a_run_cannot_give_is_left_out_with_the_reason(made):
    size = made.source.dimension
    network = NetworkMap(
        (made.source_side.map.matrix, made.source_side.map.matrix[:size]), (made.source.vectors[0] * 0,) * 2
    )
    deep = replace(made, source_side=Side(made.source_side.preprocessing, network), record=Record())
    told = draw(deep)
    assert set(told.left_out) == {"words", "search", "convergence", "frequency", "spectra"}
    assert "hidden layers" in told.left_out["words"]
    assert "no starts" in told.left_out["search"]


def test_a_lexicon_takes_no_panel_away_where_maps_cannot_be_undone(made, gold):
    matrix, zero = made.source_side.map.matrix, made.source.vectors[0] * 0
    network = NetworkMap((matrix, matrix[: made.source.dimension]), (zero,) * 2)
    deep = replace(made, source_side=Side(made.source_side.preprocessing, network))
    titles = [each.get_title() for each in drawn(deep, "convergence", lexicon=gold).axes]
    assert titles[: len(stage_courses(made.record.log))] == [each.stage for each in stage_courses(made.record.log)]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"figures": ["clouds"]}, "there are: words, search"),
        ({"formats": ["gif"]}, "there are: png, svg, pdf"),
        ({"width": 0.1}, "expected 3 to 30 inches"),
        ({"width": float("nan")}, "expected 3 to 30 inches"),
    ],
)
def test_what_does_not_exist_is_refused_with_the_choices(made, given, words):
    with pytest.raises(SettingsError, match=words):
        draw(made, **given)


def test_letters_that_no_font_has_are_named_and_their_words_left_out():
    fonts = fonts_for(["中文", "plain", "देव"], only=[DEFAULT_FONT])
    assert fonts.printable("plain") == "plain"
    assert fonts.notes == ()
    assert fonts.printable("中文") == fonts.printable("देव") == ""
    assert ["CJK" in each or "DEVANAGARI" in each for each in fonts.notes] == [True, True]
    assert "Noto Sans CJK" in fonts.notes[0]
    assert "Noto Sans Devanagari" in fonts.notes[1]


def test_a_font_that_only_has_signs_for_letters_is_not_taken():
    """matplotlib brings one that shows the same box for every letter of a script."""
    from matplotlib.font_manager import fontManager

    signs = [each.name for each in fontManager.ttflist if "Last Resort" in each.name]
    fonts = fonts_for(["中文"], only=[DEFAULT_FONT, *signs])
    assert fonts.families == (DEFAULT_FONT,)
    assert fonts.missing == {"中", "文"}


def test_a_font_that_has_the_letters_is_taken_where_it_is_installed():
    from matplotlib.font_manager import fontManager
    from matplotlib.ft2font import FT2Font

    fonts = fonts_for(["中文", "שלום"])
    assert fonts.families[0] == DEFAULT_FONT
    assert fonts.printable("שלום") == "שלום"
    if "中" in fonts.missing:
        pytest.skip("no font with Chinese letters is installed here")
    paths = [each.fname for each in fontManager.ttflist if each.name in fonts.families]
    assert any(ord("中") in FT2Font(path).get_charmap() for path in paths)
    assert fonts.printable("中文") == "中文"
    assert not fonts.notes


def test_where_letters_that_should_be_joined_are_not_it_is_said(monkeypatch):
    from matplotlib import ft2font

    monkeypatch.setattr(ft2font, "__libraqm_version__", "0.10", raising=False)
    assert _notes_of("سلام") == ()
    monkeypatch.delattr(ft2font, "__libraqm_version__")
    assert [each.split(";")[0] for each in _notes_of("سلام", "plain")] == [
        "matplotlib before 3.11 draws letters of ARABIC apart"
    ]
    assert _notes_of("plain") == ()


def _notes_of(*words: str) -> tuple[str, ...]:
    fonts = fonts_for(words)
    for word in words:
        fonts.printable(word)
    return fonts.notes


def test_bytes_that_are_no_utf8_and_long_words_are_drawn_as_such():
    assert Fonts().printable("\udce9t\x07") == "\ufffdt\ufffd"
    assert Fonts().printable("x" * 300) == "x" * 27 + "…"


def test_a_font_that_has_gone_since_is_passed_over(monkeypatch, tmp_path):
    from matplotlib.font_manager import FontEntry, fontManager

    gone = FontEntry(fname=str(tmp_path / "gone.ttf"), name="Noto Sans Gone", style="normal", weight=400)
    monkeypatch.setattr(fontManager, "ttflist", [gone, *fontManager.ttflist])
    assert fonts_for(["word", "\U0001f9ff"]).families[0] == DEFAULT_FONT


def test_a_lexicon_that_the_run_has_learned_from_is_not_called_unused(made, gold):
    record = replace(made.record, inputs={**made.record.inputs, "lexicon": {"sha256": gold.digest}})
    titles = [each.get_title() for each in drawn(replace(made, record=record), "convergence", lexicon=gold).axes]
    assert titles[-1] == "lexicon (learned from it)"


def test_a_name_that_begins_with_an_underscore_is_in_the_legend_and_a_long_one_fits(made, gold):
    named = replace(made, source=replace(made.source, name="_es"), target=replace(made.target, name="c" * 60))
    for name in ("words", "frequency", "spectra"):
        (legend,) = drawn(named, name, lexicon=gold).legends
        assert len(legend.get_texts()) == 2
        assert all("es" in each.get_text() or "ccc…" in each.get_text() for each in legend.get_texts())
        box = legend.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= legend.figure.bbox.x1


def test_more_words_than_can_be_read_are_refused(made):
    with pytest.raises(SettingsError, match="expected at most 40"):
        drawn(made, "plan", words=made.source.words[:41])
