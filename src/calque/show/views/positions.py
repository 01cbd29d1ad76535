"""Words on a plane: where the source language was, where it now lies, and the target language, which stays.

One projection serves all three: the two directions in which the frequent words of the target vary most, in the common
space. A source word's place *before* is where it would be if its vector were taken for one of the target language.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from calque.errors import SettingsError
from calque.linear.closed_forms import principal
from calque.linear.maps import LinearMap, Side, unit
from calque.runs.alignment import Alignment

PROJECTION_WORDS = 5000
"""The projection is fitted to so many of the target's most frequent words."""


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
    """(n, 2): the source before any map was known; None where that cannot be computed."""
    after: Tensor
    """(n, 2): the source in the common space."""
    target: Tensor
    """(m, 2): the target in the common space."""
    why_not: str = ""
    """Why there is no ``before``."""


def fit_projection(alignment: Alignment) -> Projection:
    """The plane in which the target's frequent words vary most; the same for the same run."""
    vectors = alignment.target.vectors[:PROJECTION_WORDS]
    middle = vectors.mean(dim=0)
    directions = principal(vectors - middle, 2).matrix
    signs = torch.sign(directions.gather(0, directions.abs().argmax(dim=0, keepdim=True)))
    return Projection(middle, LinearMap(directions * signs))


def positions(alignment: Alignment, source: Tensor | slice, target: Tensor | slice) -> Positions:
    """Where these rows of both languages lie."""
    projection = fit_projection(alignment)
    mapped = alignment.source.vectors[source]
    after, targets = projection.apply(mapped), projection.apply(alignment.target.vectors[target])
    try:
        return Positions(projection.apply(before_the_maps(alignment, mapped)), after, targets)
    except SettingsError as error:
        return Positions(None, after, targets, f"{error}, so there is no 'before'")


def before_the_maps(alignment: Alignment, mapped: Tensor) -> Tensor:
    """Source vectors of the common space as they would lie there if they were the target's.

    The source's map is undone, and the target's applied instead. Where dimensions differ, vectors are cut, or filled up
    with zeros: two languages of different dimensions have no more in common before.
    """
    vectors, target_map = undo_map(mapped, alignment.source_side), linear_map(alignment.target_side)
    missing = target_map.inputs - vectors.shape[1]
    vectors = vectors[:, : target_map.inputs] if missing <= 0 else torch.nn.functional.pad(vectors, (0, missing))
    return unit(target_map.apply(vectors))


def undo_map(mapped: Tensor, side: Side) -> Tensor:
    """Vectors of the common space as they were before the map, at length 1: a run keeps no others.

    Where the map lost dimensions, what was lost is missing.
    """
    return unit(linear_map(side).inverse().apply(mapped))


def linear_map(side: Side) -> LinearMap:
    """The map of a side; SettingsError where it has hidden layers."""
    if not isinstance(side.map, LinearMap):
        raise SettingsError("the maps of this run have hidden layers and cannot be undone")
    return side.map
