"""Laws of synchronisation: consistent rotations come back exactly, and noise is averaged away."""

from __future__ import annotations

import pytest
import torch

from calque.linear.closed_forms import nearest_orthogonal
from calque.linear.maps import unit
from calque.methods.many.synchronisation import connected, implied_rotation, shared_maps, synchronise
from calque.methods.many.triangles import pairs_of
from calque.retrieval.exact import Pairs

NAMES = list("abcde")
DIMENSION = 8


def normal(*size: int, seed: int) -> torch.Tensor:
    return torch.randn(*size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


TURNS = {name: nearest_orthogonal(normal(DIMENSION, DIMENSION, seed=seed)) for seed, name in enumerate(NAMES)}
RELATIVE = {(one, two): TURNS[one] @ TURNS[two].mT for one, two in pairs_of(NAMES)}


def off(result: dict[str, torch.Tensor]) -> float:
    """How far the pairs of what was found are from the right ones, at most."""
    return max(float((result[one] @ result[two].mT - RELATIVE[one, two]).norm()) for one, two in RELATIVE)


@pytest.mark.parametrize("pairs", [pairs_of(NAMES), [("a", "b"), ("b", "c"), ("c", "d"), ("a", "e")]])
def test_consistent_rotations_come_back_and_missing_pairs_with_them(pairs):
    result = synchronise(NAMES, {pair: RELATIVE[pair] for pair in pairs})
    assert off(result) < 1e-9
    assert all(torch.allclose(each @ each.mT, torch.eye(DIMENSION).double(), atol=1e-9) for each in result.values())


def test_noise_in_pairs_is_averaged_away():
    noisy = {
        pair: nearest_orthogonal(each + 0.15 * normal(DIMENSION, DIMENSION, seed=10 + number))
        for number, (pair, each) in enumerate(RELATIVE.items())
    }
    result = synchronise(NAMES, noisy)
    direct = sum(float((noisy[pair] - RELATIVE[pair]).norm()) for pair in noisy)
    together = sum(float((result[one] @ result[two].mT - RELATIVE[one, two]).norm()) for one, two in noisy)
    assert together < 0.8 * direct


def test_who_is_connected():
    pairs = [("a", "b"), ("c", "b"), ("d", "e")]
    assert connected(NAMES, pairs, "c") == ["a", "b", "c"]
    assert connected(NAMES, pairs, "e") == ["d", "e"]
    assert connected(NAMES, [], "d") == ["d"]


BASE = unit(normal(400, DIMENSION, seed=40) * torch.linspace(1.5, 0.5, DIMENSION).double())
VECTORS = {name: BASE @ turn for name, turn in TURNS.items()}
ROWS = torch.arange(400)
SCORES = torch.rand(400, generator=torch.Generator().manual_seed(1)).double()
DICTIONARIES = {pair: Pairs(ROWS, ROWS, SCORES) for pair in RELATIVE}


class TestSharedMaps:
    def test_a_dictionary_implies_its_rotation(self):
        got = implied_rotation(VECTORS, ("a", "b"), DICTIONARIES["a", "b"])
        assert torch.allclose(VECTORS["a"] @ got, VECTORS["b"], atol=1e-9)

    def test_turned_copies_of_one_language_meet(self):
        maps = shared_maps(NAMES, VECTORS, DICTIONARIES)
        carried = [unit(maps[name].apply(each)) for name, each in VECTORS.items()]
        assert all(torch.allclose(each, carried[0], atol=1e-8) for each in carried)

    def test_how_much_a_dictionary_counts_in_all_does_not_matter(self):
        doubled = {pair: Pairs(each.source, each.target, 2 * each.scores) for pair, each in DICTIONARIES.items()}
        one, other = (shared_maps(NAMES, VECTORS, each) for each in (DICTIONARIES, doubled))
        assert all(torch.allclose(abs(one[name].matrix), abs(other[name].matrix), atol=1e-8) for name in NAMES)

    def test_directions_on_which_nobody_agrees_count_for_nothing(self):
        """The last half of every language is noise of its own."""
        half = DIMENSION // 2
        loud = {
            name: unit(torch.cat([BASE[:, :half], normal(400, half, seed=60 + number)], dim=1)) @ TURNS[name]
            for number, name in enumerate(NAMES)
        }
        maps = shared_maps(NAMES, loud, DICTIONARIES)

        def right(carried: list[torch.Tensor]) -> float:
            return float(((carried[0] @ carried[1].mT).argmax(dim=1) == ROWS).double().mean())

        plain = [loud[name] @ TURNS[name].mT for name in ("a", "b")]
        shared = [unit(maps[name].apply(loud[name])) for name in ("a", "b")]
        assert right(shared) > 1.5 * right(plain)
