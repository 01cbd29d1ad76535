"""A map that a discriminator cannot see through, then Procrustes (Conneau, Lample, Ranzato, Denoyer, Jégou 2017).

"Word translation without parallel data", sections 2 and 3. A discriminator D learns to tell mapped source words from
target words, and the map W learns to deceive it:

    min_D  - 1/n Σ_i log D(x_i W)       - 1/m Σ_j log (1 - D(y_j))       equation 3
    min_W  - 1/n Σ_i log (1 - D(x_i W)) - 1/m Σ_j log D(y_j)             equation 4

by gradient descent in turn. After each of its steps W is drawn back to the orthogonal matrices,
W ← (1 + β) W - β (W Wᵀ) W (equation 7). The map kept is the one with the largest mean cosine of the 10,000 most
frequent source words to their CSLS translations (section 3.5). Then follow five rounds of Procrustes on the words that
choose each other by CSLS (section 2.2).

`zhang2017` is adversarial too, with a smaller discriminator, noise instead of dropout, a reconstruction loss instead of
equation 7, and no Procrustes. `artetxe2018` needs no adversary.

Published: batches of 32 and five epochs of 1,000,000 words, which is `Conneau2017Settings(batch=32, updates=31250)`.
The default sees as many words in batches of 128, with a quarter of the updates. On 50-dimensional vectors of 3,000 to
8,000 words it found English from Spanish in its first epoch, and from Italian and Chinese in its second. Batches of 32
needed half an epoch for Spanish, and had not found the other two after one. An update takes 1.4 ms on an H200 and a
third of a second on a CPU core, so a run takes about a minute or some hours. A discriminator with 512 hidden units
costs a tenth of that on a CPU, but found only Spanish in three epochs.

The paper leaves open, and this file decides: W begins as the identity; losses are means over both halves of a batch; in
the step of the map, the discriminator has no dropout; the criterion is taken among the `frequent` words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from calque.errors import SettingsError
from calque.linear.closed_forms import procrustes
from calque.linear.maps import LinearMap, Side, check_steps, fit, unit
from calque.methods.baselines.adversary import (
    LEAK,
    Network,
    by_inputs,
    check_dimensions,
    descend,
    draw_batches,
    dropout_noise,
    forward,
    generators,
)
from calque.methods.recorded import Recorded, coarse_products
from calque.methods.task import Outcome, Task
from calque.progress import Step, never
from calque.retrieval.exact import find, mutual, neighbours

EVENTS_PER_EPOCH = 20
"""Events in an epoch."""


@dataclass(frozen=True)
class Conneau2017Settings:
    """The published values but for batch and updates."""

    preprocessing: tuple[str, ...] = ()
    """Steps before anything else; the published default is none."""
    hidden: int = 2048
    """Units in each hidden layer of the discriminator."""
    layers: int = 2
    """Hidden layers of the discriminator."""
    dropout: float = 0.1
    """The share of its input numbers that are hidden from the discriminator."""
    smoothing: float = 0.2
    """How far the labels are from 0 and 1."""
    batch: int = 128
    """Words of each side in a step; published: 32."""
    updates: int = 7_800
    """Updates of the map in an epoch; published: 31250."""
    epochs: int = 5
    """How many epochs; after each one the criterion judges the map."""
    discriminator_steps: int = 5
    """Steps of the discriminator for one of the map."""
    rate: float = 0.1
    """Learning rate of both."""
    decay: float = 0.95
    """What the learning rate is multiplied by after each epoch."""
    shrink: float = 0.5
    """What the learning rate is also multiplied by where the criterion fell."""
    beta: float = 0.01
    """How strongly the map is drawn to the orthogonal matrices."""
    frequent: int = 50_000
    """How many of the most frequent words are trained on."""
    criterion_words: int = 10_000
    """How many of the most frequent source words judge a map."""
    refinements: int = 5
    """Rounds of Procrustes at the end."""
    refinement_words: int = 15_000
    """How many of the most frequent words of each side may enter its dictionary."""

    def __post_init__(self) -> None:
        check_steps(self.preprocessing)
        counts = ("hidden", "layers", "batch", "updates", "epochs", "discriminator_steps")
        for name in (*counts, "frequent", "criterion_words", "refinement_words"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; expected at least 1")
        if self.refinements < 0:
            raise SettingsError(f"refinements is {self.refinements}; expected at least 0")
        if not 0 <= self.dropout < 1 or not 0 <= self.smoothing < 0.5:
            raise SettingsError(
                f"dropout is {self.dropout} and smoothing {self.smoothing}; "
                "expected at least 0 and below 1, and at least 0 and below 0.5"
            )
        if not self.rate > 0 or not 0 < self.decay <= 1 or not 0 < self.shrink <= 1:
            raise SettingsError(
                f"rate is {self.rate}, decay {self.decay} and shrink {self.shrink}; "
                "expected above 0, and decay and shrink at most 1"
            )
        if not 0 <= self.beta < 0.5:
            raise SettingsError(f"beta is {self.beta}; expected at least 0 and below 0.5, where it would overshoot")


def conneau2017(task: Task, settings: Conneau2017Settings) -> Outcome:
    """An orthogonal map of the source into the target's space, with no dictionary."""
    check_dimensions(task)
    fitted = [fit(space.vectors, settings.preprocessing) for space in (task.source, task.target)]
    source, target = (vectors.to(task.device)[: settings.frequent] for _, vectors in fitted)
    matrix = train(source, target, task, settings)
    matrix = refine(source, target, matrix, task, settings)
    notes = ("it was interrupted",) if task.stopped() else ()
    identity = LinearMap.identity(task.target.dimension, task.target.vectors)
    return Outcome(Side(fitted[0][0], LinearMap(matrix.cpu())), Side(fitted[1][0], identity), notes=notes)


