"""What whoever watches many runs being made is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from calque.experiments.jobs.runs import Named, Run


@dataclass(frozen=True)
class Standing:
    """How far it is."""

    done: int
    total: int
    seconds: float
    """Expected for what is left, from finished runs of the same methods."""
    unknown: int
    """Runs that are left of methods of which none has finished yet."""


@dataclass(frozen=True)
class Began:
    """These seeds of a method are running."""

    method: str
    pair: str
    seeds: tuple[int, ...]
    standing: Standing


@dataclass(frozen=True)
class Ended:
    """A run was made and kept."""

    run: Run[Any]
    standing: Standing


@dataclass(frozen=True)
class Broke:
    """A run was lost to something that is not the method's doing."""

    key: Named
    error: Exception
    again: int = 0
    """How often it is still tried now; 0 where it is left for the next time."""


@dataclass(frozen=True)
class Note:
    """Something the reader should know."""

    text: str


News = Began | Ended | Broke | Note
Tell = Callable[[News], None]
"""What is told of all of it: lines on a terminal, a list in a test."""


def nobody(news: News) -> None:
    """Watches nothing."""
