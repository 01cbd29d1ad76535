"""What is to be run for a table, in which order, and what cannot be for want of files."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from calque.errors import SettingsError
from calque.experiments.reproduce.entrants import Entrant, choose
from calque.experiments.reproduce.inputs import Inputs, find_inputs
from calque.experiments.reproduce.runs import Key
from calque.experiments.reproduce.tables import Table, find_table, turned


@dataclass(frozen=True)
class Request:
    """What was asked for."""

    table: str
    data: Path
    output: Path
    pairs: Sequence[str] | None = None
    """Some of the table's; all without."""
    methods: Sequence[str] | None = None
    """Some of the table's; all without."""
    seeds: int = 3
    """Seed s halves the lexicon, where it is halved, and is given to the method."""
    lexicon: str = "muse"
    """One of the table's."""
    retrieval: str = "nn"
    """What the printed table shows; both are measured."""
    device: str = "auto"
    command: str = ""
    """As it was typed, for whoever wants to make the table again."""
    cache: bool = True
    """Whether large files are kept for the next time they are read."""


@dataclass(frozen=True)
class Job:
    """One run to be made."""

    entrant: Entrant
    inputs: Inputs
    seed: int
    siblings: tuple[Inputs, ...] = ()
    """The same vectors with other lexicons: a method that sees no lexicon is judged by all of them at once."""

    @property
    def key(self) -> Key:
        """Which run this makes."""
        return key_of(self.entrant, self.inputs, self.seed)


@dataclass(frozen=True)
class Plan:
    """A table, its rows and columns, and the runs that fill it."""

    request: Request
    table: Table
    entrants: tuple[Entrant, ...]
    pairs: tuple[str, ...]
    lexicon: str
    inputs: Mapping[str, Inputs]
    """By pair, with either language as the source."""
    jobs: tuple[Job, ...]
    """Cheapest methods first, and all of a method before the next."""

    @property
    def name(self) -> str:
        """How its files are called."""
        parts = [self.table.name, *([self.lexicon] if len(self.table.lexicons) > 1 else [])]
        return "-".join([*parts, *([] if self.request.retrieval == "nn" else [self.request.retrieval])])

    def column(self, entrant: Entrant, direction: str) -> Inputs:
        """The files of the runs that fill the cell of a row and a direction."""
        return self.inputs[direction if entrant.supervised or direction in self.pairs else turned(direction)]

    def seeds(self, entrant: Entrant) -> range:
        """The seeds of a row; one is enough where nothing is drawn at random."""
        return range(self.request.seeds if entrant.drawn or self.table.split else 1)

    def missing(self, pair: str) -> tuple[str, ...]:
        """The files for want of which some cell of a pair stays empty."""
        found = [
            name
            for entrant in self.entrants
            for direction in self.table.directions(pair)
            for name in self.column(entrant, direction).missing(self.table, entrant.supervised)
        ]
        return tuple(dict.fromkeys(found))


def key_of(entrant: Entrant, inputs: Inputs, seed: int) -> Key:
    """Which run it is that an entrant makes of these files."""
    return Key(inputs.dataset, inputs.lexicon, inputs.pair, entrant.name, seed)


def make_plan(request: Request) -> Plan:
    """Check what was asked for, and find the files."""
    table = find_table(request.table)
    _check(request, table)
    lexicon, chosen = request.lexicon, choose(table.name, request.methods)
    pairs = _pairs(table, request)
    both = [each for pair in pairs for each in (pair, turned(pair))]
    inputs = {each: find_inputs(table, request.data, each, lexicon) for each in both}
    plan = Plan(request, table, chosen, pairs, lexicon, inputs, ())
    if request.pairs is None and table.name == "ablation":
        plan = _present(plan)
    return Plan(request, table, chosen, plan.pairs, lexicon, plan.inputs, _jobs(plan))


def _check(request: Request, table: Table) -> None:
    if request.seeds < 1:
        raise SettingsError(f"--seeds is {request.seeds}; expected at least 1")
    if request.lexicon not in table.lexicons:
        raise SettingsError(f"{table.name} has no lexicon {request.lexicon!r}; there are: {', '.join(table.lexicons)}")
    if not request.data.is_dir():
        raise SettingsError(
            f"{request.data}: is not a folder; expected the data of the tables, which 'calque data' lists"
        )
    if table.task == "similarity" and request.retrieval != "nn":
        raise SettingsError("similarity is measured by cosine, which retrieves nothing; leave --retrieval out")


def _pairs(table: Table, request: Request) -> tuple[str, ...]:
    for pair in request.pairs or ():
        if pair not in table.pairs:
            raise SettingsError(f"{table.name} has no pair {pair!r}; there are: {', '.join(table.pairs)}")
    return tuple(pair for pair in table.pairs if request.pairs is None or pair in request.pairs)


def _present(plan: Plan) -> Plan:
    """The plan without the pairs that have no files, unless there would be none left."""
    there = tuple(pair for pair in plan.pairs if not plan.missing(pair))
    return Plan(plan.request, plan.table, plan.entrants, there or plan.pairs, plan.lexicon, plan.inputs, ())


def _jobs(plan: Plan) -> tuple[Job, ...]:
    found = [
        Job(entrant, inputs, seed, () if entrant.supervised else _siblings(plan, inputs))
        for entrant in sorted(plan.entrants, key=lambda each: each.cost)
        for inputs in _columns(plan, entrant)
        if not inputs.missing(plan.table, entrant.supervised)
        for seed in plan.seeds(entrant)
    ]
    if not found:
        missing = plan.missing(plan.pairs[0])
        raise SettingsError(
            f"{plan.request.data}: nothing to do for {plan.table.name}, since every pair of {', '.join(plan.pairs)} "
            f"lacks files, {plan.pairs[0]} for one {', '.join(missing)}; {where(plan)}"
        )
    return tuple(found)


def where(plan: Plan) -> str:
    """Where a reader learns how to get what is missing."""
    data = shlex.quote(str(plan.request.data))
    return f"'calque data {plan.table.name} --data {data}' lists where they are offered"


def _columns(plan: Plan, entrant: Entrant) -> list[Inputs]:
    columns = [plan.column(entrant, each) for pair in plan.pairs for each in plan.table.directions(pair)]
    return list({each.pair: each for each in columns}.values())


def _siblings(plan: Plan, inputs: Inputs) -> tuple[Inputs, ...]:
    others = [each for each in plan.table.lexicons if each != inputs.lexicon]
    found = [find_inputs(plan.table, plan.request.data, inputs.pair, each) for each in others]
    return tuple(each for each in found if not each.missing(plan.table, supervised=False))
