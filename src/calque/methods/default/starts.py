"""Kinds of start: first guesses of the map, each by its own idea, all judged by the same cost afterwards.

A start is a function (arena, generator) -> orthogonal map of the arena. Another kind is one more function in STARTS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from calque.errors import SettingsError
from calque.linear.closed_forms import nearest_orthogonal, principal
from calque.linear.maps import unit
from calque.methods.default.alternation import Problem, random_rotation
from calque.transport import SinkhornSettings, sinkhorn, sqrt_cosine_cost, uniform

PROFILE_SHARPNESS = 20.0
PROFILE_POINTS = 200
PROFILE_WORDS = 2000
"""Profiles of fewer words are too rough to be compared."""


@dataclass(frozen=True, eq=False)
class Arena:
    """The small problem in which starts compete: frequent words in few dimensions."""

    problem: Problem
    """Reduced to the leading principal directions, unit length again."""
    full: Problem
    """The same words, and more, in all dimensions."""
    reduced: tuple[Tensor, Tensor]
    """The vectors of ``full`` in the arena's dimensions."""

    @property
    def dimension(self) -> int:
        """k, the dimensions left."""
        return int(self.problem.source.shape[1])


def build_arena(full: Problem, dimension: int, words: int) -> Arena:
    """The ``words`` most frequent words of each side in their ``dimension`` leading principal directions."""
    small = full.head(words)
    source = unit(principal(small.source, dimension).apply(full.source))
    target = unit(principal(small.target, dimension).apply(full.target))
    problem = Problem(source[:words], target[:words], small.rows, small.columns)
    return Arena(problem, full, (source, target))


def random_start(arena: Arena, generator: torch.Generator) -> Tensor:
    """Any rotation, all equally likely: few fall into the right basin (and so it is the null crowd)."""
    return random_rotation(arena.dimension, generator).to(arena.problem.source)


def profile_start(arena: Arena, generator: torch.Generator) -> Tensor:
    """Words alike in how similar they are to all other words (Artetxe, Labaka, Agirre 2018, section 3.2).

    The sorted row of (XXᵀ)^½ does not change when the space is rotated, so rows of the two languages can be compared.
    Here the comparison is a transport plan, not a nearest neighbour, and every start draws its own words, as many of
    each side: starts are independent of each other, so that two which agree confirm each other.
    """
    full, share = arena.full, 0.6 + 0.3 * float(torch.rand(1, generator=generator))
    pool = min(len(full.source), len(full.target), PROFILE_WORDS)
    drawn = _some(pool, share, generator), _some(pool, share, generator)
    plan = _profile_plan(full.source[drawn[0]], full.target[drawn[1]], PROFILE_POINTS)
    return nearest_orthogonal(arena.reduced[0][drawn[0]].mT @ plan @ arena.reduced[1][drawn[1]])


def long_profile_plan(source: Tensor, target: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """The rows of both sides that were drawn, and the plan between their profiles, as long as there are words."""
    most = 1000 * int(torch.randint(2, 5, (1,), generator=generator))
    pool = min(len(source), len(target), most)
    rows, columns = _some(pool, 0.9, generator), _some(pool, 0.9, generator)
    return rows, columns, _profile_plan(source[rows], target[columns], most)


def _profile_plan(source: Tensor, target: Tensor, points: int) -> Tensor:
    """The transport plan between words by how alike their profiles are."""
    points = min(points, len(source), len(target))
    cost = sqrt_cosine_cost(profiles(source, points), profiles(target, points))
    settings = SinkhornSettings(PROFILE_SHARPNESS, iterations=50)
    return sinkhorn(cost, uniform(len(source), cost), uniform(len(target), cost), settings).matrix


def _some(count: int, share: float, generator: torch.Generator) -> Tensor:
    """A share of the first so many words, at random."""
    return torch.randperm(count, generator=generator)[: max(1, int(share * count))]


def profiles(vectors: Tensor, points: int = PROFILE_POINTS) -> Tensor:
    """The sorted similarities of every word to all others, at evenly spaced ranks, centred and of unit length."""
    ranked = _sorted(_root_of_similarity(vectors))
    ranks = torch.linspace(0, ranked.shape[1] - 1, min(points, ranked.shape[1])).round().long()
    sampled = unit(ranked[:, -1 - ranks])
    return unit(sampled - sampled.mean(dim=0))


def _sorted(rows: Tensor) -> Tensor:
    """Each row in rising order. On a CPU that is numpy's work: torch's sort, which keeps the order too, takes long."""
    return torch.from_numpy(np.sort(rows.numpy(), axis=1)) if rows.device.type == "cpu" else rows.sort(dim=1).values


def _root_of_similarity(vectors: Tensor) -> Tensor:
    """(XXᵀ)^½ = X (XᵀX)^-½ Xᵀ: one eigenproblem in the dimensions, not in the words."""
    values, directions = torch.linalg.eigh((vectors.mT @ vectors).double())
    present = values > 1e-10 * values.max()
    rotated = vectors @ directions[:, present].to(vectors)
    root: Tensor = (rotated / values[present].sqrt().to(vectors)) @ rotated.mT
    return root


Start = Callable[[Arena, torch.Generator], Tensor]

STARTS: dict[str, Start] = {"profiles": profile_start, "random": random_start}


def find(name: str) -> Start:
    """The kind of start of this name."""
    if name not in STARTS:
        raise SettingsError(f"no kind of start is called {name!r}; there are: {', '.join(STARTS)}")
    return STARTS[name]
