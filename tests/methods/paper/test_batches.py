from __future__ import annotations

import pytest
import torch

from calque.methods.paper.training import Batches, TrainingWords, generator_of


def words(source: int = 10, target: int = 10) -> TrainingWords:
    """The vector of word i is (i, i), and its weight grows with i: so a batch tells which words are in it."""
    vectors = [torch.arange(size, dtype=torch.float32).unsqueeze(1).expand(-1, 2) for size in (source, target)]
    weights = [torch.arange(1.0, size + 1) for size in (source, target)]
    return TrainingWords(*vectors, *(each / each.sum() for each in weights))


def rows(batches: Batches, step: int, side: str = "source") -> list[list[int]]:
    """Which words are in a batch, for every seed."""
    return getattr(batches(step), side)[:, :, 0].long().tolist()


@pytest.mark.parametrize("side", ["source", "target"])
def test_an_epoch_has_every_word_once(side):
    batches = Batches(words(), 5, (0, 1), stage=2)
    for epoch in range(3):
        first, second = rows(batches, 2 * epoch, side), rows(batches, 2 * epoch + 1, side)
        for seed in range(2):
            assert sorted(first[seed] + second[seed]) == list(range(10))


def test_what_does_not_fill_a_batch_waits_for_another_epoch():
    batches = Batches(words(), 4, (0,), stage=2)
    seen = rows(batches, 0)[0] + rows(batches, 1)[0]
    assert len(set(seen)) == 8
    left_out = {each for epoch in range(40) for step in (0, 1) for each in rows(batches, 2 * epoch + step)[0]}
    assert left_out == set(range(10))


def test_epochs_seeds_sides_and_stages_are_shuffled_each_in_their_own_way():
    batches, other = Batches(words(), 10, (0, 1), stage=2), Batches(words(), 10, (0, 1), stage=4)
    orders = [rows(batches, 0)[0], rows(batches, 1)[0], rows(batches, 0)[1], rows(batches, 0, "target")[0]]
    orders.append(rows(other, 0)[0])
    assert len({tuple(each) for each in orders}) == 5


def test_a_batch_is_a_function_of_its_step_alone():
    """A run that goes on in the middle of an epoch gets what it would have got."""
    used = Batches(words(), 3, (4, 5), stage=2)
    for step in (0, 1, 7, 2, 30, 5):
        fresh = Batches(words(), 3, (4, 5), stage=2)(step)
        assert all(torch.equal(*each) for each in zip(used(step).tensors(), fresh.tensors(), strict=True))


def test_the_batches_of_a_seed_do_not_depend_on_the_others():
    together, alone = Batches(words(), 3, (4, 5, 6), stage=2), Batches(words(), 3, (5,), stage=2)
    for step in range(8):
        for both, one in zip(together(step).tensors(), alone(step).tensors(), strict=True):
            assert torch.equal(both[1], one[0])


def test_weights_are_those_of_the_words_renormalised():
    batch = Batches(words(), 4, (0, 1), stage=2)(1)
    for vectors, weights in ((batch.source, batch.rows), (batch.target, batch.columns)):
        expected = vectors[:, :, 0] + 1
        assert torch.allclose(weights, expected / expected.sum(dim=1, keepdim=True), atol=1e-6)


@pytest.mark.parametrize(("source", "target", "size"), [(10, 7, 5), (7, 10, 5), (10, 7, 100), (3, 10, 100)])
def test_unequal_vocabularies_give_equally_many_words_each(source, target, size):
    batches, expected = Batches(words(source, target), size, (0,), stage=2), min(source, target, size)
    for step in range(5):
        assert [each.shape[1] for each in batches(step).tensors()] == [expected] * 4
        assert len(set(rows(batches, step)[0])) == len(set(rows(batches, step, "target")[0])) == expected


def test_each_side_has_epochs_of_its_own_length():
    """Ten words make two batches of five, twenty make four: the larger side is not cut to the smaller."""
    batches = Batches(words(10, 20), 5, (0,), stage=2)
    seen = [row for step in range(4) for row in rows(batches, step, "target")[0]]
    assert sorted(seen) == list(range(20))


def test_the_head_is_the_same_for_every_seed():
    head = words(10, 6).head(8, 3)
    assert [tuple(each.shape[:2]) for each in head.tensors()] == [(3, 8), (3, 6), (3, 8), (3, 6)]
    assert head.source[2, :, 0].tolist() == list(range(8))
    assert head.target[0, :, 0].tolist() == list(range(6))
    assert head.rows[1].tolist() == pytest.approx([each / 36 for each in range(1, 9)], abs=1e-6)
    assert head.columns.sum(dim=1).tolist() == pytest.approx([1, 1, 1], abs=1e-6)


def test_the_most_frequent_words_alone_are_weighed_among_themselves():
    few = words(10, 6).frequent(8)
    assert [len(each) for each in (few.source, few.target, few.rows, few.columns)] == [8, 6, 8, 6]
    assert few.rows.tolist() == pytest.approx([each / 36 for each in range(1, 9)], abs=1e-6)
    assert few.columns.tolist() == pytest.approx([each / 21 for each in range(1, 7)], abs=1e-6)


def drawn(*numbers: int) -> float:
    return float(torch.rand(1, generator=generator_of(*numbers), dtype=torch.float64))


def test_every_seed_stage_and_number_has_randomness_of_its_own():
    """Draws of 53 bits: two that are equal come from one state."""
    result = [drawn(seed, stage, number) for seed in range(20) for stage in range(5) for number in range(50)]
    assert len(set(result)) == len(result)
    assert drawn(3, 2, 1) == drawn(3, 2, 1)


@pytest.mark.parametrize("seed", [-1, 2**31, 2**63, 10**30])
def test_any_whole_number_is_a_seed(seed):
    assert 0 <= drawn(seed, 0, 0) < 1
