"""What is reported while many runs are made, and how much time is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from calque.experiments.results import ExperimentKey, FinishedRun


@dataclass(frozen=True)
class Progress:
    """How far the work is."""

    done: int
    total: int
    seconds: float
    """Expected for the rest, from finished runs of the same methods."""
    unknown: int
    """Runs that are left of methods without any finished run."""


@dataclass(frozen=True)
class RunStarted:
    """These seeds of a method are running."""

    method: str
    pair: str
    seeds: tuple[int, ...]
    progress: Progress


@dataclass(frozen=True)
class RunEnded:
    """A run was made and kept."""

    run: FinishedRun
    progress: Progress


@dataclass(frozen=True)
class RunBroken:
    """A run was lost by no fault of its method."""

    key: ExperimentKey
    error: Exception
    again: int = 0
    """How often it is still tried now; 0 if it is left for the next time."""


@dataclass(frozen=True)
class Note:
    """Something the reader should know."""

    text: str


ExperimentEvent = RunStarted | RunEnded | RunBroken | Note
Listener = Callable[[ExperimentEvent], None]
"""Hears every event: lines on a terminal, a list in a test."""


def ignore(event: ExperimentEvent) -> None:
    """Hears nothing."""


class TimeLeft:
    """Counts runs by method, and the seconds they took; asking is cheap however many runs there are."""

    def __init__(self, keys: Iterable[ExperimentKey]) -> None:
        self.left = Counter(key.method for key in keys)
        self.total = sum(self.left.values())
        self.taken: dict[str, tuple[int, float]] = {}
        """By method, how many runs are known and how many seconds they took."""
        self.at_once = 1
        """How many run at the same time."""

    def finish(self, run: FinishedRun) -> None:
        """Count a run that belongs to the work."""
        self.left[run.key.method] -= 1
        self.learn(run)

    def learn(self, run: FinishedRun) -> None:
        """Remember how long a run took, judging included: others of its method will take as long."""
        runs, seconds = self.taken.get(run.key.method, (0, 0.0))
        self.taken[run.key.method] = runs + 1, seconds + run.provenance.seconds + run.provenance.scoring

    def progress(self) -> Progress:
        """Done, total, and what is expected for the rest."""
        left, expected, seconds = sum(self.left.values()), 0, 0.0
        for method, (runs, taken) in self.taken.items():
            expected += self.left[method]
            seconds += self.left[method] * taken / runs
        return Progress(self.total - left, self.total, seconds / self.at_once, left - expected)
