"""How long-running work reports its progress: one event a step, to a listener."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Step:
    """One step of one stage."""

    stage: str
    number: int
    """Counted from 1."""
    total: int
    """The largest number of steps that there can be."""
    values: Mapping[str, float | str | tuple[float, ...]] = field(default_factory=dict)
    """What was measured or chosen: cost, the costs so far, pairs, kind of start…"""


Listen = Callable[[Step], None]
"""Called with every step: a progress bar, a log, a list in a test."""


def quiet(step: Step) -> None:
    """The listener that does nothing."""


def never() -> bool:
    """The answer to "stop?" when nobody can ask for it."""
    return False


class Clock:
    """Passes every step on, and keeps it with its time. A stage lasts from the last step before it to its own last."""

    def __init__(self, listen: Listen) -> None:
        self.listen, self.began, self.last = listen, time.monotonic(), 0.0
        self.log: list[dict[str, Any]] = []
        self.seconds: dict[str, float] = {}

    def hear(self, step: Step) -> None:
        """Keep a step, and pass it on."""
        now = time.monotonic() - self.began
        self.seconds[step.stage] = self.seconds.get(step.stage, 0.0) + now - self.last
        self.last = now
        self.log.append({"stage": step.stage, "number": step.number, "seconds": round(now, 3), **step.values})
        self.listen(step)

    def rounded(self) -> dict[str, float]:
        """Seconds of each stage, to the millisecond."""
        return {stage: round(seconds, 3) for stage, seconds in self.seconds.items()}
