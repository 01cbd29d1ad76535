"""The maps of the paper and what is minimised: equations 1, 5 and 6 (section 3.2), for maps of section 3.4.

Every parameter has one more dimension than in the paper, the first: the seed. Several seeds train as one batch.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from calque.linear.maps import LinearMap, NetworkMap, unit
from calque.methods.default.alternation import SHARPEST, random_rotation
from calque.transport import SinkhornSettings, euclidean_cost, sinkhorn_distance, sqrt_cosine_cost
from calque.transport.distance import Gradient

Variant = Literal["tied", "free"]
Cost = Literal["sqrt-cosine", "euclidean"]
Directions = Literal["both", "forward"]


@dataclass(frozen=True)
class Transfer:
    """G: X → Y and F: Y → X of every seed (section 3.4)."""

    parameters: tuple[Tensor, ...]
    """tied: W. free: the layers of G, then those of F, weight and bias in turn (a linear map is its weight alone)."""
    tied: bool

    def there(self, vectors: Tensor) -> Tensor:
        """G: (seeds, n, d) source vectors in the target's space."""
        return vectors @ self.parameters[0] if self.tied else _through(self._halves()[0], vectors)

    def back(self, vectors: Tensor) -> Tensor:
        """F: (seeds, m, d) target vectors in the source's space; Gᵀ where tied."""
        return vectors @ self.parameters[0].mT if self.tied else _through(self._halves()[1], vectors)

    def maps(self, seed: int) -> tuple[LinearMap | NetworkMap, LinearMap | NetworkMap]:
        """G and F of one seed, on the CPU."""
        if self.tied:
            matrix = self.parameters[0][seed].detach().cpu()
            return LinearMap(matrix), LinearMap(matrix.mT.contiguous())
        g, f = ([layer[seed].detach().cpu() for layer in half] for half in self._halves())
        if len(g) == 1:
            return LinearMap(g[0]), LinearMap(f[0])
        return NetworkMap(tuple(g[::2]), tuple(g[1::2])), NetworkMap(tuple(f[::2]), tuple(f[1::2]))

    def _halves(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        middle = len(self.parameters) // 2
        return self.parameters[:middle], self.parameters[middle:]


def _through(layers: Sequence[Tensor], vectors: Tensor) -> Tensor:
    """One layer: x W₁; several: tanh(x W₁ + b₁) … W_k + b_k."""
    if len(layers) == 1:
        return vectors @ layers[0]
    for weight, bias in zip(layers[:-2:2], layers[1:-2:2], strict=True):
        vectors = torch.tanh(vectors @ weight + bias.unsqueeze(-2))
    return vectors @ layers[-2] + layers[-1].unsqueeze(-2)


def first_transfer(
    dimension: int, variant: Variant, hidden: Sequence[int], generators: Sequence[torch.Generator]
) -> Transfer:
    """A random rotation for every seed, with F = Gᵀ; with hidden layers, random layers for both.

    Weights of hidden layers have orthogonal rows or columns, and biases are zero.
    """
    if not hidden:
        rotations = torch.stack([random_rotation(dimension, generator) for generator in generators])
        tied = variant == "tied"
        return Transfer((rotations,) if tied else (rotations, rotations.mT.contiguous()), tied)
    networks = []
    for generator in generators:
        layers = list[Tensor]()
        for inputs, outputs in 2 * list(itertools.pairwise((dimension, *hidden, dimension))):
            weight = random_rotation(max(inputs, outputs), generator)[:inputs, :outputs]
            layers += [weight.contiguous(), torch.zeros(outputs)]
        networks.append(layers)
    return Transfer(tuple(torch.stack(same_layer) for same_layer in zip(*networks, strict=True)), tied=False)


@dataclass(frozen=True, eq=False)
class Batch:
    """Words of both sides, for every seed its own."""

    source: Tensor
    """(seeds, n, d) standardised."""
    target: Tensor
    rows: Tensor
    """(seeds, n): r of the paper, summing to one."""
    columns: Tensor

    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """All four, in order."""
        return self.source, self.target, self.rows, self.columns


@dataclass(frozen=True)
class Objective:
    """L(G, F) = d_sh(G) + d_sh(F) + β d_bt(G, F) (equation 6)."""

    sinkhorn: SinkhornSettings
    gradient: Gradient = "iterations"
    back_translation: float = 0.1
    """β."""
    cost: Cost = "sqrt-cosine"
    directions: Directions = "both"

    @classmethod
    def of(
        cls, sinkhorn: SinkhornSettings, gradient: Gradient, back_translation: float, cost: Cost, directions: Directions
    ) -> Objective:
        """Choose the domain of the scalings once: looking at the costs of every batch would make a GPU wait."""
        safe = cost == "sqrt-cosine" and sinkhorn.sharpness <= SHARPEST
        return cls(replace(sinkhorn, domain="kernel" if safe else "log"), gradient, back_translation, cost, directions)

    @property
    def recordable(self) -> bool:
        """Whether a GPU can run it without a question to the CPU."""
        return self.sinkhorn.domain == "kernel"

    def __call__(self, transfer: Transfer, batch: Batch) -> Tensor:
        """(seeds,): the whole objective."""
        there, back = transfer.there(batch.source), transfer.back(batch.target)
        loss = self.distances(there, back, batch)
        if self.back_translation > 0:
            loss = loss + self.back_translation * back_translation_loss(transfer, (there, back), batch)
        return loss

    def distances(self, there: Tensor, back: Tensor, batch: Batch) -> Tensor:
        """d_sh(G) + d_sh(F) of mapped words, or d_sh(G) alone (equation 1)."""
        distance = self._distance(there, batch.target, batch.rows, batch.columns)
        if self.directions == "both":
            distance = distance + self._distance(back, batch.source, batch.columns, batch.rows)
        return distance

    def _distance(self, mapped: Tensor, other: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        if self.cost == "euclidean":
            cost = euclidean_cost(mapped, other)
        else:
            cost = sqrt_cosine_cost(unit(mapped), unit(other))
        return sinkhorn_distance(cost, rows, columns, self.sinkhorn, self.gradient)


def back_translation_loss(transfer: Transfer, mapped: tuple[Tensor, Tensor], batch: Batch) -> Tensor:
    """d_bt = Σ 1 - cos(x, F(G x)) + Σ 1 - cos(y, G(F y)), a mean by the weights of the words (equation 5)."""
    there, back = mapped
    lost_x = 1 - torch.cosine_similarity(batch.source, transfer.back(there), dim=-1)
    lost_y = 1 - torch.cosine_similarity(batch.target, transfer.there(back), dim=-1)
    return (batch.rows * lost_x).sum(dim=-1) + (batch.columns * lost_y).sum(dim=-1)
