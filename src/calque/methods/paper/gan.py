"""Stage one: a Wasserstein GAN with gradient penalty gives stage two its first maps (section 3.3).

d_ot(G) = min_P <P, M> is approached by its dual (equations 7 and 8): a critic D, kept near slope 1 by the penalty of
Gulrajani et al. 2017, maximises E[D(y)] - E[D(G x)], and the maps minimise that. There is one critic for each
direction, and both maps learn at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from calque.errors import SettingsError
from calque.linear.maps import unit
from calque.methods.paper.objective import Batch, Transfer, back_translation_loss


@dataclass(frozen=True)
class GanSettings:
    """The Wasserstein GAN that finds the first maps."""

    starts: int = 6
    """Random rotations to start from, for every seed; the one with the lowest Sinkhorn distance is kept. Published: 1.
    Some starts find the right map within a few hundred steps, others never do."""
    words: int = 1000
    """How many of the most frequent words are trained on; published: 10,000. Rarer words correspond less, and slow the
    training down."""
    batch: int = 512
    """Words of each side in a mini-batch; published: 2,048."""
    steps: int = 1200
    """Map steps at most; 0 starts stage two from a random rotation."""
    patience: int = 1000
    """Stop after so many steps without a lower Sinkhorn distance."""
    critic_steps: int = 5
    """Critic steps before every map step."""
    hidden: int = 500
    """Hidden units of each critic."""
    noise: float = 0.5
    """Deviation of the noise around 1 that is multiplied onto the critic's input and hidden layer."""
    penalty: float = 10.0
    """Weight of (slope - 1)²."""
    back_translation: float = 1.0
    """Weight of the back-translation loss beside that of the critics. In the text it is 0, which lets the maps fold the
    space, and fails more often."""
    rate: float = 1e-2
    """Learning rate of the maps; published: 5e-3."""
    critic_rate: float = 1e-3
    """Learning rate of the critics; published: 5e-4."""

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise SettingsError(f"gan: steps is {self.steps}; expected 0 or more")
        for name in ("starts", "words", "batch", "patience", "critic_steps", "hidden"):
            if getattr(self, name) < 1:
                raise SettingsError(f"gan: {name} is {getattr(self, name)}; expected at least 1")
        weights, rates = (self.noise, self.penalty, self.back_translation), (self.rate, self.critic_rate)
        if not (all(weight >= 0 for weight in weights) and all(rate > 0 for rate in rates)):
            raise SettingsError("gan: noise, penalty and back_translation must be 0 or more, the rates above 0")


@dataclass(frozen=True, eq=False)
class CriticNoise:
    """Random factors on a critic's input and hidden layer, and places between two words where its slope is taken."""

    outer: Tensor
    """(seeds, 2, n, d): factors on the input."""
    inner: Tensor
    """(seeds, 2, n, hidden): factors on the hidden layer."""
    between: Tensor
    """(seeds, 2, n, 1): places, uniform from 0 to 1."""

    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """All three, in order."""
        return self.outer, self.inner, self.between


@dataclass(frozen=True, eq=False)
class Critics:
    """D(z) = w · tanh(z A + b) for both directions and every seed; a constant would cancel in every difference."""

    parameters: tuple[Tensor, Tensor, Tensor]
    """A (seeds, 2, d, h), b (seeds, 2, h), w (seeds, 2, h)."""

    def values(self, vectors: Tensor, noise: CriticNoise) -> Tensor:
        """(seeds, 2, n): D of vectors (seeds, 2, n, d)."""
        a, b, w = self.parameters
        hidden = torch.tanh((vectors * noise.outer) @ a + b.unsqueeze(-2))
        return ((hidden * noise.inner) @ w.unsqueeze(-1)).squeeze(-1)

    def slopes(self, vectors: Tensor) -> Tensor:
        """(seeds, 2, n): ||∇D|| without noise; for one hidden layer ∇D = A (w ∘ (1 - tanh²)), in closed form."""
        a, b, w = self.parameters
        hidden = torch.tanh(vectors @ a + b.unsqueeze(-2))
        lengths: Tensor = ((1 - hidden.square()) * w.unsqueeze(-2)).matmul(a.mT).norm(dim=-1)
        return lengths


