"""The starts of a search: what each cost, turn by turn, and how it compares with the winner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calque.verdict import Verdict

SEARCH_STAGES = ("search", "wider search", "deep search", "judge")
"""The stages whose steps are starts, in the order in which they run; 'judge' is that of maps found in another way."""


@dataclass(frozen=True)
class SearchStart:
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
    """Of its arena; 0 where the log does not say."""
    path: tuple[float, ...]
    """Its cost after every turn; empty where the log does not say."""
    role: str
    """winner, same (as the winner), elsewhere, between the two, other arena; unknown before the verdict."""


def search_starts(log: Sequence[Mapping[str, Any]], verdict: Verdict | None = None) -> tuple[SearchStart, ...]:
    """Every start in a log, in the order they ran; () where there is none."""
    events = [event for event in log if event.get("stage") in SEARCH_STAGES]
    events = [event for event in events if isinstance(event.get("cost"), (int, float))]
    roles = () if verdict is None else verdict.evidence.get("roles", ())
    if len(roles) != len(events):
        roles = ("unknown",) * len(events)
    return tuple(
        SearchStart(
            number=number,
            stage=str(event["stage"]),
            kind=str(event.get("kind", "")),
            seconds=float(event.get("seconds", 0.0)),
            cost=float(event["cost"]),
            dimensions=int(event.get("dimensions", 0)),
            path=tuple(float(cost) for cost in event.get("path", ())),
            role=role,
        )
        for number, (event, role) in enumerate(zip(events, roles, strict=True), start=1)
    )
