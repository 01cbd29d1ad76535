"""Has every run of a plan made that is not there yet, keeps each, and tells whoever watches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from calque.errors import CalqueError, RunError, SettingsError
from calque.experiments import jobs
from calque.experiments.jobs import (
    Began,
    Broke,
    Crew,
    Digests,
    Ended,
    Keep,
    Making,
    Note,
    Run,
    Share,
    Tally,
    Tell,
    settings_digest,
    take_share,
    versions,
)
from calque.experiments.sweep.plan import Key, Pair, Plan, in_tiles
from calque.experiments.sweep.running import Order, Unsaved, make
from calque.recipes import Recipe
from calque.runs import folder as store

Made = Run[Key] | Unsaved | None
"""What comes of a job."""


@dataclass(frozen=True)
class Lost:
    """A run that there is none of, and why."""

    error: str
    unreadable: bool
    """Whether a file is to blame."""


@dataclass(frozen=True)
class Bench:
    """What the work needs around it."""

    plan: Plan
    keep: Keep[Key]
    digests: Digests
    crew: Crew
    gpus: float
    """How many the crew has."""
    hold: int
    tell: Tell
    runs: dict[Key, Run[Key]] = field(default_factory=dict)
    """What is finished and still true."""
    lost: dict[Key, Lost] = field(default_factory=dict)
    """What was tried and is not there."""

    def orders(self) -> Iterator[Order]:
        """Every run of the plan, in an order that reads few files often."""
        settings = {recipe.name: settings_digest(recipe) for recipe in self.plan.recipes}
        for pair in in_tiles(self.plan, self.hold):
            files = self._files(pair)
            for recipe in self.plan.recipes:
                inputs = files | self._judging(pair, recipe)
                making = Making(settings[recipe.name], inputs, versions=versions())
                for seed in self.plan.seeds:
                    yield self._order(pair, recipe, Key(pair.name, recipe.name, seed), making)

    def _order(self, pair: Pair, recipe: Recipe, key: Key, making: Making) -> Order:
        judges, training = self.plan.judges(pair), self.plan.trains(pair) if recipe.supervised else None
        return Order(
            key,
            pair,
            recipe,
            self.share(recipe)[0],
            making,
            None if training is None else training.lexicon,
            None if judges is None else (judges[0].lexicon, judges[1].lexicon),
            self.folder(key) if self.plan.save else None,
        )

    def _files(self, pair: Pair) -> dict[str, str]:
        """What a pair is read from: the digest of every file, and how much of it is read."""
        told: dict[str, str] = {}
        for side, name in (("source", pair.source), ("target", pair.target)):
            file = self.plan.spaces[name]
            for part, path in ((side, file.path), (f"{side} counts", file.counts), (f"{side} words", file.words)):
                told |= {} if path is None else {part: self.digests.of(path)}
            told |= {} if file.limit is None else {f"{side} limit": str(file.limit)}
        return told

    def _judging(self, pair: Pair, recipe: Recipe) -> dict[str, str]:
        """What a recipe learns a pair from, and what judges it."""
        training, judges = self.plan.trains(pair) if recipe.supervised else None, self.plan.judges(pair) or ()
        return {
            part: self.digests.of(found.path) + (", turned" * found.turned)
            for part, found in zip(("training", "there", "back"), (training, *judges), strict=False)
            if found is not None
        }

    def share(self, recipe: Recipe) -> tuple[str, Share]:
        """The device that runs of a recipe have, and their share of a machine."""
        wish = self.plan.wish(recipe)
        return take_share(self.plan.device, wish.cpus, wish.gpus, self.gpus)

    def folder(self, key: Key) -> Path:
        """Where the run folder of a run is saved."""
        return (self.keep.folder / key.stem).resolve()

    def finished(self, order: Order) -> Run[Key] | None:
        """The run that was kept, if it was made from just this, and saved where it should be."""
        try:
            found = self.keep.find(order.key)
        except RunError as error:
            self.tell(Note(str(error)))
            return None
        if found is None or (found.making.settings, found.making.inputs) != (
            order.making.settings,
            order.making.inputs,
        ):
            return None
        judges = (order.pair.name, order.pair.back) if order.judges else ()
        saved = order.folder is None or "run" in found.score.errors or _is_saved(found, order.folder)
        return found if saved and found.answers(judges) else None


def _is_saved(run: Run[Key], folder: Path) -> bool:
    """Whether its folder is there, and is not that of an earlier run which this one replaced without being saved."""
    return run.making.saved and (folder / store.MARK).is_file()


def work(bench: Bench) -> Iterator[None]:
    """Make every run that is not there yet; returns to the caller whenever the table has changed."""
    orders = {order.key.name: order for order in bench.orders()}
    tally = Tally(order.key for order in orders.values())
    for order in orders.values():
        found = bench.finished(order)
        if found is not None:
            bench.runs[order.key] = found
            tally.finished(found)
    yield
    left = [_job(bench, order) for order in orders.values() if order.key not in bench.runs]
    for news in bench.crew.work(left):
        if isinstance(news, jobs.Mended):
            bench.tell(Note(news.note))
            continue
        yield from _heard(bench, orders[news.job.name], news, tally)


def _job(bench: Bench, order: Order) -> jobs.Job[Made]:
    needs = bench.plan.spaces[order.pair.source], bench.plan.spaces[order.pair.target]
    return jobs.Job(order.key.name, partial(make, order), needs, bench.share(order.recipe)[1])


def _heard(bench: Bench, order: Order, news: jobs.Fate[Made], tally: Tally) -> Iterator[None]:
    key = order.key
    if isinstance(news, jobs.Started):
        tally.at_once = news.at_once
        bench.tell(Began(key.method, key.pair, (key.seed,), tally.standing()))
    elif isinstance(news, jobs.Unreadable):
        _unreadable(bench, key, news.error)
        yield
    elif isinstance(news, jobs.Lost):
        bench.tell(Broke(key, news.error, news.again))
        if not news.again:
            bench.lost[key] = Lost(f"broke off: {news.error}", False)
            yield
    elif isinstance(news.result, Unsaved):
        _unreadable(bench, key, RunError(news.result.error))
        yield
    elif news.result is not None:
        yield from _kept(bench, order, news.result, tally)


def _unreadable(bench: Bench, key: Key, error: CalqueError) -> None:
    if not any(each.error == str(error) for each in bench.lost.values()):
        bench.tell(Note(str(error)))
    bench.lost[key] = Lost(str(error), True)


def _kept(bench: Bench, order: Order, run: Run[Key], tally: Tally) -> Iterator[None]:
    if order.folder is not None and "run" not in run.score.errors and not (order.folder / store.MARK).is_file():
        raise SettingsError(
            f"{order.folder}: was saved by a worker, but is not to be seen from here; "
            "put the output where every node sees it, or leave save = true out of the plan"
        )
    bench.keep.put(run)
    bench.runs[order.key] = run
    tally.finished(run)
    bench.tell(Ended(run, tally.standing()))
    yield