def first_critics(dimension: int, hidden: int, generators: Sequence[torch.Generator]) -> Critics:
    """Uniform weights after Glorot and Bengio 2010, biases zero."""
    a = torch.stack([_glorot((2, dimension, hidden), dimension + hidden, generator) for generator in generators])
    w = torch.stack([_glorot((2, hidden), hidden + 1, generator) for generator in generators])
    return Critics((a, torch.zeros_like(w), w))


def _glorot(shape: tuple[int, ...], size: int, generator: torch.Generator) -> Tensor:
    weights: Tensor = (torch.rand(shape, generator=generator) * 2 - 1) * (6.0 / size) ** 0.5
    return weights


def draw_noise(vectors: Tensor, settings: GanSettings, generators: Sequence[torch.Generator]) -> CriticNoise:
    """Noise for a batch of vectors (seeds, n, d), for every seed from its own generator."""
    _, words, dimension = vectors.shape
    factors = vectors.new_empty((len(generators), 2, words * (dimension + settings.hidden)))
    between = vectors.new_empty((len(generators), 2, words, 1))
    for place, generator in enumerate(generators):
        factors[place].normal_(1.0, settings.noise, generator=generator)
        between[place].uniform_(generator=generator)
    shape = len(generators), 2, words
    outer = factors[..., : words * dimension].reshape(*shape, dimension)
    return CriticNoise(outer, factors[..., words * dimension :].reshape(*shape, settings.hidden), between)


def critic_loss(critics: Critics, transfer: Transfer, batch: Batch, noise: CriticNoise, penalty: float) -> Tensor:
    """(seeds,): E[D(mapped)] - E[D(real)] + penalty · E[(slope - 1)²], to be minimised by the critics."""
    mapped = _mapped(transfer, batch).detach()
    real = _of_equal_length(torch.stack((batch.target, batch.source), dim=1))
    # The same noise for mapped and real words disturbs their difference least.
    twice = CriticNoise(torch.cat((noise.outer,) * 2, dim=-2), torch.cat((noise.inner,) * 2, dim=-2), noise.between)
    values = critics.values(torch.cat((mapped, real), dim=-2), twice)
    of_mapped = torch.stack((batch.rows, batch.columns), dim=1)
    weights = torch.cat((of_mapped, -of_mapped.flip(1)), dim=-1)
    slopes = critics.slopes(torch.lerp(mapped, real, noise.between))
    return (values * weights).sum(dim=(1, 2)) + penalty * (slopes - 1).square().mean(dim=-1).sum(dim=-1)


def map_loss(critics: Critics, transfer: Transfer, batch: Batch, noise: CriticNoise, back_translation: float) -> Tensor:
    """(seeds,): -E[D(mapped)] + weight · d_bt, to be minimised by the maps."""
    weights = torch.stack((batch.rows, batch.columns), dim=1)
    loss = -(critics.values(_mapped(transfer, batch), noise) * weights).sum(dim=(1, 2))
    mapped = transfer.there(batch.source), transfer.back(batch.target)
    return loss + back_translation * back_translation_loss(transfer, mapped, batch)


def _mapped(transfer: Transfer, batch: Batch) -> Tensor:
    """(seeds, 2, n, d): G x, and F y."""
    return _of_equal_length(torch.stack((transfer.there(batch.source), transfer.back(batch.target)), dim=1))


def _of_equal_length(vectors: Tensor) -> Tensor:
    """Unit length, then the scale of standardised vectors.

    On unit vectors tanh is nearly a straight line at first, and such a critic sees only the means.
    """
    return unit(vectors) * math.sqrt(vectors.shape[-1])
