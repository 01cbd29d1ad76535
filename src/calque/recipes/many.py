"""Runs a recipe on every pair of several languages, and reconciles what comes out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import permutations

import torch

from calque.data.space import Space
from calque.errors import SettingsError
from calque.linear.side import Side
from calque.methods.default.coarse_to_fine import CoarseToFineSettings
from calque.methods.default.correspondence import Lists, trusted
from calque.methods.default.preparing import Prepared, common_dimension, prepare
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
from calque.methods.referee import referee
from calque.methods.task import Task
from calque.progress import Listen, Step, never, quiet
from calque.recipes.registry import Recipe
from calque.recipes.running import Clock, choose_device, described, penalties, run, versions
from calque.retrieval.exact import NEIGHBOURHOOD, Pairs, nearest
from calque.runs.alignment import Alignment, Record
from calque.runs.family import Family, Relation
from calque.verdict import Verdict, judge

FEWEST = 3
NAME = re.compile(r"\w[\w.+-]*")
LONGEST_NAME = 80


@dataclass(frozen=True, eq=False)
class _Direct:
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
    """Align every pair of languages by itself, drop what triangles speak against, and let the pairs help each other."""
    how, chosen, clock = settings or ReconcilingSettings(), choose_device(device), Clock(listen)
    _check(recipe, spaces, into)
    prepared, notes = _prepared(spaces, recipe, chosen)
    direct: dict[Pair, _Direct] = {}
    for number, pair in enumerate(pairs_of(list(spaces)), 1):
        if stopped():
            break
        alignment = run(recipe, spaces[pair[0]], spaces[pair[1]], _own(seed, number), device, stopped=stopped)
        direct[pair] = _direct(alignment, how, chosen)
        told = {"pair": "-".join(pair), "verdict": str(alignment.verdict)}
        clock.hear(Step("pairs", number, len(pairs_of(list(spaces))), {**told, **alignment.record.seconds}))
    shares = _shares(list(spaces), direct, how)
    stay = pairs_to_keep(list(spaces), {pair: _finding(each.verdict) for pair, each in direct.items()}, shares)
    core = _core(list(spaces), stay, into)
    with torch.no_grad():
        known = {pair: direct[pair].dictionary for pair in stay}
        made = _reconciled(core, prepared, known, how, into, clock, stopped)
    relations = _relations(spaces, prepared, direct, made, stay, shares, (seed, chosen, clock.hear, stopped))
    said = (*notes, *_said(spaces, direct, stay))
    record = _record(recipe, spaces, seed, chosen, clock, said, stopped())
    shared = {name: prepared[name].side(map) for name, map in made.shared.items()}
    return _with_penalties(Family(spaces, shared, relations, shares, record, into), chosen)


def _own(seed: int, number: int) -> int:
    """A seed of its own for each pair: triangles are evidence only of searches that are independent."""
    return seed + 7919 * number


def _check(recipe: Recipe, spaces: Mapping[str, Space], into: str) -> None:
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
    seen: dict[str, str] = {}
    for name, space in spaces.items():
        other = seen.setdefault(described(space)["sha256"], name)
        if other != name:
            raise SettingsError(f"{other} and {name} have the same words and vectors; leave one of them out")


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


def _prepared(
    spaces: Mapping[str, Space], recipe: Recipe, device: torch.device
) -> tuple[dict[str, Prepared], tuple[str, ...]]:
    """Every language by itself, in as many dimensions as all have."""
    how = recipe.settings if isinstance(recipe.settings, CoarseToFineSettings) else CoarseToFineSettings()
    dimension, notes = common_dimension(list(spaces.values()), how.words, how.words_a_dimension)
    return {
        name: prepare(space, dimension, how.preprocessing, how.most_words, device) for name, space in spaces.items()
    }, notes


def _direct(alignment: Alignment, how: ReconcilingSettings, device: torch.device) -> _Direct:
    """An alignment's sides and dictionary: its vectors are not kept."""
    words, way = how.refinement.words, alignment.returning or alignment
    there = [each.vectors[:words].to(device) for each in (alignment.source, alignment.target)]
    back = [each.vectors[:words].to(device) for each in (way.target, way.source)]
    found = Lists(nearest(there[0], there[1], NEIGHBOURHOOD), nearest(back[0], back[1], NEIGHBOURHOOD))
    return _Direct(
        (alignment.source_side, alignment.target_side),
        (way.source_side, way.target_side),
        alignment.verdict,
        trusted(found, how.refinement.temperature),
    )


def _finding(verdict: Verdict) -> Finding:
    return Finding(verdict.label, float(verdict.evidence.get("clearance", 0.0)))


def _shares(names: Sequence[str], direct: Mapping[Pair, _Direct], how: ReconcilingSettings) -> dict[Triangle, float]:
    """How many words find their way round each triangle of pairs that did not fail."""
    some = [pair for pair, each in direct.items() if each.verdict.label != "failed"]
    dictionaries = {pair: direct[pair].dictionary for pair in some}
    sizes = dict.fromkeys(names, how.refinement.words)
    return {each: round(round_trip_share(dictionaries, each, sizes), 4) for each in triangles_of(names, some)}


