from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import torch

from calque.errors import SettingsError
from calque.linear.closed_forms import nearest_orthogonal, principal
from calque.linear.maps import unit
from calque.methods.default.alternation import AlternationSettings, Problem, alternate, random_rotation
from calque.methods.default.starts import (
    STARTS,
    Arena,
    build_arena,
    find,
    long_profile_plan,
    profile_start,
    profiles,
    random_start,
)
from calque.transport import uniform

DIMENSION = 8


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def clustered(count: int, seed: int = 0) -> torch.Tensor:
    """Words in bunches of different sizes, as in a language: similarity profiles then tell words apart."""
    generator = seeded(seed)
    scales = torch.linspace(2, 1, DIMENSION, dtype=torch.float64)
    centres = torch.randn(12, DIMENSION, generator=generator, dtype=torch.float64) * scales
    share = torch.linspace(1, 8, 12, dtype=torch.float64)
    member = torch.multinomial(share, count, replacement=True, generator=generator)
    return unit(centres[member] + 0.5 * torch.randn(count, DIMENSION, generator=generator, dtype=torch.float64))


def turned(count: int, seed: int = 0) -> tuple[Problem, torch.Tensor, torch.Tensor]:
    """A clustered space against itself, rotated and in another word order; the rotation; the order."""
    source = clustered(count, seed)
    truth = nearest_orthogonal(random_rotation(DIMENSION, seeded(seed + 1)).double())
    order = torch.randperm(count, generator=seeded(seed + 2))
    return Problem(source, (source @ truth)[order], uniform(count, source), uniform(count, source)), truth, order


def in_full(arena: Arena, matrix: torch.Tensor) -> torch.Tensor:
    """The map of an arena of all dimensions, in the dimensions of the space."""
    head = arena.full.head(len(arena.problem.source))
    there, back = principal(head.source, DIMENSION).matrix, principal(head.target, DIMENSION).matrix
    return there @ matrix @ back.mT


@pytest.mark.parametrize("seed", range(3))
def test_profiles_then_alternation_recover_a_rotation_from_afar(seed):
    full, truth, order = turned(450, 10 * seed)
    arena = build_arena(full, DIMENSION, 450)
    ended = alternate(arena.problem, profile_start(arena, seeded(seed)), AlternationSettings())
    unhelped = alternate(arena.problem, random_start(arena, seeded(seed)), AlternationSettings())
    assert float((in_full(arena, ended.matrix) - truth).norm()) < 0.05
    choices = (full.source @ in_full(arena, ended.matrix) @ full.target.mT).argmax(dim=1)
    assert torch.equal(order[choices], torch.arange(450))
    assert float((in_full(arena, unhelped.matrix) - truth).norm()) > 1.0
    assert float(ended.cost) < float(unhelped.cost)


@pytest.mark.parametrize("count", [40, 150, 300])
def test_the_cheapest_of_a_few_profile_starts_is_right_in_small_spaces_too(count):
    """Fewer words than points of a profile."""
    full, truth, _ = turned(count)
    arena = build_arena(full, DIMENSION, count)
    ended = [alternate(arena.problem, profile_start(arena, seeded(seed)), AlternationSettings()) for seed in range(4)]
    best = min(ended, key=lambda each: float(each.cost))
    assert float((in_full(arena, best.matrix) - truth).norm()) < 0.05


def test_the_plan_of_long_profiles_pairs_the_words_it_drew():
    full, _, order = turned(450)
    rows, columns, plan = long_profile_plan(full.source, full.target, seeded(0))
    assert plan.shape == (len(rows), len(columns))
    both = torch.isin(order.argsort()[rows], columns)  # source words whose translation was drawn too
    chosen = order[columns[plan.argmax(dim=1)]]
    assert float((chosen == rows)[both].double().mean()) > 0.8


