from __future__ import annotations

import math

import pytest
import torch

from calque.data.space import Space
from calque.methods.task import Task
from calque.transport.sinkhorn import word_weights

LIKE = torch.zeros(1, dtype=torch.float64)


def counted(counts: list[float] | None) -> Space:
    number = 4 if counts is None else len(counts)
    return Space.of([str(row) for row in range(number)], torch.ones(number, 2), counts)


def test_weights_by_hand():
    """Of 1,000,000: 4t is above the bend and keeps its count, t is doubled, t/4 is multiplied by 6."""
    counts = [994_750.0, 4_000.0, 1_000.0, 250.0]
    raised = [994_750.0, 4_000.0, 2_000.0, 1_500.0]
    expected = torch.tensor(raised, dtype=torch.float64) / sum(raised)
    assert torch.allclose(word_weights(counted(counts), LIKE), expected, rtol=1e-12)


def test_weights_follow_the_formula_word_by_word():
    counts = [50_000.0, 9_000.0, 700.0, 80.0, 9.0, 1.0]
    total = sum(counts)
    raised = [c * max(1.0, (math.sqrt(c / total / 1e-3) + 1) * 1e-3 / (c / total)) for c in counts]
    expected = torch.tensor([each / sum(raised) for each in raised], dtype=torch.float64)
    assert torch.allclose(word_weights(counted(counts), LIKE), expected, rtol=1e-12)


def test_rare_words_gain_frequent_ones_lose_and_the_order_stays():
    counts = torch.tensor([100_000.0, 10_000.0, 100.0, 10.0, 1.0], dtype=torch.float64)
    weights, shares = word_weights(counted(counts.tolist()), LIKE), counts / counts.sum()
    assert weights[0] < shares[0]
    assert bool((weights[2:] > shares[2:]).all())
    assert bool((weights.diff() < 0).all())
    assert float(weights.sum()) == pytest.approx(1, abs=1e-12)


def test_without_counts_all_words_weigh_the_same():
    assert word_weights(counted(None), LIKE).tolist() == [0.25] * 4


def test_equal_counts_weigh_the_same():
    assert torch.allclose(word_weights(counted([7.0] * 5), LIKE), torch.full((5,), 0.2, dtype=torch.float64))


def test_a_word_never_seen_weighs_as_one_seen_once():
    weights = word_weights(counted([1000.0, 10.0, 1.0, 0.0]), LIKE)
    assert float(weights[3]) == float(weights[2]) > 0
    assert bool(torch.isfinite(weights).all())
    assert float(weights.sum()) == pytest.approx(1, abs=1e-12)


def test_ten_times_the_text_changes_no_weight():
    counts = [5_000.0, 400.0, 30.0, 2.0]
    one, ten = (word_weights(counted([scale * each for each in counts]), LIKE) for scale in (1, 10))
    assert torch.allclose(one, ten, rtol=1e-12)


def test_shares_of_the_text_weigh_as_the_counts_they_came_from():
    """Counts files may hold fractions, so frequencies come through; they must not all be taken for one."""
    counts = [5_000.0, 400.0, 30.0, 2.0]
    shares = [each / sum(counts) for each in counts]
    assert torch.allclose(word_weights(counted(shares), LIKE), word_weights(counted(counts), LIKE), rtol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("counts", [None, [9.0, 5.0, 1.0, 0.0]])
def test_weights_have_the_type_of_the_vectors(dtype, counts):
    assert word_weights(counted(counts), torch.zeros(1, dtype=dtype)).dtype == dtype


def test_a_task_is_quiet_unhurried_and_on_the_cpu_unless_told_otherwise():
    task = Task(counted(None), counted(None))
    assert (task.seed, task.device.type, task.stopped()) == (0, "cpu", False)
