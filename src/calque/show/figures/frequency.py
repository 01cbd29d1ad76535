"""Accuracy against frequency rank, by a lexicon that the run has not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calque.errors import SettingsError
from calque.show.figures.scene import SOURCE, TARGET, Scene, panels
from calque.show.views import accuracy_by_frequency, judge_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure


WIDE = 5.0
"""Inches: in a narrower figure the entries of the legend stand above each other."""


def draw(scene: Scene) -> Figure:
    """Both directions by CSLS, in bands of equally many words, with 95 % intervals."""
    if scene.lexicon is None:
        raise SettingsError("accuracy needs a lexicon; pass --lexicon FILE")
    figure, (axes,) = panels(scene, 0.8)
    source, target = scene.names
    sizes: list[int] = []
    for back, name, colour, mark, stroke in (
        (False, f"{source} to {target}", SOURCE, "o", "-"),
        (True, f"{target} to {source}", TARGET, "s", "--"),
    ):
        lexicon = scene.lexicon.reversed() if back else scene.lexicon
        bands = accuracy_by_frequency(judge_words(scene.alignment, lexicon, back))
        sizes += [band.asked for band in bands]
        middles = [(band.first + band.last) / 2 for band in bands]
        shares = [100 * band.share for band in bands]
        axes.errorbar(
            middles,
            shares,
            yerr=[
                [100 * max(0.0, band.share - band.interval[0]) for band in bands],
                [100 * max(0.0, band.interval[1] - band.share) for band in bands],
            ],
            color=colour,
            marker=mark,
            markersize=3.5,
            linewidth=1,
            elinewidth=0.6,
            capsize=1.5,
            linestyle=stroke,
            label=f"{name}: {sum(band.asked for band in bands):,} words",
        )
    axes.set_ylim(0, 100)
    size = str(min(sizes)) if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
    axes.set_xlabel(f"frequency rank ({size} words a point)")
    axes.set_ylabel("accuracy@1 by CSLS, % (bars: 95 %)")
    figure.legend(loc="outside lower center", ncols=1 if scene.width < WIDE else 2)
    return figure
