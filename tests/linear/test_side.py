from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from calque.data.space import Space
from calque.linear.maps import LinearMap, NetworkMap, Preprocessing, Side, fit, map_space, map_subwords


def normal(*size: int, seed: int) -> torch.Tensor:
    return torch.randn(*size, generator=torch.Generator().manual_seed(seed))


def network(before: int, *sizes: int) -> NetworkMap:
    ends = list(zip((before, *sizes[:-1]), sizes, strict=True))
    return NetworkMap(
        tuple(normal(*size, seed=10 + place) for place, size in enumerate(ends)),
        tuple(normal(size[1], seed=20 + place) for place, size in enumerate(ends)),
    )


MAPS = {
    "linear": LinearMap(normal(4, 3, seed=1)),
    "one layer": network(4, 3),
    "two layers": network(4, 6, 3),
    "three layers": network(4, 6, 5, 3),
}
STEPS = [(), ("standardise",), ("unit", "center", "unit"), ("iterative",)]


@pytest.mark.parametrize("kind", MAPS)
def test_a_side_prepares_maps_and_makes_unit_length(kind):
    vectors, map = normal(20, 4, seed=0), MAPS[kind]
    before, prepared = fit(vectors, ("standardise",))
    expected = map.apply(prepared).numpy()
    mapped = Side(before, map).apply(vectors).numpy()
    np.testing.assert_allclose(mapped, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-5)


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("steps", STEPS, ids=lambda names: "-".join(names) or "none")
def test_what_is_saved_is_the_side(kind, steps):
    vectors, fresh = normal(20, 4, seed=0), normal(5, 4, seed=2)
    side = Side(fit(vectors, steps)[0], MAPS[kind])
    saved = side.tensors()
    again = Side.from_tensors(dict(sorted(saved.items())))
    assert type(again.map) is type(side.map)
    assert again.map.inputs == 4
    assert torch.equal(again.apply(fresh), side.apply(fresh))
    assert {name: tensor.tolist() for name, tensor in again.tensors().items()} == {
        name: tensor.tolist() for name, tensor in saved.items()
    }


def test_a_network_of_more_than_ten_layers_comes_back_in_order():
    """By number, not by name: '10' is before '2' in an alphabet."""
    side = Side(Preprocessing(()), network(4, *[3] * 12))
    again = Side.from_tensors(dict(sorted(side.tensors().items())))
    assert torch.equal(again.apply(normal(5, 4, seed=2)), side.apply(normal(5, 4, seed=2)))


class Spelled:
    """A vector of how long a word is."""

    def vector(self, word: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        return np.asarray([len(word), 1, 0, 2], np.float32)


@pytest.mark.parametrize("kind", MAPS)
def test_a_space_goes_over_with_its_words_counts_and_subwords(kind):
    space = Space(("a", "b"), normal(2, 4, seed=0), torch.tensor([5.0, 2.0]), "es.vec", Spelled())
    side = Side(fit(space.vectors, ("unit",))[0], MAPS[kind])
    mapped = map_space(space, side)
    assert (mapped.words, mapped.name, mapped.counts.tolist()) == (("a", "b"), "es.vec", [5.0, 2.0])
    assert torch.allclose(mapped.vectors, side.apply(space.vectors), atol=1e-6)
    unseen = mapped.lookup(["long"])
    assert unseen.dtype == torch.float32
    assert torch.allclose(unseen, side.apply(torch.tensor([[4.0, 1.0, 0.0, 2.0]])), atol=1e-6)


def test_a_space_without_subwords_gets_none():
    space = Space.of(["a"], [[1.0, 0.0, 0.0, 0.0]])
    assert map_subwords(space, Side(Preprocessing(()), MAPS["linear"])) is None
