"""How long work reports itself: one event a step, to whoever listens."""

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
    """How many there are at most."""
    values: Mapping[str, float | str | tuple[float, ...]] = field(default_factory=dict)
    """What was measured or chosen: cost, the costs on the way there, pairs, kind of start…"""


Listen = Callable[[Step], None]
"""What is told of every step: a progress bar, a log, a list in a test."""


def quiet(step: Step) -> None:
    """Listens to nothing."""


def never() -> bool:
    """Nobody asks to stop."""
    return False
