from __future__ import annotations

import numpy as np
import scipy.linalg
import torch
from known import normal, orthogonal, right_share, task, turns

from calque.linear.maps import unit
from calque.methods.baselines.known_pairs import Xing2015Settings, Zhang2016Settings, xing2015, zhang2016

PUBLISHED = Xing2015Settings()


def test_a_rotation_is_recovered_though_every_vector_has_another_length():
    truth, source = orthogonal(8, seed=2), normal(60, 8, seed=0)
    problem = task(source, (source @ truth) * normal(60, 1, seed=3).exp(), pairs=12)
    outcome = xing2015(problem, PUBLISHED)
    torch.testing.assert_close(outcome.source.map.matrix, truth, atol=1e-5, rtol=0)
    assert right_share(outcome, problem) == 1.0


def test_noisy_pairs_are_solved_as_scipy_does_on_unit_vectors():
    source, target = normal(80, 6, seed=0) + 1.0, normal(80, 6, seed=1)
    x, y = (each.double().numpy() / np.linalg.norm(each.double().numpy(), axis=1)[:, None] for each in (source, target))
    expected, _ = scipy.linalg.orthogonal_procrustes(x[:50], y[:50])
    result = xing2015(task(source, target, pairs=50), PUBLISHED).source.map.matrix
    np.testing.assert_allclose(result.numpy(), expected, atol=1e-6)


def test_no_turn_raises_the_mean_cosine():
    source, target = normal(80, 6, seed=0), normal(80, 6, seed=1)
    result = xing2015(task(source, target), PUBLISHED).source.map.matrix.double()

    def mean_cosine(matrix):
        return torch.cosine_similarity(source.double() @ matrix, target.double()).mean()

    assert all(mean_cosine(turned) < mean_cosine(result) for turned in turns(result))


def test_lengths_do_not_matter_to_it_and_do_to_its_sibling_that_does_not_normalise():
    source, target = normal(80, 6, seed=0), normal(80, 6, seed=1)
    longer = source * normal(80, 1, seed=3).exp()
    same = [xing2015(task(each, target), PUBLISHED).source.map.matrix for each in (source, longer)]
    torch.testing.assert_close(same[0], same[1], atol=1e-5, rtol=0)
    differing = [zhang2016(task(each, target), Zhang2016Settings()).source.map.matrix for each in (source, longer)]
    assert (differing[0] - differing[1]).norm() > 0.5


def test_new_vectors_are_normalised_before_they_are_mapped():
    source = normal(60, 5, seed=0)
    outcome = xing2015(task(source, source @ orthogonal(5, seed=2)), PUBLISHED)
    torch.testing.assert_close(outcome.source.preprocessing.apply(7 * source), unit(source))
    torch.testing.assert_close(outcome.source.apply(7 * source), outcome.source.apply(source))
