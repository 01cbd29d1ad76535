from __future__ import annotations

import importlib.metadata
import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch

import calque
from calque.data.lexicon import Lexicon
from calque.data.space import Space
from calque.errors import LexiconError, SettingsError
from calque.linear.maps import LinearMap, Preprocessing, Side
from calque.methods.default.alternation import AlternationSettings
from calque.methods.default.coarse_to_fine import CoarseToFineSettings
from calque.methods.default.refinement import RefinementSettings
from calque.methods.default.search import SearchSettings
from calque.methods.task import Outcome, Task
from calque.progress import Step
from calque.recipes import (
    METHODS,
    RECIPES,
    MethodEntry,
    Recipe,
    Supervision,
    choose_device,
    find,
    into,
    read_recipe,
    run,
    run_seeds,
    to_toml,
)
from calque.runs.alignment import Alignment
from calque.transport import SinkhornSettings
from calque.verdict import Evidence, judge

OWN = replace(
    RECIPES["default"],
    name="own",
    settings=CoarseToFineSettings(
        preprocessing=("center", "unit"),
        search=SearchSettings(words=(7,), dimensions=(3,), kinds=("random",), starts=(5,), clear=0.1),
        words=9,
        alternation=AlternationSettings(sharpness=(1.5,), steps=(2,), scalings=3),
        refinement=RefinementSettings(rounds=0, shrinkage=1.0, temperature=0.5),
    ),
)


def written(tmp_path: Path, text: str, name: str = "mine.toml") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("recipe", [*RECIPES.values(), OWN], ids=lambda each: each.name)
def test_toml_there_and_back(recipe, tmp_path):
    assert read_recipe(written(tmp_path, to_toml(recipe))) == recipe


def test_an_infinite_bound_survives_toml(tmp_path):
    search = replace(OWN.settings.search, clear=float("inf"))
    recipe = replace(OWN, settings=replace(OWN.settings, search=search))
    assert read_recipe(written(tmp_path, to_toml(recipe))) == recipe


def test_a_summary_of_ones_own_survives_toml(tmp_path):
    recipe = replace(OWN, summary="what I do differently")
    assert read_recipe(written(tmp_path, to_toml(recipe))) == recipe


@pytest.mark.parametrize("name", ['say "hi"', "back\\slash", "two\nlines", "ñandú"])
def test_any_name_survives_toml(name, tmp_path):
    assert read_recipe(written(tmp_path, to_toml(replace(OWN, name=name)))).name == name


def test_toml_has_every_default_filled_in():
    lines = to_toml(RECIPES["default"]).splitlines()
    for each in ("[settings.search.alternation]", "rounds = 3", 'kinds = ["profiles", "random"]', "clear = 6.0"):
        assert each in lines


def test_only_what_a_file_names_is_changed(tmp_path):
    got = read_recipe(
        written(
            tmp_path,
            'summary = "quick"\n[settings]\nwords = 50\n[settings.search]\nrounds = 2\nclear = 4\n'
            "[settings.search.alternation]\nscalings = 9\n",
        )
    )
    base = RECIPES["default"]
    search = base.settings.search
    expected = replace(
        base.settings,
        words=50,
        search=replace(search, rounds=2, clear=4.0, alternation=replace(search.alternation, scalings=9)),
    )
    assert got == Recipe("mine", base.method, expected, "quick", base.published)
    assert type(got.settings.search.clear) is float
    assert base.settings == CoarseToFineSettings()


def test_find_knows_names_and_files(tmp_path):
    path = written(tmp_path, 'name = "quick"\n[settings]\nwords = 50\n')
    assert find("default") is RECIPES["default"]
    assert find(str(path)).settings.words == 50
    with pytest.raises(SettingsError, match=r"'defualt' .*; there are: default"):
        find("defualt")


def test_a_recipe_may_start_from_another_file(tmp_path):
    first = written(tmp_path, "[settings]\nwords = 50\nwords_a_dimension = 3\n", "first.toml")
    second = written(tmp_path, f"base = '{first}'\n[settings]\nwords = 60\n", "second.toml")
    got = read_recipe(second)
    assert (got.settings.words, got.settings.words_a_dimension) == (60, 3)


