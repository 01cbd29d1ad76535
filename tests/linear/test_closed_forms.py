from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import torch
from matrices import eye, normal, rotation

from calque.linear.closed_forms import least_squares, nearest_orthogonal, principal, procrustes, reweighted, two_way


def test_procrustes_recovers_a_rotation():
    source = normal(30, 6)
    assert torch.allclose(procrustes(source, source @ rotation(6)).matrix, rotation(6), atol=1e-12)


def test_procrustes_recovers_a_reflection_too():
    mirror = eye(6)
    mirror[0, 0] = -1
    source = normal(30, 6)
    assert torch.allclose(procrustes(source, source @ mirror).matrix, mirror, atol=1e-12)


def test_procrustes_of_noisy_pairs_is_that_of_scipy():
    source = normal(30, 6)
    target = source @ rotation(6) * 3 + normal(30, 6, seed=1)
    expected, _ = scipy.linalg.orthogonal_procrustes(source.numpy(), target.numpy())
    assert np.allclose(procrustes(source, target).matrix.numpy(), expected, atol=1e-10)


@pytest.mark.parametrize("pairs", [1, 3, 30])
def test_procrustes_is_orthogonal_even_with_fewer_pairs_than_dimensions(pairs):
    source, target = normal(pairs, 6), normal(pairs, 6, seed=1)
    matrix = procrustes(source, target).matrix
    assert torch.allclose(matrix @ matrix.mT, eye(6), atol=1e-12)
    assert float((source @ matrix * target).sum()) >= float((source @ rotation(6) * target).sum())


def test_the_nearest_orthogonal_of_a_batch_is_that_of_each():
    batch = normal(3, 4, 4)
    expected = torch.stack([torch.from_numpy(scipy.linalg.polar(matrix.numpy())[0]) for matrix in batch])
    assert torch.allclose(nearest_orthogonal(batch), expected, atol=1e-10)


@pytest.mark.parametrize("pairs", [30, 4])
def test_least_squares_is_that_of_numpy(pairs):
    """With fewer pairs than dimensions numpy gives the shortest of many."""
    source, target = normal(pairs, 6), normal(pairs, 5, seed=1)
    expected = np.linalg.lstsq(source.numpy(), target.numpy(), rcond=None)[0]
    assert np.allclose(least_squares(source, target).matrix.numpy(), expected, atol=1e-10)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_least_squares_of_rank_deficient_rows_is_the_shortest(dtype):
    source, target = normal(50, 3) @ normal(3, 6, seed=1), normal(50, 4, seed=2)
    expected = torch.linalg.pinv(source, rtol=1e-10) @ target
    assert torch.allclose(least_squares(source.to(dtype), target.to(dtype)).matrix.double(), expected, atol=1e-4)


@pytest.mark.parametrize("pairs", [30, 4])
def test_ridge_is_least_squares_with_rows_that_pull_to_zero(pairs):
    source, target = normal(pairs, 6), normal(pairs, 5, seed=1)
    more = np.vstack([source.numpy(), np.sqrt(0.7) * np.eye(6)]), np.vstack([target.numpy(), np.zeros((6, 5))])
    assert np.allclose(least_squares(source, target, 0.7).matrix.numpy(), np.linalg.lstsq(*more, rcond=None)[0])


def test_principal_directions_are_those_of_the_svd_longest_first():
    vectors = normal(40, 6) * torch.tensor([1.0, 9.0, 0.5, 4.0, 2.0, 3.0]) @ rotation(6)
    directions = principal(vectors, 4).matrix
    expected = np.linalg.svd(vectors.numpy(), full_matrices=False)[2][:4].T
    assert directions.shape == (6, 4)
    assert np.allclose(np.abs((directions.numpy() * expected).sum(axis=0)), 1, atol=1e-10)


def test_principal_directions_of_a_flat_space_hold_all_of_it():
    vectors = normal(40, 2) @ normal(2, 6, seed=1)
    matrix = principal(vectors, 2).matrix
    assert torch.allclose(vectors @ matrix @ matrix.mT, vectors, atol=1e-10)
    assert torch.allclose(principal(vectors, 6).matrix.mT @ principal(vectors, 6).matrix, eye(6), atol=1e-12)


def reweighted_by_hand(x: np.ndarray, y: np.ndarray, power: float) -> tuple[np.ndarray, np.ndarray]:
    """Whiten, rotate, reweight, undo the whitening: the four steps of VecMap one after another on the vectors."""
    colour_x, colour_y = (np.real(scipy.linalg.sqrtm(rows.T @ rows)) for rows in (x, y))
    whiten_x, whiten_y = np.linalg.inv(colour_x), np.linalg.inv(colour_y)
    u, s, vt = scipy.linalg.svd((x @ whiten_x).T @ (y @ whiten_y))
    mapped_x = (x @ whiten_x @ u) * s**power
    mapped_y = (y @ whiten_y @ vt.T) * s**power
    return mapped_x @ (u.T @ colour_x @ u), mapped_y @ (vt @ colour_y @ vt.T)


