"""Does jobs in this process, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

from calque.errors import CalqueError
from calque.experiments.jobs.job import Done, Happening, Job, Lost, Mended, Result, Share, Started, Unreadable, Watch
from calque.experiments.jobs.spaces import Loaded, Shelf, try_space


@dataclass(frozen=True)
class Here:
    """Tries nothing twice: in the same process the same would come of it."""

    watch: Watch = field(default_factory=Watch)
    hold: int | None = None
    """How many spaces may be in memory at once; any number without."""

    def work(self, jobs: Sequence[Job[Result]]) -> Iterator[Happening[Result]]:
        """Do them in their order; the one at hand when asked to stop decides for itself what comes of it."""
        told: set[str] = set()
        shelf = Shelf(try_space, (job.needs for job in jobs), self.hold)
        for job in jobs:
            if self.watch.stopped():
                return
            yield from self._job(job, shelf, told)
            shelf.finished(job.needs)

    def _job(self, job: Job[Result], shelf: Shelf[Loaded | CalqueError], told: set[str]) -> Iterator[Happening[Result]]:
        loaded: list[Loaded] = []
        for each in shelf.take(job.needs):
            if isinstance(each, CalqueError):
                yield Unreadable(job, each)
                return
            loaded.append(each)
        for note in (note for each in loaded for note in each.notes if note not in told):
            told.add(note)
            yield Mended(note)
        yield Started(job, 1)
        yield self._ended(job, loaded)

    def _ended(self, job: Job[Result], loaded: Sequence[Loaded]) -> Happening[Result]:
        try:
            with threads(job.share):
                return Done(job, job.does([each.space for each in loaded], self.watch))
        except Exception as error:
            return Lost(job, error)


@contextmanager
def threads(share: Share | None) -> Iterator[None]:
    """As many threads as a job has cores, for as long as it lasts."""
    before = torch.get_num_threads()
    torch.set_num_threads(before if share is None else share.cpus)
    try:
        yield
    finally:
        torch.set_num_threads(before)
