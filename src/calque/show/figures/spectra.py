"""Why a pair is hard: how both languages are stretched, and how far their maps are from rotations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calque.show.figures.scene import SOURCE, TARGET, Scene, sheet
from calque.show.views import spectra

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(scene: Scene) -> Figure:
    """Spectra of the vectors before any map above, singular values of the maps below."""
    from matplotlib.ticker import LogLocator

    found = spectra(scene.alignment)
    figure, (spaces, maps) = sheet(scene, 1.25, 2, 1)
    for axes, ours, theirs in ((spaces, found.source, found.target), (maps, found.source_map, found.target_map)):
        for values, colour, stroke, name in (
            (ours, SOURCE, "-", scene.names[0]),
            (theirs, TARGET, "--", scene.names[1]),
        ):
            shown = [value for value in values.tolist() if value > 0]
            axes.plot(range(1, len(shown) + 1), shown, color=colour, linestyle=stroke, linewidth=1, label=name)
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_formatter(lambda *_: "")
    spaces.set_title(f"singular value gap {found.gap:.2g}")
    spaces.set_xlabel("principal direction of the vectors before any map")
    spaces.set_ylabel("share of the variance")
    maps.set_xlabel("direction of the map into the common space")
    maps.set_ylabel("singular value")
    figure.legend(*spaces.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure
