from __future__ import annotations

import numpy as np
import scipy.linalg
import torch
from known import normal, orthogonal, right_share, task, turns

from calque.linear.maps import unit
from calque.methods.baselines.known_pairs import Artetxe2016Settings, Xing2015Settings, artetxe2016, xing2015

PUBLISHED = Artetxe2016Settings()


def test_a_rotation_is_recovered():
    truth, source = orthogonal(8, seed=2), normal(60, 8, seed=0) + 0.5
    problem = task(source, source @ truth, pairs=12)
    outcome = artetxe2016(problem, PUBLISHED)
    torch.testing.assert_close(outcome.source.map.matrix, truth, atol=1e-5, rtol=0)
    assert right_share(outcome, problem) == 1.0


def test_noisy_pairs_are_solved_as_scipy_does_on_unit_vectors_centred_over_the_vocabulary():
    source, target = normal(80, 6, seed=0) + 1.0, normal(90, 6, seed=1) - 1.0
    x, y = (each.double().numpy() / np.linalg.norm(each.double().numpy(), axis=1)[:, None] for each in (source, target))
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    expected, _ = scipy.linalg.orthogonal_procrustes(x[:50], y[:50])
    result = artetxe2016(task(source, target, pairs=50), PUBLISHED).source.map.matrix
    np.testing.assert_allclose(result.numpy(), expected, atol=1e-6)


def test_no_turn_raises_the_covariance():
    source, target = normal(80, 6, seed=0) + 1.0, normal(80, 6, seed=1)
    result = artetxe2016(task(source, target), PUBLISHED).source.map.matrix.double()
    x, y = (unit(each.double()) - unit(each.double()).mean(dim=0) for each in (source, target))

    def covariance(matrix):
        return ((x @ matrix) * y).sum()

    assert all(covariance(turned) < covariance(result) for turned in turns(result))


def test_a_mean_that_each_language_has_for_itself_misleads_it_less_than_xing2015():
    meaning, truth = normal(300, 20, seed=0), orthogonal(20, seed=2)
    blurred = meaning + normal(300, 20, seed=5)
    problem = task(meaning + normal(20, seed=3), blurred @ truth + normal(20, seed=4), pairs=100)
    centred, not_centred = artetxe2016(problem, PUBLISHED), xing2015(problem, Xing2015Settings())
    errors = [(each.source.map.matrix - truth).norm() for each in (centred, not_centred)]
    assert errors[0] < 0.8 * errors[1]
    assert right_share(centred, problem) > right_share(not_centred, problem) + 0.1


def test_without_noise_such_a_mean_is_nearly_forgotten():
    meaning, truth = normal(300, 20, seed=0), orthogonal(20, seed=2)
    problem = task(meaning + normal(20, seed=3), meaning @ truth + normal(20, seed=4), pairs=100)
    centred, not_centred = artetxe2016(problem, PUBLISHED), xing2015(problem, Xing2015Settings())
    errors = [(each.source.map.matrix - truth).norm() for each in (centred, not_centred)]
    assert errors[0] < 0.3 * errors[1]


def test_the_mean_is_taken_away_after_the_length_and_the_length_is_not_mended():
    source = normal(60, 5, seed=0) + 1.0
    outcome = artetxe2016(task(source, source @ orthogonal(5, seed=2)), PUBLISHED)
    prepared = outcome.source.preprocessing.apply(source)
    torch.testing.assert_close(prepared, unit(source) - unit(source).mean(dim=0))
    assert prepared.norm(dim=1).std() > 0.05
