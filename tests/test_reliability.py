"""Small and odd inputs: aligned all the same, or refused or reduced with a word on it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import calque
from calque.data.space import Space
from calque.linear.closed_forms import nearest_orthogonal
from calque.runs.alignment import Alignment

WORDS, DIMENSION = 1500, 30


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def clustered(words: int, dimension: int = DIMENSION, seed: int = 0) -> torch.Tensor:
    """Uneven clusters with a decaying spectrum, as word vectors have."""
    generator = seeded(seed)
    spectrum = torch.arange(1, dimension + 1) ** -0.5
    centres = torch.randn(60, dimension, generator=generator) * spectrum
    members = torch.multinomial(torch.arange(1.0, 61.0) ** -0.7, words, replacement=True, generator=generator)
    return centres[members] + 0.5 * torch.randn(words, dimension, generator=generator) * spectrum


def rotation(dimension: int = DIMENSION, seed: int = 5) -> torch.Tensor:
    return nearest_orthogonal(torch.randn(dimension, dimension, generator=seeded(seed)))


def blurred(vectors: torch.Tensor, seed: int) -> torch.Tensor:
    return vectors + 0.1 * vectors.std() * torch.randn(vectors.shape, generator=seeded(seed))


def space(vectors: torch.Tensor, prefix: str) -> Space:
    return Space.of([f"{prefix}{row}" for row in range(len(vectors))], vectors)


def right(made: Alignment, words: int = 500) -> float:
    """The share of the frequent source words that come out as the target word of the same number."""
    asked = [word for word in made.source.words if f"t{word[1:]}" in made.target][:words]
    return sum(each.candidates[0].word == f"t{each.word[1:]}" for each in made.translate(asked, k=1)) / len(asked)


SOURCE = clustered(WORDS)
TARGET = blurred(SOURCE, 1) @ rotation()


@pytest.fixture(scope="module")
def plain() -> Alignment:
    return calque.align(space(SOURCE, "s"), space(TARGET, "t"), device="cpu")


def test_the_plain_pair_is_aligned(plain):
    assert plain.verdict.label == "aligned"
    assert right(plain) > 0.9


@pytest.mark.parametrize(
    "change",
    [
        lambda v: 1000 * v,
        lambda v: 1e-4 * v,
        lambda v: v @ rotation(seed=8),
        lambda v: v.half(),
        lambda v: v.double(),
        lambda v: v + 3 * v.norm(dim=1).mean() * torch.ones(v.shape[1]) / v.shape[1] ** 0.5,
    ],
    ids=["large", "small", "rotated", "float16", "float64", "a dominating mean direction"],
)
def test_what_does_not_matter_changes_nothing_beyond_noise(plain, change: Callable[[torch.Tensor], torch.Tensor]):
    made = calque.align(space(change(SOURCE), "s"), space(TARGET, "t"), device="cpu")
    assert made.verdict.label == "aligned"
    assert right(made) == pytest.approx(right(plain), abs=0.03)


def test_the_same_language_twice_is_found_nearly_whole():
    made = calque.align(space(SOURCE, "s"), space(SOURCE, "t"), device="cpu")
    assert made.verdict.label == "aligned"
    assert right(made) > 0.99


def test_half_of_each_vocabulary_without_counterparts():
    """Every second word is on both sides, the others on one side only."""
    whole = clustered(2 * WORDS, seed=3)
    rows = torch.arange(2 * WORDS)
    ours, theirs = rows[(rows % 2 == 0) | (rows % 4 == 1)], rows[(rows % 2 == 0) | (rows % 4 == 3)]
    source = Space.of([f"s{row}" for row in ours.tolist()], whole[ours])
    target = Space.of([f"t{row}" for row in theirs.tolist()], (blurred(whole, 1) @ rotation())[theirs])
    made = calque.align(source, target, device="cpu")
    assert made.verdict.label == "aligned"
    assert right(made) > 0.5


def test_five_in_a_hundred_replaced_by_noise():
    rows = torch.randperm(WORDS, generator=seeded(4))[: WORDS // 20]
    noisy = TARGET.clone()
    noisy[rows] = TARGET.std() * torch.randn(len(rows), DIMENSION, generator=seeded(6))
    made = calque.align(space(SOURCE, "s"), space(noisy, "t"), device="cpu")
    assert made.verdict.label == "aligned"
    assert right(made) > 0.85


def test_three_hundred_words_against_five_thousand():
    large = clustered(5000, seed=3)
    small = blurred(large[:300], 2) @ rotation()
    made = calque.align(space(small, "s"), space(large, "t"), device="cpu")
    assert made.verdict.label != "failed"
    assert right(made) > 0.5


def test_ten_dimensions_against_three_hundred_meet_in_ten_and_a_word_says_what_was_reduced():
    wide = clustered(WORDS, 300, seed=2)
    made = calque.align(space(wide[:, :10], "s"), space(wide @ rotation(300), "t"), device="cpu")
    assert any("reduced 10 and 300 dimensions to at most" in note for note in made.record.notes)
    assert made.source.dimension == made.target.dimension == 10


def test_the_number_of_threads_changes_the_maps_by_rounding_only(plain):
    """The search is the same to the bit; large products add up in another order, and similarities move by 1e-4.

    Coordinates may move more: directions of the common space that are equally strong can be turned into each other.
    """
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = calque.align(space(SOURCE, "s"), space(TARGET, "t"), device="cpu")
    finally:
        torch.set_num_threads(threads)
    assert alone.verdict.evidence == plain.verdict.evidence
    one, other = (made.source.vectors @ made.target.vectors.mT for made in (alone, plain))
    assert torch.allclose(one, other, atol=1e-4)
    words = plain.source.words[:500]
    chosen = [[each.candidates[0].word for each in made.translate(words, k=1)] for made in (alone, plain)]
    assert sum(one == other for one, other in zip(*chosen, strict=True)) >= 499


def test_the_same_seed_and_threads_give_the_same_bits(plain):
    again = calque.align(space(SOURCE, "s"), space(TARGET, "t"), device="cpu")
    assert torch.equal(again.source.vectors, plain.source.vectors)
    assert torch.equal(again.target.vectors, plain.target.vectors)
    assert again.verdict == plain.verdict
