"""Runs a recipe on every pair of several languages, and lets the pairs help each other."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import torch
from torch import Tensor

from calque.data.space import Space
from calque.errors import SettingsError
from calque.linear.maps import Side, map_space
from calque.methods.default.coarse_to_fine import CoarseToFineSettings
from calque.methods.default.correspondence import Lists, trusted
from calque.methods.default.preparing import common_dimension, prepare
from calque.methods.many.reconciling import Reconciled, ReconcilingSettings, reconcile
from calque.methods.many.synchronisation import connected
from calque.methods.many.triangles import (
    HOLDS,
    Finding,
    Pair,
    Triangle,
    pairs_of,
    pairs_to_keep,
    round_trip_share,
    triangles_of,
)
from calque.methods.task import Outcome, Task
from calque.progress import Clock, Listen, Step, never, quiet
from calque.recipes.registry import Recipe
from calque.recipes.running import Inputs, checked_seed, choose_device, described, recorded, verdict_on
from calque.retrieval.exact import FREQUENT, NEIGHBOURHOOD, Neighbours, Pairs, find, nearest
from calque.runs.family import Family, Relation
from calque.verdict import Verdict

FEWEST = 3
NAME = re.compile(r"\w[\w.+-]*")
LONGEST_NAME = 80


@dataclass(frozen=True, eq=False)
class DirectResult:
    """What a pair's own search found."""

    there: tuple[Side, Side]
    back: tuple[Side, Side]
    verdict: Verdict
    dictionary: Pairs


def run_many(
    recipe: Recipe,
    spaces: Mapping[str, Space],
    seed: int = 0,
    device: str = "auto",
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
    into: str = "",
    settings: ReconcilingSettings | None = None,
) -> Family:
    """Align every pair of languages by itself, drop those that triangles speak against, and let the rest help them."""
    settings, seed, chosen = settings or ReconcilingSettings(), checked_seed(seed), choose_device(device)
    inputs = _checked_inputs(recipe, spaces, into)
    clock, names = Clock(listen), list(spaces)
    how = recipe.settings if isinstance(recipe.settings, CoarseToFineSettings) else CoarseToFineSettings()
    dimension, notes = common_dimension(list(spaces.values()), how.words, how.words_a_dimension)
    prepared = {
        name: prepare(space, dimension, how.preprocessing, how.most_words, chosen) for name, space in spaces.items()
    }

    def task(pair: Pair, own_seed: int, listener: Listen) -> Task:
        return Task(spaces[pair[0]], spaces[pair[1]], own_seed, chosen, listener, stopped)

    with torch.no_grad():
        direct: dict[Pair, DirectResult] = {}
        for number, pair in enumerate(pairs_of(names), 1):
            if stopped():
                break
            # Every pair has a seed of its own: triangles are evidence only of searches that are independent.
            own_clock = Clock(quiet)
            direct[pair] = _direct_result(recipe, task(pair, seed + 7919 * number, own_clock.hear), settings)
            labels = {"pair": "-".join(pair), "verdict": str(direct[pair].verdict)}
            clock.hear(Step("pairs", number, len(pairs_of(names)), {**labels, **own_clock.rounded()}))
        shares, stay = _round_trips(names, direct, settings.refinement.words)

        # The languages that trusted pairs connect: those around ``into`` where it is given, else the largest group.
        core = max((connected(names, stay, name) for name in ([into] if into else names)), key=len)
        reconciled = Reconciled({}, {})
        if len(core) >= 2:
            vectors = {name: prepared[name].vectors for name in core}
            dictionaries = {pair: direct[pair].dictionary for pair in stay if set(pair) <= set(core)}
            reconciled = reconcile(vectors, dictionaries, settings, into, clock.hear, stopped)

        relations: dict[Pair, Relation] = {}
        for pair in pairs_of(names):
            result = direct.get(pair)
            if pair not in reconciled.pairs:
                if result is not None:
                    relations[pair] = Relation(result.there, result.back, result.verdict, "alone")
                continue
            maps, (one, two) = reconciled.pairs[pair], (prepared[name] for name in pair)
            there, back = ((one.side(first), two.side(second)) for first, second in (maps.there, maps.back))
            if result is not None and pair in stay:
                relations[pair] = Relation(there, back, _confirmed(result.verdict, pair, shares), "direct")
            else:
                verdict = _by_others(task(pair, seed, clock.hear), there, result)
                relations[pair] = Relation(there, back, verdict, "others")
        penalties = _penalties(spaces, relations, chosen)

    shared = {name: prepared[name].side(map) for name, map in reconciled.shared.items()}
    notes = (*notes, *_notes(names, direct, stay))
    interrupted = stopped()
    if interrupted:
        relations = {
            pair: replace(relation, verdict=relation.verdict.after_interruption())
            for pair, relation in relations.items()
        }
    record = recorded(recipe, seed, chosen, clock, inputs, notes, interrupted)
    return Family(spaces, shared, relations, shares, record, into, penalties)


def _checked_inputs(recipe: Recipe, spaces: Mapping[str, Space], into: str) -> Inputs:
    """What was read, by language; SettingsError where it cannot be aligned."""
    check_names(list(spaces))
    if len(spaces) < FEWEST:
        raise SettingsError(
            f"{len(spaces)} languages were given; expected at least {FEWEST}; 'calque align' is for two"
        )
    if recipe.supervised:
        raise SettingsError(
            f"the recipe {recipe.name!r} learns from a lexicon; several languages need one that does not"
        )
    if into and into not in spaces:
        raise SettingsError(f"--into is {into!r}, which is none of the languages; there are: {', '.join(spaces)}")
    inputs = {name: described(space) for name, space in spaces.items()}
    first_of: dict[str, str] = {}
    for name, entry in inputs.items():
        other = first_of.setdefault(entry["sha256"], name)
        if other != name:
            raise SettingsError(f"{other} and {name} have the same words and vectors; leave one of them out")
    return inputs


