"""The promise of the default recipe on the paper's own vectors. Needs the data folder; skipped where it is absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

import calque
from calque.data.lexicon import read_lexicon
from calque.evaluate import score_translation

DATA = Path(os.environ.get("CALQUE_DATA", Path(__file__).parents[2] / "shared" / "data"))
pytestmark = pytest.mark.skipif(not (DATA / "we-z").is_dir(), reason="no WE-Z vectors in $CALQUE_DATA")

AT_LEAST = {
    "es-en": {"forward": {"nn": 78, "csls": 80}, "backward": {"nn": 74, "csls": 76}},
    "it-en": {"forward": {"nn": 63, "csls": 66}, "backward": {"nn": 66, "csls": 69}},
    "zh-en": {"forward": {"nn": 57, "csls": 59}, "backward": {"nn": 60, "csls": 63}},
}


def space(pair: str, language: str, counts: bool = False) -> calque.Space:
    folder = DATA / "we-z" / pair
    return calque.load(folder / f"word2vec.{language}", counts=folder / f"vocab-freq.{language}" if counts else None)


@pytest.mark.parametrize("counts", [False, True], ids=["uniform", "frequencies"])
@pytest.mark.parametrize("pair", AT_LEAST)
def test_the_papers_pairs_are_aligned_and_accurate(pair, counts):
    one, english = pair.split("-")
    alignment = calque.align(space(pair, one, counts), space(pair, english, counts), seed=int(counts))
    gold, back = (read_lexicon(DATA / "lexicons" / "muse" / f"{way}.tsv").lexicon for way in (pair, f"en-{one}"))
    score = score_translation(alignment, gold, back)
    assert alignment.verdict.label == "aligned"
    for direction, floors in AT_LEAST[pair].items():
        for retrieval, floor in floors.items():
            assert 100 * getattr(score, direction)[retrieval].accuracy(1) >= floor, (direction, retrieval)


FEW = 1500
"""Words of a pair that must fail: a search that finds nothing looks everywhere, and takes its time."""


def noise(seed: int) -> calque.Space:
    vectors = torch.randn(FEW, 50, generator=torch.Generator().manual_seed(seed))
    return calque.Space.of([str(row) for row in range(FEW)], vectors)


def shuffled(given: calque.Space) -> calque.Space:
    """Every vector with its coordinates in an order of its own."""
    order = torch.rand(given.vectors.shape, generator=torch.Generator().manual_seed(0)).argsort(dim=1)
    return calque.Space.of(given.words, given.vectors.gather(1, order))


@pytest.mark.parametrize("other", ["noise", "shuffled English"])
def test_spanish_against_nothing_related_fails(other):
    target = noise(1) if other == "noise" else shuffled(space("es-en", "en").head(FEW))
    assert calque.align(space("es-en", "es").head(FEW), target).verdict.label == "failed"


def test_noise_against_noise_fails():
    assert calque.align(noise(1), noise(2)).verdict.label == "failed"
