from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import torch
from known import common, normal, orthogonal, task

from calque.errors import LexiconError
from calque.linear.maps import LinearMap, unit
from calque.methods.baselines.known_pairs import known_pairs, rotation


def test_x_and_y_hold_one_row_a_pair_even_where_a_word_has_several_translations():
    source, target = normal(5, 3, seed=0), normal(6, 3, seed=1)
    dictionary = known_pairs(task(source, target, (torch.tensor([4, 4, 0]), torch.tensor([1, 2, 2]))), ())
    assert len(dictionary) == 3
    torch.testing.assert_close(dictionary.paired()[0], source[[4, 4, 0]])
    torch.testing.assert_close(dictionary.paired()[1], target[[1, 2, 2]])


def test_the_mean_is_that_of_the_whole_vocabulary_and_not_of_the_pairs():
    source, target = normal(50, 4, seed=0) + 3.0, normal(50, 4, seed=1)
    dictionary = known_pairs(task(source, target, pairs=5), ("unit", "center"))
    centred = unit(source) - unit(source).mean(dim=0)
    torch.testing.assert_close(dictionary.paired()[0], centred[:5])
    assert dictionary.paired()[0].mean(dim=0).abs().max() > 0.01


@pytest.mark.parametrize("pairs", [None, (torch.zeros(0, dtype=torch.long), torch.zeros(0, dtype=torch.long))])
def test_a_task_without_pairs_is_refused_in_one_line(pairs):
    problem = task(normal(5, 3, seed=0), normal(5, 3, seed=1), pairs or 5)
    object.__setattr__(problem, "pairs", pairs)
    with pytest.raises(LexiconError, match=r"^the task has no word pairs.*give it a lexicon$"):
        known_pairs(problem, ())


def test_one_side_is_mapped_and_the_other_stays():
    source, target = normal(20, 3, seed=0), normal(20, 4, seed=1)
    problem, there, back = task(source, target), LinearMap(normal(3, 4, seed=2)), LinearMap(normal(4, 3, seed=3))
    forward = common(known_pairs(problem, ()).source_to_target(there), problem)
    torch.testing.assert_close(forward, (unit(there.apply(source)), unit(target)))
    backward = common(known_pairs(problem, ()).target_to_source(back), problem)
    torch.testing.assert_close(backward, (unit(source), unit(back.apply(target))))


def test_a_map_in_double_precision_is_saved_in_single():
    problem = task(normal(20, 3, seed=0), normal(20, 3, seed=1))
    outcome = known_pairs(problem, ("unit",)).source_to_target(LinearMap(torch.eye(3, dtype=torch.float64)))
    assert outcome.source.map.matrix.dtype == outcome.target.map.matrix.dtype == torch.float32


@pytest.mark.parametrize(("pairs", "noted"), [(7, True), (8, False), (20, False)])
def test_a_note_is_made_where_the_pairs_have_fewer_words_than_dimensions(pairs, noted):
    dictionary = known_pairs(task(normal(20, 8, seed=0), normal(20, 9, seed=1), pairs), ())
    notes = dictionary.source_to_target(LinearMap(normal(8, 9, seed=2)), ("last",)).notes
    expected = (f"the pairs have {pairs} different words for 8 dimensions: they alone do not settle the map",)
    assert notes == ((*expected, "last") if noted else ("last",))


def test_the_same_few_words_in_many_pairs_are_still_few():
    rows = torch.arange(20) % 3, torch.arange(20)
    dictionary = known_pairs(task(normal(20, 8, seed=0), normal(20, 8, seed=1), rows), ())
    assert "3 different words" in dictionary.source_to_target(LinearMap(torch.eye(8))).notes[0]


def test_rotation_agrees_with_scipy():
    source, target = normal(60, 7, seed=0), normal(60, 7, seed=1)
    expected, _ = scipy.linalg.orthogonal_procrustes(source.double().numpy(), target.double().numpy())
    np.testing.assert_allclose(rotation(source, target).matrix.numpy(), expected, atol=1e-6)


def test_rotation_is_found_even_where_the_spaces_agree_very_weakly():
    truth, spread = orthogonal(6, seed=3), torch.logspace(0, -3.5, 6)
    source = normal(200, 6, seed=0) * spread
    # In single precision the squares of the weakest extents are lost in the rounding of the largest.
    torch.testing.assert_close(rotation(source, source @ truth).matrix, truth, atol=2e-3, rtol=0)


@pytest.mark.parametrize(("dimension", "other"), [(4, 7), (7, 4)])
def test_between_unequal_dimensions_it_is_semi_orthogonal_and_has_the_largest_product(dimension, other):
    source, target = normal(60, dimension, seed=0), normal(60, other, seed=1)
    result = rotation(source, target).matrix
    square = result @ result.mT if dimension < other else result.mT @ result
    torch.testing.assert_close(square, torch.eye(min(dimension, other)))
    reached = float(((source @ result) * target).sum())
    for seed in range(20):
        q = torch.linalg.qr(normal(max(dimension, other), min(dimension, other), seed=10 + seed)).Q
        assert float(((source @ (q if dimension > other else q.mT)) * target).sum()) < reached
    assert reached == pytest.approx(float(torch.linalg.svdvals(source.mT @ target).sum()), rel=1e-4)
