"""Words on a plane: where the source language was, where it now lies, and the target language, which stays.

One projection serves all three: the two directions in which the frequent words of the target vary most, in the common
space. A source word's place *before* is where it would be if its vector were taken for one of the target language.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from calque.data.preprocess import unit
from calque.errors import SettingsError
from calque.linear.closed_forms import principal
from calque.linear.maps import LinearMap
from calque.runs.alignment import Alignment

FITTED = 5000
"""The projection follows so many of the target's most frequent words."""


@dataclass(frozen=True, eq=False)
class Projection:
    """From the common space to the plane."""

    middle: Tensor
    directions: LinearMap

    def apply(self, vectors: Tensor) -> Tensor:
        """(n, 2)."""
        return self.directions.apply(vectors - self.middle)


@dataclass(frozen=True, eq=False)
class Positions:
    """Places on the plane, a row a word, most frequent first."""

    before: Tensor | None
    """(n, 2): the source before any map was known; None where that cannot be told."""
    after: Tensor
    """(n, 2): the source in the common space."""
    at: Tensor
    """(m, 2): the target in the common space."""
    why_not: str = ""
    """Why there is no ``before``."""


def fit_projection(alignment: Alignment) -> Projection:
    """The plane in which the target's frequent words vary most; the same for the same run."""
    vectors = alignment.target.vectors[:FITTED]
    middle = vectors.mean(dim=0)
    directions = principal(vectors - middle, 2).matrix
    signs = torch.sign(directions.gather(0, directions.abs().argmax(dim=0, keepdim=True)))
    return Projection(middle, LinearMap(directions * signs))


def positions(alignment: Alignment, source: Tensor | slice, target: Tensor | slice) -> Positions:
    """Where these rows of both languages lie."""
    projection = fit_projection(alignment)
    mapped = alignment.source.vectors[source]
    placed = Positions(None, projection.apply(mapped), projection.apply(alignment.target.vectors[target]))
    try:
        return replace(placed, before=projection.apply(unmoved(alignment, mapped)))
    except SettingsError as error:
        return replace(placed, why_not=str(error))


def unmoved(alignment: Alignment, mapped: Tensor) -> Tensor:
    """Source vectors of the common space as they would lie there if they were the target's.

    The source's map is undone, and the target's applied instead. Lengths are lost on the way, and are 1 on both sides.
    """
    sides = alignment.source_side.map, alignment.target_side.map
    if not (isinstance(sides[0], LinearMap) and isinstance(sides[1], LinearMap)):
        raise SettingsError("the maps of this run have hidden layers and cannot be undone, so there is no 'before'")
    prepared = unit(sides[0].inverse().apply(mapped))
    return unit(sides[1].apply(_of_dimension(prepared, sides[1].inputs)))


def _of_dimension(vectors: Tensor, dimension: int) -> Tensor:
    """Cut, or filled up with zeros: two languages of different dimensions have no more in common before."""
    missing = dimension - vectors.shape[1]
    return vectors[:, :dimension] if missing <= 0 else torch.nn.functional.pad(vectors, (0, missing))
