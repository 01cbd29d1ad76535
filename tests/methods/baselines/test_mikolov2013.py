from __future__ import annotations

import numpy as np
import pytest
import torch
from known import normal, right_share, task

from calque.errors import SettingsError
from calque.methods.baselines.known_pairs import Mikolov2013Settings, mikolov2013

PUBLISHED = Mikolov2013Settings()


@pytest.mark.parametrize(("dimension", "other"), [(6, 6), (5, 8), (8, 5)])
def test_a_linear_map_is_recovered_whatever_it_stretches(dimension, other):
    truth = normal(dimension, other, seed=2) * torch.logspace(0, 2, other)
    source = normal(40, dimension, seed=0)
    problem = task(source, source @ truth, pairs=15)
    outcome = mikolov2013(problem, PUBLISHED)
    torch.testing.assert_close(outcome.source.map.matrix, truth, atol=1e-3, rtol=1e-4)
    torch.testing.assert_close(outcome.target.map.matrix, torch.eye(other))
    assert right_share(outcome, problem) == 1.0
    assert outcome.notes == ()
    assert outcome.evidence is None


def test_noisy_pairs_are_solved_as_numpy_does():
    source, target = normal(80, 6, seed=0), normal(80, 7, seed=1) + 2.0
    expected = np.linalg.lstsq(source[:50].double().numpy(), target[:50].double().numpy(), rcond=None)[0]
    result = mikolov2013(task(source, target, pairs=50), PUBLISHED).source.map.matrix
    np.testing.assert_allclose(result.numpy(), expected, atol=1e-5)


def test_no_change_of_the_map_brings_words_nearer_to_their_translations():
    source, target = normal(80, 6, seed=0), normal(80, 6, seed=1)
    result = mikolov2013(task(source, target), PUBLISHED).source.map.matrix
    least = (source @ result - target).square().sum()
    for seed in range(20):
        assert (source @ (result + 0.01 * normal(6, 6, seed=10 + seed)) - target).square().sum() > least


def test_of_all_maps_that_fit_too_few_pairs_the_shortest_is_taken_and_a_note_says_so():
    source, target = normal(30, 10, seed=0), normal(30, 10, seed=1)
    outcome = mikolov2013(task(source, target, pairs=4), PUBLISHED)
    expected = np.linalg.lstsq(source[:4].double().numpy(), target[:4].double().numpy(), rcond=None)[0]
    np.testing.assert_allclose(outcome.source.map.matrix.numpy(), expected, atol=1e-5)
    torch.testing.assert_close(source[:4] @ outcome.source.map.matrix, target[:4], atol=1e-4, rtol=1e-4)
    assert "4 different words for 10 dimensions" in outcome.notes[0]


def test_a_direction_that_only_rounding_gave_the_words_is_not_blown_up():
    source = normal(200, 8, seed=0)
    source[:, 7] = source[:, :7] @ normal(7, seed=3)
    target = normal(200, 8, seed=1)
    result = mikolov2013(task(source, target), PUBLISHED).source.map.matrix
    rank_seven = np.linalg.lstsq(source.double().numpy(), target.double().numpy(), rcond=1e-5)[0]
    np.testing.assert_allclose(result.numpy(), rank_seven, atol=1e-4)


def test_vectors_are_taken_as_they_come():
    source = normal(60, 5, seed=0) + 4.0
    longer = source * torch.linspace(1, 9, 60).unsqueeze(1)
    truth, noise = normal(5, 5, seed=2), normal(60, 5, seed=3)
    result, other = (mikolov2013(task(each, source @ truth + noise), PUBLISHED) for each in (source, longer))
    assert not torch.allclose(result.source.map.matrix, other.source.map.matrix, atol=0.05)
    normalised = Mikolov2013Settings(preprocessing=("unit",))
    result, other = (mikolov2013(task(each, source @ truth + noise), normalised) for each in (source, longer))
    torch.testing.assert_close(result.source.map.matrix, other.source.map.matrix, atol=1e-3, rtol=1e-3)


def test_an_unknown_step_of_preprocessing_is_refused():
    with pytest.raises(SettingsError, match="no preprocessing step is called 'whiten'"):
        Mikolov2013Settings(preprocessing=("whiten",))
