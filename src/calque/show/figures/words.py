"""Before and after: frequent words of both languages on one plane, with lines between translations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from calque.errors import SettingsError
from calque.show.figures.scene import CROWD, INK, SOURCE, TARGET, Label, Scene, label, sheet
from calque.show.views import positions, rows_of, telling

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS, NAMED, NAMED_STACKED = 1000, 16, 11
STACKED = 5.0
"""Inches: below that the panels stand above each other."""
TARGET_INK = "#a34700"
"""The target's colour, dark enough for letters."""


@dataclass(frozen=True, eq=False)
class _Places:
    """Of some words before and after, and of their translations, which stay."""

    before: Tensor
    after: Tensor
    at: Tensor


def draw(scene: Scene) -> Figure:
    """One projection, fitted on the target, serves both panels."""
    dots = _places(scene, torch.arange(DOTS), torch.arange(DOTS))
    low, high = _window(dots)
    pairs = _chosen(scene) if scene.words else _spread(scene, low, high)
    named = _places(scene, torch.tensor(list(pairs)), torch.tensor(list(pairs.values())))
    if scene.words:
        every = torch.cat([named.before, named.after, named.at])
        margin = 0.04 * (high - low)
        low, high = torch.minimum(low, every.amin(dim=0) - margin), torch.maximum(high, every.amax(dim=0) + margin)
    (left, bottom), (right, top) = low.tolist(), high.tolist()
    stacked = scene.width < STACKED
    figure, panels = sheet(scene, 1.7 if stacked else 0.55, *((2, 1) if stacked else (1, 2)))
    moments = ("before", dots.before, named.before), ("after", dots.after, named.after)
    for axes, (title, ours, shown) in zip(panels, moments, strict=True):
        _panel(axes, scene, (ours, dots.at), (shown, named.at))
        axes.set(title=title, xticks=[], yticks=[], xlim=(left, right), ylim=(bottom, top))
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    for axes, (_, _, shown) in zip(panels, moments, strict=True):
        label(axes, _labels(scene, pairs, shown, named.at), [*shown.tolist(), *named.at.tolist()])
    return figure


def _places(scene: Scene, source: Tensor, target: Tensor) -> _Places:
    ours, theirs = (
        rows[rows < len(space)] for rows, space in ((source, scene.alignment.source), (target, scene.alignment.target))
    )
    placed = positions(scene.alignment, ours, theirs)
    if placed.before is None:
        raise SettingsError(placed.why_not)
    return _Places(placed.before, placed.after, placed.at)


def _window(dots: _Places) -> tuple[Tensor, Tensor]:
    """The corners of a plane that holds nearly all."""
    every = torch.cat([dots.before, dots.after, dots.at])
    return every.quantile(0.005, dim=0), every.quantile(0.995, dim=0)


def _chosen(scene: Scene) -> dict[int, int]:
    rows = rows_of(scene.alignment.source, scene.words)
    best = scene.alignment.neighbours(scene.alignment.source.vectors[rows], 1).indices[:, 0].tolist()
    return dict(zip(rows, best, strict=True))


def _spread(scene: Scene, low: Tensor, high: Tensor) -> dict[int, int]:
    """Translations all over the plane: each the one that is farthest from those before it."""
    most = NAMED_STACKED if scene.width < STACKED else NAMED
    found = telling(scene.alignment, most)
    if not found:
        raise SettingsError("no frequent words of this run are each other's translations; choose some with --words")
    rows, targets = torch.tensor(list(found)), torch.tensor(list(found.values()))
    places = _places(scene, rows, targets)
    margin = 0.06 * (high - low)
    inside = torch.stack(
        [
            ((each > low + margin) & (each < high - margin)).all(dim=1)
            for each in (places.before, places.after, places.at)
        ]
    ).all(dim=0)
    if inside.any():
        rows, targets, at = rows[inside], targets[inside], places.at[inside]
    else:
        at = places.at
    taken, apart = [0], torch.cdist(at, at[:1])[:, 0]
    while len(taken) < min(most, len(rows)):
        taken.append(int(apart.argmax()))
        apart = torch.minimum(apart, torch.cdist(at, at[taken[-1:]])[:, 0])
    return {int(rows[each]): int(targets[each]) for each in taken}


def _labels(scene: Scene, pairs: dict[int, int], ours: Tensor, theirs: Tensor) -> list[Label]:
    """Both words of a translation in turn, so that one that is named mostly has its other beside it."""
    labels = []
    for (row, target), here, there in zip(pairs.items(), ours.tolist(), theirs.tolist(), strict=True):
        labels += [
            Label(tuple(here), scene.letters.plain(scene.alignment.source.words[row]), SOURCE),
            Label(tuple(there), scene.letters.plain(scene.alignment.target.words[target]), TARGET_INK),
        ]
    return labels


def _panel(axes: Axes, scene: Scene, dots: tuple[Tensor, Tensor], named: tuple[Tensor, Tensor]) -> None:
    for places, colour, mark in ((dots[1], TARGET, "s"), (dots[0], SOURCE, "o")):
        x, y = places.T.tolist()
        axes.scatter(x, y, s=2, c=colour, marker=mark, alpha=0.25, linewidths=0)
    for here, there in zip(named[0].tolist(), named[1].tolist(), strict=True):
        axes.plot([here[0], there[0]], [here[1], there[1]], color=CROWD, linewidth=0.6, zorder=1)
    for places, colour, mark, name in zip(named, (SOURCE, TARGET), "os", scene.names, strict=True):
        x, y = places.T.tolist()
        axes.scatter(x, y, s=9, c=colour, marker=mark, linewidths=0.3, edgecolors=INK, zorder=3, label=name)
