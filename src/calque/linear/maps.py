"""Linear maps between spaces, and the closed forms that find them from weighted pairs."""

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
        """Every row carried over."""
        return vectors @ self.matrix.to(vectors)

    def then(self, following: LinearMap) -> LinearMap:
        """First this map, then ``following``."""
        return LinearMap(self.matrix @ following.matrix.to(self.matrix))

    def inverse(self) -> LinearMap:
        """The way back; where dimensions were lost, the way back that is shortest (Moore-Penrose)."""
        return LinearMap(_pseudo_inverse(self.matrix))

    @property
    def inputs(self) -> int:
        """The dimension of what it is applied to."""
        return int(self.matrix.shape[0])

    def tensors(self) -> dict[str, Tensor]:
        """What must be saved."""
        return {"": self.matrix}

    @classmethod
    def identity(cls, dimension: int, like: Tensor) -> LinearMap:
        """The map that changes nothing."""
        return cls(torch.eye(dimension, dtype=like.dtype, device=like.device))


@dataclass(frozen=True, eq=False)
class NetworkMap:
    """x ↦ tanh(x W₁ + b₁) … W_k + b_k: a map with hidden layers."""

    weights: tuple[Tensor, ...]
    """(from, to) of each layer."""
    biases: tuple[Tensor, ...]

    def apply(self, vectors: Tensor) -> Tensor:
        """Every row carried over."""
        layers = list(zip(self.weights, self.biases, strict=True))
        for weight, bias in layers[:-1]:
            vectors = torch.tanh(vectors @ weight.to(vectors) + bias.to(vectors))
        return vectors @ layers[-1][0].to(vectors) + layers[-1][1].to(vectors)

    @property
    def inputs(self) -> int:
        """The dimension of what it is applied to."""
        return int(self.weights[0].shape[0])

    def tensors(self) -> dict[str, Tensor]:
        """What must be saved; ``from_tensors`` gives the map back."""
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


def procrustes(source: Tensor, target: Tensor) -> LinearMap:
    """The orthogonal W that minimises ||X W - Y|| for rows that correspond (Schönemann 1966)."""
    return LinearMap(nearest_orthogonal(source.mT @ target))


def nearest_orthogonal(gram: Tensor) -> Tensor:
    """The orthogonal W that maximises <W, C>: U Vᵀ where C = U S Vᵀ. Leading dimensions are a batch."""
    u, _, vh = torch.linalg.svd(gram, full_matrices=False)
    product: Tensor = u @ vh
    return product


def least_squares(source: Tensor, target: Tensor, ridge: float = 0.0) -> LinearMap:
    """The W that minimises ||X W - Y||² + ridge ||W||²; the shortest one where several do."""
    if ridge == 0.0:
        return LinearMap(_pseudo_inverse(source) @ target)
    gram = source.mT @ source
    return LinearMap(torch.linalg.solve(gram + ridge * torch.eye(len(gram)).to(gram), source.mT @ target))


def _pseudo_inverse(matrix: Tensor) -> Tensor:
    """In double precision, but blind to what only the rounding of the matrix put into it."""
    rounding = torch.finfo(matrix.dtype).eps * max(matrix.shape)
    inverse: Tensor = torch.linalg.pinv(matrix.double(), rtol=rounding)
    return inverse.to(matrix)


def principal(vectors: Tensor, dimension: int) -> LinearMap:
    """Onto the ``dimension`` orthogonal directions in which the vectors are longest."""
    _, directions = torch.linalg.eigh(vectors.mT @ vectors)
    return LinearMap(directions.flip(-1)[..., :dimension].contiguous())


def reweighted(source: Tensor, target: Tensor, power: float = 0.5) -> tuple[LinearMap, LinearMap]:
    """One map per side into a common space, from rows that correspond (Artetxe, Labaka, Agirre 2018, section 3.4).

    Whiten each side on its own rows (X A, with AᵀXᵀX A = 1), rotate both onto the singular vectors U, V of what they
    then share, XᵀY = U S Vᵀ, stretch each shared direction by S^power, and undo the whitening inside the rotation:
    W_x = A U S^p Uᵀ A⁻¹ U, W_y = B V S^p Vᵀ B⁻¹ V. Directions on which the two sides agree count for more.
    """
    whiten_x, colour_x = _whitening(source)
    whiten_y, colour_y = _whitening(target)
    u, s, vh = torch.linalg.svd((source @ whiten_x).mT @ (target @ whiten_y), full_matrices=False)
    stretch = torch.diag(s.clamp_min(0.0) ** power)
    return (
        LinearMap(whiten_x @ u @ stretch @ u.mT @ colour_x @ u),
        LinearMap(whiten_y @ vh.mT @ stretch @ vh @ colour_y @ vh.mT),
    )


@dataclass(frozen=True, eq=False)
class TwoWay:
    """Maps of both sides into a common space, for either direction: (source, target) each."""

    there: tuple[LinearMap, LinearMap]
    back: tuple[LinearMap, LinearMap]

    @classmethod
    def of(cls, source: LinearMap, target: LinearMap) -> TwoWay:
        """The same maps both ways."""
        return cls((source, target), (source, target))


def two_way(source: Tensor, target: Tensor, weights: Tensor, shrinkage: float) -> TwoWay:
    """Maps from weighted rows that correspond, which treat queries and candidates differently.

    Whiten each side, A = (XᵀX)^-½ and B = (YᵀY)^-½, rotate both onto the singular vectors of what they then share,
    AXᵀYB = U S Vᵀ, and give both the mean M of their two colours, UᵀA⁻¹U and VᵀB⁻¹V. Of S, which tells how far a shared
    direction can be trusted, candidates get the larger share: queries are carried by A U S^(1-q) M, candidates by
    B V S^q M, and the other way round on the way back. With q = 1 candidates are predicted from queries by least
    squares, which leaves few hubs (Shigeto et al. 2015); with q = ½ the two are alike (`reweighted` without its own
    colours).
    """
    root = weights.sqrt().unsqueeze(1)
    whiten_x, colour_x = _whitening(root * source)
    whiten_y, colour_y = _whitening(root * target)
    u, s, vh = torch.linalg.svd(whiten_x @ (source.mT @ (weights.unsqueeze(1) * target)) @ whiten_y)
    colours = u.mT @ colour_x @ u, vh @ colour_y @ vh.mT
    colour = sum(each / each.diagonal().mean() for each in colours)
    sides = whiten_x @ u, whiten_y @ vh.mT

    def carried(side: Tensor, power: float) -> LinearMap:
        return LinearMap((side * s.clamp(0.0, 1.0) ** power) @ colour)

    first, second = 1 - shrinkage, shrinkage
    return TwoWay(
        (carried(sides[0], first), carried(sides[1], second)), (carried(sides[0], second), carried(sides[1], first))
    )


def _whitening(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """(XᵀX)^-½ and (XᵀX)^½; directions in which X has no extent are left as they are."""
    values, directions = torch.linalg.eigh(vectors.mT @ vectors)
    roots = values.clamp_min(0.0).sqrt()
    roots = torch.where(roots > 1e-6 * roots.max(), roots, torch.ones_like(roots))
    return (directions / roots) @ directions.mT, (directions * roots) @ directions.mT
