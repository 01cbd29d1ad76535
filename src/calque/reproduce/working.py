"""Makes the runs of a plan one after the other, keeps each, and tells whoever watches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from statistics import fmean
from typing import Any

import torch

from calque import recipe as recipes
from calque.alignment import Alignment
from calque.errors import CalqueError, RunError
from calque.progress import Listen, never, quiet
from calque.recipe import Recipe
from calque.reproduce.cells import Grid
from calque.reproduce.digests import Digests
from calque.reproduce.entrants import Entrant
from calque.reproduce.inputs import Inputs
from calque.reproduce.machine import machine, versions
from calque.reproduce.news import Began, Broke, Ended, Note, Standing, Tell, nobody
from calque.reproduce.plan import Job, Plan, key_of
from calque.reproduce.runs import Keep, Key, Making, Run, Score, settings_digest
from calque.reproduce.scoring import judge
from calque.reproduce.shelf import Shelf

KEPT = (CalqueError, ArithmeticError, torch.linalg.LinAlgError)  # type: ignore[attr-defined]
"""What a method may fail by: such a run is kept as failed. Anything else is not its doing, and is tried again."""


@dataclass(frozen=True)
class Engine:
    """What finds and runs recipes."""

    find: Callable[[str], Recipe] = recipes.find
    run: Callable[..., Alignment] = recipes.run
    run_seeds: Callable[..., list[Alignment]] = recipes.run_seeds

    def recipe(self, entrant: Entrant) -> Recipe:
        """The recipe of a row, with what the row changes in it."""
        base = self.find(entrant.recipe or entrant.name)
        if not entrant.changes:
            return base
        return replace(base, name=entrant.name, settings=recipes.changed(base.settings, entrant.changes, "settings"))

    def together(self, entrant: Entrant, device: str) -> bool:
        """Whether seeds run as a batch: on a GPU, where the method can.

        Elsewhere a batch saves nothing, and a kill would lose all of it.
        """
        kind = recipes.METHODS.get(self.recipe(entrant).method)
        able = kind is not None and kind.together is not None and not entrant.supervised
        return able and recipes.choose_device(device).type == "cuda"


@dataclass(frozen=True)
class Bench:
    """What the work needs around it."""

    plan: Plan
    keep: Keep
    digests: Digests
    engine: Engine = field(default_factory=Engine)
    tell: Tell = nobody
    listen: Listen = quiet
    stopped: Callable[[], bool] = never
    shelf: Shelf = field(default_factory=Shelf)
    runs: dict[Key, Run] = field(default_factory=dict)
    """What is finished and still true."""

    def take_up(self) -> None:
        """Find the runs that were finished before."""
        for job in self.plan.jobs:
            found = self.finished(job.entrant, job.inputs, job.seed)
            if found is not None:
                self.runs[job.key] = found

    def finished(self, entrant: Entrant, inputs: Inputs, seed: int) -> Run | None:
        """The run that was kept, if recipe and inputs are still those it was made from."""
        try:
            found = self.keep.find(key_of(entrant, inputs, seed))
        except RunError as error:
            self.tell(Note(str(error)))
            return None
        if found is None:
            return None
        needed = self.inputs(inputs, inputs.required(self.plan.table, entrant.supervised))
        if found.making.settings != settings_digest(self.engine.recipe(entrant)):
            return None
        judges = ("similarity",) if self.plan.table.task == "similarity" else inputs.directions(entrant.supervised)
        return found if needed.items() <= found.making.inputs.items() and found.answers(judges) else None

    def inputs(self, inputs: Inputs, parts: Iterable[str]) -> dict[str, str]:
        """Digests of those parts that are there."""
        return {part: self.digests.of(inputs.files[part]) for part in parts if part in inputs.files}

    def left(self) -> list[Job]:
        """The jobs that have no run yet."""
        return [job for job in self.plan.jobs if job.key not in self.runs]

    def grid(self) -> Grid:
        """The table as it is now."""
        return Grid(self.plan, dict(self.runs))

    def standing(self) -> Standing:
        """How far the table is."""
        known, left = expected_seconds(self.runs), self.left()
        sure = [known[job.entrant.name] for job in left if job.entrant.name in known]
        return Standing(len(self.plan.jobs) - len(left), len(self.plan.jobs), sum(sure), len(left) - len(sure))


def expected_seconds(runs: Mapping[Key, Run]) -> dict[str, float]:
    """By method, what a run of it took on average, judging included."""
    taken: dict[str, list[float]] = {}
    for key, run in runs.items():
        taken.setdefault(key.method, []).append(run.making.seconds + run.making.scoring)
    return {method: fmean(seconds) for method, seconds in taken.items()}


def work(bench: Bench) -> Iterator[Run]:
    """Make every run that is left, cheapest first; ends early once asked to stop, without the run it was at.

    A file that cannot be read leaves the cells of its pair empty, and is raised once all others are done.
    """
    unreadable: CalqueError | None = None
    for batch in _batches(bench):
        if bench.stopped():
            return
        key = batch[0].key
        try:
            bench.shelf.fetch(batch[0].inputs, batch[0].seed, batch[0].entrant.supervised)
        except CalqueError as error:
            unreadable = unreadable or error
            continue
        bench.tell(Began(key.method, key.pair, tuple(job.seed for job in batch), bench.standing()))
        for run in _made(bench, batch):
            bench.keep.put(run)
            if any(run.key == job.key for job in batch):
                bench.runs[run.key] = run
                bench.tell(Ended(run, bench.standing()))
                yield run
    if unreadable is not None:
        raise unreadable


def _batches(bench: Bench) -> Iterator[list[Job]]:
    """Seeds of one method on one pair, together where that is faster than one after the other."""
    for _, group in groupby(bench.left(), key=lambda job: (job.entrant.name, job.inputs.pair)):
        jobs = list(group)
        if bench.engine.together(jobs[0].entrant, bench.plan.request.device):
            yield jobs
        else:
            yield from ([job] for job in jobs)


def _made(bench: Bench, batch: Sequence[Job]) -> Iterator[Run]:
    """The runs of a batch; where a batch fails as a whole, its seeds are tried one by one."""
    began = time.monotonic()
    try:
        alignments = _align(bench, batch)
    except Exception as error:
        if len(batch) > 1:
            for job in batch:
                yield from _made(bench, [job])
        elif isinstance(error, KEPT):
            yield from _failed(bench, batch[0], error, time.monotonic() - began)
        else:
            bench.tell(Broke(batch[0].key, error))
        return
    seconds = (time.monotonic() - began) / len(batch)
    if not bench.stopped():
        yield from _judged(bench, batch, alignments, seconds)


def _align(bench: Bench, batch: Sequence[Job]) -> list[Alignment]:
    job, recipe = batch[0], bench.engine.recipe(batch[0].entrant)
    source, target = (bench.shelf.space(job.inputs, side) for side in ("source", "target"))
    how: dict[str, Any] = {
        "device": bench.plan.request.device,
        "listen": bench.listen,
        "stopped": bench.stopped,
    }
    if len(batch) > 1:
        return bench.engine.run_seeds(recipe, source, target, [each.seed for each in batch], **how)
    if job.entrant.supervised:
        how |= {"lexicon": bench.shelf.train(job.inputs, job.seed), "judged": False}
    return [bench.engine.run(recipe, source, target, seed=job.seed, **how)]


def _judged(bench: Bench, batch: Sequence[Job], alignments: Sequence[Alignment], seconds: float) -> Iterator[Run]:
    """A run for each seed, and one more for each other lexicon that can judge it too."""
    for job, alignment in zip(batch, alignments, strict=True):
        for inputs in _judges(bench, job):
            began = time.monotonic()
            score = judge(bench.shelf, inputs, alignment, job.entrant.supervised, job.seed)
            making = replace(
                _making(bench, job, inputs),
                verdict=str(alignment.verdict),
                seconds=round(seconds, 3),
                scoring=round(time.monotonic() - began, 3),
                together=len(batch),
                device=machine(alignment.record.device),
            )
            yield Run(key_of(job.entrant, inputs, job.seed), score, making)


def _failed(bench: Bench, job: Job, error: Exception, seconds: float) -> Iterator[Run]:
    """Runs of which nothing is left but why."""
    told = str(error) if isinstance(error, CalqueError) else f"{type(error).__name__}: {error}"
    score = Score(errors={"run": " ".join(told.split())})
    for inputs in _judges(bench, job):
        making = replace(_making(bench, job, inputs), seconds=round(seconds, 3))
        yield Run(key_of(job.entrant, inputs, job.seed), score, making)


def _judges(bench: Bench, job: Job) -> list[Inputs]:
    """The other lexicons that have not judged this run yet, then its own."""
    others = [each for each in job.siblings if bench.finished(job.entrant, each, job.seed) is None]
    return [*others, job.inputs]


def _making(bench: Bench, job: Job, inputs: Inputs) -> Making:
    """What this run depends on: all that it was shown, and all that it was judged by."""
    supervised = job.entrant.supervised
    parts = (*inputs.learned(supervised), *inputs.tested(supervised), "judged")
    digest = settings_digest(bench.engine.recipe(job.entrant))
    return Making(digest, bench.inputs(inputs, parts), versions=versions())
