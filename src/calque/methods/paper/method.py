"""Both stages in order: a Wasserstein GAN, then the Sinkhorn distances and the back-translation loss (section 3).

Where the text and the published training differ, this follows the training: F = Gᵀ unless ``variant`` is free, input
standardised dimension by dimension, the 10,000 most frequent words, and candidates, not queries, mapped. Several seeds
train at once, as one batch; the result of a seed does not depend, beyond rounding, on the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import get_args

import torch
from torch import Tensor

from calque.errors import SettingsError, SpaceError
from calque.linear.maps import LinearMap, Milestone, Preprocessing, Side, fit
from calque.methods.paper.gan import CriticNoise, Critics, GanSettings, critic_loss, draw_noise, first_critics, map_loss
from calque.methods.paper.objective import Batch, Cost, Directions, Objective, Transfer, Variant, first_transfer
from calque.methods.paper.training import Batches, Best, RmsProp, TrainingStage, TrainingWords, generator_of
from calque.methods.recorded import Recorded, coarse_products
from calque.methods.task import Outcome, Task
from calque.transport import SinkhornSettings
from calque.transport.distance import Gradient
from calque.transport.sinkhorn import word_weights

DIVERGED = "the {} stage diverged: its loss was no longer a number, and the best map before that was kept"
Seeds = tuple[int, ...]


@dataclass(frozen=True)
class PaperSettings:
    """The method of the paper."""

    variant: Variant = "tied"
    """tied: F = Gᵀ, as in the published code; free: two maps, as in the text."""
    hidden: tuple[int, ...] = ()
    """Sizes of the hidden layers of both maps, for the free variant; none: the linear map of the paper."""
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
    """iterations: through the scalings, as in the paper; fixed-point: from the conditions that the plan fulfils. They
    agree to five digits after 20 scalings, and the second is faster (bench/gradient.py shows both)."""
    back_translation: float = 0.1
    """β: the weight of the back-translation loss; 0 leaves it out."""
    cost: Cost = "sqrt-cosine"
    """The metric of the transport."""
    directions: Directions = "both"
    """both: d_sh(G) + d_sh(F); forward: d_sh(G) alone."""
    steps: int = 2000
    """Steps of the second stage at most; the published 24,000 epochs of 10,000 words are 96,000 steps."""
    patience: int = 200
    """It stops after so many steps without a lower loss; published: 16,000."""
    rate: float = 5e-4
    """Learning rate of the second stage."""
    look: int = 25
    """Models are compared every so many steps, on as many of the most frequent words as a batch holds."""

    def __post_init__(self) -> None:
        SinkhornSettings(self.sharpness, self.scalings)
        for name, kind in (("variant", Variant), ("gradient", Gradient), ("cost", Cost), ("directions", Directions)):
            value, choices = getattr(self, name), get_args(kind)
            if value not in choices:
                raise SettingsError(f"{name} is {value!r}; expected one of {', '.join(choices)}")
        if min(self.words, self.batch, self.patience, self.look, *self.hidden, 1) < 1 or self.steps < 0:
            raise SettingsError("words, batch, patience, look and hidden must be at least 1, steps 0 or more")
        if not (self.back_translation >= 0 and self.rate > 0):
            raise SettingsError("back_translation must be 0 or more, rate above 0")
        if self.hidden and self.variant == "tied":
            raise SettingsError("maps with hidden layers have no transpose; set variant to 'free'")


def paper(task: Task, settings: PaperSettings) -> Outcome:
    """Maps of both directions, with no dictionary."""
    return paper_together([task], settings)[0]


def paper_together(tasks: Sequence[Task], settings: PaperSettings) -> list[Outcome]:
    """The same for tasks that differ in their seed alone, trained as one batch."""
    task, seeds = tasks[0], tuple(task.seed for task in tasks)
    (x, y), words = _training_words(task, settings)
    with torch.enable_grad():
        started, diverged_first = _adversarial_stage(task, words, settings, seeds)
        transfer, diverged_then = _transport_stage(task, words, started, settings, seeds)
    outcomes = []
    for place in range(len(seeds)):
        stages = (("adversary", diverged_first), ("transport", diverged_then))
        notes = tuple(DIVERGED.format(stage) for stage, diverged in stages if place in diverged)
        # Queries stay and candidates are mapped: F serves the way there, G the way back.
        g, f = transfer.maps(place)
        stay = LinearMap.identity(g.inputs, torch.empty(0))
        earlier = Milestone("adversary", stay, started.maps(place)[1])
        outcomes.append(Outcome(Side(x, stay), Side(y, f), None, notes, (Side(x, g), Side(y, stay)), (earlier,)))
    return outcomes


def _training_words(task: Task, settings: PaperSettings) -> tuple[tuple[Preprocessing, Preprocessing], TrainingWords]:
    """The frequent words of both sides, standardised and weighted, and how they were standardised."""
    if task.source.dimension != task.target.dimension:
        raise SpaceError(
            f"{task.source.dimension} dimensions against {task.target.dimension}, but the paper's maps are square; "
            "use the recipe 'default', which reduces both to as many"
        )
    heads = [space.vectors[: settings.words].to(task.device) for space in (task.source, task.target)]
    (standardise_x, x), (standardise_y, y) = (fit(head, ("standardise",)) for head in heads)
    weights = [word_weights(space, x)[: settings.words] for space in (task.source, task.target)]
    if not settings.frequencies:
        weights = [torch.ones_like(weight) for weight in weights]
    words = TrainingWords(x, y, *(weight / weight.sum() for weight in weights))
    return (standardise_x.cpu(), standardise_y.cpu()), words


def _adversarial_stage(
    task: Task, words: TrainingWords, settings: PaperSettings, seeds: Seeds
) -> tuple[Transfer, set[int]]:
    """Stage one: critics and maps in turn, from several starts for every seed (section 3.3).

    The start with the lowest Sinkhorn distances is kept. Returns the maps, and the places of the seeds that diverged.
    """
    gan = settings.gan
    if gan.steps == 0:
        return _first_maps(words, settings, seeds), set()
    starts = tuple(seed * gan.starts + number for seed in seeds for number in range(gan.starts))
    transfer = _first_maps(words, settings, starts)
    first = first_critics(words.source.shape[1], gan.hidden, [generator_of(start, 1, 0) for start in starts])
    a, b, w = (parameter.to(words.source.device).requires_grad_() for parameter in first.parameters)
    critics, of_critics, of_maps = Critics((a, b, w)), RmsProp(gan.critic_rate), RmsProp(gan.rate)

    def critic_step(*tensors: Tensor) -> None:
        batch, noise = Batch(*tensors[:4]), CriticNoise(*tensors[4:])
        of_critics.step(critics.parameters, critic_loss(critics, transfer, batch, noise, gan.penalty))

    def map_step(*tensors: Tensor) -> None:
        batch, noise = Batch(*tensors[:4]), CriticNoise(*tensors[4:])
        of_maps.step(transfer.parameters, map_loss(critics, transfer, batch, noise, gan.back_translation))

    turns = [Recorded(critic_step)] * gan.critic_steps + [Recorded(map_step)]
    batches = Batches(words.frequent(gan.words), gan.batch, seeds, stage=2)

    def update(step: int) -> None:
        for number, turn in enumerate(turns, step * len(turns)):
            batch = batches(number)
            noise = draw_noise(batch.source, gan, [generator_of(seed, 3, number, task.device) for seed in seeds])
            # All starts of a seed see the same words and the same noise.
            turn(*(tensor.repeat_interleave(gan.starts, dim=0) for tensor in (*batch.tensors(), *noise.tensors())))

    objective, fixed = _objective(settings), words.head(settings.batch, len(starts))

    def loss() -> Tensor:
        return objective.distances(transfer.there(fixed.source), transfer.back(fixed.target), fixed)

    best = Best.none(transfer.parameters, gan.patience)
    learned = (of_maps, transfer.parameters), (of_critics, critics.parameters)
    stage = TrainingStage("adversary", gan.steps, settings.look, update, loss, transfer.parameters, best, learned)
    with coarse_products():
        stage.run(task)
    places = best.loss.view(len(seeds), gan.starts).argmin(dim=1)
    places = places + gan.starts * torch.arange(len(seeds), device=places.device)
    kept = tuple(parameter[places].clone().requires_grad_() for parameter in best.parameters)
    diverged = {seed for seed, place in enumerate(places.tolist()) if place in stage.diverged}
    return Transfer(kept, transfer.tied), diverged


def _transport_stage(
    task: Task, words: TrainingWords, started: Transfer, settings: PaperSettings, seeds: Seeds
) -> tuple[Transfer, set[int]]:
    """Stage two: down the gradient of the whole objective, by which models are also compared (section 3.2).

    Returns the maps, and the places of the seeds that diverged.
    """
    parameters = tuple(parameter.detach().clone().requires_grad_() for parameter in started.parameters)
    transfer, optimiser, objective = Transfer(parameters, started.tied), RmsProp(settings.rate), _objective(settings)

    def take_step(*tensors: Tensor) -> None:
        optimiser.step(parameters, objective(transfer, Batch(*tensors)))

    recorded, batches = Recorded(take_step, objective.recordable), Batches(words, settings.batch, seeds, stage=4)

    def update(step: int) -> None:
        recorded(*batches(step).tensors())

    fixed = words.head(settings.batch, len(seeds))

    def loss() -> Tensor:
        return objective(transfer, fixed)

    best, learned = Best.none(parameters, settings.patience), ((optimiser, parameters),)
    stage = TrainingStage("transport", settings.steps, settings.look, update, loss, parameters, best, learned)
    stage.run(task)
    return Transfer(best.parameters, started.tied), stage.diverged


def _first_maps(words: TrainingWords, settings: PaperSettings, seeds: Seeds) -> Transfer:
    """Random maps for every seed, ready to be trained."""
    generators = [generator_of(seed, 0, 0) for seed in seeds]
    first = first_transfer(words.source.shape[1], settings.variant, settings.hidden, generators)
    return Transfer(tuple(parameter.to(words.source).requires_grad_() for parameter in first.parameters), first.tied)


def _objective(settings: PaperSettings) -> Objective:
    sinkhorn = SinkhornSettings(settings.sharpness, settings.scalings)
    return Objective.of(sinkhorn, settings.gradient, settings.back_translation, settings.cost, settings.directions)