def _core(names: Sequence[str], stay: Sequence[Pair], into: str) -> list[str]:
    """The languages that hang together: those around ``into`` where it is given, else the most that do."""
    groups = [connected(names, stay, name) for name in ([into] if into else names)]
    return max(groups, key=len)


def _reconciled(
    core: Sequence[str],
    prepared: Mapping[str, Prepared],
    dictionaries: Mapping[Pair, Pairs],
    how: ReconcilingSettings,
    into: str,
    clock: Clock,
    stopped: Callable[[], bool],
) -> Reconciled:
    if len(core) < 2:
        return Reconciled({}, {})
    vectors = {name: prepared[name].vectors for name in core}
    known = {pair: each for pair, each in dictionaries.items() if set(pair) <= set(core)}
    return reconcile(vectors, known, how, into, clock.hear, stopped)


def _relations(
    spaces: Mapping[str, Space],
    prepared: Mapping[str, Prepared],
    direct: Mapping[Pair, _Direct],
    made: Reconciled,
    stay: Sequence[Pair],
    shares: Mapping[Triangle, float],
    around: tuple[int, torch.device, Listen, Callable[[], bool]],
) -> dict[Pair, Relation]:
    """Every pair with its maps and its verdict; one that is not connected keeps what its own search found."""
    relations = {}
    for pair in pairs_of(list(spaces)):
        if pair not in made.pairs:
            if pair in direct:
                relations[pair] = Relation(direct[pair].there, direct[pair].back, direct[pair].verdict, "alone")
            continue
        sides = [prepared[name] for name in pair]
        there, back = (
            (sides[0].side(maps[0]), sides[1].side(maps[1])) for maps in (made.pairs[pair].there, made.pairs[pair].back)
        )
        if pair in stay:
            relations[pair] = Relation(there, back, _confirmed(direct[pair].verdict, pair, shares), "direct")
        else:
            verdict = judge(referee(Task(spaces[pair[0]], spaces[pair[1]], *around), *there))
            relations[pair] = Relation(there, back, _by_others(verdict, direct.get(pair)), "others")
    return relations


def _confirmed(verdict: Verdict, pair: Pair, shares: Mapping[Triangle, float]) -> Verdict:
    """A pair's own verdict, with what triangles say: one that holds is evidence from searches of other pairs."""
    around = {each: share for each, share in shares.items() if set(pair) <= set(each)}
    if not around:
        return verdict
    best = max(around.values())
    told = (
        f"going round triangles of languages, up to {best:.1%} of the words come back to themselves; {HOLDS:.0%} are "
        "asked for"
    )
    label = "aligned" if best >= HOLDS else verdict.label
    return Verdict(label, (*verdict.reasons, told), {**verdict.evidence, "triangle": best})


def _by_others(verdict: Verdict, direct: _Direct | None) -> Verdict:
    why = "had not run" if direct is None else "failed" if direct.verdict.label == "failed" else "was spoken against"
    return replace(verdict, reasons=(f"found by way of other languages: its own search {why}", *verdict.reasons))


def _said(spaces: Mapping[str, Space], direct: Mapping[Pair, _Direct], stay: Sequence[Pair]) -> list[str]:
    """A note on each pair that found something which triangles speak against, and on those that never ran."""
    never_ran = ["-".join(pair) for pair in pairs_of(list(spaces)) if pair not in direct]
    interrupted = [f"interrupted before these pairs were aligned: {', '.join(never_ran)}"] if never_ran else []
    return interrupted + [
        f"{'-'.join(pair)}: what its own search found ({each.verdict.label}) was dropped, because no triangle holds"
        for pair, each in direct.items()
        if pair not in stay and each.verdict.label != "failed"
    ]


def _record(
    recipe: Recipe,
    spaces: Mapping[str, Space],
    seed: int,
    device: torch.device,
    clock: Clock,
    notes: tuple[str, ...],
    interrupted: bool,
) -> Record:
    return Record(
        recipe={"name": recipe.name, "method": recipe.method, "settings": asdict(recipe.settings)},
        seed=seed,
        device=str(device),
        versions=versions(),
        inputs={name: described(space) for name, space in spaces.items()},
        seconds={stage: round(seconds, 3) for stage, seconds in clock.seconds.items()},
        notes=notes,
        interrupted=interrupted,
        log=tuple(clock.log),
    )


def _with_penalties(family: Family, device: torch.device) -> Family:
    """The same, with what CSLS holds against each word, so that a saved family answers at once."""
    kept = {}
    for one, two in family.relations:
        made = penalties(family.pair(one, two), device).penalties
        kept[one, two], kept[two, one] = made["csls", False], made["csls", True]
    return replace(family, penalties=kept)
