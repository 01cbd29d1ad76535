from __future__ import annotations

import numpy as np
import pytest
import torch
from paper_problems import normal, random_transfer, rotation, seeded

from calque.linear.maps import LinearMap, NetworkMap
from calque.methods.paper.objective import Transfer, first_transfer

KINDS = ["tied", "free", "network"]


def generators(*seeds: int) -> list[torch.Generator]:
    return [seeded(each) for each in seeds]


def test_tied_goes_back_by_the_transpose():
    transfer, vectors = random_transfer("tied"), normal(2, 6, 3, seed=0)
    assert torch.allclose(transfer.there(vectors), vectors @ transfer.parameters[0], atol=1e-14)
    assert torch.allclose(transfer.back(vectors), vectors @ transfer.parameters[0].transpose(1, 2), atol=1e-14)


def test_free_goes_back_by_a_map_of_its_own():
    transfer, vectors = random_transfer("free"), normal(2, 6, 3, seed=0)
    g, f = transfer.parameters
    assert torch.allclose(transfer.there(vectors), torch.einsum("snd,sde->sne", vectors, g), atol=1e-14)
    assert torch.allclose(transfer.back(vectors), torch.einsum("snd,sde->sne", vectors, f), atol=1e-14)


def test_a_network_by_hand():
    """tanh(x W₁ + b₁) W₂ + b₂ for the first four parameters there, for the last four back."""
    transfer, vectors = random_transfer("network"), normal(2, 6, 3, seed=0)
    for direction, layers in ((transfer.there, transfer.parameters[:4]), (transfer.back, transfer.parameters[4:])):
        for seed in range(2):
            w1, b1, w2, b2 = (each[seed].numpy() for each in layers)
            expected = np.tanh(vectors[seed].numpy() @ w1 + b1) @ w2 + b2
            np.testing.assert_allclose(direction(vectors)[seed].numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_maps_of_a_seed_do_what_the_batch_does_for_it(kind, seed):
    transfer, vectors = random_transfer(kind), normal(2, 6, 3, seed=0)
    there, back = transfer.maps(seed)
    assert isinstance(there, NetworkMap if kind == "network" else LinearMap)
    assert torch.allclose(there.apply(vectors[seed]), transfer.there(vectors)[seed], atol=1e-12)
    assert torch.allclose(back.apply(vectors[seed]), transfer.back(vectors)[seed], atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_maps_are_cut_off_from_the_training(kind):
    transfer = random_transfer(kind)
    transfer = Transfer(tuple(each.requires_grad_() for each in transfer.parameters), transfer.tied)
    for map in transfer.maps(0):
        assert not any(each.requires_grad for each in map.tensors().values())


@pytest.mark.parametrize("variant", ["tied", "free"])
def test_first_maps_are_rotations_of_which_one_undoes_the_other(variant):
    first = first_transfer(7, variant, (), generators(0, 1, 2))
    vectors = normal(3, 5, 7, seed=0).float()
    assert first.tied == (variant == "tied")
    for each in first.parameters:
        assert torch.allclose(each @ each.mT, torch.eye(7).expand(3, 7, 7), atol=1e-5)
    assert torch.allclose(first.back(first.there(vectors)), vectors, atol=1e-5)


@pytest.mark.parametrize("hidden", [(), (9, 4)])
def test_a_seed_starts_alike_alone_and_among_others_and_no_two_start_alike(hidden):
    together = first_transfer(5, "free", hidden, generators(3, 4))
    alone = first_transfer(5, "free", hidden, generators(4))
    for both, one in zip(together.parameters, alone.parameters, strict=True):
        assert torch.equal(both[1], one[0])
    assert not torch.allclose(together.parameters[0][0], together.parameters[0][1], atol=0.1)


def test_both_variants_of_a_seed_start_from_the_same_rotation():
    tied, free = (first_transfer(5, each, (), generators(3)) for each in ("tied", "free"))
    assert torch.equal(tied.parameters[0], free.parameters[0])


@pytest.mark.parametrize("hidden", [(9,), (4,), (9, 4)])
def test_first_layers_are_as_orthogonal_as_their_shape_allows_and_biases_zero(hidden):
    first = first_transfer(5, "free", hidden, generators(0, 1))
    assert len(first.parameters) == 4 * (len(hidden) + 1)
    for weight, bias in zip(first.parameters[::2], first.parameters[1::2], strict=True):
        gram = weight @ weight.mT if weight.shape[1] <= weight.shape[2] else weight.mT @ weight
        assert torch.allclose(gram, torch.eye(gram.shape[1]).expand_as(gram), atol=1e-5)
        assert bias.shape == (2, weight.shape[2])
        assert not bias.any()


def test_both_networks_differ_at_first():
    first = first_transfer(5, "free", (6,), generators(0))
    assert not torch.allclose(first.parameters[0], first.parameters[4], atol=0.1)


def test_a_rotation_applied_by_a_network_of_small_activations_is_nearly_the_rotation():
    """tanh is a straight line near zero: scaled down before it and up after it, a hidden layer changes nothing."""
    turn, small = rotation(4, 0), 1e-4
    layers = (small * turn, torch.zeros(4).double(), torch.eye(4).double() / small, torch.zeros(4).double())
    transfer = Transfer(tuple(each.unsqueeze(0) for each in layers * 2), tied=False)
    vectors = normal(1, 6, 4, seed=1)
    assert torch.allclose(transfer.there(vectors), vectors @ turn, atol=1e-6)
