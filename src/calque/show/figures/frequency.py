"""Accuracy against frequency rank, by a lexicon that the run has not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calque.errors import SettingsError
from calque.show.figures.scene import SOURCE, TARGET, Scene, panels
from calque.show.views import accuracy_by_frequency, judge_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(scene: Scene) -> Figure:
    """Both directions by CSLS, in bands of equally many words."""
    if scene.lexicon is None:
        raise SettingsError("accuracy needs a lexicon; pass --lexicon FILE")
    figure, (axes,) = panels(scene, 0.8)
    source, target = scene.names
    for back, name, colour, mark, stroke in (
        (False, f"{source} to {target}", SOURCE, "o", "-"),
        (True, f"{target} to {source}", TARGET, "s", "--"),
    ):
        lexicon = scene.lexicon.reversed() if back else scene.lexicon
        bands = accuracy_by_frequency(judge_words(scene.alignment, lexicon, back))
        middles = [(band.first + band.last) / 2 for band in bands]
        shares = [100 * band.share for band in bands]
        axes.plot(middles, shares, color=colour, marker=mark, markersize=3.5, linewidth=1, linestyle=stroke, label=name)
    axes.set_ylim(0, 100)
    axes.set_xlabel("frequency rank")
    axes.set_ylabel("accuracy@1 by CSLS, %")
    figure.legend(loc="outside lower center", ncols=2)
    return figure
