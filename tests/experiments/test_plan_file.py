from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
import small

from calque.errors import SettingsError
from calque.experiments.gold import GoldCache
from calque.experiments.jobs import Resources, SpaceFile
from calque.experiments.plan import Experiment, GoldFile, LanguagePair, in_tiles
from calque.experiments.plan_file import read_plan
from calque.experiments.results import ExperimentKey
from calque.experiments.space_cache import SpaceCache
from calque.recipes import RECIPES

DOCS = Path(__file__).parents[2] / "docs" / "sweep.md"


def judges(plan, pair: str) -> tuple[GoldFile, ...]:
    """What judges a pair, there and back."""
    return tuple(next(experiment for experiment in plan.experiments if experiment.key.pair == pair).lexicons.values())


def spaces_of(plan) -> dict[str, SpaceFile]:
    return {file.path.stem: file for experiment in plan.experiments for file in experiment.spaces}


class TestReading:
    def test_everything_that_a_plan_can_say(self, plan_file, folder):
        plan = read_plan(plan_file(small.PLAN + "[shares.quick]\ncpus = 2\ngpus = 0\n"))
        assert [pair.name for pair in plan.pairs] == ["en-es", "en-de", "es-de"]
        assert [entrant.name for entrant in plan.entrants] == ["xing2015", "quick"]
        assert (plan.seeds, plan.device, plan.retrieval, plan.save) == ((0, 1), "cpu", "csls", False)
        assert spaces_of(plan)["es"] == SpaceFile(folder / "es.vec", folder / "es.freq", 250)
        assert spaces_of(plan)["en"] == SpaceFile(folder / "en.vec")
        resources = {experiment.recipe.name: experiment.resources for experiment in plan.experiments}
        assert resources == {"quick": Resources(2, 0.0), "xing2015": Resources(1, None)}
        assert len({experiment.key for experiment in plan.experiments}) == len(plan.experiments) == 3 * 2 * 2

    def test_little_is_enough(self, plan_file):
        plan = read_plan(plan_file('[spaces]\nen = "en.vec"\nes = "es.vec"\n'))
        assert (plan.pairs, plan.seeds, judges(plan, "en-es")) == ((LanguagePair("en", "es"),), (0,), ())
        assert [entrant.name for entrant in plan.entrants] == ["default"]

    def test_a_lexicon_judges_both_ways_unless_each_has_its_own(self, plan_file, folder):
        plan = read_plan(plan_file(small.PLAN))
        there, back = judges(plan, "en-es")
        gold = GoldCache(lambda _: None)
        assert gold.word_pairs(there).lexicon.answers["en70"] == ("es70",)
        assert gold.word_pairs(back).lexicon.answers["es70"] == ("en70",)
        assert (there.turned, back.turned) == (True, False)
        assert judges(plan, "es-de") == ()
        (folder / "en-es.tsv").write_text("en70\tes71\n")
        own = read_plan(plan_file(small.PLAN.replace("[lexicons]", '[lexicons]\nen-es = "en-es.tsv"')))
        there, back = judges(own, "en-es")
        assert (gold.word_pairs(there).lexicon.answers, there.turned) == ({"en70": ("es71",)}, False)
        assert len(gold.word_pairs(back).lexicon) == small.WORDS - small.TRAINED

    def test_names_may_have_hyphens_in_them(self, plan_file):
        text = small.PLAN.replace("es = {", "zh-min-nan = {").replace("es-", "zh-min-nan-")
        text = text.replace('"zh-min-nan-', '"es-')
        assert read_plan(plan_file(text)).pairs[0].name == "en-zh-min-nan"

    def test_being_judged_by_what_was_learned_from_is_said(self, plan_file):
        text = small.PLAN.replace("es-en.train.tsv", "es-en.tsv")
        (note,) = read_plan(plan_file(text)).notes
        assert note.startswith("en-es: supervised recipes are judged by")

    def test_the_plans_of_the_page_are_plans(self, tmp_path):
        blocks = re.findall(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
        assert len(blocks) >= 2
        for number, block in enumerate(blocks):
            place = small.put(tmp_path / str(number))
            for name in re.findall(r'"([\w./-]+\.(?:vec|freq|tsv|toml))"', block):
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                known = place / Path(name).name
                if not (place / name).exists():
                    language = Path(name).stem.split(".")[-1]
                    text = small.QUICK.replace("quick", language) if name.endswith("toml") else "a b\n"
                    text = (place / "en.vec").read_text() if name.endswith("vec") else text
                    (place / name).write_text(known.read_text() if known.exists() else text)
            (place / "plan.toml").write_text(block)
            assert read_plan(place / "plan.toml").pairs


WRONG = {
    "unknown key": ("extra = 1\n", "unknown key 'extra'; expected pairs, recipes, seeds, "),
    "pairs of another type": ("pairs = 3\n", 'pairs is 3; expected "all", or a list such as'),
    "no pairs": ("pairs = []\n", "pairs is []; expected"),
    "a pair that is no text": ("pairs = [1]\n", "pairs is [1]; expected"),
    "unknown pair": (
        'pairs = ["es-xx"]\n',
        "pairs has 'es-xx', which is not two of the spaces; expected two of en",
    ),
    "pair without hyphen": ('pairs = ["esen"]\n', "pairs has 'esen', which is not two of the spaces"),
    "pair with itself": ('pairs = ["es-es"]\n', "pairs has 'es-es', a space with itself; expected two different"),
    "pair twice": ('pairs = ["es-en", "es-en"]\n', "pairs has 'es-en' twice; once is enough"),
    "pair both ways": ('pairs = ["es-en", "en-es"]\n', "the same pair or the same name; leave one out"),
    "no recipes": ("recipes = []\n", "recipes is []; expected a list of names"),
    "recipes no list": ('recipes = "default"\n', "recipes is 'default'; expected a list of names"),
    "unknown recipe": ('recipes = ["magic"]\n', "recipes: no recipe is called 'magic'; there are: default, "),
    "recipe file missing": ('recipes = ["none.toml"]\n', "recipes: "),
    "recipe file wrong": ('recipes = ["wrong.toml"]\n', "wrong.toml: settings has no 'magic'; there are: "),
    "recipe name twice": ('recipes = ["quick.toml", "again.toml"]\n', "recipes has two that are called 'quick'"),
    "supervised and nothing to learn": ('recipes = ["xing2015"]\n', "training has none for en-es; name a file of them"),
    "no seeds": ("seeds = 0\n", "seeds is 0; expected how many, such as 3, or a list"),
    "empty seeds": ("seeds = []\n", "seeds is []; expected how many"),
    "seed twice": ("seeds = [1, 1]\n", "seeds is [1, 1]; expected how many, such as 3, or a list of different ones"),
    "seeds no number": ("seeds = true\n", "seeds is True; expected how many"),
    "seed negative": ("seeds = [-1]\n", "seeds is [-1]; expected how many"),
    "seeds without end": ("seeds = 99999999999\n", "seeds is 99999999999; expected how many"),
    "recipe that is no path": ('recipes = ["\\u0000.toml"]\n', "recipes: "),
    "retrieval": ('retrieval = "best"\n', "retrieval is 'best'; expected one of nn, csls"),
    "device": ('device = "tpu"\n', "device is 'tpu'; expected one of auto, cpu, cuda"),
    "save": ('save = "yes"\n', "save is 'yes'; expected true or false"),
    "spaces no table": ("spaces = 3\n", "spaces is 3; expected a table"),
    "not TOML": ("pairs = \n", "cannot be read as TOML: "),
    "a key twice": ("seeds = 1\nseeds = 2\n", "cannot be read as TOML: Cannot overwrite a value"),
}
"""What stands before the two spaces, and what is said of it."""

WRONG_BELOW = {
    "space twice": ('en = "de.vec"\n', "cannot be read as TOML: Cannot overwrite a value"),
    "same file": ('fr = "en.vec"\n', "spaces.fr and spaces.en are the same file, "),
    "same file by another path": ('fr = "../data/en.vec"\n', "spaces.fr and spaces.en are the same file, "),
    "missing file": ('fr = "fr.vec"\n', "spaces.fr is 'fr.vec', but "),
    "a folder": ('fr = "."\n', "is no file; check the path"),
    "no path": ("fr = 3\n", "spaces.fr is 3; expected the path of a file, or a table such as"),
    "no file in the table": ("fr = { limit = 3 }\n", "spaces.fr has no 'file', which must be there"),
    "unknown key of a space": (
        'fr = { file = "de.vec", size = 3 }\n',
        "spaces.fr has no 'size'; there are: file",
    ),
    "limit": ('fr = { file = "de.vec", limit = 0 }\n', "spaces.fr.limit is 0; expected a whole number of words"),
    "counts missing": ('fr = { file = "de.vec", counts = "x" }\n', "spaces.fr.counts is 'x', but "),
    "no vectors": ('fr = "empty"\n', "spaces.fr: "),
    "path too long": (f'fr = "{"x" * 300}"\n', "; expected the path of a file"),
    "name too long": (f'{"x" * 300} = "de.vec"\n', "; expected names of letters, digits, '_', '.' and '-', at most 80"),
    "name": ('"a/b" = "de.vec"\n', "spaces has 'a/b'; expected names of letters, digits"),
    "lexicon of nobody": ('[lexicons]\nes-xx = "es-en.tsv"\n', "lexicons has 'es-xx', which is not two of the spaces"),
    "lexicon missing": ('[lexicons]\nes-en = "none.tsv"\n', "lexicons.es-en is 'none.tsv', but "),
    "lexicon no path": ("[lexicons]\nes-en = 1\n", "lexicons.es-en is 1; expected the path of a file"),
    "lexicon empty": ('[lexicons]\nes-en = "empty"\n', "lexicons.es-en: "),
    "training missing": ('[training]\nes-en = "none.tsv"\n', "training.es-en is 'none.tsv', but "),
    "share of nobody": ("[shares.paper]\ncpus = 1\n", "unknown key 'shares.paper'; there are: default"),
    "share no table": ("[shares]\ndefault = 1\n", "shares.default is 1; expected a table with cpus and gpus"),
    "share unknown": ("[shares.default]\nmemory = 1\n", "shares.default has no 'memory'; there are: cpus, gpus"),
    "cpus": ("[shares.default]\ncpus = 0.5\n", "shares.default.cpus is 0.5; expected a whole number of cores"),
    "gpus": ("[shares.default]\ngpus = 2\n", "shares.default.gpus is 2; expected a part of a GPU, from 0 to 1"),
}


class TestRefused:
    @pytest.fixture
    def beside(self, folder):
        (folder / "empty").write_text("")
        (folder / "again.toml").write_text(small.QUICK)
        (folder / "wrong.toml").write_text("[settings]\nmagic = 1\n")

    def line(self, path) -> str:
        with pytest.raises(SettingsError) as told:
            read_plan(path)
        assert "\n" not in str(told.value)
        assert str(told.value).startswith(f"{path}: ")
        return str(told.value)

    @pytest.mark.usefixtures("beside")
    @pytest.mark.parametrize("name", WRONG)
    def test_above_the_spaces(self, plan_file, name):
        text, line = WRONG[name]
        spaces = "" if text.startswith("spaces") else '[spaces]\nen = "en.vec"\nes = "es.vec"\n'
        assert line in self.line(plan_file(text + spaces))

    @pytest.mark.usefixtures("beside")
    @pytest.mark.parametrize("name", WRONG_BELOW)
    def test_below_them(self, plan_file, name):
        text, line = WRONG_BELOW[name]
        assert line in self.line(plan_file('[spaces]\nen = "en.vec"\nes = "es.vec"\n' + text))

    @pytest.mark.parametrize(("device", "gpus"), [("cpu", "0.5"), ("cuda", "0")])
    def test_a_share_that_contradicts_the_device(self, plan_file, device, gpus):
        text = f'device = "{device}"\n[spaces]\nen = "en.vec"\nes = "es.vec"\n[shares.default]\ngpus = {gpus}\n'
        assert f"expected what goes with device = '{device}'" in self.line(plan_file(text))

    @pytest.mark.parametrize("text", ["", '[spaces]\nen = "en.vec"\n'])
    def test_one_space_is_too_few(self, plan_file, text):
        assert "expected at least two" in self.line(plan_file(text))

    def test_a_pair_that_can_be_read_in_two_ways(self, plan_file):
        text = 'pairs = ["a-b-c"]\n[spaces]\na = "en.vec"\nb-c = "es.vec"\na-b = "de.vec"\nc = "quick.vec"\n'
        path = plan_file(text)
        (path.parent / "quick.vec").write_text((path.parent / "de.vec").read_text())
        assert "pairs has 'a-b-c', which can be read in two ways" in self.line(path)
        assert "the same name; leave one out or rename a space" in self.line(
            plan_file(text.replace('["a-b-c"]', '"all"'))
        )

    def test_no_plan_at_all(self, folder):
        assert "cannot be read: No such file" in self.line(folder / "none.toml")
        (folder / "latin.toml").write_bytes(b'pairs = "caf\xe9"\n')
        assert "cannot be read as TOML" in self.line(folder / "latin.toml")


class TestTiles:
    def experiments(self, spaces: int) -> list[Experiment]:
        files = [SpaceFile(Path(f"l{number}")) for number in range(spaces)]
        return [
            Experiment(ExperimentKey(f"{one.path}-{other.path}", "", 0), RECIPES["default"], (one, other), {}, ())
            for place, one in enumerate(files)
            for other in files[place + 1 :]
        ]

    @pytest.mark.parametrize(("spaces", "hold"), [(5, 2), (12, 6), (40, 8), (40, 100)])
    def test_every_pair_once_and_few_readings(self, spaces, hold):
        experiments = self.experiments(spaces)
        order = in_tiles(experiments, hold)
        assert sorted(order, key=experiments.index) == experiments
        needs = [experiment.spaces for experiment in order]
        read: list[SpaceFile] = []
        cache = SpaceCache(lambda file: read.append(file), needs, hold)
        for files in needs:
            cache.take(files)
            assert len(cache.values) <= hold
            cache.finished(files)
        blocks = math.ceil(spaces / max(1, hold // 2))
        # Every tile reads one block anew, and every row of tiles at most one more.
        assert len(read) <= max(1, hold // 2) * (blocks * (blocks + 1) / 2 + blocks)
        if hold >= spaces:
            assert len(read) == spaces
