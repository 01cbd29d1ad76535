"""Independent jobs: what a job is, what it needs of a machine, and what can happen to it.

A backend does the jobs: one after the other in this process (backends.py), or many at once with Ray (ray_backend.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import torch

from calque.data.space import Space
from calque.progress import Listen, never, quiet

Result = TypeVar("Result")


@dataclass(frozen=True)
class SpaceFile:
    """Where a space is read from, and how much of it."""

    path: Path
    counts: Path | None = None
    limit: int | None = None
    """How many words to read; None reads all."""
    words: Path | None = None
    """The word list of a bare .npy array."""
    cache: bool = True
    """Whether a large file is kept in the cache once it is read."""


@dataclass(frozen=True)
class Resources:
    """What one job takes of a machine."""

    cpus: int = 1
    """Cores, and so the threads of torch: the result must not depend on the jobs that run beside it."""
    gpus: float | None = None
    """A part of a GPU: with 0.25, four jobs share one. None: a quarter if there is a GPU and the device allows it."""


@dataclass(frozen=True)
class Watch:
    """Follows a job from within: hears its steps, and may ask it to stop."""

    listen: Listen = quiet
    stopped: Callable[[], bool] = never


@dataclass(frozen=True)
class Job(Generic[Result]):
    """Something to be done once, anywhere, in any order."""

    name: str
    """How it is called while it runs."""
    work: Callable[[Sequence[Space], Watch], Result]
    """Gets the spaces that the job needs, in their order. If it raises, the job is lost and may be tried again."""
    needs: tuple[SpaceFile, ...] = ()
    resources: Resources | None = None
    """None: everything that this process has; one core on Ray."""


@dataclass(frozen=True)
class JobStarted(Generic[Result]):
    """A job is running."""

    job: Job[Result]
    at_once: int
    """How many jobs may run at the same time, this one among them."""


@dataclass(frozen=True)
class JobDone(Generic[Result]):
    """A job has ended with a result."""

    job: Job[Result]
    result: Result


@dataclass(frozen=True)
class JobLost(Generic[Result]):
    """A job has no result: it raised, its worker died, or it was not started because a file cannot be read."""

    job: Job[Result]
    error: Exception
    trial: int = 1
    """How often it was tried so far."""
    again: int = 0
    """How often it will still be tried; 0 if this is the end of it."""
    unreadable: bool = False
    """Whether a file is the reason."""


@dataclass(frozen=True)
class FileMended:
    """Something in a file was mended or left out; reported once for each file."""

    note: str


JobEvent = JobStarted[Result] | JobDone[Result] | JobLost[Result] | FileMended


class Backend(Protocol):
    """Does jobs: one after the other in this process, or many at once elsewhere."""

    def work(self, jobs: Sequence[Job[Result]]) -> Iterator[JobEvent[Result]]:
        """Do all jobs, and report what happens; ends early when asked to stop."""
        ...


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def torch_threads(resources: Resources | None) -> Iterator[None]:
    """As many threads as the job has cores; the number from before comes back at the end."""
    before = torch.get_num_threads()
    torch.set_num_threads(before if resources is None else resources.cpus)
    try:
        yield
    finally:
        torch.set_num_threads(before)
