"""Does many jobs at once, by Ray: on this machine with nothing to set up, or on a cluster.

Spaces are read once, on the machine of the command, and lie in Ray's object store: once on every node, for all of its
workers. Ray itself retries nothing here, so that every loss can be told and counted.
"""

from __future__ import annotations

import logging
import os
import socket
import traceback
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, cast

from calque.data.space import Space
from calque.errors import CalqueError, SettingsError
from calque.experiments.jobs.job import Done, Happening, Job, Lost, Mended, Result, Share, Started, Unreadable, Watch
from calque.experiments.jobs.local import threads
from calque.experiments.jobs.machine import cores
from calque.experiments.jobs.spaces import Packed, Shelf, SpaceFile, pack, try_space, unpack
from calque.progress import never

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing leaves this machine
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # what becomes of workers is told by us; Ray would say it on stdout
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # a job knows its device
}
KNOCK = 10.0
"""Seconds in which a cluster must answer."""
LOOK = 0.2
"""Seconds between two looks at whether to stop."""
UNPACKED = 4
"""So many spaces a worker keeps unpacked: two are in use, and the next job often wants one of them."""


class WorkerLostError(Exception):
    """A job was lost with its worker, or raised where only its words came back."""


@contextmanager
def connected(address: str, workers: int | None, most_cpus: int) -> Iterator[float]:
    """Ray, for as long as this lasts: one of our own, or the cluster at an address; how many GPUs it has.

    Where this process is connected already, that connection serves, and stays.
    """
    ray = _ray()
    mine = not ray.is_initialized()
    if mine:
        _check_answers(address)
        try:
            ray.init(**_where(address, workers, most_cpus), log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, ValueError, RuntimeError) as error:
            told = " ".join(str(error).split())[:200]
            where = f"at {address}; is it running, and is its token here" if address else "on this machine"
            raise SettingsError(f"no Ray could be reached {where} ({told})") from error
    try:
        _check_fit(ray, most_cpus)
        yield float(ray.cluster_resources().get("GPU", 0.0))
    finally:
        if mine:
            ray.shutdown()


def _check_answers(address: str) -> None:
    """Ray would knock for many minutes at a door behind which nobody is."""
    host, _, port = address.rpartition(":")
    if not address or address == "auto":
        return
    if not host or not port.isdecimal():
        raise SettingsError(f"--address is {address!r}; expected 'auto' or HOST:PORT, such as 10.0.0.1:6379")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK).close()
    except (OSError, OverflowError) as error:
        raise SettingsError(f"no Ray could be reached at {address} ({error}); is it running there?") from error


def _ray() -> Any:
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    import ray

    return ray


def _where(address: str, workers: int | None, most_cpus: int) -> dict[str, Any]:
    if address:
        return {"address": address}
    asked = cores() if workers is None else workers * most_cpus
    return {"address": "local", "num_cpus": max(asked, most_cpus), "include_dashboard": False}


def _check_fit(ray: Any, most_cpus: int) -> None:
    """A job that fits nowhere would wait for ever."""
    largest = max((each["Resources"].get("CPU", 0.0) for each in ray.nodes() if each["Alive"]), default=0.0)
    if largest < most_cpus:
        raise SettingsError(
            f"a run takes {most_cpus} cpus, but the largest node has {largest:g}; make its share smaller"
        )


@dataclass(frozen=True)
class OnRay:
    """As many jobs at once as there are workers for; needs ``connected`` around it."""

    workers: int | None = None
    """How many at once; without it, as many as fit."""
    retries: int = 0
    """How often a job is tried again that raised, or whose worker died."""
    hold: int | None = None
    """How many spaces Ray keeps for later jobs; all without."""
    stopped: Callable[[], bool] = never

    def work(self, jobs: Sequence[Job[Result]]) -> Iterator[Happening[Result]]:
        """Do them in about their order; those at hand when asked to stop are dropped."""
        shift = _Shift(_ray(), self, jobs)
        try:
            yield from shift.work()
        finally:
            shift.drop()


@dataclass(frozen=True)
class _Ended:
    """What a worker sends back."""

    result: Any = None
    notes: tuple[str, ...] = ()
    unreadable: str = ""
    raised: str = ""


