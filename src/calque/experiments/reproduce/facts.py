"""What stands around the figures: how a table was made, what it lacks, and what failed in it."""

from __future__ import annotations

import datetime
from collections import Counter
from dataclasses import dataclass
from statistics import fmean

from calque.experiments.jobs import machine, versions
from calque.experiments.reproduce.cells import Grid, Measure
from calque.experiments.reproduce.runs import Run
from calque.experiments.reproduce.tables import turned


@dataclass(frozen=True)
class Timing:
    """What a method took."""

    method: str
    seconds: float
    """To align, on average."""
    runs: int
    devices: tuple[str, ...]


def today() -> str:
    """The date, in UTC."""
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def head(grid: Grid) -> dict[str, str]:
    """Command, machine, date and versions."""
    devices = Counter(run.making.device for run in grid.runs.values() if run.making.device)
    made = "; ".join(f"{count} on {name}" for name, count in devices.most_common())
    told = {
        "command": grid.plan.request.command,
        "date": today(),
        "machine": machine(""),
        "runs": made or "none yet",
        "versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
    }
    return told | {"vectors": vectors(grid), "lexicon": lexicon(grid)}


def vectors(grid: Grid) -> str:
    """Which vectors serve which pairs, of those that have any."""
    by_set: dict[str, list[str]] = {}
    served = {each for job in grid.plan.jobs for each in (job.inputs.pair, turned(job.inputs.pair))}
    for pair in (each for each in grid.plan.pairs if each in served):
        by_set.setdefault(grid.plan.inputs[pair].dataset, []).append(pair)
    return "; ".join(f"{name} ({', '.join(pairs)})" for name, pairs in by_set.items())


def lexicon(grid: Grid) -> str:
    """Which lexicon, and how it comes to be two halves."""
    halves = "halved at random by seed" if grid.plan.table.split else "training and test part as published"
    return f"{grid.plan.lexicon}, {halves}"


def missing(grid: Grid) -> dict[str, tuple[str, ...]]:
    """By pair, the files that are not there."""
    found = {pair: grid.plan.missing(pair) for pair in grid.plan.pairs}
    return {pair: names for pair, names in found.items() if names}


def failures(grid: Grid) -> list[tuple[Run, str]]:
    """Runs that raised, with why."""
    return [(run, line) for run in grid.runs.values() for line in dict.fromkeys(run.score.errors.values())]


def timings(grid: Grid) -> list[Timing]:
    """By method, in the order of the table."""
    found = []
    for entrant in grid.plan.entrants:
        runs = [run for run in grid.runs.values() if run.key.method == entrant.name]
        if runs:
            devices = tuple(sorted({run.making.device for run in runs} - {""}))
            found.append(Timing(entrant.label, fmean(run.making.seconds for run in runs), len(runs), devices))
    return found


def coverage(grid: Grid, direction: str) -> tuple[float, float]:
    """Words or pairs that could be asked and that could not, on average over all runs of a direction."""
    cells = [grid.cell(each, direction, Measure()) for each in grid.plan.entrants]
    told = [each for each in cells if each.asked]
    return (fmean(each.asked for each in told), fmean(each.missing for each in told)) if told else (0.0, 0.0)


def disagreements(grid: Grid) -> tuple[int, int]:
    """How often verdict and figures disagreed, of how many cells' runs; supervised methods are given no verdict."""
    columns = [direction for block in grid.blocks() for direction in block.directions]
    judged = [each for each in grid.plan.entrants if not each.supervised]
    cells = [grid.cell(entrant, each, Measure()) for entrant in judged for each in columns]
    return sum(each.disagreed for each in cells), sum(each.finished for each in cells)
