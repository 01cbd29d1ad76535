from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import torch
from known import normal, orthogonal, right_share, task, turns

from calque.errors import SettingsError
from calque.methods.baselines.known_pairs import Mikolov2013Settings, Zhang2016Settings, mikolov2013, zhang2016

PUBLISHED = Zhang2016Settings()


@pytest.mark.parametrize("reflected", [False, True])
def test_a_rotation_or_reflection_is_recovered_from_as_many_pairs_as_dimensions(reflected):
    truth, source = orthogonal(8, seed=2), normal(60, 8, seed=0)
    if (torch.linalg.det(truth) < 0) != reflected:
        truth[:, 0] *= -1
    problem = task(source, source @ truth, pairs=8)
    outcome = zhang2016(problem, PUBLISHED)
    torch.testing.assert_close(outcome.source.map.matrix, truth, atol=1e-5, rtol=0)
    assert right_share(outcome, problem) == 1.0


def test_noisy_pairs_are_solved_as_scipy_does():
    source, target = normal(80, 6, seed=0) + 1.0, normal(80, 6, seed=1) * 3.0
    expected, _ = scipy.linalg.orthogonal_procrustes(source[:50].double().numpy(), target[:50].double().numpy())
    outcome = zhang2016(task(source, target, pairs=50), PUBLISHED)
    np.testing.assert_allclose(outcome.source.map.matrix.numpy(), expected, atol=1e-6)
    torch.testing.assert_close(outcome.target.map.matrix, torch.eye(6))


def test_no_turn_brings_words_nearer_to_their_translations():
    source, target = normal(80, 6, seed=0).double(), normal(80, 6, seed=1).double()
    result = zhang2016(task(source.float(), target.float()), PUBLISHED).source.map.matrix.double()
    least = (source @ result - target).square().sum()
    assert all((source @ turned - target).square().sum() > least for turned in turns(result))


def test_it_keeps_lengths_where_its_unbound_sibling_stretches():
    source = normal(80, 6, seed=0)
    problem = task(source, source @ (orthogonal(6, seed=2) * torch.linspace(1, 3, 6)))
    bound = zhang2016(problem, PUBLISHED).source.map.matrix
    free = mikolov2013(problem, Mikolov2013Settings()).source.map.matrix
    torch.testing.assert_close(bound @ bound.mT, torch.eye(6), atol=1e-5, rtol=0)
    torch.testing.assert_close(torch.linalg.svdvals(free), torch.linspace(3, 1, 6), atol=1e-4, rtol=0)


def test_it_needs_fewer_noisy_pairs_than_its_unbound_sibling():
    source, truth = normal(400, 20, seed=0), orthogonal(20, seed=2)
    problem = task(source, source @ truth + 0.4 * normal(400, 20, seed=1), pairs=21)
    bound, free = zhang2016(problem, PUBLISHED), mikolov2013(problem, Mikolov2013Settings())
    assert right_share(bound, problem) > right_share(free, problem) + 0.1


def test_long_vectors_count_for_more():
    source, one, other = normal(60, 5, seed=0), orthogonal(5, seed=2), orthogonal(5, seed=3)
    target = torch.cat([source[:30] @ one, source[30:] @ other])
    lengths = torch.where(torch.arange(60) < 30, 10.0, 1.0).unsqueeze(1)
    result = zhang2016(task(source * lengths, target * lengths), PUBLISHED).source.map.matrix
    assert (result - one).norm() < 0.1 * (result - other).norm()


@pytest.mark.parametrize(("dimension", "other"), [(4, 7), (7, 4)])
def test_spaces_of_unequal_dimension_are_aligned(dimension, other):
    inner = normal(80, 4, seed=0)
    source, target = (inner @ orthogonal(each, seed=each)[:4] for each in (dimension, other))
    problem = task(source, target, pairs=20)
    assert right_share(zhang2016(problem, PUBLISHED), problem) == 1.0


def test_an_unknown_step_of_preprocessing_is_refused():
    with pytest.raises(SettingsError, match="no preprocessing step is called 'whiten'"):
        Zhang2016Settings(preprocessing=("whiten",))
