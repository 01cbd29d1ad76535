"""The search as a picture: what every start cost, turn by turn, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calque.verdict import Verdict

STAGES = ("search", "wider search", "judge")
"""The stages whose steps are starts, in the order in which they run; 'judge' is that of maps found in another way."""


@dataclass(frozen=True)
class Start:
    """One start of a search."""

    number: int
    """Counted from 1, over all stages."""
    stage: str
    kind: str
    """profiles, random, learned; 'given' for a map that is judged."""
    seconds: float
    """When it ended, since the run began."""
    cost: float
    """At which it ended."""
    dimensions: int
    """Of its arena; 0 where the log does not tell."""
    path: tuple[float, ...]
    """Its cost after every turn; empty where the log does not tell."""
    role: str
    """winner, same (as the winner), elsewhere, between the two, other arena; unknown before the verdict."""


def starts_of(log: Sequence[Mapping[str, Any]], verdict: Verdict | None = None) -> tuple[Start, ...]:
    """Every start that a log tells of, in the order they ran; () where it tells of none."""
    events = [each for each in log if each.get("stage") in STAGES and isinstance(each.get("cost"), (int, float))]
    roles = () if verdict is None else verdict.evidence.get("roles", ())
    if len(roles) != len(events):
        roles = ("unknown",) * len(events)
    return tuple(_start(number, *each) for number, each in enumerate(zip(events, roles, strict=True), start=1))


def _start(number: int, event: Mapping[str, Any], role: str) -> Start:
    return Start(
        number=number,
        stage=str(event["stage"]),
        kind=str(event.get("kind", "")),
        seconds=float(event.get("seconds", 0.0)),
        cost=float(event["cost"]),
        dimensions=int(event.get("dimensions", 0)),
        path=tuple(float(each) for each in event.get("path", ())),
        role=role,
    )
