"""An adversarial autoencoder (Zhang, Liu, Luan, Sun 2017).

"Adversarial training for unsupervised bilingual lexicon induction", section 2.3 (their third model) and section 3. A
discriminator D learns to tell mapped source words from target words, while the generator G learns to deceive it and to
keep the way back open through its own transpose:

    min_D  - E log D(xG) - E log (1 - D(y))
    min_G  - E log (1 - D(xG)) - λ E cos(x, x G Gᵀ)

The second term is the reconstruction loss of an autoencoder with tied weights; it holds G near the orthogonal matrices
without forcing it there. Both descend at once, by Adam, from the same pass through D (the one-step variant of Nowozin,
Cseke, Tomioka 2016). Gaussian noise is multiplied onto the input and the hidden layer of D, without which D wins and G
learns nothing (section 3.1).

Training does not settle: the loss of G rises while D learns, drops sharply when G finds the other language, and rises
again (section 3.2). So the map is taken at the foot of the sharpest drop: where the loss, averaged over a window, lies
deepest below the highest it had been before. The first windows, in which D knows nothing yet and any G has a low loss,
are thereby out of the game.

Beside its siblings: `conneau2017` has a larger discriminator, draws its map to the orthogonal ones by force, chooses it
by the mean cosine of translations, and refines it by Procrustes. Here what the game gives is final.

Published: unit vectors, G from a random orthogonal matrix, 500 hidden units, Adam with its usual rates, λ = 1, 500,000
batches. Left open by the paper and decided here: a leaky activation; the deviation of the noise; words drawn with
probability ∝ f min(1, √(t/f)), t = 1e-5, the subsampling of Mikolov et al. 2013, which the paper says it resembles; the
length of a window; and an end before 500,000 batches where no drop was sharper for the last 100,000. On 50-dimensional
vectors the drop came after 5,000 to 35,000 batches. A batch takes 0.2 ms on an H200 and 2.5 ms on a CPU core.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import softplus

from calque.data.preprocess import fit
from calque.data.space import Space
from calque.errors import SettingsError
from calque.linear.maps import LinearMap
from calque.linear.side import Side
from calque.methods.baselines.adversary import (
    Adam,
    Network,
    batches,
    by_inputs,
    check_dimensions,
    deltas,
    gaussian_noise,
    generators,
    look,
)
from calque.methods.default.alternation import random_rotation
from calque.methods.recorded import Recorded
from calque.methods.task import Outcome, Task
from calque.progress import Step

LEAK = 0.2
"""The slope of the discriminator's activation below 0."""
MOST_EVENTS = 250
"""Events in a whole run."""