def anisotropic_pair(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    source = normal(60, 5, seed=seed) * torch.tensor([3.0, 1.0, 0.5, 2.0, 1.5])
    return source, source @ normal(5, 5, seed=seed + 1) + normal(60, 5, seed=seed + 2)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_reweighted_is_the_formula_of_the_paper(power):
    """Compared by inner products: a singular vector and its opposite do equally well, on both sides together."""
    x, y = anisotropic_pair()
    map_x, map_y = reweighted(x, y, power)
    hand_x, hand_y = reweighted_by_hand(x.numpy(), y.numpy(), power)
    made_x, made_y = map_x.apply(x).numpy(), map_y.apply(y).numpy()
    for scores, hand in ((made_x @ made_y.T, hand_x @ hand_y.T), (made_x @ made_x.T, hand_x @ hand_x.T)):
        assert np.allclose(scores, hand, atol=1e-8)
    assert np.allclose(made_y @ made_y.T, hand_y @ hand_y.T, atol=1e-8)


def test_without_power_the_two_maps_compose_to_procrustes_on_whitened_rows():
    """S⁰ = 1 cancels the whitening: W_x = U, W_y = V, and U Vᵀ is the rotation between the whitened sides."""
    x, y = anisotropic_pair()
    map_x, map_y = reweighted(x, y, 0.0)
    white_x, white_y = (
        rows.numpy() @ np.linalg.inv(scipy.linalg.sqrtm(rows.numpy().T @ rows.numpy())) for rows in (x, y)
    )
    expected, _ = scipy.linalg.orthogonal_procrustes(white_x, white_y)
    assert torch.allclose(map_x.matrix @ map_x.matrix.mT, eye(5), atol=1e-10)
    assert torch.allclose(map_y.matrix @ map_y.matrix.mT, eye(5), atol=1e-10)
    assert np.allclose(map_x.then(map_y.inverse()).matrix.numpy(), expected, atol=1e-8)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_a_rotated_copy_is_carried_onto_itself_at_any_power(power):
    """Both sides agree on every direction, so all singular values are one and nothing is stretched."""
    x, _ = anisotropic_pair()
    y = x @ rotation(5)
    map_x, map_y = reweighted(x, y, power)
    assert torch.allclose(map_x.matrix @ map_x.matrix.mT, eye(5), atol=1e-9)
    assert torch.allclose(map_x.apply(x), map_y.apply(y), atol=1e-9)


def test_directions_on_which_the_sides_agree_count_for_more():
    shared, noise = normal(400, 1), normal(400, 2, seed=1)
    x = torch.cat([shared, noise[:, :1]], dim=1)
    y = torch.cat([shared, noise[:, 1:]], dim=1)
    map_x, _ = reweighted(x, y, 1.0)
    kept = map_x.matrix.norm(dim=1)
    assert float(kept[0]) == pytest.approx(1, abs=0.1)
    assert float(kept[1]) < 0.3


@pytest.mark.parametrize(("dtype", "near"), [(torch.float64, 1e-6), (torch.float32, 1e-2)])
def test_reweighted_in_a_flat_space_is_reweighted_in_its_own_dimensions(dtype, near):
    """Three dimensions without extent, hidden by a rotation, change no inner product."""
    x, y = anisotropic_pair()
    small_x, small_y = reweighted(x, y)
    expected = small_x.apply(x) @ small_y.apply(y).mT
    flat_x, flat_y = (
        torch.nn.functional.pad(vectors, (0, 3)) @ rotation(8, seed) for seed, vectors in enumerate((x, y))
    )
    map_x, map_y = reweighted(flat_x.to(dtype), flat_y.to(dtype))
    scores = map_x.apply(flat_x.to(dtype)) @ map_y.apply(flat_y.to(dtype)).mT
    assert float((scores.double() - expected).abs().max() / expected.abs().max()) < near


def test_reweighted_from_fewer_pairs_than_dimensions_is_finite_and_short():
    source, target = normal(3, 6), normal(3, 6, seed=1)
    for map in reweighted(source, target):
        assert bool(torch.isfinite(map.matrix).all())
        assert float(torch.linalg.matrix_norm(map.matrix, 2)) < 100


def weighted_rows() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    source = normal(80, 5, seed=30)
    target = source @ normal(5, 5, seed=31) + 0.5 * normal(80, 5, seed=32)
    return source, target, normal(80, seed=33).square()


def test_fully_shrunk_candidates_are_predicted_by_weighted_least_squares():
    source, target, weights = weighted_rows()
    root = weights.sqrt().unsqueeze(1)
    maps = two_way(source, target, weights, 1.0)
    predicted = maps.back[0].then(maps.back[1].inverse()).matrix
    assert torch.allclose(predicted, torch.linalg.lstsq(root * source, root * target).solution, atol=1e-8)
    returned = maps.there[1].then(maps.there[0].inverse()).matrix
    assert torch.allclose(returned, torch.linalg.lstsq(root * target, root * source).solution, atol=1e-8)


def test_half_shrunk_both_ways_are_one():
    source, target, weights = weighted_rows()
    maps = two_way(source, target, weights, 0.5)
    for there, back in zip(maps.there, maps.back, strict=True):
        assert torch.equal(there.matrix, back.matrix)


def test_rows_of_no_weight_say_nothing():
    source, target, weights = weighted_rows()
    weights[40:] = 0.0
    maps, alone = two_way(source, target, weights, 0.75), two_way(source[:40], target[:40], weights[:40], 0.75)
    for one, other in zip((*maps.there, *maps.back), (*alone.there, *alone.back), strict=True):
        assert torch.allclose(one.matrix @ one.matrix.mT, other.matrix @ other.matrix.mT, atol=1e-8)


def test_a_rotated_copy_comes_together_both_ways():
    source = normal(80, 5, seed=30)
    rotation = nearest_orthogonal(normal(5, 5, seed=34))
    maps = two_way(source, source @ rotation, torch.ones(80, dtype=torch.float64), 0.75)
    for way in (maps.there, maps.back):
        assert torch.allclose(way[0].apply(source), way[1].apply(source @ rotation), atol=1e-8)
