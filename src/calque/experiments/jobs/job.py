"""Independent jobs: what each does, which spaces it is given, and what happens to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from calque.data.space import Space
from calque.errors import CalqueError
from calque.experiments.jobs.spaces import SpaceFile
from calque.progress import Listen, never, quiet

Result = TypeVar("Result")


@dataclass(frozen=True)
class Share:
    """What of a machine one job takes."""

    cpus: int = 1
    """Cores, and so the threads that torch may use: a result must not depend on how many jobs run beside it."""
    gpus: float = 0.0
    """A quarter lets four jobs share one GPU; without any it runs on the CPU."""


@dataclass(frozen=True)
class Watch:
    """Who follows a job from within: hears its steps, and may ask it to stop."""

    listen: Listen = quiet
    stopped: Callable[[], bool] = never


@dataclass(frozen=True)
class Job(Generic[Result]):
    """Something to be done once, anywhere, in any order."""

    name: str
    """What to call it while it runs."""
    does: Callable[[Sequence[Space], Watch], Result]
    """Is given the spaces that it needs, in their order. What it raises is not its result: it may be done again."""
    needs: tuple[SpaceFile, ...] = ()
    share: Share | None = None
    """None: whatever this process has; one core elsewhere."""


@dataclass(frozen=True)
class Started(Generic[Result]):
    """A job is running."""

    job: Job[Result]
    at_once: int
    """How many may run beside each other, itself among them."""


@dataclass(frozen=True)
class Done(Generic[Result]):
    """A job came to its end."""

    job: Job[Result]
    result: Result


@dataclass(frozen=True)
class Unreadable(Generic[Result]):
    """A job was not begun, since a file that it needs cannot be read."""

    job: Job[Result]
    error: CalqueError


@dataclass(frozen=True)
class Lost(Generic[Result]):
    """A job broke off: it raised, or its worker died."""

    job: Job[Result]
    error: Exception
    trial: int = 1
    """How often it was tried so far."""
    again: int = 0
    """How often it will still be tried; 0 where this is the end of it."""


@dataclass(frozen=True)
class Mended:
    """Something in a file was mended or left out; told once a file."""

    note: str


Fate = Started[Result] | Done[Result] | Unreadable[Result] | Lost[Result]
"""What happens to a job."""
Happening = Fate[Result] | Mended


class Crew(Protocol):
    """Whoever does jobs: one after the other here, or many at once elsewhere."""

    def work(self, jobs: Sequence[Job[Result]]) -> Iterator[Happening[Result]]:
        """Do them all, and say what happens as it happens; ends early where it is asked to stop."""
        ...
