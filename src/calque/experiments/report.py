"""From runs to the cells of a table: mean and deviation over seeds, and what a reader should know about them."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean, stdev

from calque.experiments.paper_tables import Block, Task
from calque.experiments.plan import Entrant, ExperimentPlan, LanguagePair
from calque.experiments.results import ExperimentKey, FinishedRun, LostRun
from calque.experiments.worker import machine
from calque.recipes.running import versions

ACCURATE = 0.05
"""In a table of the paper, a run with a smaller accuracy@1 has failed.

Artetxe, Labaka, Agirre 2018 call those above it successful.
"""
CORRELATED = 0.1
"""In a table of the paper, a run with a smaller Pearson correlation has failed."""
VERDICTS = "aligned", "doubtful", "failed"


@dataclass(frozen=True)
class Measure:
    """Which figure of a run is shown."""

    retrieval: str = "nn"
    """nn or csls; without meaning for similarity."""
    k: int = 1


@dataclass(frozen=True)
class Cell:
    """One method in one direction, over all seeds."""

    values: tuple[float, ...]
    """Of the runs that succeeded: per cent for accuracy, the correlation itself for similarity."""
    failed: int = 0
    """Runs without a score, and in a table of the paper also those under the threshold."""
    expected: int = 0
    """Runs there will be; 0 if files are missing."""
    paper: tuple[float | None, ...] = ()
    """The published figure, None where the paper has a dash; empty if it has no such cell."""
    disagreed: int = 0
    """Runs called aligned that failed, or called failed that succeeded."""
    asked: float = 0.0
    """Words (or pairs) that could be asked, on average."""
    missing: float = 0.0
    """Words (or pairs) that could not."""
    verdicts: Mapping[str, int] = field(default_factory=dict)
    """How often calque gave each verdict."""
    errors: tuple[str, ...] = ()
    """Why figures are missing, each line once."""
    seconds: float | None = None
    """To align, on average."""

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
class Report:
    """A plan and the runs that fill its table so far. Cells are kept, because every format asks for the same ones."""

    plan: ExperimentPlan
    runs: Mapping[ExperimentKey, FinishedRun]
    lost: Mapping[ExperimentKey, LostRun] = field(default_factory=dict)
    """Runs that were tried and are not there."""
    cells: dict[tuple[str, str, Measure], Cell] = field(default_factory=dict, repr=False)

    @property
    def measure(self) -> Measure:
        """What the printed table shows."""
        return Measure(self.plan.retrieval)

    @property
    def task(self) -> Task:
        """What the runs are judged by."""
        return "translation" if self.plan.paper is None else self.plan.paper.table.task

    @cached_property
    def entrants(self) -> tuple[Entrant, ...]:
        """The rows of the table: all methods that were asked for, and others that have finished runs."""
        hidden = self.plan.hidden - {key.method for key in self.runs} if self.plan.hidden else frozenset()
        return tuple(entrant for entrant in self.plan.entrants if entrant.name not in hidden)

    def cell(self, method: str, direction: str, measure: Measure) -> Cell:
        """What the finished runs say of a method in a direction."""
        place = (method, direction, measure)
        if place not in self.cells:
            self.cells[place] = self._cell(method, direction, measure)
        return self.cells[place]

    def _cell(self, method: str, direction: str, measure: Measure) -> Cell:
        keys, paper = self.plan.columns.get((method, direction), ()), self.plan.paper
        runs = [self.runs[key] for key in keys if key in self.runs]
        judge = "similarity" if self.task == "similarity" else direction
        values: list[float] = []
        scored: list[tuple[int, int]] = []
        disagreed = 0
        for run in runs:
            value, successful, asked, missing = _figure(run, judge, measure, strict=paper is not None)
            values += [value] if successful else []
            scored += [(asked, missing)] if asked else []
            disagreed += run.provenance.verdict == ("failed" if successful else "aligned")
        reasons = [run.error(judge) for run in runs] + [str(self.lost[key]) for key in keys if key in self.lost]
        # The paper retrieves by nearest neighbour, and prints the accuracy of the first candidate alone.
        printed = paper is not None and measure == Measure()
        return Cell(
            tuple(values),
            len(runs) - len(values),
            len(keys),
            self.block(direction).figure(method, direction) if printed else (),
            disagreed,
            fmean(asked for asked, _ in scored) if scored else 0.0,
            fmean(missing for _, missing in scored) if scored else 0.0,
            Counter(run.provenance.verdict.split()[0] for run in runs if run.provenance.verdict),
            tuple(dict.fromkeys(" ".join(reason.split()) for reason in reasons if reason)),
            fmean(run.provenance.seconds for run in runs) if runs else None,
        )

    def rows(self, retrieval: str = "") -> Iterator[tuple[LanguagePair, str, Cell]]:
        """Pairs in the order of the plan, each there and back, each by every method."""
        measure = Measure(retrieval or self.plan.retrieval)
        for pair in self.plan.pairs:
            for way in (pair, LanguagePair(pair.target, pair.source)):
                for entrant in self.entrants:
                    yield way, entrant.name, self._cell(entrant.name, way.name, measure)

    def block(self, direction: str) -> Block:
        """The block of the paper's table that has this column."""
        assert self.plan.paper is not None
        return next(block for block in self.plan.paper.table.blocks if direction in block.directions)

    def blocks(self) -> list[Block]:
        """The blocks of the paper's table, with the columns that were asked for."""
        assert self.plan.paper is not None
        table = self.plan.paper.table
        asked = [direction for pair in self.plan.pairs for direction in table.directions(pair.name)]
        blocks = [block.only(asked) for block in table.blocks]
        return [block for block in blocks if block.directions]

    def best(self, direction: str) -> set[str]:
        """The methods with the highest mean of their category, as they are printed."""
        best: set[str] = set()
        digits = 1 if self.task == "translation" else 3
        for supervised in (True, False):
            rows = [entrant.name for entrant in self.entrants if entrant.supervised == supervised]
            means = {name: self.cell(name, direction, self.measure).mean for name in rows}
            shown = {name: round(mean, digits) for name, mean in means.items() if mean is not None}
            best |= {name for name, mean in shown.items() if mean == max(shown.values())}
        return best

    def head(self) -> dict[str, str]:
        """How a table of the paper was made: command, machine, date, versions, vectors and lexicon."""
        paper = self.plan.paper
        assert paper is not None
        devices = Counter(run.provenance.device for run in self.runs.values() if run.provenance.device)
        datasets: dict[str, list[str]] = {}
        for pair in self.plan.pairs:
            served = {experiment.key.pair for experiment in self.plan.experiments} & {pair.name, pair.back}
            if served:
                datasets.setdefault(paper.files[pair.name].dataset, []).append(pair.name)
        halves = "halved at random by seed" if paper.table.split else "training and test part as published"
        return {
            "command": paper.request.command,
            "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
            "machine": machine(""),
            "runs": "; ".join(f"{count} on {name}" for name, count in devices.most_common()) or "none yet",
            "versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
            "vectors": "; ".join(f"{name} ({', '.join(pairs)})" for name, pairs in datasets.items()),
            "lexicon": f"{paper.request.lexicon}, {halves}",
        }

    def missing_files(self) -> dict[str, tuple[str, ...]]:
        """By pair, the files that are not there."""
        assert self.plan.paper is not None
        files = {pair.name: self.plan.paper.missing(pair.name, self.entrants) for pair in self.plan.pairs}
        return {pair: names for pair, names in files.items() if names}

    def failures(self) -> list[tuple[FinishedRun, str]]:
        """Finished runs without some score, and why."""
        return [(run, line) for run in self.runs.values() for line in dict.fromkeys(run.score.errors.values())]

    def timings(self) -> list[tuple[str, float, int, str]]:
        """For each method that has runs: its label, the mean seconds to align, how many runs, and on which devices."""
        timings = []
        for entrant in self.entrants:
            runs = [run.provenance for run in self.runs.values() if run.key.method == entrant.name]
            if runs:
                devices = "; ".join(sorted({run.device for run in runs} - {""}))
                timings.append((entrant.label, fmean(run.seconds for run in runs), len(runs), devices))
        return timings

    def coverage(self, direction: str) -> tuple[float, float]:
        """Words or pairs that could be asked and that could not, on average over all runs of a direction."""
        cells = [self.cell(entrant.name, direction, Measure()) for entrant in self.entrants]
        asked = [cell for cell in cells if cell.asked]
        return (fmean(cell.asked for cell in asked), fmean(cell.missing for cell in asked)) if asked else (0.0, 0.0)

    def disagreements(self) -> tuple[int, int]:
        """How often verdict and figures disagreed, and of how many; supervised methods are given no verdict."""
        columns: Sequence[str] = [direction for block in self.blocks() for direction in block.directions]
        judged = [entrant.name for entrant in self.entrants if not entrant.supervised]
        cells = [self.cell(name, direction, Measure()) for name in judged for direction in columns]
        return sum(cell.disagreed for cell in cells), sum(cell.finished for cell in cells)


def _figure(run: FinishedRun, judge: str, measure: Measure, strict: bool) -> tuple[float, bool, int, int]:
    """The figure of a run, whether the run succeeded, and how many words or pairs were asked and not asked.

    Without ``strict`` every run with a score has succeeded.
    """
    if run.error(judge):
        return 0.0, False, 0, 0
    if judge == "similarity":
        similarity = run.score.similarity
        assert similarity is not None, "a run that counts for similarity was judged by it"
        return similarity.pearson, similarity.pearson >= CORRELATED, similarity.used, similarity.missing
    if judge not in run.score.translation:
        return 0.0, False, 0, 0
    score = run.score.translation[judge][measure.retrieval]
    successful = not strict or score.accuracy(1) >= ACCURATE
    return 100 * score.accuracy(measure.k), successful, score.asked, score.missing
