"""Maps between spaces: linear ones, and networks with hidden layers."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class LinearMap:
    """x ↦ x W, for rows x."""

    matrix: Tensor
    """(from, to)."""

    def apply(self, vectors: Tensor) -> Tensor:
        """Map every row."""
        return vectors @ self.matrix.to(vectors)

    def then(self, following: LinearMap) -> LinearMap:
        """First this map, then ``following``."""
        return LinearMap(self.matrix @ following.matrix.to(self.matrix))

    def inverse(self) -> LinearMap:
        """The map back; if dimensions were lost, the pseudo-inverse (Moore-Penrose)."""
        return LinearMap(pseudo_inverse(self.matrix))

    @property
    def inputs(self) -> int:
        """The dimension of the vectors it maps."""
        return int(self.matrix.shape[0])

    def tensors(self) -> dict[str, Tensor]:
        """The tensors to save; ``map_from`` reads them."""
        return {"": self.matrix}

    @classmethod
    def identity(cls, dimension: int, like: Tensor) -> LinearMap:
        """The map that changes nothing."""
        return cls(torch.eye(dimension, dtype=like.dtype, device=like.device))


def pseudo_inverse(matrix: Tensor) -> Tensor:
    """In double precision; singular values no larger than the rounding errors of the matrix count as zero."""
    rounding = torch.finfo(matrix.dtype).eps * max(matrix.shape)
    inverse: Tensor = torch.linalg.pinv(matrix.double(), rtol=rounding)
    return inverse.to(matrix)


@dataclass(frozen=True, eq=False)
class NetworkMap:
    """x ↦ tanh(x W₁ + b₁) … W_k + b_k: a map with hidden layers."""

    weights: tuple[Tensor, ...]
    """(from, to) of each layer."""
    biases: tuple[Tensor, ...]

    def apply(self, vectors: Tensor) -> Tensor:
        """Map every row."""
        *hidden, last = zip(self.weights, self.biases, strict=True)
        for weight, bias in hidden:
            vectors = torch.tanh(vectors @ weight.to(vectors) + bias.to(vectors))
        return vectors @ last[0].to(vectors) + last[1].to(vectors)

    @property
    def inputs(self) -> int:
        """The dimension of the vectors it maps."""
        return int(self.weights[0].shape[0])

    def tensors(self) -> dict[str, Tensor]:
        """The tensors to save; ``from_tensors`` reads them."""
        saved = {f".{number}.weight": weight for number, weight in enumerate(self.weights)}
        return saved | {f".{number}.bias": bias for number, bias in enumerate(self.biases)}

    @classmethod
    def from_tensors(cls, saved: dict[str, Tensor], name: str) -> NetworkMap:
        """The map that was saved under this name."""
        layers = range(sum(key.startswith(f"{name}.") and key.endswith(".weight") for key in saved))
        return cls(
            tuple(saved[f"{name}.{number}.weight"] for number in layers),
            tuple(saved[f"{name}.{number}.bias"] for number in layers),
        )


def map_from(saved: dict[str, Tensor], name: str) -> LinearMap | NetworkMap:
    """The map of either kind that was saved under this name."""
    return LinearMap(saved[name]) if name in saved else NetworkMap.from_tensors(saved, name)
