"""How far many runs are, counted as they finish: asking is cheap however many there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from calque.experiments.jobs.events import Standing
from calque.experiments.jobs.runs import Named, Run


class Tally:
    """Counts runs by method, and what they took."""

    def __init__(self, keys: Iterable[Named]) -> None:
        self.left = Counter(key.method for key in keys)
        self.total = sum(self.left.values())
        self.taken: dict[str, tuple[int, float]] = {}
        self.at_once = 1
        """How many run beside each other."""

    def finished(self, run: Run[Any]) -> None:
        """A run that was asked for is there."""
        self.left[run.key.method] -= 1
        self.known(run)

    def known(self, run: Run[Any]) -> None:
        """What a run took, judging included: others of its method will take as long."""
        runs, seconds = self.taken.get(run.key.method, (0, 0.0))
        self.taken[run.key.method] = runs + 1, seconds + run.making.seconds + run.making.scoring

    def standing(self) -> Standing:
        """Done, total, and what is expected for the rest."""
        left = sum(self.left.values())
        sure = {method: count for method, count in self.left.items() if method in self.taken}
        seconds = sum(count * self._mean(method) for method, count in sure.items())
        return Standing(self.total - left, self.total, seconds / self.at_once, left - sum(sure.values()))

    def _mean(self, method: str) -> float:
        runs, seconds = self.taken[method]
        return seconds / runs
