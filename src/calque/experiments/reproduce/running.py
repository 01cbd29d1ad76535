"""One job of a table: a method on a pair with one seed or several, aligned and judged, from values alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from calque import recipes
from calque.data.space import Space
from calque.experiments.jobs import KEPT, Making, Share, Watch, failure, machine
from calque.experiments.reproduce.entrants import Entrant
from calque.experiments.reproduce.inputs import Inputs
from calque.experiments.reproduce.plan import Job, key_of
from calque.experiments.reproduce.runs import Key, Run
from calque.experiments.reproduce.scoring import judge
from calque.experiments.reproduce.shelf import Shelf
from calque.recipes import Recipe
from calque.runs.alignment import Alignment


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
        return replace(base, name=entrant.name, settings=recipes.into(base.settings, entrant.changes, "settings"))

    def together(self, entrant: Entrant, device: str, share: Share | None = None) -> bool:
        """Whether seeds run as a batch: on a GPU, where the method can.

        Elsewhere a batch saves nothing, and a kill would lose all of it.
        """
        kind = recipes.METHODS.get(self.recipe(entrant).method)
        able = kind is not None and kind.together is not None and not entrant.supervised
        return able and (recipes.choose_device(device).type == "cuda" if share is None else share.gpus > 0)


@dataclass(frozen=True)
class Judging:
    """Files that judge a run, and what is known of the run before it is made."""

    inputs: Inputs
    making: Making


@dataclass(frozen=True)
class Order:
    """All that a job must know."""

    batch: tuple[Job, ...]
    """Seeds of one method on one pair."""
    recipe: Recipe
    engine: Engine
    device: str
    shelf: Shelf
    """With the lexicons that are asked for in it."""
    judges: Mapping[int, tuple[Judging, ...]]
    """By seed."""


@dataclass(frozen=True)
class Made:
    """What came of a job."""

    runs: tuple[Run, ...] = ()
    broken: tuple[tuple[Key, Exception], ...] = ()
    """Seeds of a batch that were lost, and what to."""


def make(order: Order, spaces: Sequence[Space], watch: Watch) -> Made:
    """The runs of a batch; where it fails as a whole, its seeds are tried one by one. Nothing once asked to stop."""
    began = time.monotonic()
    try:
        alignments = _align(order, spaces, watch)
    except KEPT as error:
        return _one_by_one(order, spaces, watch) if len(order.batch) > 1 else _failed(order, error, began)
    except Exception:
        if len(order.batch) == 1:
            raise
        return _one_by_one(order, spaces, watch)
    seconds = (time.monotonic() - began) / len(order.batch)
    return Made() if watch.stopped() else _judged(order, alignments, seconds)


def _one_by_one(order: Order, spaces: Sequence[Space], watch: Watch) -> Made:
    runs: list[Run] = []
    broken: list[tuple[Key, Exception]] = []
    for job in order.batch:
        try:
            runs += make(replace(order, batch=(job,)), spaces, watch).runs
        except Exception as error:
            broken.append((job.key, error))
    return Made(tuple(runs), tuple(broken))


def _align(order: Order, spaces: Sequence[Space], watch: Watch) -> list[Alignment]:
    job, recipe = order.batch[0], order.recipe
    how: dict[str, Any] = {"device": order.device, "listen": watch.listen, "stopped": watch.stopped}
    if len(order.batch) > 1:
        return order.engine.run_seeds(recipe, *spaces, [each.seed for each in order.batch], **how)
    if job.entrant.supervised:
        how |= {"lexicon": order.shelf.train(job.inputs, job.seed), "judged": False}
    return [order.engine.run(recipe, *spaces, seed=job.seed, **how)]


def _judged(order: Order, alignments: Sequence[Alignment], seconds: float) -> Made:
    """A run for each seed, and one more for each other lexicon that can judge it too."""
    runs: list[Run] = []
    for job, alignment in zip(order.batch, alignments, strict=True):
        for each in order.judges[job.seed]:
            began = time.monotonic()
            score = judge(order.shelf, each.inputs, alignment, job.entrant.supervised, job.seed)
            making = replace(
                each.making,
                verdict=str(alignment.verdict),
                seconds=round(seconds, 3),
                scoring=round(time.monotonic() - began, 3),
                together=len(order.batch),
                device=machine(alignment.record.device),
            )
            runs.append(Run(key_of(job.entrant, each.inputs, job.seed), score, making))
    return Made(tuple(runs))


def _failed(order: Order, error: Exception, began: float) -> Made:
    """Runs of which nothing is left but why."""
    job, seconds = order.batch[0], round(time.monotonic() - began, 3)
    return Made(
        tuple(
            Run(key_of(job.entrant, each.inputs, job.seed), failure(error), replace(each.making, seconds=seconds))
            for each in order.judges[job.seed]
        )
    )
