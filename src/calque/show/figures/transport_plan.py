"""The transport plan of some words as a heat map: where the mass of each word goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from calque.errors import SettingsError
from calque.runs.alignment import Alignment
from calque.show.figures.scene import NO_TRANSLATIONS, SMALLEST, Scene, panels
from calque.show.views import rows_of, translations_to_show
from calque.transport import SinkhornSettings, sinkhorn, sqrt_cosine_cost, uniform

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORDS = 2000
"""So many of the most frequent words of each language take part, beside those that are shown."""
SETTINGS = SinkhornSettings(sharpness=40.0, iterations=500, tolerance=1e-3)
"""As sharp as the default recipe ends."""
SHOWN, MOST_SHOWN = 10, 40
"""How many words are shown where none are named, and how many at most."""
LEAST_WRITTEN = 0.05
"""A smaller share is shown by its colour alone."""


@dataclass(frozen=True, eq=False)
class PlanOfWords:
    """Where the mass of some source words goes."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    shares: Tensor
    """(source, target): of all that leaves a source word."""
    words: tuple[int, int]
    """How many words of each language the plan is between."""
    converged: bool

    @property
    def elsewhere(self) -> Tensor:
        """(source,): what goes to words that are not here."""
        return (1 - self.shares.sum(dim=1)).clamp_min(0.0)


def plan_of(alignment: Alignment, words: Sequence[str], best: int = 1) -> PlanOfWords:
    """The plan's rows of these source words, and its columns of the ``best`` that each sends most to."""
    shown = rows_of(alignment.source, words)
    translations = alignment.neighbours(alignment.source.vectors[shown], max(best, 1)).indices.flatten().tolist()
    sources = list(dict.fromkeys([*range(min(WORDS, len(alignment.source))), *shown]))
    targets = list(dict.fromkeys([*range(min(WORDS, len(alignment.target))), *translations]))
    cost = sqrt_cosine_cost(alignment.source.vectors[sources], alignment.target.vectors[targets])
    plan = sinkhorn(cost, uniform(len(sources), cost), uniform(len(targets), cost), SETTINGS)
    rows = plan.matrix[[sources.index(row) for row in shown]]
    rows = rows / rows.sum(dim=1, keepdim=True)
    columns = list(dict.fromkeys(torch.topk(rows, min(best, len(targets)), dim=1).indices.flatten().tolist()))
    return PlanOfWords(
        tuple(words),
        tuple(alignment.target.words[targets[column]] for column in columns),
        rows[:, columns],
        (len(sources), len(targets)),
        plan.converged,
    )


def draw(scene: Scene) -> Figure:
    """A row a source word, a column a target word. Mass that goes to other words is not shown."""
    words = scene.words
    if not words:
        rows = list(translations_to_show(scene.alignment, SHOWN))
        if not rows:
            raise SettingsError(NO_TRANSLATIONS)
        words = tuple(scene.alignment.source.words[row] for row in rows[:: max(1, len(rows) // SHOWN)][:SHOWN])
    if len(words) > MOST_SHOWN:
        raise SettingsError(f"{len(words)} words were chosen; expected at most {MOST_SHOWN}, of which each can be read")
    plan = plan_of(scene.alignment, words)
    figure, (axes,) = panels(scene, min(3.0, max(0.5, 0.3 + 0.075 * len(words))))
    shares = plan.shares.numpy()
    picture = axes.imshow(shares, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    sources, targets = ([scene.fonts.printable(word) or "·" for word in side] for side in (plan.source, plan.target))
    axes.set_yticks(range(len(sources)), sources)
    axes.set_xticks(range(len(targets)), targets, rotation=45, ha="right", rotation_mode="anchor")
    for row, line in enumerate(shares.tolist()):
        for column, share in enumerate(line):
            if share >= LEAST_WRITTEN:
                text, ink = f"{share:.2f}".lstrip("0"), "black" if share > 0.6 else "white"
                axes.text(column, row, text, ha="center", va="center", color=ink, fontsize=SMALLEST)
    figure.colorbar(picture, ax=axes, fraction=0.05).set_label("share of the word's mass")
    return figure
