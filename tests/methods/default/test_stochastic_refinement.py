"""Laws of the climb: from few right words to many, by its own chance alone, and always to a rotation."""

from __future__ import annotations

import torch
from calque.methods.default.stochastic_refinement import climb

from calque.linear.maps import unit
from calque.methods.default.alternation import random_rotation

WORDS, DIMENSION = 800, 12


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


TRUTH = random_rotation(DIMENSION, seeded(1))
SOURCE = unit(torch.randn(WORDS, DIMENSION, generator=seeded(0)) * torch.linspace(2, 1, DIMENSION))
TARGET = unit(SOURCE @ TRUTH + 0.05 * torch.randn(WORDS, DIMENSION, generator=seeded(2)))


def off(share: float) -> torch.Tensor:
    """The truth, turned away from by so much."""
    u, _, vh = torch.linalg.svd(TRUTH + share * torch.randn(DIMENSION, DIMENSION, generator=seeded(3)))
    return u @ vh


def right(rotation: torch.Tensor) -> float:
    return float(((SOURCE @ rotation @ TARGET.mT).argmax(dim=1) == torch.arange(WORDS)).float().mean())


def test_from_a_map_that_is_nearly_all_wrong_to_the_truth():
    rough = off(0.4)
    climbed = climb(SOURCE, TARGET, rough, 40, seeded(0))
    assert right(rough) < 0.15
    assert right(climbed.rotation) > right(TRUTH) - 0.02
    assert float((climbed.rotation - TRUTH).norm()) < 0.2


def test_it_stays_a_rotation_and_the_pairs_are_those_it_follows():
    climbed = climb(SOURCE, TARGET, off(0.3), 3, seeded(0))
    assert torch.allclose(climbed.rotation @ climbed.rotation.mT, torch.eye(DIMENSION), atol=1e-5)
    pairs = climbed.pairs
    u, _, vh = torch.linalg.svd(SOURCE[pairs.source].mT @ (pairs.scores.unsqueeze(1) * TARGET[pairs.target]))
    assert torch.allclose(climbed.rotation, u @ vh, atol=1e-5)


def test_chance_is_its_own():
    one, same, other = (climb(SOURCE, TARGET, off(0.3), 2, seeded(seed)).rotation for seed in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_told_to_stop_it_ends_with_what_it_has():
    asked = iter([False, False, True])
    stopped = climb(SOURCE, TARGET, off(0.3), 40, seeded(0), lambda: next(asked))
    assert torch.equal(stopped.rotation, climb(SOURCE, TARGET, off(0.3), 2, seeded(0)).rotation)


def test_no_rounds_follow_the_dictionary_once():
    climbed = climb(SOURCE, TARGET, TRUTH, 0, seeded(0))
    assert float((climbed.rotation - TRUTH).norm()) < 0.1
