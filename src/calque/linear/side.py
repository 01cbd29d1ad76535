"""How the vectors of one language are carried into the common space."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from calque.data.preprocess import Preprocessing, unit
from calque.data.space import Space, SubwordModel
from calque.linear.maps import LinearMap, NetworkMap, map_from

BLOCK_ROWS = 65_536


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
    mapped = first.new_empty(len(space), first.shape[1])
    for rows, block in zip(torch.split(mapped, BLOCK_ROWS), blocks, strict=True):
        rows.copy_(side.apply(block))
    return replace(space, vectors=mapped, subwords=map_subwords(space, side))


def map_subwords(space: Space, side: Side) -> SubwordModel | None:
    """The subword model of a space, with its vectors carried into the common space; None if it has none."""
    return None if space.subwords is None else _MappedSubwords(space.subwords, side)
