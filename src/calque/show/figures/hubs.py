"""Hubs: words that are a neighbour of far too many others (Radovanović et al. 2010)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from calque.retrieval.exact import FREQUENT, NEIGHBOURHOOD, find, neighbours
from calque.runs.alignment import Alignment
from calque.show.figures.scene import SOURCE, TARGET, Scene, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORST = 8
"""So many of the greatest hubs are named."""


@dataclass(frozen=True, eq=False)
class Hubs:
    """How often each word is a neighbour of another."""

    counts: Tensor
    """(m,): N_k of each target word: of how many source words it is among the k best."""
    queries: int
    """How many of the most frequent words were looked up."""
    k: int

    def worst(self, count: int) -> tuple[int, ...]:
        """Rows of the words of largest N_k, the largest first; of equals the more frequent one first."""
        return tuple(torch.sort(self.counts, descending=True, stable=True).indices[:count].tolist())

    @property
    def skewness(self) -> float:
        """Of N_k: 0 where no word is a hub, the larger the worse."""
        deviations = self.counts.double() - self.counts.double().mean()
        spread = deviations.square().mean().sqrt()
        return float((deviations**3).mean() / spread**3) if spread > 0 else 0.0


def hubs(alignment: Alignment, retrieval: str, back: bool = False, k: int = NEIGHBOURHOOD) -> Hubs:
    """Among the ``FREQUENT`` most frequent words of both languages, which limits the work."""
    queries, candidates = (space.vectors[:FREQUENT] for space in alignment.spaces(back))
    penalty = alignment.penalty(retrieval, back)[:FREQUENT]
    best = neighbours(queries, candidates, k, find(retrieval), penalty).indices
    return Hubs(torch.bincount(best.flatten(), minlength=len(candidates)), len(queries), int(best.shape[1]))


def draw(scene: Scene) -> Figure:
    """Every word's count above, from the largest down; the greatest hubs below, by name. Both for two retrievals."""
    figure, (curve, bars) = panels(scene, 1.35, 2, 1)
    plain, csls = hubs(scene.alignment, "nn"), hubs(scene.alignment, "csls")
    worst = plain.worst(WORST)
    for name, hubness, colour, stroke, hatch, offset in (
        ("nn", plain, TARGET, "--", "", 0.2),
        ("csls", csls, SOURCE, "-", "////", -0.2),
    ):
        counts = (hubness.counts.sort(descending=True).values + 1).tolist()
        shown = f"{name} (skewness {hubness.skewness:.1f})"
        curve.plot(range(1, len(counts) + 1), counts, color=colour, linestyle=stroke, label=shown)
        places, widths = [place - offset for place in range(len(worst))], hubness.counts[list(worst)].tolist()
        bars.barh(places, widths, 0.38, color=colour, hatch=hatch, edgecolor="white", label=name)
    curve.set_xscale("log")
    curve.set_yscale("log")
    for axis in (curve.xaxis, curve.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.set_minor_formatter(lambda *_: "")
    curve.set_xlabel(f"{scene.names[1]} words, the greatest hub first")
    curve.set_ylabel(f"1 + times among the {plain.k} best")
    curve.legend()
    names = [scene.fonts.printable(scene.alignment.target.words[row]) or f"row {row}" for row in worst]
    bars.set_yticks(range(len(worst)), names)
    bars.invert_yaxis()
    bars.set_xlabel(f"times among the {plain.k} best, of {plain.queries} words")
    bars.legend()
    return figure
