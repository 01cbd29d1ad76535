from __future__ import annotations

import numpy as np
import pytest
import torch
from known import common, normal, orthogonal, right_share, task

from calque.errors import SettingsError
from calque.methods.baselines.known_pairs import (
    Mikolov2013Settings,
    Shigeto2015Settings,
    mikolov2013,
    ridge_regression,
    shigeto2015,
)

PUBLISHED = Shigeto2015Settings()
UNBOUND = Shigeto2015Settings(ridge=0.0)


@pytest.mark.parametrize(("dimension", "other"), [(6, 6), (5, 8), (8, 5)])
def test_without_ridge_a_linear_map_from_target_to_source_is_recovered(dimension, other):
    truth, target = normal(other, dimension, seed=2), normal(40, other, seed=0)
    problem = task(target @ truth, target, pairs=15)
    outcome = shigeto2015(problem, UNBOUND)
    torch.testing.assert_close(outcome.target.map.matrix, truth, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(outcome.source.map.matrix, torch.eye(dimension))
    assert right_share(outcome, problem) == 1.0


@pytest.mark.parametrize("ridge", [0.1, 1.0, 30.0])
def test_the_normal_equations_hold(ridge):
    y, x = normal(50, 6, seed=0) * 3 + 1, normal(50, 4, seed=1)
    result = ridge_regression(y, x, ridge).matrix.double().numpy()
    y, x = y.double().numpy(), x.double().numpy()
    strength = ridge * (y**2).sum(axis=1).mean()
    np.testing.assert_allclose((y.T @ y + strength * np.eye(6)) @ result, y.T @ x, rtol=1e-4, atol=1e-3)


def test_ridge_is_as_so_many_more_pairs_in_each_dimension_that_translate_to_nothing():
    y, x = normal(50, 6, seed=0) * 3, normal(50, 4, seed=1)
    length = y.square().sum(dim=1).mean().sqrt()
    more = torch.cat([y, length * torch.eye(6), length * torch.eye(6)]), torch.cat([x, torch.zeros(12, 4)])
    expected = np.linalg.lstsq(more[0].double().numpy(), more[1].double().numpy(), rcond=None)[0]
    np.testing.assert_allclose(ridge_regression(y, x, 2.0).matrix.numpy(), expected, atol=1e-5)


def test_the_scale_of_either_side_does_not_matter():
    y, x = normal(50, 6, seed=0), normal(50, 4, seed=1)
    result = ridge_regression(y, x, 1.0).matrix
    torch.testing.assert_close(ridge_regression(1000 * y, x, 1.0).matrix * 1000, result, atol=1e-6, rtol=1e-4)
    torch.testing.assert_close(ridge_regression(y, 1000 * x, 1.0).matrix / 1000, result, atol=1e-6, rtol=1e-4)


def test_it_matters_less_with_more_pairs_and_shortens_the_map():
    y, x = normal(500, 6, seed=0), normal(500, 4, seed=1)

    def shortened(pairs):
        free, held = (ridge_regression(y[:pairs], x[:pairs], ridge).matrix.norm() for ridge in (0.0, 1.0))
        return float(held / free)

    assert shortened(20) < shortened(100) < shortened(500) < 1.0


def test_too_few_pairs_are_no_hindrance_and_a_note_says_so():
    source, target = normal(30, 10, seed=0), normal(30, 10, seed=1)
    for settings in (PUBLISHED, UNBOUND):
        outcome = shigeto2015(task(source, target, pairs=4), settings)
        assert outcome.target.map.matrix.isfinite().all()
        assert "4 different words for 10 dimensions" in outcome.notes[0]


def test_target_words_of_length_zero_are_no_hindrance():
    outcome = shigeto2015(task(normal(30, 5, seed=0), torch.zeros(30, 5)), PUBLISHED)
    torch.testing.assert_close(outcome.target.map.matrix, torch.zeros(5, 5))


def hubness(outcome, problem) -> float:
    """How lopsided the words are in how often they are among the ten nearest: the skewness of N10."""
    source, target = common(outcome, problem)
    chosen = torch.bincount((source @ target.mT).topk(10, dim=1).indices.flatten(), minlength=len(target)).double()
    return float(((chosen - chosen.mean()) / chosen.std()).pow(3).mean())


def test_there_are_fewer_hubs_than_with_the_regression_the_other_way_and_more_words_are_right():
    meaning = normal(600, 60, seed=0) * torch.linspace(2, 0.5, 60)
    source, target = (meaning + normal(600, 60, seed=seed) for seed in (1, 2))
    problem = task(source, target @ orthogonal(60, seed=3), pairs=300)
    mapped_candidates, mapped_queries = shigeto2015(problem, PUBLISHED), mikolov2013(problem, Mikolov2013Settings())
    assert hubness(mapped_candidates, problem) < 0.6 * hubness(mapped_queries, problem)
    assert right_share(mapped_candidates, problem) > right_share(mapped_queries, problem) + 0.02


@pytest.mark.parametrize("ridge", [-0.1, float("inf"), float("nan")])
def test_a_ridge_out_of_range_is_refused(ridge):
    with pytest.raises(SettingsError, match=f"ridge is {ridge}; expected 0 or more"):
        Shigeto2015Settings(ridge=ridge)