def test_a_base_is_looked_for_beside_the_file_that_names_it(tmp_path, monkeypatch):
    (tmp_path / "recipes").mkdir()
    written(tmp_path / "recipes", "[settings]\nwords = 50\n", "first.toml")
    second = written(tmp_path / "recipes", 'base = "first.toml"\n', "second.toml")
    monkeypatch.chdir(tmp_path)
    assert read_recipe(second).settings.words == 50


def test_a_path_with_a_null_byte_is_refused_as_any_other_bad_path():
    with pytest.raises(SettingsError, match="null"):
        find("x\0y.toml")


def test_a_recipe_based_on_itself_is_refused(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(f"base = '{path}'\n")
    with pytest.raises(SettingsError, match=r"mine\.toml"):
        read_recipe(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colour = 1", "unknown key 'colour'; expected name, base, summary, settings"),
        ("words = 50", "unknown key 'words'"),
        ("[settings]\nwordz = 5", "settings has no 'wordz'; there are: preprocessing, identical, search, deep"),
        ("[settings.search]\nround = 5", "settings.search has no 'round'; there are: words, dimensions"),
        ("[settings.search.alternation]\nx = 5", "settings.search.alternation has no 'x'"),
        ("[settings]\nwords = 'many'", "settings.words is 'many'; expected int"),
        ("[settings]\nwords = 2.5", "settings.words is 2.5; expected int"),
        ("[settings]\nwords = true", "settings.words is True; expected int"),
        ("[settings]\nwords = [5]", "settings.words is [5]; expected int"),
        ("[settings.search]\nclear = '6'", "settings.search.clear is '6'; expected float"),
        ("[settings.search]\nclear = true", "settings.search.clear is True; expected float"),
        ("[settings.search]\nkinds = 'random'", "settings.search.kinds is 'random'; expected tuple[str, ...]"),
        ("[settings.search]\nkinds = [1]", "settings.search.kinds is 1; expected str"),
        ("[settings.search]\ndimensions = [20, 'x']", "settings.search.dimensions is 'x'; expected int"),
        ("[settings]\nsearch = 5", "settings.search is 5; expected a table"),
        ("[settings]\nwords = {many = 1}", "settings.words is {'many': 1}; expected int"),
        ("settings = 5", "settings is 5; expected a table"),
        ("[settings.search]\nrounds = 0", "at least 1"),
        ("[settings.search]\nkinds = ['magic']", "'magic'; there are: profiles, random"),
        ("[settings.refinement]\nshrinkage = 2", "shrinkage is 2.0"),
        ("[settings]\nwords = ", "cannot be read as TOML"),
        ('base = "magic"', "no recipe is called 'magic'"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_path(text, message, tmp_path):
    path = written(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        read_recipe(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("kind", ["missing", "folder", "binary"])
def test_a_file_that_cannot_be_read_is_named(kind, tmp_path):
    path = tmp_path / "mine.toml"
    if kind == "folder":
        path.mkdir()
    if kind == "binary":
        path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match=r"mine\.toml: cannot be read"):
        read_recipe(path)


def test_a_choice_among_words_is_checked():
    assert into(SinkhornSettings(), {"domain": "log"}, "settings").domain == "log"
    with pytest.raises(SettingsError, match=r"settings\.domain is 'lgo'; expected one of auto, kernel, log"):
        into(SinkhornSettings(), {"domain": "lgo"}, "settings")


def test_devices(monkeypatch):
    with pytest.raises(SettingsError, match="device is 'gpu'; expected auto, cpu or cuda"):
        choose_device("gpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == choose_device("cpu") == torch.device("cpu")
    with pytest.raises(SettingsError, match="no GPU"):
        choose_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto") == choose_device("cuda") == torch.device("cuda")
    assert choose_device("cpu") == torch.device("cpu")


@dataclass(frozen=True)
class StubSettings:
    """Of a method that is told its answer."""

    steps: tuple[tuple[str, float], ...] = (("search", 2.0), ("search", 1.0), ("refine", 0.5))
    """Stage of each step and the seconds it takes."""


EVIDENCE = Evidence(0.5, 0.8, 9.0, 0.6, 0.3, 16, 8, 3, True, "", 3)


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("calque.progress.time", made)
    return made


@pytest.fixture
def stub(clock, monkeypatch) -> Recipe:
    """A recipe whose method doubles the target's second dimension, and keeps the task it was given."""

    def method(task: Task, settings: StubSettings) -> Outcome:
        for number, (stage, seconds) in enumerate(settings.steps, 1):
            clock.now += seconds
            task.listen(Step(stage, number, len(settings.steps), {"cost": number / 2}))
        identity, stretch = (LinearMap(torch.diag(torch.tensor(each))) for each in ([1.0, 1.0], [1.0, 2.0]))
        nothing = Preprocessing(())
        return Outcome(Side(nothing, identity), Side(nothing, stretch), EVIDENCE, (f"seed {task.seed}",))

    monkeypatch.setitem(METHODS, "stub", MethodEntry(method, StubSettings))
    return Recipe("stubbed", "stub", StubSettings(), "a stub")


def pair() -> tuple[Space, Space]:
    return (
        Space.of(["a", "b", "c"], [[1.0, 0.0], [0.0, 1.0], [3.0, 4.0]], [5, 3, 1], "es.vec"),
        Space.of(["x", "y", "z"], [[1.0, 0.0], [0.0, 1.0], [1.0, 0.5]], name="en.vec"),
    )


def test_run_maps_both_spaces_by_what_the_method_found_and_judges_it(stub):
    got = run(stub, *pair(), device="cpu")
    assert torch.allclose(got.source.vectors[2], torch.tensor([0.6, 0.8]))
    assert torch.allclose(got.target.vectors[2], torch.tensor([0.5**0.5, 0.5**0.5]))
    assert got.verdict.label == "aligned"
    assert got.source.words == ("a", "b", "c")


def test_run_keeps_how_it_was_made(stub):
    record = run(stub, *pair(), seed=11, device="cpu").record
    assert record.recipe == {"name": "stubbed", "method": "stub", "settings": {"steps": StubSettings().steps}}
    assert (record.seed, record.device, record.notes, record.interrupted) == (11, "cpu", ("seed 11",), False)
    assert record.versions["torch"] == importlib.metadata.version("torch")
    assert record.versions["calque"] == calque.__version__
    assert set(record.versions) == {"calque", "torch", "numpy", "python"}


def test_run_says_whether_it_was_interrupted(stub):
    assert run(stub, *pair(), device="cpu", stopped=lambda: True).record.interrupted is True


def test_stages_are_timed_from_the_step_before(stub):
    assert run(stub, *pair(), device="cpu").record.seconds == pytest.approx({"search": 3.0, "refine": 0.5})


def test_many_short_steps_add_up(stub):
    """A thousand steps of 0.4 ms are 0.4 s, not none."""
    many = replace(stub, settings=StubSettings((("search", 0.0004),) * 1000))
    assert run(many, *pair(), device="cpu").record.seconds["search"] == pytest.approx(0.4, abs=0.002)


def test_every_step_is_logged_and_passed_on(stub):
    told: list[Step] = []
    record = run(stub, *pair(), device="cpu", listen=told.append).record
    assert [each.number for each in told] == [1, 2, 3]
    assert list(record.log) == [
        {"stage": "search", "number": 1, "seconds": 2.0, "cost": 0.5},
        {"stage": "search", "number": 2, "seconds": 3.0, "cost": 1.0},
        {"stage": "refine", "number": 3, "seconds": 3.5, "cost": 1.5},
    ]


def test_inputs_are_described(stub):
    inputs = run(stub, *pair(), device="cpu").record.inputs
    kept = ("name", "words", "dimension", "counts")
    assert [inputs["source"][name] for name in kept] == ["es.vec", 3, 2, True]
    assert [inputs["target"][name] for name in kept] == ["en.vec", 3, 2, False]


def test_the_hash_of_an_input_follows_its_words_and_vectors_and_nothing_else(stub):
    source, target = pair()

    def digest(space: Space) -> str:
        return run(stub, space, target, device="cpu").record.inputs["source"]["sha256"]

    nudged = source.vectors.clone()
    nudged[2, 1] = torch.nextafter(nudged[2, 1], torch.tensor(9.0))
    first = digest(source)
    assert digest(pair()[0]) == first
    assert digest(replace(source, name="other.vec")) == first
    assert digest(replace(source, vectors=source.vectors.t().contiguous().t())) == first
    changes = [
        digest(replace(source, vectors=nudged)),
        digest(replace(source, words=("a", "b", "d"))),
        digest(replace(source, words=("b", "a", "c"))),
        digest(source.head(2)),
    ]
    assert len({first, *changes}) == 5


def test_an_unknown_method_is_refused_with_the_choices():
    with pytest.raises(SettingsError, match="coarse-to-fine"):
        run(replace(RECIPES["default"], method="magic"), *pair(), device="cpu")


def test_the_default_recipe_runs_from_end_to_end_and_is_saved_with_what_it_did(tmp_path):
    """A space against itself turned a quarter: every word must come out as its own translation."""
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(12, 6, generator=generator) * torch.linspace(2, 1, 6)
    member = torch.multinomial(torch.linspace(1, 8, 12), 150, replacement=True, generator=generator)
    vectors = centres[member] + 0.5 * torch.randn(150, 6, generator=generator)
    words = [f"w{row}" for row in range(150)]
    recipe = find(str(written(tmp_path, "[settings.search]\nwords = [120]\ndimensions = [30]\nstarts = [4, 4]\n")))
    began = time.monotonic()
    got = run(recipe, Space.of(words, vectors), Space.of(words, vectors.flip(1)), device="cpu")
    taken = time.monotonic() - began
    assert got.verdict.label == "aligned"
    assert sum(each.word == each.candidates[0].word for each in got.translate(words, k=1)) > 140
    assert set(got.record.seconds) == {"search", "alternate", "refine", "contrast"}
    assert 0 < sum(got.record.seconds.values()) < taken + 0.1
    assert [each["stage"] for each in got.record.log].count("search") == got.verdict.evidence["starts"]
    got.save(tmp_path / "run")
    loaded = Alignment.load(tmp_path / "run")
    assert loaded.record.recipe["settings"]["search"]["starts"] == [4, 4]
    assert loaded.verdict == got.verdict


@pytest.mark.parametrize("seed", [None, 1.5, "a"])
def test_a_seed_that_is_no_whole_number_is_refused(seed):
    with pytest.raises(SettingsError, match="seed"):
        run(RECIPES["default"], *pair(), seed=seed, device="cpu")


def test_a_seed_of_numpy_is_a_seed(stub):
    assert run(stub, *pair(), seed=np.int64(3), device="cpu").record.seed == 3


@dataclass
class Seen:
    """The tasks that a method was given."""

    tasks: list[Task]


@pytest.fixture
def seen() -> Seen:
    return Seen([])


def learner(
    name: str, seen: Seen, monkeypatch: pytest.MonkeyPatch, supervision: Supervision, together: bool = False
) -> Recipe:
    """A recipe whose method keeps what it is given, and says so in a note of its seed."""

    def method(task: Task, settings: StubSettings) -> Outcome:
        seen.tasks.append(task)
        task.listen(Step("learn", 1, len(settings.steps)))
        side = Side(Preprocessing(()), LinearMap(torch.eye(2) * (task.seed + 1)))
        return Outcome(side, side, EVIDENCE, (f"seed {task.seed}",))

    def at_once(tasks: list[Task], settings: StubSettings) -> list[Outcome]:
        return [method(each, settings) for each in tasks]

    entry = MethodEntry(method, StubSettings, supervision, at_once if together else None)
    monkeypatch.setitem(METHODS, name, entry)
    return Recipe(name, name, StubSettings(), "a stub")


@pytest.fixture
def supervised(seen, monkeypatch) -> Recipe:
    return learner("pupil", seen, monkeypatch, supervision="required")


@pytest.fixture
def unsupervised(seen, monkeypatch) -> Recipe:
    return learner("finder", seen, monkeypatch, supervision="none")


def test_a_method_that_learns_from_pairs_is_shown_their_rows(supervised, seen):
    """Several translations are several pairs; a word that is not in its vocabulary makes none."""
    lexicon = Lexicon.of([("c", "x"), ("a", "z"), ("a", "y"), ("a", "none"), ("none", "x"), ("b", "none")])
    run(supervised, *pair(), device="cpu", lexicon=lexicon)
    rows, columns = seen.tasks[0].pairs
    assert sorted(zip(rows.tolist(), columns.tolist(), strict=True)) == [(0, 1), (0, 2), (2, 0)]
    assert rows.dtype == columns.dtype == torch.long


def test_a_method_that_learns_from_none_is_shown_none(unsupervised, seen):
    run(unsupervised, *pair(), device="cpu")
    assert seen.tasks[0].pairs is None


def test_a_method_that_can_learn_from_pairs_is_shown_them_where_there_are_some(seen, monkeypatch):
    recipe = learner("either", seen, monkeypatch, supervision="optional")
    alone = run(recipe, *pair(), device="cpu")
    taught = run(recipe, *pair(), device="cpu", lexicon=Lexicon.of([("a", "y")], "gold.tsv"))
    assert seen.tasks[0].pairs is None
    assert [rows.tolist() for rows in seen.tasks[1].pairs] == [[0], [1]]
    assert "lexicon" not in alone.record.inputs
    assert taught.record.inputs["lexicon"]["pairs"] == 1
    assert (recipe.supervision, recipe.supervised) == ("optional", False)


def one_line(error: pytest.ExceptionInfo[Exception]) -> str:
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_missing_lexicon_is_refused_before_anything_runs(supervised, seen):
    with pytest.raises(SettingsError, match=r"'pupil' learns from word pairs.*lexicon") as caught:
        run(supervised, *pair(), device="cpu")
    assert one_line(caught)
    assert seen.tasks == []


def test_a_lexicon_for_a_method_that_learns_from_none_is_refused(unsupervised, seen):
    with pytest.raises(SettingsError, match=r"'finder' learns from no lexicon.*leave it out") as caught:
        run(unsupervised, *pair(), device="cpu", lexicon=Lexicon.of([("a", "x")]))
    assert one_line(caught)
    assert seen.tasks == []


@pytest.mark.parametrize("pairs", [[("x", "a")], [("A", "X")], [("a", "none"), ("none", "x")], []])
def test_a_lexicon_of_other_words_is_refused_by_name(pairs, supervised, seen):
    with pytest.raises(LexiconError, match=rf"gold\.tsv: none of its {len(pairs)} words.*letter case") as caught:
        run(supervised, *pair(), device="cpu", lexicon=Lexicon.of(pairs, "gold.tsv"))
    assert one_line(caught)
    assert seen.tasks == []


def test_which_recipes_learn_from_a_lexicon():
    assert {each.name for each in RECIPES.values() if each.supervised} == {
        "mikolov2013",
        "zhang2016",
        "xing2015",
        "shigeto2015",
        "artetxe2016",
        "artetxe2017",
        "joulin2018",
    }


@pytest.mark.parametrize("together", [False, True], ids=["in turn", "at once"])
def test_seeds_run_in_their_order_each_with_its_own_result(together, seen, monkeypatch):
    recipe, told = learner("many", seen, monkeypatch, supervision="none", together=together), list[Step]()
    got = run_seeds(recipe, *pair(), [5, 2, np.int64(9)], "cpu", told.append)
    assert [each.record.seed for each in got] == [5, 2, 9]
    assert [each.record.notes for each in got] == [("seed 5",), ("seed 2",), ("seed 9",)]
    assert [float(each.source_side.map.matrix[0, 0]) for each in got] == [6.0, 3.0, 10.0]
    assert [each.stage for each in told] == ["learn"] * 3
    assert [len(each.record.log) for each in got] == ([3, 3, 3] if together else [1, 1, 1])


@pytest.mark.parametrize("together", [False, True], ids=["in turn", "at once"])
def test_one_seed_of_many_is_what_it_is_alone(together, seen, monkeypatch):
    recipe = learner("many", seen, monkeypatch, supervision="none", together=together)
    alone, among = run(recipe, *pair(), seed=2, device="cpu"), run_seeds(recipe, *pair(), [7, 2], "cpu")[1]
    assert torch.equal(alone.source.vectors, among.source.vectors)
    assert (alone.record.notes, alone.verdict, alone.record.seed) == (
        among.record.notes,
        among.verdict,
        among.record.seed,
    )


@pytest.mark.parametrize("together", [False, True], ids=["in turn", "at once"])
def test_no_seeds_are_no_alignments(together, seen, monkeypatch):
    assert run_seeds(learner("many", seen, monkeypatch, supervision="none", together=together), *pair(), []) == []
    assert seen.tasks == []


@pytest.mark.parametrize("together", [False, True], ids=["in turn", "at once"])
def test_a_method_that_needs_a_lexicon_has_no_seeds_to_run(together, seen, monkeypatch):
    recipe = learner("many", seen, monkeypatch, supervision="required", together=together)
    with pytest.raises(SettingsError, match="learns from word pairs"):
        run_seeds(recipe, *pair(), [0, 1], "cpu")
    with pytest.raises(SettingsError, match="seed"):
        run_seeds(learner("other", seen, monkeypatch, supervision="none", together=together), *pair(), [1.5], "cpu")


def small_pair() -> tuple[Space, Space]:
    """A space and the same with its coordinates in another order: too few words to put a map to the test."""
    generator = torch.Generator().manual_seed(0)
    vectors = torch.randn(80, 5, generator=generator) * torch.linspace(2, 1, 5)
    words = [f"w{row}" for row in range(80)]
    return Space.of(words, vectors, name="one"), Space.of(words, vectors.flip(1), name="other")


SHORT_PAPER = """
base = "paper"
[settings]
batch = 50
steps = 4
look = 1
[settings.gan]
starts = 2
batch = 40
hidden = 8
critic_steps = 2
steps = 3
"""


def test_the_paper_runs_many_seeds_as_it_runs_each(tmp_path):
    """A few steps, with two maps, and no evidence of its own."""
    recipe = find(str(written(tmp_path, SHORT_PAPER)))
    got = run_seeds(recipe, *small_pair(), [3, 4], "cpu")
    alone = run(recipe, *small_pair(), seed=4, device="cpu")
    assert got[1].returning is not None
    assert torch.allclose(got[1].target.vectors, alone.target.vectors, atol=1e-4)
    assert got[1].verdict == alone.verdict == judge(None)
    assert {"adversary", "transport"} == {each["stage"] for each in got[0].record.log}
    assert not torch.allclose(got[0].target.vectors, got[1].target.vectors, atol=0.1)


def test_a_run_goes_on_from_its_checkpoint_and_no_other_run_does(tmp_path, monkeypatch):
    """Killed where the map is put to the test, the training is over; with another seed it is not."""
    recipe, place = find(str(written(tmp_path, SHORT_PAPER))), tmp_path / "run.checkpoint"
    whole = run(recipe, *small_pair(), device="cpu")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("calque.recipes.running.referee", killed)
        with pytest.raises(KeyboardInterrupt):
            run(recipe, *small_pair(), device="cpu", checkpoint=place)
    assert len(list(place.iterdir())) == 2
    told: dict[str, list[str]] = {}
    changes = {
        "same": {},
        "seed": {"seed": 1},
        "recipe": {"recipe": replace(recipe, settings=replace(recipe.settings, rate=1e-3))},
        "target": {"target": small_pair()[1].head(70)},
        "counts": {"source": replace(small_pair()[0], counts=torch.arange(80.0, 0.0, -1.0))},
    }
    for name, change in changes.items():
        copy = tmp_path / name
        shutil.copytree(place, copy)
        steps: list[Step] = []
        given = {"recipe": recipe, "source": small_pair()[0], "target": small_pair()[1]} | change
        again = run(**given, device="cpu", checkpoint=copy, listen=steps.append)
        told[name] = sorted({each.stage for each in steps})
        if name == "same":
            assert torch.equal(again.target_side.map.matrix, whole.target_side.map.matrix)
    assert told.pop("same") == []
    assert all(each == ["adversary", "transport"] for each in told.values())


@pytest.mark.parametrize("seed", [2**62, -(2**62), 2**70])
def test_a_seed_too_long_for_any_generator_is_refused(seed, stub, problem):
    with pytest.raises(SettingsError, match="at most 62 bits"):
        run(stub, problem.source, problem.target, seed)


def test_what_was_learned_from_is_on_record(problem):
    pairs = list(problem.pairs.items())[:200]
    lexicon = Lexicon.of([*pairs, ("nowhere", "to be seen")], "gold.tsv")
    made = run(RECIPES["xing2015"], problem.source, problem.target, lexicon=lexicon, judged=False)
    told = made.record.inputs["lexicon"]
    assert (told["name"], told["words"], told["pairs"], len(told["sha256"])) == ("gold.tsv", 201, 200, 64)
    assert "learned from 200 pairs of gold.tsv" in made.record.notes[-1]


def test_the_number_of_threads_is_recorded_and_kept(problem, files, tmp_path):
    made = run(find(str(files.quick)), problem.source, problem.target, device="cpu")
    assert made.record.threads == torch.get_num_threads() > 0
    made.save(tmp_path / "run")
    assert type(made).load(tmp_path / "run").record.threads == made.record.threads
