"""Does many jobs at once with Ray: on this machine with nothing to set up, or on a cluster.

Spaces are read once, on the machine of the command, and lie in Ray's object store: once on every node, for all of its
workers. Ray itself retries nothing here, so that every loss can be reported and counted.
"""

from __future__ import annotations

import logging
import os
import socket
import traceback
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Any, Generic, cast

from calque.data.space import Space
from calque.errors import CalqueError, SettingsError
from calque.experiments.jobs import (
    FileMended,
    Job,
    JobDone,
    JobEvent,
    JobLost,
    JobStarted,
    Resources,
    Result,
    SpaceFile,
    Watch,
    cores,
    torch_threads,
)
from calque.experiments.space_cache import PackedSpace, SpaceCache, pack, try_space, unpack
from calque.progress import never

ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing leaves this machine
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # we report what happens to workers; Ray would print it on stdout
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # a job knows its device
}
CONNECTION_TIMEOUT = 10.0
"""Seconds in which a cluster must answer."""
POLLING_INTERVAL = 0.2
"""Seconds between two looks at whether to stop."""
UNPACKED = 4
"""How many spaces a worker keeps unpacked: two are in use, and the next job often needs one of them."""


class WorkerLostError(Exception):
    """A job was lost with its worker, or it raised and only the text of the error came back."""


@contextmanager
def connected(address: str, workers: int | None, most_cpus: int) -> Iterator[float]:
    """A connection to Ray: one of our own, or the cluster at an address. Yields how many GPUs it has.

    If this process is connected already, that connection is used, and stays.
    """
    ray = _import_ray()
    ours = not ray.is_initialized()
    if ours:
        check_address_answers(address)
        if address:
            where: dict[str, Any] = {"address": address}
        else:
            wanted = cores() if workers is None else workers * most_cpus
            where = {"address": "local", "num_cpus": max(wanted, most_cpus), "include_dashboard": False}
        try:
            ray.init(**where, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, ValueError, RuntimeError) as error:
            reason = " ".join(str(error).split())[:200]
            place = f"at {address}; is it running, and is its token here" if address else "on this machine"
            raise SettingsError(f"no Ray could be reached {place} ({reason})") from error
    try:
        # A job that fits on no node would wait for ever.
        largest = max((node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]), default=0.0)
        if largest < most_cpus:
            raise SettingsError(
                f"a run takes {most_cpus} cpus, but the largest node has {largest:g}; make its share smaller"
            )
        yield float(ray.cluster_resources().get("GPU", 0.0))
    finally:
        if ours:
            ray.shutdown()


def check_address_answers(address: str) -> None:
    """Refuse an address where nothing listens; Ray itself would try for many minutes."""
    host, _, port = address.rpartition(":")
    if not address or address == "auto":
        return
    if not host or not port.isdecimal():
        raise SettingsError(f"--address is {address!r}; expected 'auto' or HOST:PORT, such as 10.0.0.1:6379")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECTION_TIMEOUT).close()
    except (OSError, OverflowError) as error:
        raise SettingsError(f"no Ray could be reached at {address} ({error}); is it running there?") from error


def _import_ray() -> Any:
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    import ray

    return ray


@dataclass(frozen=True)
class RayBackend:
    """Does as many jobs at once as there are workers; needs ``connected`` around it."""

    workers: int | None = None
    """How many jobs at once; None: as many as fit."""
    retries: int = 0
    """How often a job is tried again that raised, or whose worker died."""
    hold: int | None = None
    """How many spaces Ray keeps for later jobs; None for all."""
    stopped: Callable[[], bool] = never

    def work(self, jobs: Sequence[Job[Result]]) -> Iterator[JobEvent[Result]]:
        """Do the jobs in about their order; those that run when asked to stop are dropped."""
        queue = _Queue(_import_ray(), self, jobs)
        try:
            yield from queue.work()
        finally:
            for reference in queue.running:
                queue.ray.cancel(reference, force=True)


@dataclass(frozen=True)
class _Reply:
    """What a worker sends back."""

    result: Any = None
    notes: tuple[str, ...] = ()
    unreadable: str = ""
    raised: str = ""


