"""Both stages in order: a Wasserstein GAN, then the Sinkhorn distances and the back-translation loss (section 3).

Where the text and the published training differ, the training is followed: F = Gᵀ unless ``variant`` is free, input
standardised dimension by dimension, the 10,000 most frequent words, and candidates, not queries, mapped. Several seeds
train at once, as one batch, and none depends, beyond rounding, on which others are in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import get_args

import torch
from torch import Tensor

from calque.data.preprocess import Preprocessing, fit
from calque.errors import SettingsError, SpaceError
from calque.linear.maps import LinearMap
from calque.linear.side import Milestone, Side
from calque.methods.paper.batches import Batches, Words, generator_of
from calque.methods.paper.gan import Critics, GanSettings, Noise, critic_loss, draw_noise, first_critics, map_loss
from calque.methods.paper.objective import Batch, Cost, Directions, Objective
from calque.methods.paper.stage import Best, RmsProp, Stage
from calque.methods.paper.transfer import Transfer, Variant, first_transfer
from calque.methods.recorded import Recorded, coarse_products
from calque.methods.task import Outcome, Task, word_weights
from calque.transport import SinkhornSettings
from calque.transport.distance import Gradient

_DIVERGED = "the {} stage diverged: its loss was no longer a number, and the best map before that was kept"
Seeds = tuple[int, ...]
Trained = tuple[Transfer, dict[int, str]]
"""The maps after a stage, and what to tell of a seed, by its place."""


@dataclass(frozen=True)
class PaperSettings:
    """The method of the paper."""

    variant: Variant = "tied"
    """tied: F = Gᵀ, as the published code trains; free: two maps, as the text says."""
    hidden: tuple[int, ...] = ()
    """Sizes of hidden layers of both maps, for the free variant; none is the linear map of the paper."""
    words: int = 10_000
    """How many of the most frequent words of each side are trained on."""
    batch: int = 2048
    """Words of each side in a mini-batch."""
    frequencies: bool = True
    """Weigh words by their frequencies, where these are known."""
    gan: GanSettings = field(default_factory=GanSettings)
    sharpness: float = 10.0
    """λ."""
    scalings: int = 20
    """Matrix-scaling steps of every Sinkhorn distance."""
    gradient: Gradient = "fixed-point"
    """iterations: through the scalings, as the paper does; fixed-point: from the conditions that the plan fulfils. They
    agree to five digits after 20 scalings, and the second is faster (bench/gradient.py shows both)."""
    back_translation: float = 0.1
    """β: the weight of the back-translation loss; 0 leaves it out."""
    cost: Cost = "sqrt-cosine"
    """The metric of the transport."""
    directions: Directions = "both"
    """both: d_sh(G) + d_sh(F); forward: d_sh(G) alone."""
    steps: int = 2000
    """Steps of the second stage, at most; the published 24,000 epochs of 10,000 words are 96,000."""
    patience: int = 200
    """It stops after so many steps without a lower loss; 16,000 as published."""
    rate: float = 5e-4
    """Learning rate of the second stage."""
    look: int = 25
    """Models are compared every so many steps, on the most frequent words: as many as a batch holds."""

    def __post_init__(self) -> None:
        SinkhornSettings(self.sharpness, self.scalings)
        self._check_choices()
        if min(self.words, self.batch, self.patience, self.look, *self.hidden, 1) < 1 or self.steps < 0:
            raise SettingsError("words, batch, patience, look and hidden must be at least 1, steps 0 or more")
        if not (self.back_translation >= 0 and self.rate > 0):
            raise SettingsError("back_translation must be 0 or more, rate above 0")
        if self.hidden and self.variant == "tied":
            raise SettingsError("maps with hidden layers have no transpose; set variant to 'free'")

    def _check_choices(self) -> None:
        for name, kind in (("variant", Variant), ("gradient", Gradient), ("cost", Cost), ("directions", Directions)):
            found, choices = getattr(self, name), get_args(kind)
            if found not in choices:
                raise SettingsError(f"{name} is {found!r}; expected one of {', '.join(choices)}")


def paper(task: Task, settings: PaperSettings) -> Outcome:
    """Maps of both directions, with no dictionary."""
    return paper_together([task], settings)[0]


def paper_together(tasks: Sequence[Task], settings: PaperSettings) -> list[Outcome]:
    """The same for tasks that differ in their seed alone, trained as one batch."""
    task, seeds = tasks[0], tuple(each.seed for each in tasks)
    preprocessings, words = _words(task, settings)
    with torch.enable_grad():
        transfer, notes = _adversarial(task, words, settings, seeds)
        started = Transfer(tuple(each.detach().clone() for each in transfer.parameters), transfer.tied)
        transfer, more = _by_transport(task, words, transfer, settings, seeds)
    told = [tuple(part[place] for part in (notes, more) if place in part) for place in range(len(seeds))]
    return [_outcome(preprocessings, started, transfer, place, told[place]) for place in range(len(seeds))]


def _words(task: Task, settings: PaperSettings) -> tuple[tuple[Preprocessing, Preprocessing], Words]:
    if task.source.dimension != task.target.dimension:
        raise SpaceError(
            f"{task.source.dimension} dimensions against {task.target.dimension}, but the paper's maps are square; "
            "use the recipe 'default', which reduces both to as many"
        )
    heads = [each.vectors[: settings.words].to(task.device) for each in (task.source, task.target)]
    (before_x, x), (before_y, y) = (fit(each, ("standardise",)) for each in heads)
    weights = [word_weights(each, x)[: settings.words] for each in (task.source, task.target)]
    if not settings.frequencies:
        weights = [torch.ones_like(each) for each in weights]
    return (before_x, before_y), Words(x, y, *(each / each.sum() for each in weights))


def _first(words: Words, settings: PaperSettings, seeds: Seeds) -> Transfer:
    generators = [generator_of(seed, 0, 0) for seed in seeds]
    first = first_transfer(words.source.shape[1], settings.variant, settings.hidden, generators)
    return Transfer(tuple(each.to(words.source).requires_grad_() for each in first.parameters), first.tied)


def _objective(settings: PaperSettings) -> Objective:
    sinkhorn = SinkhornSettings(settings.sharpness, settings.scalings)
    return Objective.of(sinkhorn, settings.gradient, settings.back_translation, settings.cost, settings.directions)


def _adversarial(task: Task, words: Words, settings: PaperSettings, seeds: Seeds) -> Trained:
    """Stage one, from several starts for every seed; the Sinkhorn distances tell which one is kept."""
    gan = settings.gan
    if gan.steps == 0:
        return _first(words, settings, seeds), {}
    transfer = _first(words, settings, _starts(gan, seeds))
    stage = _game(task, words, transfer, settings, seeds)
    with coarse_products():
        stage.run(task)
    kept = stage.best.loss.view(len(seeds), gan.starts).argmin(dim=1)
    places = kept + gan.starts * torch.arange(len(seeds), device=kept.device)
    chosen = tuple(each[places].clone().requires_grad_() for each in stage.best.parameters)
    told = {seed: _DIVERGED.format(stage.name) for seed, each in enumerate(places.tolist()) if each in stage.diverged}
    return Transfer(chosen, transfer.tied), told


def _starts(gan: GanSettings, seeds: Seeds) -> Seeds:
    """Of every seed its starts, one seed after the other."""
    return tuple(seed * gan.starts + number for seed in seeds for number in range(gan.starts))


def _game(task: Task, words: Words, transfer: Transfer, settings: PaperSettings, seeds: Seeds) -> Stage:
    """Critics and maps in turn; the starts of a seed are shown the same words and the same noise."""
    gan, starts = settings.gan, _starts(settings.gan, seeds)
    critics, maps, judges = _critics(words, gan, starts), RmsProp(gan.rate), RmsProp(gan.critic_rate)
    batches = Batches(words.frequent(gan.words), gan.batch, seeds, stage=2)
    objective, fixed = _objective(settings), words.head(settings.batch, len(starts))

    def judge(*given: Tensor) -> None:
        batch, noise = Batch(*given[:4]), Noise(*given[4:])
        judges.step(critics.parameters, critic_loss(critics, transfer, batch, noise, gan.penalty))

    def move(*given: Tensor) -> None:
        batch, noise = Batch(*given[:4]), Noise(*given[4:])
        maps.step(transfer.parameters, map_loss(critics, transfer, batch, noise, gan.back_translation))

    turns = [Recorded(judge)] * gan.critic_steps + [Recorded(move)]

    def update(step: int) -> None:
        for number, take in enumerate(turns, step * len(turns)):
            batch = batches(number)
            noise = draw_noise(batch.source, gan, [generator_of(seed, 3, number, task.device) for seed in seeds])
            take(*(each.repeat_interleave(gan.starts, dim=0) for each in (*batch.tensors(), *noise.tensors())))

    def loss() -> Tensor:
        return objective.distances(transfer.there(fixed.source), transfer.back(fixed.target), fixed)

    best = Best.none(transfer.parameters, gan.patience)
    learned = (maps, transfer.parameters), (judges, critics.parameters)
    return Stage("adversary", gan.steps, settings.look, update, loss, transfer.parameters, best, learned)


def _critics(words: Words, gan: GanSettings, seeds: Seeds) -> Critics:
    first = first_critics(words.source.shape[1], gan.hidden, [generator_of(seed, 1, 0) for seed in seeds])
    a, b, w = (each.to(words.source.device).requires_grad_() for each in first.parameters)
    return Critics((a, b, w))


def _by_transport(task: Task, words: Words, transfer: Transfer, settings: PaperSettings, seeds: Seeds) -> Trained:
    """Stage two; models are compared by the whole objective."""
    optimiser, objective = RmsProp(settings.rate), _objective(settings)
    batches, fixed = Batches(words, settings.batch, seeds, stage=4), words.head(settings.batch, len(seeds))

    def move(*given: Tensor) -> None:
        optimiser.step(transfer.parameters, objective(transfer, Batch(*given)))

    take = Recorded(move, objective.recordable)

    def update(step: int) -> None:
        take(*batches(step).tensors())

    def loss() -> Tensor:
        return objective(transfer, fixed)

    best = Best.none(transfer.parameters, settings.patience)
    learned = ((optimiser, transfer.parameters),)
    stage = Stage("transport", settings.steps, settings.look, update, loss, transfer.parameters, best, learned)
    stage.run(task)
    return Transfer(stage.best.parameters, transfer.tied), dict.fromkeys(stage.diverged, _DIVERGED.format(stage.name))


def _outcome(
    preprocessings: tuple[Preprocessing, Preprocessing],
    started: Transfer,
    transfer: Transfer,
    place: int,
    notes: tuple[str, ...],
) -> Outcome:
    """Queries stay and candidates are mapped: F serves the way there, G the way back."""
    x, y = (each.cpu() for each in preprocessings)
    g, f = transfer.maps(place)
    stay = LinearMap.identity(g.inputs, torch.empty(0))
    earlier = (Milestone("adversary", stay, started.maps(place)[1]),)
    return Outcome(Side(x, stay), Side(y, f), None, notes, (Side(x, g), Side(y, stay)), earlier)