def check_names(names: Sequence[str]) -> None:
    """Names stand in file names, and two of them joined by a dash are a pair."""
    wrong = next((name for name in names if not NAME.fullmatch(name) or len(name) > LONGEST_NAME), None)
    if wrong is not None:
        raise SettingsError(
            f"{wrong[:80]!r} is no name for a language; expected letters, digits, . + _ or -, at most {LONGEST_NAME}"
        )
    joined: dict[str, Pair] = {}
    for pair in permutations(names, 2):
        other = joined.setdefault("-".join(pair), pair)
        if other != pair:
            raise SettingsError(
                f"{'-'.join(pair)!r} would be {other[0]} with {other[1]} and {pair[0]} with {pair[1]}; rename one"
            )


def _direct_result(recipe: Recipe, task: Task, settings: ReconcilingSettings) -> DirectResult:
    """Run the recipe on one pair. Only its frequent words are mapped: they make the dictionary that is needed."""
    outcome = recipe.entry.method(task, recipe.settings)
    verdict = verdict_on(task, outcome)
    there = outcome.source, outcome.target
    back = outcome.back or there
    source, target = (space.vectors[: settings.refinement.words] for space in (task.source, task.target))

    def lists(queries: Tensor, candidates: Tensor) -> Neighbours:
        return nearest(queries.to(task.device), candidates.to(task.device), NEIGHBOURHOOD)

    nearest_words = Lists(
        lists(there[0].apply(source), there[1].apply(target)), lists(back[1].apply(target), back[0].apply(source))
    )
    return DirectResult(there, back, verdict, trusted(nearest_words, settings.refinement.temperature))


def _round_trips(
    names: Sequence[str], direct: Mapping[Pair, DirectResult], words: int
) -> tuple[dict[Triangle, float], Sequence[Pair]]:
    """How many words come back to themselves round each triangle of pairs that did not fail, and which pairs stay."""
    dictionaries = {pair: result.dictionary for pair, result in direct.items() if result.verdict.label != "failed"}
    sizes = dict.fromkeys(names, words)
    triangles = triangles_of(names, dictionaries)
    shares = {triangle: round(round_trip_share(dictionaries, triangle, sizes), 4) for triangle in triangles}
    findings = {
        pair: Finding(result.verdict.label, float(result.verdict.evidence.get("clearance", 0.0)))
        for pair, result in direct.items()
    }
    return shares, pairs_to_keep(names, findings, shares)


def _confirmed(verdict: Verdict, pair: Pair, shares: Mapping[Triangle, float]) -> Verdict:
    """A pair's own verdict, made *aligned* by a triangle that holds: that is evidence from searches of other pairs."""
    around = [share for triangle, share in shares.items() if set(pair) <= set(triangle)]
    if not around:
        return verdict
    best = max(around)
    reason = (
        f"{100 * best:.1f} % of words come back to themselves when translated round a triangle of languages "
        f"({100 * HOLDS:.0f} % needed)"
    )
    label = "aligned" if best >= HOLDS else verdict.label
    return Verdict(label, (*verdict.reasons, reason), {**verdict.evidence, "triangle": best})


def _by_others(task: Task, sides: tuple[Side, Side], direct: DirectResult | None) -> Verdict:
    """The verdict on maps that were found by way of other languages."""
    verdict = verdict_on(task, Outcome(*sides))
    if direct is None:
        why = "had not run"
    else:
        why = "failed" if direct.verdict.label == "failed" else "was contradicted by triangles"
    return replace(verdict, reasons=(f"found by way of other languages: its own search {why}", *verdict.reasons))


def _notes(names: Sequence[str], direct: Mapping[Pair, DirectResult], stay: Sequence[Pair]) -> list[str]:
    """A note on the pairs that never ran, and on each pair whose result triangles speak against."""
    never_ran = ["-".join(pair) for pair in pairs_of(names) if pair not in direct]
    notes = [f"interrupted before these pairs were aligned: {', '.join(never_ran)}"] if never_ran else []
    for pair, result in direct.items():
        if pair not in stay and result.verdict.label != "failed":
            label = result.verdict.label
            notes.append(
                f"{'-'.join(pair)}: what its own search found ({label}) was dropped, because no triangle holds"
            )
    return notes


def _penalties(
    spaces: Mapping[str, Space], relations: Mapping[Pair, Relation], device: torch.device
) -> dict[Pair, Tensor]:
    """The CSLS penalty of each word that is asked, by (asking, asked). Of the language that asks, CSLS looks at the
    frequent words only, so no others are mapped.
    """
    penalties = {}
    for (one, two), relation in relations.items():
        for asking, asked, sides in ((one, two, relation.there), (two, one, relation.back[::-1])):
            queries = sides[0].apply(spaces[asking].vectors[:FREQUENT])
            candidates = map_space(replace(spaces[asked], subwords=None), sides[1]).vectors
            penalties[asking, asked] = find("csls").penalty(queries.to(device), candidates.to(device)).cpu()
    return penalties
