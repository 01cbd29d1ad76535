"""How long-running work reports its progress: one event a step, to a listener."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


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
