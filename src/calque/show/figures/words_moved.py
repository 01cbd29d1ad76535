"""Before and after: frequent words of both languages on one plane, with lines between translations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from calque.errors import SettingsError
from calque.show.figures.scene import (
    CROWD,
    INK,
    NO_TRANSLATIONS,
    SOURCE,
    TARGET,
    Label,
    Scene,
    panels,
    write_labels,
)
from calque.show.views import positions, rows_of, translations_to_show

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS, NAMED, NAMED_STACKED = 1000, 16, 11
"""How many words are dots, and how many are named: fewer where the panels stand above each other."""
STACKED_BELOW = 5.0
"""Inches: in a narrower figure the panels stand above each other."""
TARGET_INK = "#a34700"
"""The target's colour, dark enough for letters."""


@dataclass(frozen=True, eq=False)
class WordPlaces:
    """Places of some source words before and after, and of some target words, which stay."""

    before: Tensor
    after: Tensor
    target: Tensor


def draw(scene: Scene) -> Figure:
    """One projection, fitted on the target, serves both panels."""
    dots = word_places(scene, torch.arange(DOTS), torch.arange(DOTS))
    everything = torch.cat([dots.before, dots.after, dots.target])
    low, high = everything.quantile(0.005, dim=0), everything.quantile(0.995, dim=0)
    pairs = chosen_pairs(scene) if scene.words else pairs_far_apart(scene, low, high)
    named = word_places(scene, torch.tensor(list(pairs)), torch.tensor(list(pairs.values())))
    if scene.words:
        everything = torch.cat([named.before, named.after, named.target])
        margin = 0.04 * (high - low)
        low = torch.minimum(low, everything.amin(dim=0) - margin)
        high = torch.maximum(high, everything.amax(dim=0) + margin)
    (left, bottom), (right, top) = low.tolist(), high.tolist()
    stacked = scene.width < STACKED_BELOW
    figure, both_axes = panels(scene, 1.7 if stacked else 0.55, *((2, 1) if stacked else (1, 2)))
    moments = ("before", dots.before, named.before), ("after", dots.after, named.after)
    for axes, (title, source_dots, sources) in zip(both_axes, moments, strict=True):
        draw_panel(axes, scene, (source_dots, dots.target), (sources, named.target))
        axes.set(title=title, xticks=[], yticks=[], xlim=(left, right), ylim=(bottom, top))
    figure.legend(*both_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    for axes, (_, _, sources) in zip(both_axes, moments, strict=True):
        write_labels(axes, labels_of(scene, pairs, sources, named.target), [*sources.tolist(), *named.target.tolist()])
    return figure


def word_places(scene: Scene, source: Tensor, target: Tensor) -> WordPlaces:
    """Places of these rows, as far as there are so many; SettingsError where there is no 'before'."""
    places = positions(
        scene.alignment,
        source[source < len(scene.alignment.source)],
        target[target < len(scene.alignment.target)],
    )
    if places.before is None:
        raise SettingsError(places.why_not)
    return WordPlaces(places.before, places.after, places.target)


def chosen_pairs(scene: Scene) -> dict[int, int]:
    """The rows of the words that were asked for, and of their best translations."""
    rows = rows_of(scene.alignment.source, scene.words)
    best = scene.alignment.neighbours(scene.alignment.source.vectors[rows], 1).indices[:, 0].tolist()
    return dict(zip(rows, best, strict=True))


def pairs_far_apart(scene: Scene, low: Tensor, high: Tensor) -> dict[int, int]:
    """Translations all over the plane: each next one is the farthest from those before it."""
    most = NAMED_STACKED if scene.width < STACKED_BELOW else NAMED
    pairs = translations_to_show(scene.alignment, most)
    if not pairs:
        raise SettingsError(NO_TRANSLATIONS)
    rows, targets = torch.tensor(list(pairs)), torch.tensor(list(pairs.values()))
    places = word_places(scene, rows, targets)
    margin = 0.06 * (high - low)
    every_place = torch.stack([places.before, places.after, places.target])
    inside = ((every_place > low + margin) & (every_place < high - margin)).all(dim=2).all(dim=0)
    if not inside.any():
        inside[:] = True
    rows, targets, plane = rows[inside], targets[inside], places.target[inside]
    taken, distances = [0], torch.cdist(plane, plane[:1])[:, 0]
    while len(taken) < min(most, len(rows)):
        taken.append(int(distances.argmax()))
        distances = torch.minimum(distances, torch.cdist(plane, plane[taken[-1:]])[:, 0])
    return {int(rows[place]): int(targets[place]) for place in taken}


def labels_of(scene: Scene, pairs: dict[int, int], sources: Tensor, targets: Tensor) -> list[Label]:
    """Both words of a translation in turn, so that a word with a label mostly has its translation's beside it."""
    labels = []
    for (row, target_row), source, target in zip(pairs.items(), sources.tolist(), targets.tolist(), strict=True):
        source_word, target_word = scene.alignment.source.words[row], scene.alignment.target.words[target_row]
        labels.append(Label(tuple(source), scene.fonts.printable(source_word), SOURCE))
        labels.append(Label(tuple(target), scene.fonts.printable(target_word), TARGET_INK))
    return labels


def draw_panel(axes: Axes, scene: Scene, dots: tuple[Tensor, Tensor], named: tuple[Tensor, Tensor]) -> None:
    """Dots of source and target, lines between the named translations, and their marks."""
    for places, colour, mark in ((dots[1], TARGET, "s"), (dots[0], SOURCE, "o")):
        x, y = places.T.tolist()
        axes.scatter(x, y, s=2, c=colour, marker=mark, alpha=0.25, linewidths=0)
    for source, target in zip(named[0].tolist(), named[1].tolist(), strict=True):
        axes.plot([source[0], target[0]], [source[1], target[1]], color=CROWD, linewidth=0.6, zorder=1)
    for places, colour, mark, name in zip(named, (SOURCE, TARGET), "os", scene.names, strict=True):
        x, y = places.T.tolist()
        axes.scatter(x, y, s=9, c=colour, marker=mark, linewidths=0.3, edgecolors=INK, zorder=3, label=name)
