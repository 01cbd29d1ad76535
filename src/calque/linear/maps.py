"""How the vectors of one language get into the common space: preprocessing, then a map, then length 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from calque.data.space import Space, SubwordModel
from calque.errors import SettingsError

BLOCK_ROWS = 65_536
"""How many vectors of a space are mapped at once."""
STEPS = ("unit", "center", "standardise", "iterative")
"""unit: every vector to length 1; center: mean to 0; standardise: mean to 0 and deviation to 1 in every dimension;
iterative: unit and center in turn, five times, until both nearly hold at once (Zhang et al. 2019)."""

_ITERATIVE_ROUNDS = 5
_SHORTEST = 1e-12
_USUAL = (1e-9, 1e15)
"""Between these lengths squares in float32 neither vanish nor overflow, and `_SHORTEST` is far."""

unit: Callable[[Tensor], Tensor] = partial(torch.nn.functional.normalize, dim=-1, eps=_SHORTEST)
"""Every row at length 1; a row of zeros stays a row of zeros."""


def unit_of_any_length(vectors: Tensor) -> Tensor:
    """The same for rows as a user has them: of length 1e30 or 1e-30 too, whose squares float32 cannot hold."""
    lengths: Tensor = vectors.norm(dim=-1, keepdim=True)
    if bool(((lengths > _USUAL[0]) & (lengths < _USUAL[1])).all()):
        return vectors / lengths
    largest = vectors.abs().amax(dim=-1, keepdim=True)
    return unit(vectors / torch.where(largest > 0, largest, torch.ones_like(largest)))


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """Steps whose means and deviations were measured on one space."""

    steps: tuple[tuple[Tensor, Tensor] | None, ...]
    """Each is a (shift, scale), or None for making every vector length 1."""

    def apply(self, vectors: Tensor) -> Tensor:
        """The same steps on any vectors of that space."""
        for step in self.steps:
            vectors = (
                unit_of_any_length(vectors) if step is None else (vectors - step[0].to(vectors)) * step[1].to(vectors)
            )
        return vectors

    def cpu(self) -> Preprocessing:
        """The same, with all tensors in main memory."""
        return Preprocessing(tuple(None if step is None else (step[0].cpu(), step[1].cpu()) for step in self.steps))

    def tensors(self) -> dict[str, Tensor]:
        """The tensors to save; ``from_tensors`` reads them."""
        saved: dict[str, Tensor] = {}
        for number, step in enumerate(self.steps):
            if step is None:
                saved[f"{number}.unit"] = torch.ones(1)
            else:
                saved[f"{number}.shift"], saved[f"{number}.scale"] = step[0].contiguous(), step[1].contiguous()
        return saved

    @classmethod
    def from_tensors(cls, saved: dict[str, Tensor]) -> Preprocessing:
        """The preprocessing that was saved as these tensors."""
        steps: list[tuple[Tensor, Tensor] | None] = []
        for number in sorted({int(name.split(".")[0]) for name in saved}):
            is_unit = f"{number}.unit" in saved
            steps.append(None if is_unit else (saved[f"{number}.shift"], saved[f"{number}.scale"]))
        return cls(tuple(steps))


def fit(vectors: Tensor, names: Sequence[str]) -> tuple[Preprocessing, Tensor]:
    """Measure and apply the named steps in order; the preprocessing, and the vectors after it."""
    check_steps(names)
    simple_names: list[str] = []
    for name in names:
        simple_names += ["unit", "center"] * _ITERATIVE_ROUNDS if name == "iterative" else [name]
    steps: list[tuple[Tensor, Tensor] | None] = []
    if simple_names[:1] != ["unit"]:
        # Only directions matter, so vectors that are all too long or too short for float32 are brought near length 1.
        size = float(vectors.abs().amax(dim=-1).median())
        if size > 0 and not _USUAL[0] < size < _USUAL[1]:
            zero = torch.zeros_like(vectors[0])
            steps.append((zero, torch.full_like(zero, 1 / size)))
            vectors = Preprocessing((steps[-1],)).apply(vectors)
    for name in simple_names:
        steps.append(None if name == "unit" else _shift_and_scale(vectors, name))
        vectors = Preprocessing((steps[-1],)).apply(vectors)
    return Preprocessing(tuple(steps)), vectors


def check_steps(names: Sequence[str]) -> None:
    """SettingsError, with the choices, if a name is not that of a step."""
    for name in names:
        if name not in STEPS:
            raise SettingsError(f"no preprocessing step is called {name!r}; there are: {', '.join(STEPS)}")


def _shift_and_scale(vectors: Tensor, name: str) -> tuple[Tensor, Tensor]:
    mean = vectors.mean(dim=0)
    if name == "center":
        return mean, torch.ones_like(mean)
    deviation = vectors.std(dim=0, correction=0)
    # A dimension that only varies by rounding errors is constant, and becomes 0.
    rounding = 8 * torch.finfo(vectors.dtype).eps * vectors.abs().amax(dim=0)
    return mean, torch.where(deviation > rounding, 1.0 / deviation.clamp_min(_SHORTEST), 0.0)


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


@dataclass(frozen=True, eq=False)
class Side:
    """The way of one language into the common space: preprocessing, then a map."""

    preprocessing: Preprocessing
    map: LinearMap | NetworkMap

    def apply(self, vectors: Tensor) -> Tensor:
        """Preprocessed, mapped, and of unit length."""
        return unit(self.map.apply(self.preprocessing.apply(vectors)))

    def tensors(self) -> dict[str, Tensor]:
        """The tensors to save; ``from_tensors`` reads them."""
        saved = {f"preprocessing.{name}": value for name, value in self.preprocessing.tensors().items()}
        return saved | {f"map{name}": value for name, value in self.map.tensors().items()}

    @classmethod
    def from_tensors(cls, saved: dict[str, Tensor]) -> Side:
        """The side that was saved as these tensors."""
        prefix = "preprocessing."
        steps = {name.removeprefix(prefix): value for name, value in saved.items() if name.startswith(prefix)}
        return cls(Preprocessing.from_tensors(steps), map_from(saved, "map"))


@dataclass(frozen=True, eq=False)
class Milestone:
    """The maps of both sides after an early stage, kept to show what each stage contributed."""

    stage: str
    source: LinearMap | NetworkMap
    target: LinearMap | NetworkMap


@dataclass(frozen=True)
class _MappedSubwords:
    """A subword model whose vectors are carried into the common space."""

    model: SubwordModel
    side: Side

    def vector(self, word: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        vectors = torch.as_tensor(self.model.vector(word)).unsqueeze(0)
        return np.asarray(self.side.apply(vectors)[0].numpy(), np.float32)


def map_space(space: Space, side: Side) -> Space:
    """A language carried into the common space, block by block, with its subword model if it has one."""
    blocks = torch.split(space.vectors, BLOCK_ROWS)
    first = side.apply(blocks[0])
    mapped = first.new_empty(len(space.vectors), first.shape[1])
    for rows, block in zip(torch.split(mapped, BLOCK_ROWS), blocks, strict=True):
        rows.copy_(side.apply(block))
    return replace(space, vectors=mapped, subwords=map_subwords(space, side))


def map_subwords(space: Space, side: Side) -> SubwordModel | None:
    """The subword model of a space, with its vectors carried into the common space; None if it has none."""
    return None if space.subwords is None else _MappedSubwords(space.subwords, side)
