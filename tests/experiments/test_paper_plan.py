from __future__ import annotations

from pathlib import Path

import pytest
import torch
import world

from calque.errors import SettingsError
from calque.experiments.gold import GoldCache
from calque.experiments.paper_plan import PaperRequest, find_files, paper_plan
from calque.experiments.paper_tables import METHODS, TABLES, entrants_of
from calque.experiments.plan import Experiment
from calque.experiments.space_cache import read_space


def names(inputs) -> dict[str, str]:
    return {part: path.name for part, path in inputs.files.items()}


def test_we_z_from_either_side(data):
    forward, back = (find_files(TABLES["lex-z"], data, pair, "muse") for pair in ("es-en", "en-es"))
    assert (forward.dataset, forward.absent) == ("we-z", {})
    assert names(forward)["source"] == names(back)["target"] == "word2vec.es"
    assert names(forward)["source counts"] == "vocab-freq.es"
    assert forward.required(TABLES["lex-z"], supervised=True)[-1] == "lexicon es-en"
    assert back.required(TABLES["lex-z"], supervised=True)[-1] == "lexicon en-es"
    assert forward.required(TABLES["lex-z"], supervised=False)[-2:] == ("lexicon es-en", "lexicon en-es")
    assert "lexicon en-es" not in forward.required(TABLES["lex-z"], supervised=True)


def test_an_unsupervised_method_is_shown_no_lexicon(data):
    for table in ("lex-z", "lex-c"):
        inputs = find_files(TABLES[table], data, "es-en" if table == "lex-z" else "de-en", "muse")
        assert all(part.startswith(("source", "target")) for part in inputs.learned(supervised=False))


def test_europarl_serves_until_fasttext_is_there_for_both(data):
    table = TABLES["lex-c"]
    assert find_files(table, data, "de-en", "muse").dataset == "europarl"
    world.put(data / "fasttext/wiki.de.vec", world.vector_text("de"))
    assert find_files(table, data, "de-en", "muse").dataset == "europarl"
    world.put(data / "fasttext/wiki.en.vec", world.vector_text("en"))
    inputs = find_files(table, data, "de-en", "muse")
    assert inputs.dataset == "fasttext"
    assert "source counts" not in inputs.files
    assert inputs.missing(table, supervised=True) == ()


def test_dictionaries_as_their_publisher_names_them_come_first(data):
    world.put(data / "lexicons/muse/de-en.0-5000.txt", "de000 en000\n")
    found = names(find_files(TABLES["lex-c"], data, "de-en", "muse"))
    assert found["train de-en"] == "de-en.0-5000.txt"
    assert found["test de-en"] == "de-en.test.tsv"


def test_what_is_missing_is_named_as_it_should_be(data):
    (data / "lexicons/muse/en-es.tsv").unlink()
    inputs = find_files(TABLES["lex-z"], data, "es-en", "muse")
    assert inputs.missing(TABLES["lex-z"], supervised=False) == ("lexicons/muse/en-es.tsv",)
    assert inputs.missing(TABLES["lex-z"], supervised=True) == ()
    far = find_files(TABLES["lex-c"], data, "bg-en", "muse")
    assert far.missing(TABLES["lex-c"], supervised=True) == (
        "fasttext/wiki.bg.vec",
        "fasttext/wiki.en.vec",
        "lexicons/muse/bg-en.0-5000.txt",
        "lexicons/muse/bg-en.5000-6500.txt",
    )


def plan(data: Path, table: str = "lex-z", **options):
    return paper_plan(PaperRequest(table, data, **options))


class TestGoldData:
    def experiments(self, data: Path, method: str, table: str = "lex-z", **options) -> list[Experiment]:
        return list(plan(data, table, methods=[method], **options).experiments)

    def gold(self) -> GoldCache:
        return GoldCache(lambda _: None)

    def test_spaces_come_with_counts(self, data):
        first, *_ = self.experiments(data, "default", pairs=["es-en"])
        source = read_space(first.spaces[0]).space
        assert source.words[0] == "es000"
        assert source.counts is not None
        assert float(source.counts[1]) == 999
        torch.testing.assert_close(source.vectors, world.vectors("es"), atol=1e-5, rtol=0)

    def test_halves_of_one_file_and_files_of_their_own(self, data):
        gold = self.gold()
        halved = {
            (experiment.key.pair, experiment.key.seed): experiment
            for experiment in self.experiments(data, "xing2015", seeds=4)
        }
        forward, back = halved["es-en", 3], halved["en-es", 3]
        train = gold.word_pairs(forward.training).drawn_by(3)
        test = gold.word_pairs(forward.lexicons["es-en"]).drawn_by(3)
        assert len(train) == len(test) == world.WORDS / 2
        assert not set(train.answers) & set(test.answers)
        english = gold.word_pairs(back.lexicons["en-es"]).drawn_by(3)
        assert set(english.answers) <= {world.word("en", n) for n in range(world.WORDS)}
        fixed = {experiment.key.pair: experiment for experiment in self.experiments(data, "xing2015", "lex-c")}
        train = gold.word_pairs(fixed["de-en"].training)
        assert len(train.drawn_by(0)) == len(train.drawn_by(1)) == world.TRAINED
        assert gold.word_pairs(fixed["en-de"].lexicons["en-de"]).drawn_by(0).answers["en050"] == ("de050",)

    def test_judgements_are_turned_where_english_comes_first(self, data):
        by_pair = {experiment.key.pair: experiment for experiment in self.experiments(data, "xing2015", "lex-c")}
        there, back = (self.gold().similarities(by_pair[pair].similarity) for pair in ("de-en", "en-de"))
        assert (there[1].source, there[1].target) == ("de004", "en001")
        assert (back[1].source, back[1].target) == ("en001", "de004")