class _Shift(Generic[Result]):
    """The state of the work."""

    def __init__(self, ray: Any, crew: OnRay, jobs: Sequence[Job[Result]]) -> None:
        self.ray, self.crew, self.left = ray, crew, deque(jobs)
        self.running: dict[Any, Job[Result]] = {}
        self.trials: Counter[str] = Counter()
        self.shares = {_share(job) for job in jobs}
        self.told: set[str] = set()
        self.do = ray.remote(_do)
        self.read, self.near = ray.remote(_read), _near(ray)
        self.shelf = Shelf(self._fetch, (job.needs for job in jobs), crew.hold)

    def work(self) -> Iterator[Happening[Result]]:
        """Keep every worker busy until nothing is left."""
        while (self.left or self.running) and not self.crew.stopped():
            at_once = self._at_once()
            while self.left and len(self.running) < at_once:
                yield self._begin(self.left.popleft(), at_once)
            ready, _ = self.ray.wait(list(self.running), timeout=LOOK)
            for reference in ready:
                yield from self._end(reference, self.running.pop(reference))

    def drop(self) -> None:
        """Let go of whatever runs."""
        for reference in self.running:
            self.ray.cancel(reference, force=True)

    def _at_once(self) -> int:
        """Asked anew every time: nodes come and go."""
        if self.crew.workers is not None:
            return self.crew.workers
        there = self.ray.cluster_resources()
        return max(1, *(_fitting(there, share) for share in self.shares))

    def _begin(self, job: Job[Result], at_once: int) -> Started[Result]:
        share, spaces = _share(job), self.shelf.take(job.needs)
        options = {"num_cpus": share.cpus, "num_gpus": share.gpus, "max_retries": 0, "name": f"calque {job.name}"}
        self.running[self.do.options(**options).remote(job.does, share, job.needs, *spaces)] = job
        self.trials[job.name] += 1
        return Started(job, at_once)

    def _fetch(self, file: SpaceFile) -> Any:
        options = {"num_cpus": 0, "scheduling_strategy": self.near, "name": f"calque reads {file.path.name}"}
        return self.read.options(**options).remote(file)

    def _end(self, reference: Any, job: Job[Result]) -> Iterator[Happening[Result]]:
        ended = self._ended(reference)
        for note in (each for each in ended.notes if each not in self.told):
            self.told.add(note)
            yield Mended(note)
        if ended.raised:
            yield self._lost(job, WorkerLostError(ended.raised))
            return
        self.shelf.finished(job.needs)
        if ended.unreadable:
            yield Unreadable(job, CalqueError(ended.unreadable))
        else:
            yield Done(job, cast(Result, ended.result))

    def _ended(self, reference: Any) -> _Ended:
        try:
            return cast(_Ended, self.ray.get(reference))
        except self.ray.exceptions.RayError as error:
            return _Ended(raised=_why(self.ray, error))

    def _lost(self, job: Job[Result], error: Exception) -> Lost[Result]:
        """What was read for it may have been lost with it, and is read again."""
        trial = self.trials[job.name]
        again = max(0, self.crew.retries + 1 - trial)
        if again:
            self.shelf.forget(job.needs)
            self.left.append(job)
        else:
            self.shelf.finished(job.needs)
        return Lost(job, error, trial, again)


def _why(ray: Any, error: Exception) -> str:
    """In a line, why nothing came back."""
    if isinstance(error, ray.exceptions.RayTaskError):
        return str(error).strip().splitlines()[-1]
    return f"its worker died ({type(error).__name__})"


def _near(ray: Any) -> Any:
    """On the machine of the command, where the files are; elsewhere only where it has no room for anything."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)


def _fitting(there: Mapping[str, float], share: Share) -> int:
    """How many jobs of a share run beside each other."""
    by_cores = there.get("CPU", 0.0) / share.cpus
    return int(min(by_cores, there.get("GPU", 0.0) / share.gpus) if share.gpus else by_cores)


def _share(job: Job[Result]) -> Share:
    return job.share or Share()


def _read(file: SpaceFile) -> Packed | str:
    """In a worker: a space as arrays, or what is wrong with its file."""
    found = try_space(file)
    return str(found) if isinstance(found, CalqueError) else pack(found)


def _do(does: Callable[..., Any], share: Share, needs: Sequence[SpaceFile], *packed: Packed | str) -> _Ended:
    """In a worker: one job. What it raises comes back as words, since not every exception can travel."""
    unreadable = next((each for each in packed if isinstance(each, str)), "")
    if unreadable:
        return _Ended(unreadable=unreadable)
    read = [each for each in packed if isinstance(each, Packed)]
    notes = tuple(note for each in read for note in each.notes)
    try:
        with threads(share):
            return _Ended(does([_unpacked(*each) for each in zip(needs, read, strict=True)], Watch()), notes)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return _Ended(notes=notes, raised=f"{type(error).__name__}: {error} ({place.name}, line {place.lineno})")


_spaces: OrderedDict[SpaceFile, Space] = OrderedDict()


def _unpacked(file: SpaceFile, packed: Packed) -> Space:
    """In a worker: the space of a file, whose words are decoded once."""
    if file not in _spaces:
        _spaces[file] = unpack(packed)
    _spaces.move_to_end(file)
    while len(_spaces) > UNPACKED:
        _spaces.popitem(last=False)
    return _spaces[file]
