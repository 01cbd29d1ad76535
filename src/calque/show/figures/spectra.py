"""How the two languages and the maps between them are stretched: why a pair is hard.

A rotation can only carry one language onto another of the same spectrum. Where the spectra differ, an orthogonal map
must err, and the maps of a run have singular values far from equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from calque.linear.maps import LinearMap
from calque.retrieval.exact import FREQUENT
from calque.runs.alignment import Alignment
from calque.show.figures.scene import SOURCE, TARGET, Scene, panels
from calque.show.views import linear_map, undo_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOISE_SHARE = 1e-10
"""A direction with less than this share of the largest variance is there by rounding alone."""


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
        shares = (self.source, self.target)
        common = min(int((share > NOISE_SHARE * share.max()).sum()) for share in shares)
        least = torch.finfo(self.source.dtype).tiny
        source, target = (share.clamp_min(least).sqrt().log()[:common] for share in shares)
        return float((source - target).square().sum())


def spectra(alignment: Alignment) -> Spectra:
    """Of the frequent words; SettingsError where the maps cannot be undone."""
    sides = (alignment.source, alignment.source_side), (alignment.target, alignment.target_side)
    source, target = (_variance_shares(undo_map(space.vectors[:FREQUENT], side)) for space, side in sides)
    source_map, target_map = (_singular_values(linear_map(side)) for _, side in sides)
    return Spectra(source, target, source_map, target_map, FREQUENT)


def _variance_shares(vectors: Tensor) -> Tensor:
    centred = (vectors - vectors.mean(dim=0)).double()
    variances: Tensor = torch.linalg.eigvalsh(centred.mT @ centred).flip(0).clamp_min(0.0)
    shares: Tensor = variances / variances.sum()
    return shares


def _singular_values(map: LinearMap) -> Tensor:
    values: Tensor = torch.linalg.svdvals(map.matrix.double())
    return values / values.square().mean().sqrt()


def draw(scene: Scene) -> Figure:
    """Spectra of the vectors before any map above, singular values of the maps below."""
    from matplotlib.ticker import LogLocator

    result = spectra(scene.alignment)
    figure, (spaces, maps) = panels(scene, 1.25, 2, 1)
    for axes, source, target in ((spaces, result.source, result.target), (maps, result.source_map, result.target_map)):
        for values, colour, stroke, name in (
            (source, SOURCE, "-", scene.names[0]),
            (target, TARGET, "--", scene.names[1]),
        ):
            shown = [value for value in values.tolist() if value > 0]
            axes.plot(range(1, len(shown) + 1), shown, color=colour, linestyle=stroke, linewidth=1, label=name)
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_formatter(lambda *_: "")
    spaces.set_title(f"singular value gap {result.gap:.2g}")
    spaces.set_xlabel("principal direction of the vectors before any map")
    spaces.set_ylabel("share of the variance")
    maps.set_xlabel("direction of the map into the common space")
    maps.set_ylabel("singular value")
    figure.legend(*spaces.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure
