"""G: X → Y and F: Y → X of the paper, with one set of parameters for each of several seeds (section 3.4)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from calque.linear.maps import LinearMap, NetworkMap
from calque.methods.default.alternation import random_rotation

Variant = Literal["tied", "free"]


@dataclass(frozen=True)
class Transfer:
    """Both maps of every seed. The first dimension of all parameters is the seed."""

    parameters: tuple[Tensor, ...]
    """tied: W. free: the layers of G, then those of F, weight and bias in turn (a linear map is its weight alone)."""
    tied: bool

    def there(self, vectors: Tensor) -> Tensor:
        """G: (seeds, n, d) source vectors in the target's space."""
        return vectors @ self.parameters[0] if self.tied else _through(self._halves()[0], vectors)

    def back(self, vectors: Tensor) -> Tensor:
        """F: (seeds, m, d) target vectors in the source's space; Gᵀ where tied."""
        return vectors @ self.parameters[0].mT if self.tied else _through(self._halves()[1], vectors)

    def _halves(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        middle = len(self.parameters) // 2
        return self.parameters[:middle], self.parameters[middle:]

    def maps(self, seed: int) -> tuple[LinearMap | NetworkMap, LinearMap | NetworkMap]:
        """G and F of one seed, on the CPU."""
        if self.tied:
            matrix = self.parameters[0][seed].detach().cpu()
            return LinearMap(matrix), LinearMap(matrix.mT.contiguous())
        there, back = (_map([each[seed].detach().cpu() for each in half]) for half in self._halves())
        return there, back


def _through(layers: Sequence[Tensor], vectors: Tensor) -> Tensor:
    if len(layers) == 1:
        return vectors @ layers[0]
    for weight, bias in zip(layers[:-2:2], layers[1:-2:2], strict=True):
        vectors = torch.tanh(vectors @ weight + bias.unsqueeze(-2))
    return vectors @ layers[-2] + layers[-1].unsqueeze(-2)


def _map(layers: Sequence[Tensor]) -> LinearMap | NetworkMap:
    return LinearMap(layers[0]) if len(layers) == 1 else NetworkMap(tuple(layers[::2]), tuple(layers[1::2]))


def first_transfer(
    dimension: int, variant: Variant, hidden: Sequence[int], generators: Sequence[torch.Generator]
) -> Transfer:
    """A random rotation for every seed, with F = Gᵀ; with hidden layers, random ones for both."""
    if hidden:
        sizes = (dimension, *hidden, dimension)
        return Transfer(_stacked([_layers(sizes, each) + _layers(sizes, each) for each in generators]), tied=False)
    rotations = torch.stack([random_rotation(dimension, each) for each in generators])
    if variant == "tied":
        return Transfer((rotations,), tied=True)
    return Transfer((rotations, rotations.mT.contiguous()), tied=False)


def _layers(sizes: Sequence[int], generator: torch.Generator) -> list[Tensor]:
    """Orthogonal rows or columns, and biases of zero."""
    layers = list[Tensor]()
    for before, after in itertools.pairwise(sizes):
        layers += [random_rotation(max(before, after), generator)[:before, :after].contiguous(), torch.zeros(after)]
    return layers


def _stacked(sets: Sequence[Sequence[Tensor]]) -> tuple[Tensor, ...]:
    return tuple(torch.stack(each) for each in zip(*sets, strict=True))
