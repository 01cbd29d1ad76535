"""Where no start was confirmed in an arena, the best of them are carried on, and looked at again.

A start may be right for one word in five and still end beside a crowd that is right for none. Carried to all dimensions
and refined with little trust in any pair, such starts climb to the same map, from different places; those that know
nothing climb to nothing in common. So the agreement that confirms a winner is asked for once more, after the climb.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from calque.maps import LinearMap, TwoWay, nearest_orthogonal
from calque.methods.alternation import Problem
from calque.methods.correspondence import correspondence
from calque.methods.lifting import lift
from calque.methods.refinement import RefinementSettings, refine
from calque.methods.search import AGREE, Finish, Found, SearchSettings, Standing, one_thread_each, standing_of
from calque.preprocess import unit
from calque.progress import Listen, Step, never, quiet
from calque.verdict import COLLAPSED

CLIMB = RefinementSettings(rounds=16, fewest=16, temperature=0.2)
"""Fewer rounds than a start that learns has: these begin higher."""
FROM_EACH = 3
"""How many of the cheapest starts of every arena are carried on."""
WORDS = 4000
"""How many of the most frequent words they climb on."""
ASKED = 1000
"""By how many of the most frequent words two of them are compared."""


@dataclass(frozen=True, eq=False)
class _Climbed:
    """A start after its climb."""

    finish: Finish
    rotation: Tensor
    choices: Tensor


def second_look(
    full: Problem,
    found: Found,
    settings: SearchSettings,
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
) -> Found:
    """The same search with another winner, where two of its best climb to the same map; the clearest of those."""
    problem, best = full.head(WORDS), _best(found)

    def climb(finish: Finish) -> _Climbed:
        return _climb(problem, lift(found.arenas[finish.arena], finish.matrix), finish, stopped)

    climbed = []
    with one_thread_each() as threads, ThreadPoolExecutor(threads) as pool:
        for each in (pool.map if problem.source.device.type == "cpu" else map)(climb, best):
            climbed.append(each)
            listen(Step("second look", len(climbed), len(best), {"cost": each.finish.cost}))
    if stopped():
        return replace(found, gave_up="it was interrupted")
    agreeing = [[other.finish for other in climbed if other is not each and _agree(each, other)] for each in climbed]
    standings = [_standing(found, each.finish, others) for each, others in zip(climbed, agreeing, strict=True)]
    which = max(range(len(best)), key=lambda each: (_believable(standings[each]), standings[each].clearance))
    standing = standings[which]
    if not _believable(standing):
        return found
    confirmed = standing.clearance >= settings.clear
    gave_up = "" if confirmed else found.gave_up
    return replace(found, standing=standing, confirmed=confirmed, gave_up=gave_up, rotation=climbed[which].rotation)


def _best(found: Found) -> list[Finish]:
    """The cheapest of every arena."""
    by_cost = sorted(found.finishes, key=lambda each: each.cost)
    arenas = range(len(found.arenas))
    return [each for arena in arenas for each in [f for f in by_cost if f.arena == arena][:FROM_EACH]]


def _standing(found: Found, finish: Finish, agreeing: list[Finish]) -> Standing:
    """How a start stood in its arena beside those that did not agree with it after the climb."""
    others = {id(each) for each in agreeing}
    same = [each for each in found.finishes if each.arena == finish.arena and id(each) not in others]
    return replace(standing_of(same, finish), agreeing=len(agreeing))


def _believable(standing: Standing) -> bool:
    return standing.agreeing > 0 and standing.leader.cycle >= COLLAPSED


def _climb(problem: Problem, rotation: Tensor, finish: Finish, stopped: Callable[[], bool]) -> _Climbed:
    maps = TwoWay.of(LinearMap(rotation), LinearMap.identity(len(rotation), rotation))
    maps = refine(problem.source, problem.target, maps, CLIMB, stopped=stopped)
    pairs = correspondence(problem.source, problem.target, maps, CLIMB.temperature)
    weighted = pairs.scores.unsqueeze(1) * problem.target[pairs.target]
    source, target = (
        unit(maps.there[0].apply(problem.source[:ASKED])),
        unit(maps.there[1].apply(problem.target[:ASKED])),
    )
    rotation = nearest_orthogonal(problem.source[pairs.source].mT @ weighted)
    return _Climbed(finish, rotation, (source @ target.mT).argmax(dim=1))


def _agree(one: _Climbed, other: _Climbed) -> bool:
    return bool(torch.eq(one.choices, other.choices).float().mean() >= AGREE)
