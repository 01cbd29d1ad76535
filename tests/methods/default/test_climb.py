"""Laws of the climb: from few right words to many, by its own chance alone."""

from __future__ import annotations

import pytest
import torch

from calque.errors import SettingsError
from calque.linear.closed_forms import nearest_orthogonal
from calque.linear.maps import unit
from calque.methods.default.alternation import random_rotation
from calque.methods.default.climb import ClimbSettings, climb, dictionary, mutual_lists
from calque.retrieval.exact import nearest

WORDS, DIMENSION = 1500, 12
SETTINGS = ClimbSettings(rounds=40, temperature=0.1)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


TRUTH = random_rotation(DIMENSION, seeded(1))
SOURCE = unit(torch.randn(WORDS, DIMENSION, generator=seeded(0)) * torch.linspace(2, 1, DIMENSION))
TARGET = unit(SOURCE @ TRUTH + 0.05 * torch.randn(WORDS, DIMENSION, generator=seeded(2)))


def off(share: float) -> torch.Tensor:
    """The truth, turned away from by so much."""
    return nearest_orthogonal(TRUTH + share * torch.randn(DIMENSION, DIMENSION, generator=seeded(3)))


def right(gram: torch.Tensor) -> float:
    """The share of words whose nearest word is the right one under the rotation of a cross-covariance."""
    choices = (SOURCE @ nearest_orthogonal(gram) @ TARGET.mT).argmax(dim=1)
    return float((choices == torch.arange(WORDS)).float().mean())


def test_from_a_map_that_is_nearly_all_wrong_to_the_truth():
    rough = off(0.4)
    climbed = climb(SOURCE, TARGET, rough, SETTINGS, seeded(0))
    assert right(rough) < 0.15
    assert right(climbed) > right(TRUTH) - 0.02
    assert float((nearest_orthogonal(climbed) - TRUTH).norm()) < 0.2


def test_from_five_known_pairs_to_the_truth():
    rows = torch.arange(0, WORDS, WORDS // 5)
    gram = SOURCE[rows].mT @ TARGET[rows]
    assert right(gram) < 0.3
    assert right(climb(SOURCE, TARGET, gram, SETTINGS, seeded(0), (rows, rows))) > right(TRUTH) - 0.02


def test_the_same_map_whatever_the_scale_of_the_start():
    rough = off(0.3)
    one, other = (climb(SOURCE, TARGET, scale * rough, SETTINGS, seeded(0)) for scale in (1.0, 1000.0))
    assert torch.allclose(one, other, atol=1e-4)


def test_chance_is_its_own():
    few = ClimbSettings(rounds=2)
    one, same, other = (climb(SOURCE, TARGET, off(0.3), few, seeded(seed)) for seed in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_asked_to_stop_it_ends_with_what_it_has():
    answers = iter([False, False, True])
    stopped = climb(SOURCE, TARGET, off(0.3), SETTINGS, seeded(0), stopped=lambda: next(answers))
    # The power falls with the rounds that there are, so the same two rounds are those of as long a climb.
    counted = iter([False, False, True])
    assert torch.equal(stopped, climb(SOURCE, TARGET, off(0.3), SETTINGS, seeded(0), stopped=lambda: next(counted)))
    assert torch.equal(climb(SOURCE, TARGET, TRUTH, SETTINGS, seeded(0), stopped=lambda: True), TRUTH)


def test_words_beyond_those_it_draws_from_change_nothing():
    few = ClimbSettings(rounds=3, words=600)
    short = climb(SOURCE[:600], TARGET[:600], off(0.2), few, seeded(0))
    assert torch.equal(short, climb(SOURCE, TARGET, off(0.2), few, seeded(0)))


def test_lists_of_blocks_are_the_lists_of_all(monkeypatch):
    queries, candidates = unit(torch.randn(70, 6, generator=seeded(4))), unit(torch.randn(50, 6, generator=seeded(5)))
    whole = nearest(queries, candidates, 4), nearest(candidates, queries, 4)
    monkeypatch.setattr("calque.retrieval.exact.BLOCK_ENTRIES", 50 * 9)
    lists = mutual_lists(queries, candidates, 4)
    for found, wanted in zip((lists.there, lists.back), whole, strict=True):
        assert torch.equal(found.indices, wanted.indices)
        assert torch.allclose(found.scores, wanted.scores)


def test_a_quiet_direction_does_not_speak():
    """With a power, a direction that the cross-covariance hardly knows counts for hardly anything."""
    gram = TRUTH.clone()
    u, s, vh = torch.linalg.svd(gram)
    s[-4:] = 1e-6
    weak = (u * s) @ vh
    noise = random_rotation(4, seeded(9))
    u[:, -4:] = u[:, -4:] @ noise  # the weak directions now point anywhere
    wrong = (u * s) @ vh
    loud = dictionary(SOURCE, TARGET, wrong, 0.0, 0.2)
    quiet = dictionary(SOURCE, TARGET, wrong, 0.5, 0.2)
    share = [float(pairs.scores[pairs.source == pairs.target].sum() / pairs.scores.sum()) for pairs in (loud, quiet)]
    assert right(weak) > 0.9
    assert share[1] > 2 * share[0]


@pytest.mark.parametrize(
    "wrong", [{"rounds": 0}, {"words": 0}, {"drawn": 0}, {"temperature": 0.0}, {"power": 1.5}, {"power": -0.1}]
)
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(SettingsError, match="expected"):
        ClimbSettings(**wrong)