class _Queue(Generic[Result]):
    """Jobs that wait, and jobs that run."""

    def __init__(self, ray: Any, backend: RayBackend, jobs: Sequence[Job[Result]]) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self.ray, self.backend, self.left = ray, backend, deque(jobs)
        self.running: dict[Any, Job[Result]] = {}
        self.trials: Counter[str] = Counter()
        self.resources = {job.resources or Resources() for job in jobs}
        self.reported: set[str] = set()
        self.do, self.read = ray.remote(_do), ray.remote(_read)
        # Files are read on the machine of the command, and elsewhere only if it has no room for anything.
        self.near = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
        self.spaces = SpaceCache(self._fetch, (job.needs for job in jobs), backend.hold)

    def work(self) -> Iterator[JobEvent[Result]]:
        """Keep every worker busy until nothing is left."""
        while (self.left or self.running) and not self.backend.stopped():
            at_once = self._at_once()
            while self.left and len(self.running) < at_once:
                yield self._start(self.left.popleft(), at_once)
            ready, _ = self.ray.wait(list(self.running), timeout=POLLING_INTERVAL)
            for reference in ready:
                yield from self._end(reference, self.running.pop(reference))

    def _at_once(self) -> int:
        """How many jobs may run now; it can change at any time, because nodes come and go."""
        if self.backend.workers is not None:
            return self.backend.workers
        there = self.ray.cluster_resources()
        cpus, gpus = there.get("CPU", 0.0), there.get("GPU", 0.0)
        fitting = (min(cpus / job.cpus, gpus / job.gpus if job.gpus else inf) for job in self.resources)
        return max(1, *map(int, fitting))

    def _start(self, job: Job[Result], at_once: int) -> JobStarted[Result]:
        resources, spaces = job.resources or Resources(), self.spaces.take(job.needs)
        options = {
            "num_cpus": resources.cpus,
            "num_gpus": resources.gpus or 0.0,
            "max_retries": 0,
            "name": f"calque {job.name}",
        }
        self.running[self.do.options(**options).remote(job.work, resources, job.needs, *spaces)] = job
        self.trials[job.name] += 1
        return JobStarted(job, at_once)

    def _fetch(self, file: SpaceFile) -> Any:
        options = {"num_cpus": 0, "scheduling_strategy": self.near, "name": f"calque reads {file.path.name}"}
        return self.read.options(**options).remote(file)

    def _end(self, reference: Any, job: Job[Result]) -> Iterator[JobEvent[Result]]:
        try:
            reply = cast(_Reply, self.ray.get(reference))
        except self.ray.exceptions.RayTaskError as error:
            reply = _Reply(raised=str(error).strip().splitlines()[-1])
        except self.ray.exceptions.RayError as error:
            reply = _Reply(raised=f"its worker died ({type(error).__name__})")
        for note in [note for note in reply.notes if note not in self.reported]:
            self.reported.add(note)
            yield FileMended(note)
        trial = self.trials[job.name]
        again = max(0, self.backend.retries + 1 - trial) if reply.raised else 0
        if again:  # what was read for it may have been lost with it, and is read again
            self.spaces.forget(job.needs)
            self.left.append(job)
        else:
            self.spaces.finished(job.needs)
        if reply.raised:
            yield JobLost(job, WorkerLostError(reply.raised), trial, again)
        elif reply.unreadable:
            yield JobLost(job, CalqueError(reply.unreadable), trial, unreadable=True)
        else:
            yield JobDone(job, cast(Result, reply.result))


def _read(file: SpaceFile) -> PackedSpace | str:
    """In a worker: a space as arrays, or what is wrong with its file."""
    space = try_space(file)
    return str(space) if isinstance(space, CalqueError) else pack(space)


def _do(
    work: Callable[..., Any], resources: Resources, needs: Sequence[SpaceFile], *packed: PackedSpace | str
) -> _Reply:
    """In a worker: one job. An error comes back as text, because not every exception can be sent."""
    unreadable = next((error for error in packed if isinstance(error, str)), "")
    if unreadable:
        return _Reply(unreadable=unreadable)
    readable = [space for space in packed if isinstance(space, PackedSpace)]
    notes = tuple(note for space in readable for note in space.notes)
    try:
        with torch_threads(resources):
            spaces = [_unpacked(file, space) for file, space in zip(needs, readable, strict=True)]
            return _Reply(work(spaces, Watch()), notes)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return _Reply(notes=notes, raised=f"{type(error).__name__}: {error} ({place.name}, line {place.lineno})")


_spaces: OrderedDict[SpaceFile, Space] = OrderedDict()


def _unpacked(file: SpaceFile, packed: PackedSpace) -> Space:
    """In a worker: the space of a file, whose words are decoded once."""
    if file not in _spaces:
        _spaces[file] = unpack(packed)
    _spaces.move_to_end(file)
    while len(_spaces) > UNPACKED:
        _spaces.popitem(last=False)
    return _spaces[file]
