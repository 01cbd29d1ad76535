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
from calque.methods.default.alternation import AlternationSettings, Problem, alternate, random_rotation
from calque.methods.default.stochastic_refinement import climb
from calque.progress import never
from calque.transport import SinkhornSettings, sinkhorn, sqrt_cosine_cost, uniform

PROFILE_SHARPNESS = 20.0
PROFILE_POINTS = 200
PROFILE_WORDS = 2000
"""Profiles of fewer words are too rough to be compared."""
SMOOTH = AlternationSettings(sharpness=(10.0,), steps=(40,), scalings=3)
"""What follows the profiles of a learned start, on its most frequent words: a plan that still allows for anything."""
SMOOTH_WORDS = 2000
CLIMB, CLIMB_WORDS = 40, 6000
"""Then it climbs (climbing.py): slowly at first, so that it takes many rounds, and on more words."""


@dataclass(frozen=True, eq=False)
class Arena:
    """The small problem in which starts compete: frequent words in few dimensions."""

    problem: Problem
    """Reduced to the leading principal directions, unit length again."""
    full: Problem
    """The same words, and more, in all dimensions."""
    reduced: tuple[Tensor, Tensor]
    """The vectors of ``full`` in the arena's dimensions."""
    stopped: Callable[[], bool] = never
    """Asked by starts that take long; once true they return what they have."""

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
    return _by_profiles(full, drawn, arena.reduced, PROFILE_POINTS)


def learned_start(arena: Arena, generator: torch.Generator) -> Tensor:
    """For pairs on which no cheap start succeeds: longer profiles of more words, and then self-learning.

    The profiles may lead to a map that is right for hardly a word; from there it climbs.
    """
    full, most = arena.full, 1000 * int(torch.randint(2, 5, (1,), generator=generator))
    pool = min(len(full.source), len(full.target), most)
    drawn = _some(pool, 0.9, generator), _some(pool, 0.9, generator)
    first = _by_profiles(full, drawn, (full.source, full.target), most)
    smooth = alternate(full.head(SMOOTH_WORDS), first, SMOOTH, arena.stopped).matrix
    head = full.head(CLIMB_WORDS)
    pairs = climb(head.source, head.target, smooth, CLIMB, generator, arena.stopped).pairs
    weighted = pairs.scores.unsqueeze(1) * arena.reduced[1][pairs.target]
    return nearest_orthogonal(arena.reduced[0][pairs.source].mT @ weighted)


def _by_profiles(full: Problem, drawn: tuple[Tensor, Tensor], vectors: tuple[Tensor, Tensor], points: int) -> Tensor:
    """The orthogonal map of ``vectors`` that follows the transport plan between the profiles of the words drawn."""
    points = min(points, len(drawn[0]), len(drawn[1]))
    cost = sqrt_cosine_cost(profiles(full.source[drawn[0]], points), profiles(full.target[drawn[1]], points))
    settings = SinkhornSettings(PROFILE_SHARPNESS, iterations=50)
    plan = sinkhorn(cost, uniform(len(drawn[0]), cost), uniform(len(drawn[1]), cost), settings)
    return nearest_orthogonal(vectors[0][drawn[0]].mT @ plan.matrix @ vectors[1][drawn[1]])


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

STARTS: dict[str, Start] = {"profiles": profile_start, "random": random_start, "learned": learned_start}


def find(name: str) -> Start:
    """The kind of start of this name."""
    if name not in STARTS:
        raise SettingsError(f"no kind of start is called {name!r}; there are: {', '.join(STARTS)}")
    return STARTS[name]
