"""Accuracy against frequency rank, by a lexicon that the run has not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calque.errors import SettingsError
from calque.show.figures.scene import SOURCE, TARGET, Scene, sheet
from calque.show.views import answers, by_frequency

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(scene: Scene) -> Figure:
    """Both directions by CSLS, in bands of equally many words."""
    if scene.lexicon is None:
        raise SettingsError("accuracy needs a lexicon; pass --lexicon FILE")
    figure, (axes,) = sheet(scene, 0.8)
    one, two = scene.names
    for back, name, colour, mark, stroke in (
        (False, f"{one} to {two}", SOURCE, "o", "-"),
        (True, f"{two} to {one}", TARGET, "s", "--"),
    ):
        gold = scene.lexicon.reversed() if back else scene.lexicon
        bands = by_frequency(answers(scene.alignment, gold, back))
        middles = [(each.first + each.last) / 2 for each in bands]
        shares = [100 * each.share for each in bands]
        axes.plot(middles, shares, color=colour, marker=mark, markersize=3.5, linewidth=1, linestyle=stroke, label=name)
    axes.set_ylim(0, 100)
    axes.set_xlabel("frequency rank")
    axes.set_ylabel("accuracy@1 by CSLS, %")
    figure.legend(loc="outside lower center", ncols=2)
    return figure
