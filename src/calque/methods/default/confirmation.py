"""Where no start was confirmed in an arena, the best of them are carried on, and looked at again.

A start may be right for one word in five and still end beside a crowd that is right for none. Carried to all
dimensions, such starts climb (climbing.py) to the same map, from different places; those that know nothing climb to
nothing in common. So the agreement that confirms a winner is asked for once more, after the climb.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import torch

from calque.methods.default.alternation import Problem
from calque.methods.default.lifting import lift
from calque.methods.default.search import (
    AGREE,
    Carried,
    Finish,
    Found,
    SearchSettings,
    Standing,
    one_thread_each,
    standing_of,
)
from calque.methods.default.starts import Arena
from calque.methods.default.stochastic_refinement import climb
from calque.progress import Listen, Step, never, quiet
from calque.verdict import COLLAPSED

CLIMB = 16
"""Rounds of climbing: fewer than a start that learns has, since these begin higher."""
FROM_EACH = 3
"""How many of the cheapest starts of every arena are carried on."""
WORDS = 4000
"""How many of the most frequent words they climb on."""
ASKED = 1000
"""By how many of the most frequent words two of them are compared."""


def second_look(
    full: Problem,
    found: Found,
    settings: SearchSettings,
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
) -> Found:
    """The same search with another winner, where two of its best climb to the same map; the clearest of those."""
    problem, best = full.head(WORDS), _best(found)
    known = {id(each.finish): each for each in found.carried}

    def carry(number: int) -> Carried:
        finish = best[number]
        return known.get(id(finish)) or _carried(problem, found.arenas[finish.arena], finish, number, stopped)

    carried = []
    with one_thread_each() as threads, ThreadPoolExecutor(threads) as pool:
        for each in (pool.map if problem.source.device.type == "cpu" else map)(carry, range(len(best))):
            carried.append(each)
            listen(Step("second look", len(carried), len(best), {"cost": each.finish.cost}))
    if stopped():
        return replace(found, gave_up="it was interrupted")
    found = replace(found, carried=tuple(carried))
    agreeing = [[other.finish for other in carried if other is not each and _agree(each, other)] for each in carried]
    standings = [_standing(found, each.finish, others) for each, others in zip(carried, agreeing, strict=True)]
    which = max(range(len(best)), key=lambda each: (_believable(standings[each]), standings[each].clearance))
    standing = standings[which]
    if not _believable(standing):
        return found
    confirmed = standing.clearance >= settings.clear
    gave_up = "" if confirmed else found.gave_up
    return replace(found, standing=standing, confirmed=confirmed, gave_up=gave_up, rotation=carried[which].rotation)


def _best(found: Found) -> list[Finish]:
    """The cheapest of every arena."""
    by_cost = sorted(found.finishes, key=lambda each: each.cost)
    arenas = range(len(found.arenas))
    return [each for arena in arenas for each in [f for f in by_cost if f.arena == arena][:FROM_EACH]]


def _standing(found: Found, finish: Finish, agreeing: list[Finish]) -> Standing:
    """How a start stood in its arena beside those that did not agree with it after the climb."""
    others = {id(each) for each in agreeing}
    same = [each for each in found.finishes if each.arena == finish.arena and id(each) not in others]
    return replace(standing_of(same, finish), same=tuple(agreeing))


def _believable(standing: Standing) -> bool:
    return standing.agreeing > 0 and standing.leader.cycle >= COLLAPSED


def _carried(problem: Problem, arena: Arena, finish: Finish, number: int, stopped: Callable[[], bool]) -> Carried:
    """Lifted, and climbed, with chance of its own."""
    generator = torch.Generator().manual_seed(number)
    lifted = lift(arena, finish.matrix)
    rotation = climb(problem.source, problem.target, lifted, CLIMB, generator, stopped).rotation
    choices = (problem.source[:ASKED] @ rotation @ problem.target[:ASKED].mT).argmax(dim=1)
    return Carried(finish, rotation, choices)


def _agree(one: Carried, other: Carried) -> bool:
    return bool(torch.eq(one.choices, other.choices).float().mean() >= AGREE)
