"""Before and after: frequent words of both languages on one plane, with lines between translations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from calque.errors import SettingsError
from calque.plots.scene import CROWD, INK, SOURCE, TARGET, Scene, label, sheet
from calque.views import positions, rows_of, translations

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS, NAMED = 1000, 24
STACKED = 5.0
"""Inches: below that the panels stand above each other."""


def draw(scene: Scene) -> Figure:
    """One projection, fitted on the target, serves both panels."""
    alignment = scene.alignment
    pairs = _pairs(scene)
    dots = positions(alignment, slice(DOTS), slice(DOTS))
    if dots.before is None:
        raise SettingsError(dots.why_not)
    shown = positions(alignment, torch.tensor(list(pairs)), torch.tensor(list(pairs.values())))
    assert shown.before is not None
    stacked = scene.width < STACKED
    figure, (one, two) = sheet(scene, 1.7 if stacked else 0.55, *((2, 1) if stacked else (1, 2)))
    for axes, title, ours, named in (
        (one, "before", dots.before, shown.before),
        (two, "after", dots.after, shown.after),
    ):
        axes.set_title(title)
        _panel(axes, scene, (ours, dots.at), (named, shown.at))
        axes.set_xticks([])
        axes.set_yticks([])
    every = torch.cat([dots.before, dots.after, dots.at, shown.before, shown.after, shown.at])
    low, high = every.quantile(0.005, dim=0), every.quantile(0.995, dim=0)
    for axes in (one, two):
        axes.set_xlim(float(low[0]), float(high[0]))
        axes.set_ylim(float(low[1]), float(high[1]))
    figure.legend(*one.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    texts = (
        [scene.letters.plain(alignment.source.words[row]) for row in pairs],
        [scene.letters.plain(alignment.target.words[row]) for row in pairs.values()],
    )
    for axes, ours in ((one, shown.before), (two, shown.after)):
        taken: list[object] = []
        label(axes, ours.tolist(), texts[0], SOURCE, taken)
        label(axes, shown.at.tolist(), texts[1], "#a34700", taken)
    return figure


def _pairs(scene: Scene) -> dict[int, int]:
    alignment = scene.alignment
    if scene.words:
        rows = rows_of(alignment.source, scene.words)
        best = alignment.neighbours(alignment.source.vectors[rows], 1).indices[:, 0].tolist()
        return dict(zip(rows, best, strict=True))
    found = translations(alignment, range(min(DOTS, len(alignment.source))))
    content = [row for row in found if len(alignment.source.words[row]) > 3] or list(found)
    if not content:
        raise SettingsError("no frequent words of this run are each other's translations; choose some with --words")
    chosen = content[:: max(1, len(content) // NAMED)][:NAMED]
    return {row: found[row] for row in chosen}


def _panel(
    axes: Axes, scene: Scene, dots: tuple[torch.Tensor, torch.Tensor], named: tuple[torch.Tensor, torch.Tensor]
) -> None:
    for places, colour, mark in ((dots[1], TARGET, "s"), (dots[0], SOURCE, "o")):
        axes.scatter(places[:, 0].tolist(), places[:, 1].tolist(), s=2, c=colour, marker=mark, alpha=0.25, linewidths=0)
    for here, there in zip(named[0].tolist(), named[1].tolist(), strict=True):
        axes.plot([here[0], there[0]], [here[1], there[1]], color=CROWD, linewidth=0.5, zorder=1)
    for places, colour, mark, name in (
        (named[0], SOURCE, "o", scene.names[0]),
        (named[1], TARGET, "s", scene.names[1]),
    ):
        axes.scatter(
            places[:, 0].tolist(),
            places[:, 1].tolist(),
            s=9,
            c=colour,
            marker=mark,
            linewidths=0.3,
            edgecolors=INK,
            label=name,
        )
