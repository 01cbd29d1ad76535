"""Who does the jobs: this process, or Ray on this machine or on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec

import torch

from calque.errors import MissingExtraError, SettingsError
from calque.experiments.jobs.job import Crew, Share, Watch
from calque.experiments.jobs.local import Here
from calque.experiments.jobs.machine import cores
from calque.experiments.jobs.on_ray import OnRay, connected

RETRIES = 2
"""How often a job is tried again that was lost to something else than itself."""
HOLD = 32
"""So many spaces stay in memory, whoever wants them later."""
GPU_SHARE = 0.25
"""What a run takes of a GPU unless told otherwise: its kernels are small, and four runs hardly hold each other up."""


@dataclass(frozen=True)
class Options:
    """By whom jobs are done."""

    workers: int | None = None
    """How many at once, 0 for this process; without it, as many as fit."""
    address: str = ""
    """Of a Ray cluster; without it, this machine."""
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
    def here(self) -> bool:
        """Whether this process does all of it: asked for, or for want of Ray where nobody asked for workers."""
        return self.workers == 0 or (self.workers is None and not self.address and not has_ray())


def has_ray() -> bool:
    """Whether the extra is installed."""
    return find_spec("ray") is not None


@contextmanager
def choose_crew(options: Options, most_cpus: int, watch: Watch) -> Iterator[tuple[Crew, float]]:
    """Whoever does the jobs, and how many GPUs they have, for as long as this lasts.

    ``most_cpus`` is the largest share that a job will have.
    """
    if options.here:
        if most_cpus > cores():
            raise SettingsError(f"a run takes {most_cpus} cpus, but there are {cores()} here; make its share smaller")
        yield Here(watch, options.hold), float(torch.cuda.device_count())
        return
    if not has_ray():
        raise MissingExtraError("ray", "sweep", "running several jobs at once, or on a cluster,")
    with connected(options.address, options.workers, most_cpus) as gpus:
        yield OnRay(options.workers, options.retries, options.hold, watch.stopped), gpus


def take_share(device: str, cpus: int, gpus: float | None, there: float) -> tuple[str, Share]:
    """The device that a job runs on, and its share, where there are so many GPUs; None: as much as is usual."""
    if device == "cuda" and not there:
        raise SettingsError("device is 'cuda', but there is no GPU where the runs would be made; use 'cpu' or 'auto'")
    part = 0.0 if device == "cpu" or not there else GPU_SHARE if gpus is None else gpus
    return "cuda" if part else "cpu", Share(cpus, part)
