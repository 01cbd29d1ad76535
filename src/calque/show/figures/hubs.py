"""Hubs: how often a word is somebody's neighbour, by nearest neighbours and by CSLS, and which are the worst."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calque.show.figures.scene import SOURCE, TARGET, Scene, sheet
from calque.show.views import hubs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORST = 8


def draw(scene: Scene) -> Figure:
    """Every word's count above, from the largest down; the worst hubs below, by name."""
    found = {name: hubs(scene.alignment, name) for name in ("nn", "csls")}
    figure, (curve, bars) = sheet(scene, 1.35, 2, 1)
    for (name, each), colour, stroke in zip(found.items(), (TARGET, SOURCE), ("--", "-"), strict=True):
        counts = each.counts.sort(descending=True).values
        shown = f"{name} (skewness {each.skewness:.1f})"
        curve.plot(range(1, len(counts) + 1), (counts + 1).tolist(), color=colour, linestyle=stroke, label=shown)
    curve.set_xscale("log")
    curve.set_yscale("log")
    for axis in (curve.xaxis, curve.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.set_minor_formatter(lambda *_: "")
    k, asking = found["nn"].k, found["nn"].asking
    curve.set_xlabel(f"{scene.names[1]} words, the greatest hub first")
    curve.set_ylabel(f"1 + times among the {k} best")
    curve.legend()
    worst = found["nn"].worst(WORST)
    names = [scene.letters.plain(scene.alignment.target.words[row]) or f"row {row}" for row in worst]
    places = range(len(worst))
    for offset, (name, each), colour, hatch in zip(
        (0.2, -0.2), found.items(), (TARGET, SOURCE), ("", "////"), strict=True
    ):
        heights = each.counts[list(worst)].tolist()
        bars.barh(
            [place - offset for place in places],
            heights,
            0.38,
            color=colour,
            hatch=hatch,
            edgecolor="white",
            label=name,
        )
    bars.set_yticks(list(places), names)
    bars.invert_yaxis()
    bars.set_xlabel(f"times among the {k} best, of {asking} words")
    bars.legend()
    return figure
