"""Which runs fill the tables, and the folder where they are kept."""

from __future__ import annotations

from dataclasses import dataclass

from calque.experiments import jobs
from calque.experiments.jobs import Making, Score

__all__ = ["Keep", "Key", "Making", "Run", "Score"]


@dataclass(frozen=True)
class Key:
    """Which run it is."""

    dataset: str
    lexicon: str
    pair: str
    method: str
    seed: int

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.dataset}-{self.lexicon}.{self.pair}.{self.method}.{self.seed}.json"


Run = jobs.Run[Key]
"""One method on one pair with one seed, finished."""


@dataclass(frozen=True)
class Keep(jobs.Keep[Key]):
    """The folder of finished runs."""

    kind: type[Key] = Key
