from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from matrices import eye, normal, rotation

from calque.linear.maps import LinearMap, NetworkMap


def test_a_map_carries_rows():
    scaling = LinearMap(torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
    assert scaling.apply(torch.tensor([[1.0, 1.0], [2.0, 0.0]])).tolist() == [[1.0, 3.0, 2.0], [2.0, 0.0, 4.0]]


def test_a_map_follows_the_type_of_the_vectors():
    assert LinearMap(eye(3)).apply(torch.ones(2, 3)).dtype == torch.float32


def test_one_map_then_another():
    first, second, vectors = LinearMap(normal(4, 3)), LinearMap(normal(3, 5, seed=1)), normal(6, 4, seed=2)
    assert torch.allclose(first.then(second).apply(vectors), second.apply(first.apply(vectors)), atol=1e-12)


def test_identity_changes_nothing():
    vectors = normal(6, 4)
    assert torch.equal(LinearMap.identity(4, vectors).apply(vectors), vectors)


def test_there_and_back():
    there, vectors = LinearMap(normal(4, 4)), normal(6, 4, seed=1)
    assert torch.allclose(there.inverse().apply(there.apply(vectors)), vectors, atol=1e-10)


def test_the_way_back_of_a_rotation_is_its_transpose():
    assert torch.allclose(LinearMap(rotation(5)).inverse().matrix, rotation(5).mT, atol=1e-12)


@pytest.mark.parametrize("size", [(5, 3), (3, 5)])
def test_the_way_back_from_other_dimensions_is_moore_penrose(size):
    assert np.allclose(LinearMap(normal(*size)).inverse().matrix.numpy(), np.linalg.pinv(normal(*size).numpy()))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_way_back_of_a_map_that_lost_dimensions_stays_short(dtype):
    """Of rank 3: what only rounding put into the other two directions must not be divided by."""
    exact = normal(5, 3) @ normal(3, 5, seed=1)
    back = LinearMap(exact.to(dtype)).inverse().matrix
    assert torch.allclose(back.double(), torch.linalg.pinv(exact, rtol=1e-10), atol=1e-4)


def network(*sizes: int) -> NetworkMap:
    ends = list(itertools.pairwise(sizes))
    return NetworkMap(
        tuple(normal(*size, seed=30 + place) for place, size in enumerate(ends)),
        tuple(normal(size[1], seed=40 + place) for place, size in enumerate(ends)),
    )


def test_a_network_by_hand():
    """tanh(1·2 - 2) = 0 and tanh(1·0 + ½): times 3 and 4, plus 1."""
    network_map = NetworkMap(
        (torch.tensor([[2.0, 0.0]]), torch.tensor([[3.0], [4.0]])), (torch.tensor([-2.0, 0.5]), torch.tensor([1.0]))
    )
    assert float(network_map.apply(torch.tensor([[1.0]]))) == pytest.approx(1 + 4 * np.tanh(0.5))


@pytest.mark.parametrize("sizes", [(4, 3), (4, 6, 3), (4, 6, 5, 3)])
def test_a_network_is_tanh_of_every_layer_but_the_last(sizes):
    network_map, vectors = network(*sizes), normal(7, 4)
    expected = vectors.numpy()
    for place, (weight, bias) in enumerate(zip(network_map.weights, network_map.biases, strict=True)):
        expected = expected @ weight.numpy() + bias.numpy()
        if place < len(network_map.weights) - 1:
            expected = np.tanh(expected)
    assert np.allclose(network_map.apply(vectors).numpy(), expected, atol=1e-12)
    assert network_map.inputs == 4


def test_a_network_of_one_layer_without_bias_is_a_linear_map():
    weight, vectors = normal(4, 3, seed=1), normal(7, 4)
    assert torch.equal(
        NetworkMap((weight,), (torch.zeros(3).double(),)).apply(vectors), LinearMap(weight).apply(vectors)
    )


def test_a_network_follows_the_type_of_the_vectors():
    assert network(4, 6, 3).apply(torch.ones(2, 4)).dtype == torch.float32


def test_a_network_is_saved_under_any_name_among_others():
    network_map, vectors = network(4, 6, 3), normal(7, 4)
    saved = {f"map{name}": tensor for name, tensor in network_map.tensors().items()} | {
        "mapping.0.weight": normal(2, 2)
    }
    again = NetworkMap.from_tensors(saved, "map")
    assert len(again.weights) == len(again.biases) == 2
    assert torch.equal(again.apply(vectors), network_map.apply(vectors))


def test_a_linear_map_is_saved_under_its_name_alone():
    linear_map = LinearMap(normal(4, 3))
    assert {name: tensor.tolist() for name, tensor in linear_map.tensors().items()} == {"": linear_map.matrix.tolist()}
    assert linear_map.inputs == 4
