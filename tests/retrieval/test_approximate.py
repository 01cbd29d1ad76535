"""An approximate search finds nearly what an exact one finds, and says how nearly."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from calque.data.space import Space
from calque.errors import MissingExtraError
from calque.linear.maps import LinearMap, Preprocessing, Side
from calque.retrieval import approximate
from calque.retrieval.exact import find, neighbours
from calque.runs.alignment import Alignment, Record
from calque.verdict import Verdict

pytest.importorskip("faiss")


@dataclass(frozen=True)
class InMemory:
    """Rows that are in memory."""

    array: np.ndarray

    @property
    def shape(self):
        return self.array.shape

    def blocks(self, rows):
        return (self.array[start : start + rows] for start in range(0, len(self.array), rows))

    def pick(self, rows):
        return self.array[rows]


def clustered(words: int, dimension: int = 20) -> tuple[torch.Tensor, torch.Tensor]:
    """A space of clusters and a blurred copy of it."""
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(40, dimension, generator=generator)
    one = centres[torch.randint(40, (words,), generator=generator)]
    one = one + 0.7 * torch.randn(words, dimension, generator=generator)
    return one, one + 0.1 * torch.randn(words, dimension, generator=generator)


@pytest.fixture(scope="module")
def problem():
    queries, candidates = clustered(5000)
    return queries, candidates, find("csls").penalty(queries, candidates)


class TestIndex:
    def test_looking_through_all_lists_is_exact(self, problem):
        queries, candidates, penalty = problem
        index = approximate.build(InMemory(candidates.numpy()), penalty)
        whole = replace(index, probes=index.index.nlist)
        exact = neighbours(queries[:300], candidates, 10, find("csls"), penalty)
        approximate_best = whole.neighbours(queries[:300], 10)
        assert torch.equal(approximate_best.indices, exact.indices)
        assert torch.allclose(approximate_best.scores, exact.scores, atol=1e-5)

    def test_it_is_tuned_to_find_nearly_all_and_says_how_many(self, problem):
        queries, candidates, penalty = problem
        index, recall = approximate.tuned(
            approximate.build(InMemory(candidates.numpy()), penalty), InMemory(queries.numpy())
        )
        exact = neighbours(queries, candidates, 1, find("csls"), penalty).indices
        share = float((index.neighbours(queries, 1).indices == exact).float().mean())
        assert share > 0.98
        assert recall.sampled == approximate.SAMPLED
        assert recall.share == pytest.approx(share, abs=0.02)
        assert index.probes < index.index.nlist / 2

    def test_the_same_candidates_give_the_same_answers(self, problem):
        queries, candidates, penalty = problem
        one, other = (approximate.build(InMemory(candidates.numpy()), penalty) for _ in range(2))
        assert torch.equal(one.neighbours(queries, 5).indices, other.neighbours(queries, 5).indices)

    @pytest.mark.parametrize("words", [1, 2, 5, 17, 60])
    def test_small_vocabularies_are_exact(self, words):
        queries, candidates = clustered(words, 4)
        penalty = torch.zeros(words)
        rows = InMemory(candidates.numpy())
        index, recall = approximate.tuned(approximate.build(rows, penalty), InMemory(queries.numpy()))
        exact = neighbours(queries, candidates, 1, find("csls"), penalty)
        assert torch.equal(index.neighbours(queries, 1).indices, exact.indices)
        assert recall.share == 1
        assert index.neighbours(queries, 10).indices.shape == (words, min(10, words))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    one, other = clustered(3000)
    side = Side(Preprocessing((None,)), LinearMap(torch.eye(20)))
    spaces = [
        Space.of([f"{name}{row}" for row in range(3000)], vectors) for name, vectors in (("s", one), ("t", other))
    ]
    folder = tmp_path_factory.mktemp("runs") / "run"
    Alignment.of((spaces[0], spaces[1]), (side, side), Verdict("aligned", ("why",), {}), Record()).save(folder)
    return folder


class TestCommand:
    @pytest.fixture
    def calque(self, capsys):
        from calque.cli.main import main

        def call(*arguments):
            capsys.readouterr()
            return main([str(argument) for argument in arguments]), *capsys.readouterr()

        return call

    def test_nearly_the_exact_dictionary(self, calque, run):
        _, exact, _ = calque("lexicon", run, "--every")
        code, approximate_lines, messages = calque("lexicon", run, "--every", "--approximate")
        assert code == 0
        pairs = [{tuple(line.split("\t")[:2]) for line in lines.splitlines()} for lines in (exact, approximate_lines)]
        assert len(pairs[0]) == len(pairs[1]) == 3000
        assert len(pairs[0] & pairs[1]) > 0.97 * 3000
        assert messages.count("recall@1") == 2

    def test_json_has_the_recall_of_both_ways(self, calque, run, tmp_path):
        import json

        _, out, _ = calque("lexicon", run, "--approximate", "--json", "-o", tmp_path / "out.tsv")
        recalls = json.loads(out)["approximate"]
        for way in ("there", "back"):
            assert recalls[way]["recall"] == recalls[way]["right"] / recalls[way]["sampled"] > 0.97
            assert recalls[way]["sampled"] == 1000

    def test_without_faiss_the_extra_is_named(self, calque, run, monkeypatch):
        monkeypatch.setitem(sys.modules, "faiss", None)
        code, out, messages = calque("lexicon", run, "--approximate")
        assert (code, out) == (2, "")
        assert (
            messages
            == "calque: an approximate search needs the package 'faiss': pip install 'calque-embeddings[faiss]'\n"
        )
        with pytest.raises(MissingExtraError):
            approximate.build(InMemory(np.ones((2, 2), np.float32)), torch.zeros(2))
