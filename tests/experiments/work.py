"""What jobs of the tests do; workers import it too."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from calque.data.space import Space
from calque.experiments.jobs import Watch


@dataclass(frozen=True)
class Seen:
    """What a job found where it ran."""

    words: tuple[str, ...]
    total: float
    threads: int
    process: int


def look(spaces: Sequence[Space], _: Watch) -> Seen:
    words = tuple(word for space in spaces for word in space.words)
    total = sum(float(space.vectors.sum()) for space in spaces)
    return Seen(words, total, torch.get_num_threads(), os.getpid())


def fail(*_: object) -> None:
    raise MemoryError("full")


@dataclass(frozen=True)
class Waits:
    """The first time, says who it is and waits to be killed; later it comes back at once."""

    place: Path

    def __call__(self, spaces: Sequence[Space], _: Watch) -> int:
        if self.place.exists():
            return len(spaces)
        beside = self.place.with_suffix(".part")
        beside.write_text(str(os.getpid()))
        beside.rename(self.place)
        while True:
            time.sleep(0.05)
