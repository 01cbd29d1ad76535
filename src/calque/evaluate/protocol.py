"""What every evaluation task can do: load its gold data, score an alignment into counts, and summarise the score.

A new task is one file with a class of these methods, and one line in ``tasks.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from calque.runs.alignment import Alignment

Gold = TypeVar("Gold")
Score = TypeVar("Score", bound="TaskScore", covariant=True)


class TaskScore(Protocol):
    """Counts, and how they are shown."""

    def rows(self) -> list[list[str]]:
        """A table for people: its head, then its lines. A row of one cell is a sentence."""
        ...

    def as_json(self) -> dict[str, Any]:
        """Counts and shares, as ``--json`` prints them and ``scores.json`` keeps them."""
        ...


@dataclass(frozen=True)
class GoldData(Generic[Gold]):
    """What people wrote down, and what the user should know about the file."""

    data: Gold
    notes: tuple[str, ...] = ()


class EvaluationTask(Protocol[Gold, Score]):
    """A way to judge alignments. Options, such as k, are fields of the task."""

    @property
    def name(self) -> str:
        """The key of its score in ``scores.json``."""
        ...

    @property
    def gold_name(self) -> str:
        """What its gold data are called there."""
        ...

    def load(self, path: Path) -> GoldData[Gold]:
        """Read the gold data; LexiconError where the file cannot be used."""
        ...

    def remarks(self, alignment: Alignment, gold: Gold) -> tuple[str, ...]:
        """What makes this score of this alignment better or worse than it should be."""
        ...

    def score(self, alignment: Alignment, gold: Gold) -> Score:
        """Score an alignment."""
        ...
