"""How the two languages and the maps between them are stretched: why a pair is hard.

A rotation can only carry one language onto another of the same spectrum. Where the spectra part, an orthogonal map must
err, and the maps of a run have singular values far from equal.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from calque.data.preprocess import unit
from calque.errors import SettingsError
from calque.linear.maps import LinearMap
from calque.linear.side import Side
from calque.retrieval.exact import FREQUENT
from calque.runs.alignment import Alignment


@dataclass(frozen=True, eq=False)
class Spectra:
    """Of both languages before any map, and of the maps; all values fall."""

    source: Tensor
    """The share of the variance that each principal direction of the prepared source vectors has."""
    target: Tensor
    source_map: Tensor
    """Singular values of the source's map into the common space, with a mean square of 1."""
    target_map: Tensor
    words: int
    """Of each language, at most so many of the most frequent are measured."""

    @property
    def gap(self) -> float:
        """The sum of squared differences of the logarithms of the singular values (Dubossarsky et al. 2020)."""
        least = torch.finfo(self.source.dtype).tiny
        both = [each.clamp_min(least).sqrt().log()[: self._common] for each in (self.source, self.target)]
        return float((both[0] - both[1]).square().sum())

    @property
    def _common(self) -> int:
        return min(int((each > NOTHING * each.max()).sum()) for each in (self.source, self.target))


NOTHING = 1e-10
"""A direction of so small a share of the largest variance is there by rounding alone."""


def spectra(alignment: Alignment) -> Spectra:
    """Of the frequent words, as far as the maps can be undone; SettingsError where they cannot."""
    sides = (alignment.source, alignment.source_side), (alignment.target, alignment.target_side)
    source, target = (_shares(prepared(space.vectors[:FREQUENT], side)) for space, side in sides)
    source_map, target_map = (_values(linear(side)) for _, side in sides)
    return Spectra(source, target, source_map, target_map, FREQUENT)


def prepared(mapped: Tensor, side: Side) -> Tensor:
    """Vectors of the common space as they were before the map, at length 1.

    Where the map lost dimensions, without what was lost. A run keeps no other vectors than those of the common space.
    """
    return unit(linear(side).inverse().apply(mapped))


def linear(side: Side) -> LinearMap:
    """The map of a side; SettingsError where it has hidden layers."""
    if not isinstance(side.map, LinearMap):
        raise SettingsError("the maps of this run have hidden layers and cannot be undone")
    return side.map


def _shares(vectors: Tensor) -> Tensor:
    centred = (vectors - vectors.mean(dim=0)).double()
    variances: Tensor = torch.linalg.eigvalsh(centred.mT @ centred).flip(0).clamp_min(0.0)
    shares: Tensor = variances / variances.sum()
    return shares


def _values(map: LinearMap) -> Tensor:
    values: Tensor = torch.linalg.svdvals(map.matrix.double())
    return values / values.square().mean().sqrt()