def names_of(plan) -> tuple[str, ...]:
    return tuple(pair.name for pair in plan.pairs)


class TestPlan:
    def test_cheap_methods_come_first_and_whole(self, data):
        experiments = plan(data, methods=["paper", "mikolov2013", "default"], seeds=2).experiments
        told = [(experiment.key.method, experiment.key.pair, experiment.key.seed) for experiment in experiments]
        both_ways = [(pair, seed) for pair in ("es-en", "en-es", "it-en", "en-it") for seed in (0, 1)]
        one_way = [(pair, seed) for pair in ("es-en", "it-en") for seed in (0, 1)]
        assert told == [
            *(("mikolov2013", *way) for way in both_ways),
            *(("default", *way) for way in one_way),
            *(("paper", *way) for way in one_way),
        ]

    def test_all_of_a_table_is_twelve_methods(self, data):
        made = plan(data, seeds=3)
        assert len(made.experiments) == 7 * 4 * 3 + 5 * 2 * 3
        assert names_of(made) == ("tr-en", "es-en", "zh-en", "it-en")
        assert {pair for pair in names_of(made) if made.paper.missing(pair, METHODS)} == {"tr-en", "zh-en"}

    def test_where_nothing_is_drawn_one_run_serves(self, data):
        experiments = plan(data, "lex-c", methods=["mikolov2013", "paper"], seeds=3).experiments
        assert [(experiment.key.method, experiment.key.pair, experiment.key.seed) for experiment in experiments] == [
            ("mikolov2013", "de-en", 0),
            ("mikolov2013", "en-de", 0),
            *(("paper", "de-en", seed) for seed in range(3)),
        ]

    def test_similarity_needs_one_direction(self, data):
        experiments = plan(data, "similarity", methods=["mikolov2013", "paper"], seeds=1).experiments
        assert [experiment.key.pair for experiment in experiments] == ["de-en", "de-en"]

    def test_without_a_training_file_only_the_supervised_lack_data(self, data):
        (data / "lexicons/muse/de-en.train.tsv").unlink()
        made = plan(data, "similarity", methods=["mikolov2013", "paper"], pairs=["de-en"], seeds=1)
        assert [experiment.key.method for experiment in made.experiments] == ["paper"]
        assert made.paper.missing("de-en", entrants_of("similarity", ["mikolov2013", "paper"])) == (
            "lexicons/muse/de-en.0-5000.txt",
        )

    def test_the_ablation_takes_what_is_there(self, data):
        assert names_of(plan(data, "ablation")) == ("es-en", "it-en")
        assert names_of(plan(data, "ablation", pairs=["zh-en", "es-en"])) == ("es-en", "zh-en")

    def test_files_are_named_by_lexicon_and_retrieval(self, data):
        assert plan(data).name == "lex-z-muse"
        assert plan(data, lexicon="omw", retrieval="csls").name == "lex-z-omw-csls"
        assert plan(data, "lex-c").name == "lex-c"
        assert plan(data, "similarity").name == "similarity"

    @pytest.mark.parametrize(
        ("options", "line"),
        [
            ({"pairs": ["es-en", "xx-en"]}, "lex-z has no pair 'xx-en'; there are: tr-en, es-en, zh-en, it-en"),
            ({"seeds": 0}, "--seeds is 0; expected at least 1"),
            ({"lexicon": "mine"}, "lex-z has no lexicon 'mine'; there are: muse, omw"),
            ({"table": "lex-c", "lexicon": "omw"}, "lex-c has no lexicon 'omw'; there are: muse"),
            ({"table": "similarity", "retrieval": "csls"}, "leave --retrieval out"),
            ({"pairs": ["zh-en"]}, "zh-en for one we-z/zh-en/word2vec.zh, .*'calque data lex-z --data .*' lists"),
        ],
    )
    def test_what_cannot_be_met_is_said_in_one_line(self, data, options, line):
        with pytest.raises(SettingsError, match=line) as refused:
            plan(data, **options)
        assert "\n" not in str(refused.value)

    def test_a_data_folder_that_is_not_there(self, tmp_path):
        with pytest.raises(SettingsError, match="none: is not a folder"):
            plan(tmp_path / "none")
