"""What the page asks of a run, without a server."""

from __future__ import annotations

import json
import shutil
import threading
from dataclasses import replace

import numpy as np
import pytest

from calque.data.lexicon import Lexicon
from calque.errors import RunError, SettingsError, UnknownWordError
from calque.evaluate import score_translation
from calque.runs.alignment import Alignment
from calque.show.explorer.explorer import Explorer
from calque.show.views import positions


@pytest.fixture(scope="module")
def alignment(folder):
    return Alignment.load(folder)


@pytest.mark.parametrize(("side", "back"), [("source", False), ("target", True)])
@pytest.mark.parametrize("retrieval", ["nn", "csls"])
def test_neighbours_are_the_translations_and_the_way_back_is_theirs(explorer, alignment, side, back, retrieval):
    told = explorer.neighbours(side, 40, 6)
    words = alignment.spaces(back)[0].words
    expected = alignment.translate([words[40]], 6, back, retrieval)[0].candidates
    assert [each["word"] for each in told[retrieval]] == [each.word for each in expected]
    assert [each["score"] for each in told[retrieval]] == pytest.approx([each.score for each in expected], abs=1e-3)
    homes = alignment.translate([each.word for each in expected], 1, not back, retrieval)
    assert [each["back"]["word"] for each in told[retrieval]] == [home.candidates[0].word for home in homes]
    assert [each["returns"] for each in told[retrieval]] == [home.candidates[0].word == words[40] for home in homes]


def test_a_word_is_found_by_name_and_by_row(explorer):
    words = explorer.lookup.words("source")
    assert explorer.row("source", words[9], None) == explorer.row("source", None, 9) == 9
    for wrong, given in (("no word", (None, None)), ("no word", ("", None))):
        with pytest.raises(SettingsError, match=wrong):
            explorer.row("source", *given)
    for row in (-1, len(words)):
        with pytest.raises(UnknownWordError, match="rows count from 0"):
            explorer.row("source", None, row)
    with pytest.raises(SettingsError, match="there are: source, target"):
        explorer.row("sauce", "a", None)


def test_completions_begin_so_whatever_the_case_and_come_by_frequency(explorer):
    words = explorer.lookup.words("source")
    told = explorer.complete("source", "FUENTE00", 20)
    expected = [row for row, word in enumerate(words) if word.startswith("fuente00")][:20]
    assert [each["row"] for each in told] == expected
    assert [each["word"] for each in explorer.complete("source", "är", 5)] == ["Ärger"]
    assert explorer.complete("source", "nothing begins so", 5) == []
    assert len(explorer.complete("source", "", 7)) == 7


def test_places_are_those_of_the_view(explorer, alignment):
    numbers = np.frombuffer(explorer.map_places(), "<f4").reshape(-1, 2)
    view, n = positions(alignment, slice(None), slice(None)), len(alignment.source)
    for part, expected in (
        (numbers[:n], view.before),
        (numbers[n : 2 * n], view.after),
        (numbers[2 * n :], view.target),
    ):
        assert np.allclose(part, expected.numpy(), atol=1e-6)
    assert explorer.map_words()["target"] == list(alignment.target.words)


def test_a_map_may_hold_the_frequent_words_alone(folder):
    few = Explorer(folder, words_on_map=50)
    assert [len(few.map_words()[side]) for side in ("source", "target")] == [50, 50]
    assert len(few.map_places()) == 3 * 50 * 2 * 4


@pytest.mark.parametrize("back", [False, True])
def test_judgements_add_up_to_the_score(explorer, alignment, gold, back):
    told = explorer.judged(back, "nn")
    score = score_translation(alignment, gold, retrievals=["nn"], ks=[1])
    expected = (score.backward if back else score.forward)["nn"]
    assert (told["asked"], told["right"]) == (expected.asked, expected.right[1])
    assert len(told["errors"]) == told["asked"] - told["right"]
    assert back or told["errors"]
    assert sum(band["asked"] for band in told["bands"]) == told["asked"]


def test_without_a_lexicon_nothing_is_known_of_errors(folder):
    with pytest.raises(SettingsError, match="--lexicon FILE"):
        Explorer(folder).judged(False, "csls")


def test_a_lexicon_of_other_words_is_noticed_before_the_page_opens(folder):
    from calque.errors import LexiconError

    with pytest.raises(LexiconError, match="none of its 1 words"):
        Explorer(folder, Lexicon.of([("nowhere", "to be found")])).prepare()


def test_the_starts_are_those_of_the_run_and_can_be_told_as_json(explorer, alignment):
    told = json.loads(json.dumps(explorer.starts()))
    assert len(told) == alignment.verdict.evidence["starts"]
    assert [each["role"] for each in told] == list(alignment.verdict.evidence["roles"])


def test_the_lexicon_is_the_one_that_the_command_writes(explorer, alignment):
    lines = b"".join(explorer.lexicon_lines()).decode("utf-8", "surrogateescape").splitlines()
    assert lines == [each.line for each in alignment.lexicon()]


def test_it_stays_the_same_run_when_its_folder_goes(folder, gold, tmp_path):
    place = tmp_path / "run"
    shutil.copytree(folder, place)
    one, other = Explorer(place, gold), Explorer(folder, gold)
    one.prepare()
    shutil.rmtree(place)
    assert one.summary() == other.summary()
    assert one.neighbours("source", 40, 5) == other.neighbours("source", 40, 5)
    assert one.map_words() == other.map_words()
    assert list(one.lexicon_lines()) == list(other.lexicon_lines())


def test_what_takes_long_keeps_nobody_else_waiting(folder, monkeypatch):
    opened = Explorer(folder)
    opened.prepare()
    begun, go_on = threading.Event(), threading.Event()

    def slow(*_, **__):
        begun.set()
        go_on.wait(20)
        return []

    monkeypatch.setattr(Alignment, "lexicon", slow)
    waiting = threading.Thread(target=opened.lexicon_lines)
    waiting.start()
    assert begun.wait(20)
    assert opened.complete("source", "fuente", 1)
    assert opened.map_places()
    assert waiting.is_alive()
    go_on.set()
    waiting.join(20)
    assert not waiting.is_alive()


def test_a_lexicon_that_nobody_waits_for_any_more_is_given_up(folder):
    opened = Explorer(folder)
    opened.closing.set()
    with pytest.raises(RunError, match="asked to stop"):
        opened.lexicon_lines()


def test_a_lexicon_that_the_run_has_learned_from_is_told_so(folder, gold):
    opened = Explorer(folder, gold)
    assert opened.summary()["lexicon"]["learned"] is False
    taught = {**opened.alignment.record.inputs, "lexicon": {"sha256": gold.digest}}
    opened.__dict__["alignment"] = replace(opened.alignment, record=replace(opened.alignment.record, inputs=taught))
    assert opened.summary()["lexicon"]["learned"] is True
