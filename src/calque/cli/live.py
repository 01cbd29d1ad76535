"""What a person sees while it works: a bar a stage on a terminal, and Ctrl-C that keeps the best so far."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from calque.progress import Listen, Step, quiet

STAGES = {
    "search": "searching",
    "second look": "looking again",
    "wider search": "searching wider",
    "alternate": "aligning",
    "refine": "refining",
    "contrast": "contrasting",
    "adversary": "adversary",
    "transport": "transport",
    "judge": "judging",
    "pairs": "pairs",
    "reconcile": "reconciling",
    "shared space": "sharing",
}

SEARCHES = "search", "wider search", "judge"
"""Of these the best start counts, not the last; costs of one do not compare with costs of the other."""


class Interruption:
    """The first Ctrl-C asks to finish with the best so far; the second stops at once."""

    def __init__(self, told: str) -> None:
        self.asked, self.told = False, told

    def __call__(self) -> bool:
        """Whether to finish."""
        return self.asked

    def hear(self, number: int, frame: FrameType | None) -> None:
        """Take a signal."""
        if self.asked:
            signal.default_int_handler(number, frame)
        self.asked = True
        print(f"calque: {self.told}; Ctrl-C again to stop at once", file=sys.stderr)


@contextmanager
def interruptible(told: str = "finishing with the best so far") -> Iterator[Interruption]:
    """Ctrl-C becomes a request, for as long as this lasts; ``told`` is said to whoever makes it."""
    interruption = Interruption(told)
    earlier = signal.signal(signal.SIGINT, interruption.hear)
    try:
        yield interruption
    finally:
        signal.signal(signal.SIGINT, earlier)


@contextmanager
def bars(shown: bool) -> Iterator[Listen]:
    """A listener that draws a bar for each stage on stderr, where that is a terminal."""
    if not shown or not sys.stderr.isatty():
        yield quiet
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:<10}"),
        BarColumn(),
        TextColumn("{task.fields[told]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield _Drawing(progress).hear


class _Drawing:
    def __init__(self, progress: Any) -> None:
        self.progress, self.tasks = progress, dict[str, Any]()
        self.best = dict.fromkeys(SEARCHES, float("inf"))

    def hear(self, step: Step) -> None:
        if step.stage not in self.tasks:
            self.tasks[step.stage] = self.progress.add_task(STAGES.get(step.stage, step.stage), told="")
        self.progress.update(self.tasks[step.stage], completed=step.number, total=step.total, told=self._told(step))

    def _told(self, step: Step) -> str:
        if "pair" in step.values:
            return " ".join(str(step.values[name]) for name in ("pair", "verdict") if name in step.values)
        cost = step.values.get("cost")
        if isinstance(cost, (int, float)):
            if step.stage not in SEARCHES:
                return f"cost {cost:.3f}"
            self.best[step.stage] = min(self.best[step.stage], float(cost))
            return f"{step.number} starts, best cost {self.best[step.stage]:.3f}"
        return ", ".join(f"{value:g} {name}" for name, value in step.values.items() if isinstance(value, (int, float)))
