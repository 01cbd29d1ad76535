"""Laws of the signs, and that a start made of them knows more than chance."""

from __future__ import annotations

import pytest
import torch

from calque.linear.closed_forms import nearest_orthogonal
from calque.linear.maps import unit
from calque.methods.default.alternation import random_rotation
from calque.methods.default.fused_starts import Mixture, fused_plan, fused_start, neighbour_signs, profiles_by_band

WORDS, DIMENSION = 900, 16


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def clustered() -> torch.Tensor:
    """Words in bunches of different sizes, longer in some directions than in others, as in a language."""
    generator, scales = seeded(0), torch.linspace(1, 0.2, DIMENSION)
    centres = torch.randn(30, DIMENSION, generator=generator) * scales
    member = torch.multinomial(torch.linspace(1, 9, 30), WORDS, replacement=True, generator=generator)
    return unit(centres[member] + 0.5 * scales * torch.randn(WORDS, DIMENSION, generator=generator))


SOURCE = clustered()
TRUTH = random_rotation(DIMENSION, seeded(1))
TARGET = unit(SOURCE @ TRUTH + 0.01 * torch.randn(WORDS, DIMENSION, generator=seeded(2)))


@pytest.mark.parametrize("exponent", [1.0, 0.75, 0.25])
def test_profiles_do_not_change_when_the_space_is_rotated(exponent):
    rows = torch.arange(0, WORDS, 7)
    one, other = (profiles_by_band(vectors, rows, exponent, WORDS) for vectors in (SOURCE, unit(SOURCE @ TRUTH)))
    assert torch.allclose(one, other, atol=2e-2)


def test_signs_of_neighbours_do_not_change_when_the_space_is_rotated():
    one, other = (neighbour_signs(vectors.double()) for vectors in (SOURCE, SOURCE @ TRUTH))
    assert torch.allclose(one, other, atol=1e-4)


def test_a_words_profile_is_nearer_to_its_translations_than_to_others():
    rows = torch.arange(WORDS)
    distance = torch.cdist(*(profiles_by_band(vectors, rows, 1.0, WORDS) for vectors in (SOURCE, TARGET)))
    rank = (distance < distance.diagonal().unsqueeze(1)).float().mean(dim=1)
    assert float(rank.median()) < 0.05


def test_a_plan_by_right_signs_ends_at_the_right_words():
    signs = 4 * (torch.arange(300).unsqueeze(1) != torch.arange(300)).float()
    plan = fused_plan(SOURCE[:300], TARGET[:300], signs, 0.2)
    assert torch.allclose(plan.sum(dim=0), torch.full((300,), 1 / 300), atol=1e-4)
    assert float((plan.argmax(dim=1) == torch.arange(300)).float().mean()) > 0.9


def test_a_start_is_nearer_the_truth_than_a_random_rotation():
    """The overlap tr(WᵀT)/k is 1 for the truth and near 0 for a random rotation."""
    overlaps = []
    for number in range(4):
        gram = fused_start(SOURCE, TARGET, number, seeded(number))
        overlaps.append(float((nearest_orthogonal(gram) * TRUTH).sum()) / DIMENSION)
    random = [float((random_rotation(DIMENSION, seeded(20 + n)) * TRUTH).sum()) / DIMENSION for n in range(20)]
    assert max(overlaps) > max(random)
    assert sum(overlaps) / 4 > 0.3


def test_the_same_generator_gives_the_same_start_and_another_one_another():
    one, same, other = (fused_start(SOURCE, TARGET, 0, seeded(seed)) for seed in (5, 5, 6))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_starts_differ_in_what_they_are_made_of():
    mixtures = [Mixture.drawn(number, seeded(number)) for number in range(12)]
    assert len({mixture.exponents for mixture in mixtures}) == 4
    assert len(set(mixtures)) > 8


@pytest.mark.parametrize(("source", "target"), [(120, 150), (90, 340), (880, 650)])
def test_spaces_of_unequal_size_and_smaller_than_every_pool(source, target):
    gram = fused_start(SOURCE[:source], TARGET[:target], 1, seeded(0))
    assert gram.shape == (DIMENSION, DIMENSION)
    assert bool(torch.isfinite(gram).all())
