"""Chooses who does the jobs: this process, or Ray on this machine or on a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec

import torch

from calque.errors import CalqueError, MissingExtraError, SettingsError
from calque.experiments.jobs import (
    Backend,
    FileMended,
    Job,
    JobDone,
    JobEvent,
    JobLost,
    JobStarted,
    Resources,
    Result,
    Watch,
    cores,
    torch_threads,
)
from calque.experiments.ray_backend import RayBackend, connected
from calque.experiments.space_cache import LoadedSpace, SpaceCache, try_space

RETRIES = 2
"""How often a job is tried again that was lost by no fault of its own."""
HOLD = 32
"""How many spaces stay in memory."""
GPU_PART = 0.25
"""The part of a GPU that a run takes by default: its kernels are small, and four runs hardly slow each other down."""


@dataclass(frozen=True)
class BackendOptions:
    """Who does the jobs."""

    workers: int | None = None
    """How many jobs at once, 0 for this process; None: as many as fit."""
    address: str = ""
    """Of a Ray cluster; empty for this machine."""
    retries: int = RETRIES
    hold: int = HOLD

    def __post_init__(self) -> None:
        for name, value, least in (("workers", self.workers, 0), ("retries", self.retries, 0), ("hold", self.hold, 2)):
            if value is not None and value < least:
                raise SettingsError(f"--{name} is {value}; expected at least {least}")
        if self.address.startswith("ray://"):
            raise SettingsError(
                f"--address is {self.address!r}; expected 'auto' or HOST:PORT, typed on a node of the cluster"
            )
        if self.address and self.workers == 0:
            raise SettingsError("--workers is 0, which is this process, but --address names a cluster; leave one out")

    @property
    def local(self) -> bool:
        """Whether this process does all jobs: because it was asked to, or because Ray is missing and not asked for."""
        return self.workers == 0 or (self.workers is None and not self.address and not has_ray())


def has_ray() -> bool:
    """Whether the extra is installed."""
    return find_spec("ray") is not None


@contextmanager
def choose_backend(options: BackendOptions, most_cpus: int, watch: Watch) -> Iterator[tuple[Backend, float]]:
    """The backend, and how many GPUs it has; ``most_cpus`` is what the largest job takes."""
    if options.local:
        if most_cpus > cores():
            raise SettingsError(f"a run takes {most_cpus} cpus, but there are {cores()} here; make its share smaller")
        yield LocalBackend(watch, options.hold), float(torch.cuda.device_count())
        return
    if not has_ray():
        raise MissingExtraError("ray", "sweep", "running several jobs at once, or on a cluster,")
    with connected(options.address, options.workers, most_cpus) as gpus:
        yield RayBackend(options.workers, options.retries, options.hold, watch.stopped), gpus


def assign_device(device: str, wanted: Resources, gpus_there: float) -> tuple[str, Resources]:
    """The device that a job runs on, and what it takes, with so many GPUs there."""
    if device == "cuda" and not gpus_there:
        raise SettingsError("device is 'cuda', but there is no GPU where the runs would be made; use 'cpu' or 'auto'")
    if device == "cpu" or not gpus_there:
        return "cpu", Resources(wanted.cpus, 0.0)
    gpus = GPU_PART if wanted.gpus is None else wanted.gpus
    return "cuda" if gpus else "cpu", Resources(wanted.cpus, gpus)


@dataclass(frozen=True)
class LocalBackend:
    """Does jobs in this process. It tries nothing twice: the same process would have the same result."""

    watch: Watch = field(default_factory=Watch)
    hold: int | None = None
    """How many spaces may be in memory at once; None for any number."""

    def work(self, jobs: Sequence[Job[Result]]) -> Iterator[JobEvent[Result]]:
        """Do the jobs in their order; the running job decides for itself what to do when asked to stop."""
        reported: set[str] = set()
        spaces = SpaceCache(try_space, (job.needs for job in jobs), self.hold)
        for job in jobs:
            if self.watch.stopped():
                return
            loaded = spaces.take(job.needs)
            readable = [space for space in loaded if isinstance(space, LoadedSpace)]
            error = next((error for error in loaded if isinstance(error, CalqueError)), None)
            if error is not None:
                yield JobLost(job, error, unreadable=True)
            else:
                for note in [note for space in readable for note in space.notes if note not in reported]:
                    reported.add(note)
                    yield FileMended(note)
                yield JobStarted(job, 1)
                yield self._run(job, readable)
            spaces.finished(job.needs)

    def _run(self, job: Job[Result], loaded: Sequence[LoadedSpace]) -> JobEvent[Result]:
        try:
            with torch_threads(job.resources):
                return JobDone(job, job.work([space.space for space in loaded], self.watch))
        except Exception as error:
            return JobLost(job, error)
