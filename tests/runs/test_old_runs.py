"""Run folders that calque 0.1.0 wrote still open and answer as they did then."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from calque.runs.alignment import Alignment
from calque.runs.family import Family, is_family
from calque.runs.lookup import Lookup
from calque.runs.streaming import StreamedRun, induce

OLD = Path(__file__).parent / "written_by_0_1_0"
"""150 words of 10 dimensions a language; one of the words is no UTF-8."""
ANSWERS = {
    "東京": [("en7", 1.1608067750930786), ("en53", 0.9951671957969666)],
    "es3": [("en3", 1.1831333637237549), ("en68", 0.893589973449707)],
}
"""What 0.1.0 answered to `calque translate pair 東京 es3 --k 2 --json`."""
FAMILY_ANSWERS = {
    "東京": [("en7", 1.1578888893127441), ("en53", 0.9978069067001343)],
    "es3": [("en3", 1.1691288948059082), ("en68", 0.8945382833480835)],
}
"""The same of the family, with --pair es-en."""


def answers(run: Alignment | Lookup, words: dict[str, object]) -> dict[str, list[tuple[str, float]]]:
    translations = run.translate(list(words), k=2)
    return {
        line.word: [(one.word, pytest.approx(one.score, abs=1e-5)) for one in line.candidates] for line in translations
    }


@pytest.mark.parametrize("opened", [Alignment.load, Lookup.open])
def test_a_pair_translates_as_it_did(opened):
    run = opened(OLD / "pair")
    assert answers(run, ANSWERS) == ANSWERS
    assert run.translate(["en7"], k=1, back=True)[0].candidates[0].word == "東京"


def test_a_pair_keeps_its_verdict_and_how_it_was_made():
    alignment = Alignment.load(OLD / "pair")
    assert alignment.verdict.label == "aligned"
    assert alignment.verdict.reasons[1] == "4 other independent starts found the same map; at least 1 is asked for"
    assert alignment.verdict.evidence["agreeing"] == 4
    assert alignment.record.versions["calque"] == "0.1.0"
    assert [event["stage"] for event in alignment.record.log].count("search") == 12
    assert [stage.stage for stage in alignment.earlier] == ["search", "alternate", "refine"]
    assert "caf\udce9" in alignment.source


def test_the_lexicon_of_a_pair_is_the_same_from_folder_and_memory():
    lexicon = Alignment.load(OLD / "pair").lexicon()
    assert len(lexicon) == 150
    assert [(entry.source, entry.target) for entry in induce(StreamedRun.open(OLD / "pair"))] == [
        (entry.source, entry.target) for entry in lexicon
    ]
    assert [f"{entry.confidence:.4f}" for entry in lexicon[:3]] == ["0.3202", "0.4052", "0.9761"]


def test_a_pair_saved_again_has_the_same_maps(tmp_path):
    Alignment.load(OLD / "pair").save(tmp_path / "run")
    for name in ("maps.safetensors", "stages.safetensors", "vectors.safetensors", "words.source.txt", "log.jsonl"):
        assert (tmp_path / "run" / name).read_bytes() == (OLD / "pair" / name).read_bytes()


def test_a_family_translates_as_it_did():
    assert is_family(OLD / "family")
    family = Family.load(OLD / "family")
    assert (family.names, family.into, family.verdict.label) == (("es", "en", "pt"), "en", "aligned")
    assert answers(family.pair("es", "en"), FAMILY_ANSWERS) == FAMILY_ANSWERS
    assert len(family.pair("pt", "es").lexicon()) == 150
    assert list(family.triangles) == [("es", "en", "pt")]
    assert family.left_out == ()
    assert family.shared("pt").dimension == 10


def test_a_family_saved_again_is_the_same(tmp_path):
    Family.load(OLD / "family").save(tmp_path / "run")
    for name in ("maps.safetensors", "vectors.safetensors", "config.json", "words.pt.txt"):
        assert (tmp_path / "run" / name).read_bytes() == (OLD / "family" / name).read_bytes()


@pytest.mark.parametrize(
    ("words", "expected"),
    [(["pair"], ANSWERS), (["family", "--pair", "es-en"], FAMILY_ANSWERS)],
    ids=["pair", "family"],
)
def test_the_command_answers_as_it_did(words, expected):
    code = "from calque.cli.main import entry; entry()"
    asked = [sys.executable, "-c", code, "translate", *words, "東京", "es3", "--k", "2", "--json", "-q"]
    ended = subprocess.run(asked, cwd=OLD, capture_output=True, text=True, check=True)
    told = json.loads(ended.stdout)["translations"]
    got = {word: [(one["word"], pytest.approx(one["score"], abs=1e-5)) for one in best] for word, best in told.items()}
    assert got == expected


class TestStreamedFromMemory:
    """A pair of a family has no folder of its own: it is streamed and looked up from memory."""

    def test_gives_what_a_saved_pair_gives(self, tmp_path):
        alignment = Family.load(OLD / "family").pair("pt", "es")
        alignment.save(tmp_path / "run")
        for every in (False, True):
            streams = StreamedRun.of(alignment), StreamedRun.open(tmp_path / "run")
            one, other = (list(induce(stream, every)) for stream in streams)
            assert [(entry.source, entry.target, entry.mutual) for entry in one] == [
                (entry.source, entry.target, entry.mutual) for entry in other
            ]
        memory, folder = StreamedRun.of(alignment), StreamedRun.open(tmp_path / "run")
        assert (memory.verdict, memory.names) == (folder.verdict, folder.names)
        for side in ("source", "target"):
            one, other = memory.block_source(side), folder.block_source(side)
            assert (one.count, one.dimension) == (other.count, other.dimension)
            assert list(one.words()) == list(other.words())
            assert all((a == b).all() for a, b in zip(one.vectors(), other.vectors(), strict=True))
            assert (one.counts is None) == (other.counts is None)

    def test_a_look_up_answers_alike(self):
        alignment = Family.load(OLD / "family").pair("es", "en")
        lookup = alignment.lookup()
        for back in (False, True):
            words = list(lookup.words("target" if back else "source"))
            for one, other in zip(lookup.translate(words, 2, back), alignment.translate(words, 2, back), strict=True):
                assert [candidate.word for candidate in one.candidates] == [
                    candidate.word for candidate in other.candidates
                ]