@pytest.mark.parametrize("kind", STARTS)
def test_every_start_is_orthogonal_and_follows_its_generator(kind):
    weights = uniform(450, clustered(450))
    arena = build_arena(Problem(clustered(450, 0), clustered(450, 7), weights, weights), 5, 200)
    one, again, other = (find(kind)(arena, seeded(seed)) for seed in (1, 1, 2))
    assert one.dtype == torch.float64
    assert torch.allclose(one @ one.mT, torch.eye(5, dtype=torch.float64), atol=1e-5)
    assert torch.equal(one, again)
    assert not torch.allclose(one, other, atol=1e-4)


def test_profiles_do_not_change_when_the_space_is_rotated():
    vectors = clustered(60)
    turn = random_rotation(DIMENSION, seeded(5)).double()
    assert torch.allclose(profiles(vectors @ nearest_orthogonal(turn)), profiles(vectors), atol=1e-9)


def test_profiles_move_with_their_words():
    vectors, order = clustered(60), torch.randperm(60, generator=seeded(0))
    assert torch.allclose(profiles(vectors[order]), profiles(vectors)[order], atol=1e-9)


@pytest.mark.parametrize("count", [60, 250])
def test_profiles_are_sorted_rows_of_the_root_of_the_similarities(count):
    """(XXᵀ)^½ by SciPy; all of a row where it is short, 200 evenly spaced ranks of it where it is long."""
    vectors = clustered(count).numpy()
    values, directions = scipy.linalg.eigh(vectors @ vectors.T)
    root = (directions * np.sqrt(values.clip(0))) @ directions.T
    ranks = np.linspace(0, count - 1, min(200, count)).round().astype(int)
    ranked = -np.sort(-root, axis=1)[:, ranks]
    ranked /= np.linalg.norm(ranked, axis=1, keepdims=True)
    ranked -= ranked.mean(axis=0)
    ranked /= np.linalg.norm(ranked, axis=1, keepdims=True)
    assert np.allclose(profiles(clustered(count)).numpy(), ranked, atol=1e-5)


def test_an_arena_of_all_dimensions_keeps_every_similarity():
    full, _, _ = turned(50)
    arena = build_arena(full, DIMENSION, 30)
    assert arena.dimension == DIMENSION
    assert torch.allclose(arena.problem.source @ arena.problem.source.mT, (full.source @ full.source.mT)[:30, :30])
    assert torch.allclose(arena.reduced[1] @ arena.reduced[1].mT, full.target @ full.target.mT)


def test_an_arena_is_unit_vectors_of_the_frequent_words_in_the_directions_asked():
    full, _, _ = turned(50)
    arena = build_arena(full, 3, 30)
    assert arena.problem.source.shape == arena.problem.target.shape == (30, 3)
    assert arena.reduced[0].shape == arena.reduced[1].shape == (50, 3)
    assert torch.equal(arena.reduced[0][:30], arena.problem.source)
    assert torch.equal(arena.reduced[1][:30], arena.problem.target)
    assert torch.allclose(arena.reduced[0].norm(dim=1), torch.ones(50, dtype=torch.float64), atol=1e-12)
    assert float(arena.problem.rows.sum()) == pytest.approx(1, abs=1e-12)


def test_the_directions_of_an_arena_are_those_of_its_frequent_words():
    """Rare words, however many, do not choose them."""
    frequent = torch.tensor([[1.0, 0, 0], [0, 1.0, 0], [0.8, 0.6, 0]], dtype=torch.float64).repeat(5, 1)
    rare = torch.tensor([[0.6, 0, 0.8]], dtype=torch.float64).repeat(90, 1)
    vectors = torch.cat([frequent, rare])
    arena = build_arena(Problem(vectors, vectors, uniform(105, vectors), uniform(105, vectors)), 2, 15)
    for side in (arena.problem.source, arena.problem.target):
        assert torch.allclose(side @ side.mT, frequent @ frequent.mT, atol=1e-12)


def test_an_unknown_kind_lists_the_choices():
    with pytest.raises(SettingsError, match=r"'lucky'; there are: profiles, random"):
        find("lucky")
