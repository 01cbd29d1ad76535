"""How one language gets into the common space."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from calque.data.preprocess import Preprocessing, unit
from calque.data.space import Space, SubwordModel
from calque.linear.maps import LinearMap, NetworkMap, map_from


@dataclass(frozen=True, eq=False)
class Side:
    """How the vectors of one language get into the common space."""

    preprocessing: Preprocessing
    map: LinearMap | NetworkMap

    def apply(self, vectors: Tensor) -> Tensor:
        """Preprocessed, mapped, and of unit length."""
        return unit(self.map.apply(self.preprocessing.apply(vectors)))

    def tensors(self) -> dict[str, Tensor]:
        """What must be saved; ``from_tensors`` gives the side back."""
        saved = {f"preprocessing.{name}": value for name, value in self.preprocessing.tensors().items()}
        return saved | {f"map{name}": value for name, value in self.map.tensors().items()}

    @classmethod
    def from_tensors(cls, saved: dict[str, Tensor]) -> Side:
        """The side whose ``tensors`` these are."""
        prefix = "preprocessing."
        steps = {name.removeprefix(prefix): value for name, value in saved.items() if name.startswith(prefix)}
        return cls(Preprocessing.from_tensors(steps), map_from(saved, "map"))


@dataclass(frozen=True, eq=False)
class Milestone:
    """The maps of both sides after a stage that others followed: to see what each stage was worth."""

    stage: str
    source: LinearMap | NetworkMap
    target: LinearMap | NetworkMap


@dataclass(frozen=True)
class _MappedSubwords:
    """Vectors of unseen words, carried into the common space."""

    model: SubwordModel
    side: Side

    def vector(self, word: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        return np.asarray(self.side.apply(torch.as_tensor(self.model.vector(word)).unsqueeze(0))[0].numpy(), np.float32)


def map_space(space: Space, side: Side) -> Space:
    """A space in the common space, block by block, with its subword model where it has one."""
    blocks = torch.split(space.vectors, 65_536)
    first = side.apply(blocks[0])
    mapped = first.new_empty(len(space), first.shape[1])
    for rows, block in zip(torch.split(mapped, 65_536), blocks, strict=True):
        rows.copy_(side.apply(block))
    return replace(space, vectors=mapped, subwords=map_subwords(space, side))


def map_subwords(space: Space, side: Side) -> SubwordModel | None:
    """The subword model of a space, if it has one, with its vectors carried into the common space."""
    return None if space.subwords is None else _MappedSubwords(space.subwords, side)
