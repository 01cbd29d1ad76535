"""An adversarial autoencoder (Zhang, Liu, Luan, Sun 2017).

"Adversarial training for unsupervised bilingual lexicon induction", section 2.3 (their third model) and section 3. A
discriminator D learns to tell mapped source words from target words. The generator G learns to deceive it, and to get
the source words back by its own transpose:

    min_D  - E log D(xG) - E log (1 - D(y))
    min_G  - E log (1 - D(xG)) - λ E cos(x, x G Gᵀ)

The second term is the reconstruction loss of an autoencoder with tied weights; it holds G near the orthogonal matrices
without forcing it there. Both descend at once, by Adam, from the same pass through D (the one-step variant of Nowozin,
Cseke, Tomioka 2016). Gaussian noise is multiplied onto the input and the hidden layer of D; without it D wins and G
learns nothing (section 3.1).

Training does not settle: the loss of G rises while D learns, drops sharply when G finds the other language, and rises
again (section 3.2). So the map is taken at the foot of the sharpest drop: where the loss, averaged over a window, lies
deepest below the highest value before it. The first windows, in which D knows nothing yet and any G has a low loss, are
thereby left out.

`conneau2017` has a larger discriminator, draws its map to the orthogonal matrices by force, chooses it by the mean
cosine of translations, and refines it by Procrustes. Here the result of the training is final.

Published: unit vectors, G from a random orthogonal matrix, 500 hidden units, Adam with its usual rates, λ = 1, 500,000
batches. The paper leaves open, and this file decides: a leaky activation; the deviation of the noise; words drawn with
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

from calque.data.space import Space
from calque.errors import SettingsError
from calque.linear.maps import LinearMap, Side, fit
from calque.methods.baselines.adversary import (
    LEAK,
    Adam,
    Network,
    by_inputs,
    check_dimensions,
    deltas,
    draw_batches,
    forward,
    gaussian_noise,
    generators,
)
from calque.methods.default.alternation import random_rotation
from calque.methods.recorded import Recorded
from calque.methods.task import Outcome, Task
from calque.progress import Step

MOST_EVENTS = 250
"""Events in a whole run, at most."""


@dataclass(frozen=True)
class Zhang2017Settings:
    """The published values where there are any."""

    hidden: int = 500
    """Units in the hidden layer of the discriminator."""
    noise: float = 0.5
    """Deviation of the random factors on its input and its hidden layer; their mean is 1."""
    reconstruction: float = 1.0
    """λ: the weight of the reconstruction loss."""
    batch: int = 128
    """Words of each side in a step."""
    rate: float = 1e-3
    """Learning rate of Adam for both."""
    subsampling: float = 1e-5
    """Words more frequent than this share of the text are drawn less often than they occur."""
    steps: int = 500_000
    """Batches at most."""
    window: int = 1000
    """Batches over which the loss is averaged before it is compared."""
    patience: int = 100_000
    """The run ends after so many batches without a sharper drop of the loss."""

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
    fitted = [fit(space.vectors, ("unit",)) for space in (task.source, task.target)]
    source, target = (vectors.to(task.device) for _, vectors in fitted)
    weights = [sampling_weights(space, settings.subsampling) for space in (task.source, task.target)]
    training = AutoencoderTraining((source, target), weights, task.seed, settings)
    matrix = train(training, task, settings)
    notes: tuple[str, ...] = ("it was interrupted",) if task.stopped() else ()
    if not bool(training.matrix.isfinite().all()):
        notes += ("the training diverged: its map was no longer a number, and the best one before that was kept",)
    identity = LinearMap.identity(task.target.dimension, task.target.vectors)
    return Outcome(Side(fitted[0][0], LinearMap(matrix.cpu())), Side(fitted[1][0], identity), notes=notes)


def train(training: AutoencoderTraining, task: Task, settings: Zhang2017Settings) -> Tensor:
    """Window after window; the map at the foot of the sharpest drop of the loss (section 3.2)."""
    drop, kept, kept_at = Drop(), training.matrix.clone(), 0
    window = min(settings.window, settings.steps)
    windows = settings.steps // window
    tell_every = -(-windows // MOST_EVENTS)
    for number in range(1, windows + 1):
        loss = training.run(window)
        if not math.isfinite(loss):
            break
        if drop.sharper(loss):
            kept, kept_at = training.matrix.clone(), number
        if number % tell_every == 0 or number == windows:
            task.listen(Step("adversary", number, windows, {"loss": loss, "drop": drop.depth}))
        if task.stopped() or (number - kept_at) * window >= settings.patience:
            break
    return kept


@dataclass
class Drop:
    """The sharpest drop of a loss so far: how far it lies below the highest value before it."""

    highest: float = float("-inf")
    depth: float = 0.0

    def sharper(self, loss: float) -> bool:
        """Take the next loss. True where it lies deeper below the highest value before it than any other did."""
        depth, self.highest = self.highest - loss, max(self.highest, loss)
        if not depth > self.depth:
            return False
        self.depth = depth
        return True


class AutoencoderTraining:
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
        self.matrix, *layers = self.adam.parameters
        self.network = Network(tuple(layers[:2]), tuple(layers[2:]), LEAK)
        self.noise = gaussian_noise(settings.noise, noise, self.source, 2 * batch * (dimension + settings.hidden))
        self.rows = draw_batches(weights[0], batch, words, device)
        self.columns = draw_batches(weights[1], batch, words, device)
        self.labels = torch.cat([torch.ones(batch, 1), torch.zeros(batch, 1)]).to(self.source)
        self.total = torch.zeros((), dtype=torch.float64, device=device)
        self._step = Recorded(self.step)

    def run(self, steps: int) -> float:
        """``steps`` steps; the mean loss of G over them."""
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
        passed = forward(self.network, inputs, [hidden_noise])
        belief = torch.sigmoid(passed.scores)
        by_layer = deltas(self.network, passed, (belief - self.labels) / batch)
        by_mapped = by_inputs(self.network, passed.head(batch), belief[:batch] / batch).mul_(noise[:batch])
        loss, by_matrix = reconstruction(x, self.matrix)
        weight, g_gradient, d_gradients = self.settings.reconstruction, self.adam.gradients[0], self.adam.gradients[1:]
        torch.addmm(by_matrix, x.mT, by_mapped, beta=weight, out=g_gradient)
        for layer, (layer_input, delta) in enumerate(zip(passed.inputs, by_layer, strict=True)):
            torch.mm(layer_input.mT, delta, out=d_gradients[layer])
            torch.sum(delta, dim=0, out=d_gradients[len(by_layer) + layer])
        self.adam.step()
        self.total.add_(softplus(passed.scores[:batch]).mean() + weight * loss)


def reconstruction(source: Tensor, matrix: Tensor) -> tuple[Tensor, Tensor]:
    """-E cos(x, x G Gᵀ) for unit rows x, and its derivative by G."""
    mapped = source @ matrix
    back = mapped @ matrix.mT
    length = back.norm(dim=1, keepdim=True).clamp_min(1e-12)
    back = back / length
    cosine = (source * back).sum(dim=1, keepdim=True)
    by_back = (back * cosine - source).div_(length * len(source))
    return -cosine.mean(), torch.addmm(by_back.mT @ mapped, source.mT, by_back @ matrix)


def sampling_weights(space: Space, threshold: float) -> Tensor:
    """How often to draw each word: f min(1, √(t/f)), with f its share of the text; all alike without counts."""
    if space.counts is None:
        return torch.ones(len(space), dtype=torch.float64)
    counts = space.counts.double().clamp_min(float(space.counts[space.counts > 0].min()))
    frequency = counts / counts.sum()
    return frequency * (threshold / frequency).sqrt().clamp_max(1.0)
