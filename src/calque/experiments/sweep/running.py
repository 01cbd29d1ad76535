"""One run of a sweep: aligned, judged, and saved where that is wanted, from values alone."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from calque import recipes
from calque.data.lexicon import Lexicon
from calque.data.space import Space
from calque.errors import LexiconError, RunError
from calque.evaluate import score_translation
from calque.experiments.jobs import KEPT, RETRIEVALS, Making, Run, Score, Watch, failure, machine
from calque.experiments.sweep.plan import Key, Pair
from calque.recipes import Recipe
from calque.runs.alignment import Alignment


@dataclass(frozen=True)
class Order:
    """All that a run must know."""

    key: Key
    pair: Pair
    recipe: Recipe
    device: str
    making: Making
    """What is known of it before it is made."""
    training: Lexicon | None = None
    judges: tuple[Lexicon, Lexicon] | None = None
    """There and back."""
    folder: Path | None = None
    """Where to save it."""


@dataclass(frozen=True)
class Unsaved:
    """A run that could not be written where it should be saved."""

    error: str


def make(order: Order, spaces: Sequence[Space], watch: Watch) -> Run[Key] | Unsaved | None:
    """The run; what the method itself fails by is kept as its result. Nothing once asked to stop."""
    began = time.monotonic()
    try:
        alignment = _align(order, spaces, watch)
    except KEPT as error:
        return Run(order.key, failure(error), replace(order.making, seconds=_since(began)))
    seconds = _since(began)
    if watch.stopped():
        return None
    began = time.monotonic()
    score = _judge(order, alignment)
    scoring = _since(began)
    if order.folder is not None:
        try:
            alignment.save(order.folder, overwrite=True)
        except RunError as error:
            return Unsaved(str(error))
    device, verdict = machine(alignment.record.device), str(alignment.verdict)
    saved = order.folder is not None
    making = replace(order.making, verdict=verdict, seconds=seconds, scoring=scoring, device=device, saved=saved)
    return Run(order.key, score, making)


def _align(order: Order, spaces: Sequence[Space], watch: Watch) -> Alignment:
    source, target = spaces
    seed, device, training = order.key.seed, order.device, order.training
    return recipes.run(order.recipe, source, target, seed, device, watch.listen, watch.stopped, training)


def _judge(order: Order, alignment: Alignment) -> Score:
    """Both directions; none where the plan has no lexicon for the pair."""
    if order.judges is None:
        return Score()
    directions = order.pair.name, order.pair.back
    try:
        score = score_translation(alignment, *order.judges, RETRIEVALS)
    except LexiconError as error:
        return Score(errors=dict.fromkeys(directions, str(error)))
    return Score(dict(zip(directions, (score.forward, score.backward), strict=True)))


def _since(began: float) -> float:
    return round(time.monotonic() - began, 3)
