"""From runs to the cells of a table: mean and deviation over seeds, with failures counted and never averaged in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean, stdev

from calque.experiments.reproduce.entrants import Entrant
from calque.experiments.reproduce.plan import Plan, key_of
from calque.experiments.reproduce.runs import Key, Run
from calque.experiments.reproduce.tables import Block

ACCURATE = 0.05
"""A run with a smaller accuracy@1 has failed (Artetxe, Labaka, Agirre 2018 call those above it successful)."""
CORRELATED = 0.1
"""A run with a smaller Pearson correlation has failed."""


@dataclass(frozen=True)
class Measure:
    """What is read off a run."""

    retrieval: str = "nn"
    """nn or csls; without meaning for similarity."""
    k: int = 1


@dataclass(frozen=True)
class Cell:
    """One method in one direction."""

    values: tuple[float, ...]
    """Of the runs that succeeded: per cent for accuracy, the correlation itself for similarity."""
    failed: int
    """Runs that raised, or stayed under the threshold."""
    expected: int
    """Runs there will be; 0 where files are missing."""
    paper: tuple[float | None, ...] = ()
    """The published figure, None where the paper has a dash; empty where it has no such cell."""
    disagreed: int = 0
    """Runs called aligned that failed, or called failed that succeeded."""
    asked: float = 0.0
    """Words (or pairs) that could be asked, on average."""
    missing: float = 0.0
    """Words (or pairs) that could not."""

    @property
    def finished(self) -> int:
        """Runs made so far."""
        return len(self.values) + self.failed

    @property
    def pending(self) -> int:
        """Runs still to be made."""
        return self.expected - self.finished

    @property
    def mean(self) -> float | None:
        """Over the runs that succeeded."""
        return fmean(self.values) if self.values else None

    @property
    def deviation(self) -> float | None:
        """Of the sample; None for a single value."""
        return stdev(self.values) if len(self.values) > 1 else None


@dataclass(frozen=True)
class Reading:
    """One run as one cell sees it."""

    value: float | None
    """None where it failed."""
    disagreed: bool
    asked: int
    missing: int


@dataclass(frozen=True)
class Grid:
    """A plan, and the runs that fill it so far."""

    plan: Plan
    runs: Mapping[Key, Run]
    """Not to be added to: cells are kept once computed, since every format asks for the same ones."""
    cells: dict[tuple[str, str, Measure], Cell] = field(default_factory=dict, repr=False)
    bests: dict[tuple[str, Measure], set[str]] = field(default_factory=dict, repr=False)

    def cell(self, entrant: Entrant, direction: str, measure: Measure) -> Cell:
        """What the finished runs say of a method in a direction."""
        place = (entrant.name, direction, measure)
        if place not in self.cells:
            self.cells[place] = self._cell(entrant, direction, measure)
        return self.cells[place]

    def _cell(self, entrant: Entrant, direction: str, measure: Measure) -> Cell:
        inputs, table = self.plan.column(entrant, direction), self.plan.table
        if inputs.missing(table, entrant.supervised):
            return Cell((), 0, 0, _published(self.block(direction), entrant, direction, measure))
        seeds = self.plan.seeds(entrant)
        runs = [self.runs[key] for seed in seeds if (key := key_of(entrant, inputs, seed)) in self.runs]
        found = [read(run, direction if table.task == "translation" else "similarity", measure) for run in runs]
        told = [each for each in found if each.asked]
        return Cell(
            values=tuple(each.value for each in found if each.value is not None),
            failed=sum(each.value is None for each in found),
            expected=len(seeds),
            paper=_published(self.block(direction), entrant, direction, measure),
            disagreed=sum(each.disagreed for each in found),
            asked=fmean(each.asked for each in told) if told else 0.0,
            missing=fmean(each.missing for each in told) if told else 0.0,
        )

    def block(self, direction: str) -> Block:
        """The block that has this column."""
        return next(each for each in self.plan.table.blocks if direction in each.directions)

    def blocks(self) -> list[Block]:
        """The blocks of the table, with the columns asked for."""
        asked = [each for pair in self.plan.pairs for each in self.plan.table.directions(pair)]
        return [block for each in self.plan.table.blocks if (block := each.only(asked)).directions]

    def best(self, direction: str, measure: Measure) -> set[str]:
        """The methods with the highest mean of their category, as they would be printed."""
        if (direction, measure) not in self.bests:
            supervised = [each for each in self.plan.entrants if each.supervised]
            others = [each for each in self.plan.entrants if not each.supervised]
            winners = self._best_of(supervised, direction, measure) | self._best_of(others, direction, measure)
            self.bests[direction, measure] = winners
        return self.bests[direction, measure]

    def _best_of(self, rows: list[Entrant], direction: str, measure: Measure) -> set[str]:
        means = {each.name: self.cell(each, direction, measure).mean for each in rows}
        digits = 1 if self.plan.table.task == "translation" else 3
        shown = {name: round(mean, digits) for name, mean in means.items() if mean is not None}
        return {name for name, mean in shown.items() if mean == max(shown.values())}


def read(run: Run, judge: str, measure: Measure) -> Reading:
    """A run by one judge: a direction, or 'similarity'."""
    if run.error(judge):
        return Reading(None, run.making.verdict == "aligned", 0, 0)
    value, success, asked, missing = _similarity(run) if judge == "similarity" else _accuracy(run, judge, measure)
    disagreed = run.making.verdict == ("failed" if success else "aligned")
    return Reading(value if success else None, disagreed, asked, missing)


def _accuracy(run: Run, direction: str, measure: Measure) -> tuple[float, bool, int, int]:
    score = run.score.translation[direction][measure.retrieval]
    return 100 * score.accuracy(measure.k), score.accuracy(1) >= ACCURATE, score.asked, score.missing


def _similarity(run: Run) -> tuple[float, bool, int, int]:
    score = run.score.similarity
    assert score is not None, "a run that counts for similarity was judged by it"
    return score.pearson, score.pearson >= CORRELATED, score.used, score.missing


def _published(block: Block, entrant: Entrant, direction: str, measure: Measure) -> tuple[float | None, ...]:
    """The paper retrieves by nearest neighbour and prints the first candidate's accuracy alone."""
    return block.figure(entrant.name, direction) if measure == Measure() else ()
