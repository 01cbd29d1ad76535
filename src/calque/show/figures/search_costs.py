"""The search behind the verdict: the cost of every start over its turns, those that ended elsewhere in grey."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calque.errors import SettingsError
from calque.show.figures.scene import CROWD, SOURCE, TARGET, Scene, panels
from calque.show.views import search_starts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STROKES: dict[str, dict[str, Any]] = {
    "crowd": {"color": CROWD, "linewidth": 0.6, "alpha": 0.7, "zorder": 1},
    "same": {"color": SOURCE, "linewidth": 1.2, "linestyle": (0, (4, 2)), "zorder": 2},
    "winner": {"color": TARGET, "linewidth": 1.8, "zorder": 3},
}
LABELS = {"crowd": "ended elsewhere", "same": "found the same map", "winner": "winner"}
MARKS = {"crowd": ".", "same": "^", "winner": "o"}


def draw(scene: Scene) -> Figure:
    """A line for each start where the log has its turns, and a mark where it ended."""
    starts = search_starts(scene.alignment.record.log, scene.alignment.verdict)
    if not starts:
        raise SettingsError("the log of this run tells of no starts")
    figure, (axes,) = panels(scene, 0.8)
    in_legend: set[str] = set()
    labels = LABELS if scene.alignment.verdict.label != "failed" else LABELS | {"winner": "cheapest"}
    for start in sorted(starts, key=lambda start: start.cost, reverse=True):
        kind = start.role if start.role in STROKES else "crowd"
        path = start.path or (start.cost,)
        label = f"_{kind}" if kind in in_legend else labels[kind]
        axes.plot(range(1, len(path) + 1), path, label=label, **STROKES[kind])
        axes.plot([len(path)], [start.cost], MARKS[kind], color=STROKES[kind]["color"], markersize=3.5, zorder=4)
        in_legend.add(kind)
    axes.set_xlabel("turn of the alternation")
    axes.set_ylabel("Sinkhorn cost")
    axes.set_title(f"{len(starts)} starts: aligned" if scene.trusted else f"{len(starts)} starts")
    figure.legend(loc="outside lower center", ncols=3)
    return figure