@dataclass(frozen=True)
class Zhang2017Settings:
    """The published values where there are any."""

    hidden: int = 500
    """Units in the hidden layer of the discriminator."""
    noise: float = 0.5
    """Deviation of the factors that are multiplied onto its input and its hidden layer; their mean is 1."""
    reconstruction: float = 1.0
    """λ: how much the way back counts beside the deception."""
    batch: int = 128
    """Words of each side in a step."""
    rate: float = 1e-3
    """Learning rate of Adam for both."""
    subsampling: float = 1e-5
    """Words more frequent than this share of the text are drawn more seldom than they occur."""
    steps: int = 500_000
    """At most so many batches."""
    window: int = 1000
    """Batches over which the loss is averaged before it is looked at."""
    patience: int = 100_000
    """So many batches without a sharper drop of the loss, and the run ends."""

    def __post_init__(self) -> None:
        for name in ("hidden", "batch", "steps", "window", "patience"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; expected at least 1")
        for name in ("rate", "subsampling"):
            if not getattr(self, name) > 0:
                raise SettingsError(f"{name} is {getattr(self, name)}; expected above 0")
        for name in ("noise", "reconstruction"):
            if not getattr(self, name) >= 0:
                raise SettingsError(f"{name} is {getattr(self, name)}; expected at least 0")


def zhang2017(task: Task, settings: Zhang2017Settings) -> Outcome:
    """A nearly orthogonal map of the source into the target's space, with no dictionary."""
    check_dimensions(task)
    fitted = [fit(each.vectors, ("unit",)) for each in (task.source, task.target)]
    source, target = (vectors.to(task.device) for _, vectors in fitted)
    weights = [sampling_weights(each, settings.subsampling) for each in (task.source, task.target)]
    game = Game((source, target), weights, task.seed, settings)
    matrix = play(game, task, settings)
    notes: tuple[str, ...] = ("it was interrupted",) if task.stopped() else ()
    if not bool(game.matrix.isfinite().all()):
        notes += ("the game diverged: its map was no longer a number, and the best one before that was kept",)
    identity = LinearMap.identity(task.target.dimension, task.target.vectors)
    return Outcome(Side(fitted[0][0], LinearMap(matrix.cpu())), Side(fitted[1][0], identity), notes=notes)


def sampling_weights(space: Space, threshold: float) -> Tensor:
    """How often to draw each word: f min(1, √(t/f)), f being its share of the text; all alike where nobody knows."""
    if space.counts is None:
        return torch.ones(len(space), dtype=torch.float64)
    counts = space.counts.double().clamp_min(float(space.counts[space.counts > 0].min()))
    frequency = counts / counts.sum()
    return frequency * (threshold / frequency).sqrt().clamp_max(1.0)


def reconstruction(source: Tensor, matrix: Tensor) -> tuple[Tensor, Tensor]:
    """-E cos(x, x G Gᵀ) for unit rows x, and its derivative by G."""
    mapped = source @ matrix
    back = mapped @ matrix.mT
    length = back.norm(dim=1, keepdim=True).clamp_min(1e-12)
    back = back / length
    cosine = (source * back).sum(dim=1, keepdim=True)
    by_back = (back * cosine - source).div_(length * len(source))
    return -cosine.mean(), torch.addmm(by_back.mT @ mapped, source.mT, by_back @ matrix)


@dataclass
class Drop:
    """The sharpest drop of a loss so far: how far it lies below the highest before it."""

    highest: float = float("-inf")
    depth: float = 0.0

    def sharper(self, loss: float) -> bool:
        """Hear the next loss: whether it lies deeper below the highest before it than any other did."""
        depth, self.highest = self.highest - loss, max(self.highest, loss)
        if not depth > self.depth:
            return False
        self.depth = depth
        return True


class Game:
    """The generator G, its discriminator, and what both are trained on."""

    def __init__(
        self, spaces: tuple[Tensor, Tensor], weights: Sequence[Tensor], seed: int, settings: Zhang2017Settings
    ) -> None:
        self.source, self.target = spaces
        self.settings, (words, start, noise) = settings, generators(seed, 3)
        dimension, batch, device = int(self.source.shape[1]), settings.batch, self.source.device
        rotation = random_rotation(dimension, start).to(self.source)
        network = Network.drawn((dimension, settings.hidden, 1), LEAK, start, self.source)
        self.adam = Adam([rotation, *network.weights, *network.biases], settings.rate)
        self.matrix, *parts = self.adam.parameters
        self.network = Network(tuple(parts[:2]), tuple(parts[2:]), LEAK)
        self.noise = gaussian_noise(settings.noise, noise, self.source, 2 * batch * (dimension + settings.hidden))
        self.rows = batches(weights[0], batch, words, device)
        self.columns = batches(weights[1], batch, words, device)
        self.labels = torch.cat([torch.ones(batch, 1), torch.zeros(batch, 1)]).to(self.source)
        self.total = torch.zeros((), dtype=torch.float64, device=device)
        self._step = Recorded(self.step)

    def play(self, steps: int) -> float:
        """So many steps; the mean loss of G over them."""
        self.total.zero_()
        rows, dimension = 2 * self.settings.batch, int(self.source.shape[1])
        for _ in range(steps):
            noises = self.noise.cut(rows, dimension), self.noise.cut(rows, self.settings.hidden)
            self._step(next(self.rows), next(self.columns), *noises)
        return float(self.total) / steps

    def step(self, rows: Tensor, columns: Tensor, noise: Tensor, hidden_noise: Tensor) -> None:
        """One pass through D, and a step of both."""
        x, batch = self.source[rows], self.settings.batch
        inputs = torch.cat([x @ self.matrix, self.target[columns]]).mul_(noise)
        trace = look(self.network, inputs, [hidden_noise])
        belief = torch.sigmoid(trace.scores)
        found = deltas(self.network, trace, (belief - self.labels) / batch)
        by_mapped = by_inputs(self.network, trace.head(batch), belief[:batch] / batch).mul_(noise[:batch])
        loss, by_matrix = reconstruction(x, self.matrix)
        weight, by_g, by_d = self.settings.reconstruction, self.adam.gradients[0], self.adam.gradients[1:]
        torch.addmm(by_matrix, x.mT, by_mapped, beta=weight, out=by_g)
        for layer, (given, delta) in enumerate(zip(trace.inputs, found, strict=True)):
            torch.mm(given.mT, delta, out=by_d[layer])
            torch.sum(delta, dim=0, out=by_d[len(found) + layer])
        self.adam.step()
        self.total.add_(softplus(trace.scores[:batch]).mean() + weight * loss)


def play(game: Game, task: Task, settings: Zhang2017Settings) -> Tensor:
    """The adversarial game; the map at the foot of the sharpest drop of its loss."""
    drop, kept, found = Drop(), game.matrix.clone(), 0
    window = min(settings.window, settings.steps)
    windows = settings.steps // window
    tell_every = -(-windows // MOST_EVENTS)
    for number in range(1, windows + 1):
        loss = game.play(window)
        if not math.isfinite(loss):
            break
        if drop.sharper(loss):
            kept, found = game.matrix.clone(), number
        if number % tell_every == 0 or number == windows:
            task.listen(Step("adversary", number, windows, {"loss": loss, "drop": drop.depth}))
        if task.stopped() or (number - found) * window >= settings.patience:
            break
    return kept