def train(source: Tensor, target: Tensor, task: Task, settings: Conneau2017Settings) -> Tensor:
    """Discriminator and map in turn; of the maps at the ends of epochs, the one with the best criterion."""
    training, rate = AdversarialTraining(source, target, task.seed, settings), settings.rate
    best, kept = float("-inf"), training.matrix.clone()
    ends = [settings.updates * part // EVENTS_PER_EPOCH for part in range(EVENTS_PER_EPOCH + 1)]
    events = settings.epochs * EVENTS_PER_EPOCH
    for epoch in range(settings.epochs):
        update = Recorded(partial(training.update, rate=rate))
        measured = {"epoch": float(epoch + 1), "rate": rate}
        for part in range(1, EVENTS_PER_EPOCH + 1):
            if task.stopped():
                break
            with coarse_products():
                training.run(ends[part] - ends[part - 1], update, task.stopped)
            if part < EVENTS_PER_EPOCH:
                task.listen(Step("adversary", epoch * EVENTS_PER_EPOCH + part, events, measured))
        value = criterion(source, target, training.matrix, settings.criterion_words)
        task.listen(Step("adversary", (epoch + 1) * EVENTS_PER_EPOCH, events, measured | {"criterion": value}))
        rate *= settings.decay * (settings.shrink if value < best else 1.0)
        if value > best:
            best, kept = value, training.matrix.clone()
        if task.stopped():
            break
    return kept


class AdversarialTraining:
    """The map, its discriminator, and what both are trained on."""

    def __init__(self, source: Tensor, target: Tensor, seed: int, settings: Conneau2017Settings) -> None:
        self.source, self.target, self.settings = source, target, settings
        words, weights, noise = generators(seed, 3)
        batch, steps, dimension = settings.batch, settings.discriminator_steps, int(source.shape[1])
        self.matrix = torch.eye(dimension).to(source)
        self.network = Network.drawn((dimension, *[settings.hidden] * settings.layers, 1), LEAK, weights, source)
        self.window = steps * 2 * batch, dimension
        self.noise = dropout_noise(settings.dropout, noise, source, self.window[0] * dimension)
        self.rows = draw_batches(torch.ones(len(source)), (steps + 1) * batch, words, source.device)
        self.columns = draw_batches(torch.ones(len(target)), steps * batch, words, source.device)
        self.labels = torch.full((2 * batch, 1), settings.smoothing).to(source)
        self.labels[:batch] = 1 - settings.smoothing

    def run(self, updates: int, update: Recorded, stopped: Callable[[], bool] = never) -> None:
        """``updates`` updates of the map, or fewer once asked to stop."""
        for _ in range(updates):
            if stopped():
                return
            update(next(self.rows), next(self.columns), self.noise.cut(*self.window))

    def update(self, rows: Tensor, columns: Tensor, noise: Tensor, rate: float) -> None:
        """Some steps of the discriminator, then one step of the map."""
        batch, steps = self.settings.batch, self.settings.discriminator_steps
        x, y = self.source[rows], self.target[columns]
        # The map does not change while the discriminator learns, so all its inputs are mapped at once.
        mapped = (x[:-batch] @ self.matrix).view(steps, batch, -1)
        inputs = torch.cat([mapped, y.view(steps, batch, -1)], dim=1).mul_(noise.view(steps, 2 * batch, -1))
        for step_inputs in inputs:
            train_discriminator(self.network, step_inputs, self.labels, rate)
        self.matrix.copy_(trained_map(self.network, x[-batch:], self.matrix, self.settings.smoothing, rate))
        self.matrix.copy_(orthogonalised(self.matrix, self.settings.beta))


def train_discriminator(network: Network, inputs: Tensor, labels: Tensor, rate: float) -> None:
    """One step down the cross-entropy of the labels (equation 3), in place."""
    passed = forward(network, inputs)
    descend(network, passed, (torch.sigmoid(passed.scores) - labels) / len(inputs), rate)


def trained_map(network: Network, source: Tensor, matrix: Tensor, smoothing: float, rate: float) -> Tensor:
    """The map one step further down the cross-entropy of the opposite labels (equation 4).

    Target words have no gradient, because the map does not move them, but they count in the mean.
    """
    passed = forward(network, source @ matrix)
    by_score = (torch.sigmoid(passed.scores) - smoothing) / (2 * len(source))
    return torch.addmm(matrix, source.mT, by_inputs(network, passed, by_score), alpha=-rate)


def orthogonalised(matrix: Tensor, beta: float) -> Tensor:
    """(1 + β) W - β (W Wᵀ) W: every singular value s becomes s + β s (1 - s²), nearer to 1 (equation 7)."""
    return (1 + beta) * matrix - beta * (matrix @ matrix.mT) @ matrix


def criterion(source: Tensor, target: Tensor, matrix: Tensor, words: int) -> float:
    """The mean cosine of the most frequent source words to their CSLS translations (section 3.5)."""
    mapped, target, csls = unit(source @ matrix), unit(target), find("csls")
    translations = neighbours(mapped[:words], target, 1, csls, csls.penalty(mapped, target)).indices[:, 0]
    return float((mapped[:words] * target[translations]).sum(dim=1).mean())


def refine(source: Tensor, target: Tensor, matrix: Tensor, task: Task, settings: Conneau2017Settings) -> Tensor:
    """Procrustes on the words that choose each other, repeatedly; the map with the best criterion (section 2.2)."""
    words = settings.refinement_words
    best, kept = criterion(source, target, matrix, settings.criterion_words), matrix
    for number in range(1, settings.refinements + 1):
        if task.stopped():
            break
        pairs = mutual(source[:words] @ matrix, target[:words], find("csls"))
        matrix = procrustes(source[pairs.source], target[pairs.target]).matrix
        value = criterion(source, target, matrix, settings.criterion_words)
        task.listen(Step("refine", number, settings.refinements, {"criterion": value, "pairs": float(len(pairs))}))
        if value > best:
            best, kept = value, matrix
    return kept
