"""Has the runs of a plan made, keeps each, and tells whoever watches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby

from calque.errors import CalqueError, RunError
from calque.experiments import jobs
from calque.experiments.jobs import (
    Began,
    Broke,
    Crew,
    Digests,
    Ended,
    Here,
    Making,
    Note,
    Share,
    Tally,
    Tell,
    nobody,
    settings_digest,
    versions,
)
from calque.experiments.reproduce.cells import Grid
from calque.experiments.reproduce.entrants import Entrant
from calque.experiments.reproduce.inputs import Inputs
from calque.experiments.reproduce.plan import Job, Plan, key_of
from calque.experiments.reproduce.running import Engine, Judging, Made, Order, make
from calque.experiments.reproduce.runs import Keep, Key, Run
from calque.experiments.reproduce.shelf import Shelf, space_file


@dataclass(frozen=True)
class Bench:
    """What the work needs around it."""

    plan: Plan
    keep: Keep
    digests: Digests
    engine: Engine = field(default_factory=Engine)
    crew: Crew = field(default_factory=Here)
    device: str = "auto"
    share: Share | None = None
    """What a job takes of where it runs; None in this process."""
    tell: Tell = nobody
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

    def tally(self) -> Tally:
        """How far the table is."""
        tally, asked = Tally(job.key for job in self.plan.jobs), {job.key for job in self.plan.jobs}
        for key, run in self.runs.items():
            (tally.finished if key in asked else tally.known)(run)
        return tally


def work(bench: Bench) -> Iterator[Run]:
    """Make every run that is left, cheapest first; ends early once asked to stop, without the run it was at.

    A file that cannot be read leaves the cells of its pair empty, and is raised once all others are done.
    """
    tally, (orders, unreadable) = bench.tally(), _orders(bench)
    batches = {job.name: order.batch for order, job in orders}
    for news in bench.crew.work([job for _, job in orders]):
        if isinstance(news, jobs.Mended):
            bench.tell(Note(news.note))
        elif isinstance(news, jobs.Unreadable):
            unreadable = unreadable or news.error
        elif isinstance(news, jobs.Started):
            tally.at_once, key = news.at_once, batches[news.job.name][0].key
            seeds = tuple(job.seed for job in batches[news.job.name])
            bench.tell(Began(key.method, key.pair, seeds, tally.standing()))
        elif isinstance(news, jobs.Lost):
            bench.tell(Broke(batches[news.job.name][0].key, news.error, news.again))
        else:
            yield from _finished(bench, batches[news.job.name], news.result, tally)
    if unreadable is not None:
        raise unreadable


def _finished(bench: Bench, batch: tuple[Job, ...], made: Made, tally: Tally) -> Iterator[Run]:
    """Keep what came of a job."""
    asked = {job.key for job in batch}
    for run in made.runs:
        bench.keep.put(run)
        if run.key in asked:
            bench.runs[run.key] = run
            tally.finished(run)
            bench.tell(Ended(run, tally.standing()))
            yield run
    for key, error in made.broken:
        bench.tell(Broke(key, error))


def _orders(bench: Bench) -> tuple[list[tuple[Order, jobs.Job[Made]]], CalqueError | None]:
    """What is to be made, with the lexicons that it takes; and the first of them that cannot be read."""
    orders: list[tuple[Order, jobs.Job[Made]]] = []
    unreadable: CalqueError | None = None
    for batch in _batches(bench):
        try:
            order = _order(bench, tuple(batch))
        except CalqueError as error:
            unreadable = unreadable or error
            continue
        inputs, name = batch[0].inputs, " ".join(job.key.name.removesuffix(".json") for job in batch)
        needs = tuple(space_file(inputs, side, bench.plan.request.cache) for side in ("source", "target"))
        orders.append((order, jobs.Job(name, partial(make, order), needs, bench.share)))
    return orders, unreadable


def _batches(bench: Bench) -> Iterator[list[Job]]:
    """Seeds of one method on one pair, together where that is faster than one after the other."""
    for _, group in groupby(bench.left(), key=lambda job: (job.entrant.name, job.inputs.pair)):
        found = list(group)
        if bench.engine.together(found[0].entrant, bench.device, bench.share):
            yield found
        else:
            yield from ([job] for job in found)


def _order(bench: Bench, batch: tuple[Job, ...]) -> Order:
    """What a batch is, with the lexicons read that it learns from and is judged by."""
    entrant = batch[0].entrant
    judges = {job.seed: tuple(_judges(bench, job)) for job in batch}
    inputs = [each.inputs for many in judges.values() for each in many]
    shelf = bench.shelf.with_lexicons(batch[0].inputs, inputs, entrant.supervised)
    return Order(batch, bench.engine.recipe(entrant), bench.engine, bench.device, shelf, judges)


def _judges(bench: Bench, job: Job) -> Iterator[Judging]:
    """The other lexicons that have not judged this run yet, then its own."""
    others = [each for each in job.siblings if bench.finished(job.entrant, each, job.seed) is None]
    return (Judging(each, _making(bench, job, each)) for each in (*others, job.inputs))


def _making(bench: Bench, job: Job, inputs: Inputs) -> Making:
    """What this run depends on: all that it was shown, and all that it was judged by."""
    supervised = job.entrant.supervised
    parts = (*inputs.learned(supervised), *inputs.tested(supervised), "judged")
    digest = settings_digest(bench.engine.recipe(job.entrant))
    return Making(digest, bench.inputs(inputs, parts), versions=versions())
