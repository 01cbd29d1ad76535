"""The picture of the verdict: the cost of every start over its turns, the crowd in grey."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calque.errors import SettingsError
from calque.show.figures.scene import CROWD, SOURCE, TARGET, Scene, sheet
from calque.show.views import starts_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STROKES: dict[str, dict[str, Any]] = {
    "crowd": {"color": CROWD, "linewidth": 0.6, "alpha": 0.7, "zorder": 1},
    "same": {"color": SOURCE, "linewidth": 1.2, "linestyle": (0, (4, 2)), "zorder": 2},
    "winner": {"color": TARGET, "linewidth": 1.8, "zorder": 3},
}
NAMES = {"crowd": "ended elsewhere", "same": "found the same map", "winner": "winner"}
MARKS = {"crowd": ".", "same": "^", "winner": "o"}


def draw(scene: Scene) -> Figure:
    """Lines where the log tells every turn, and how each start ended."""
    starts = starts_of(scene.alignment.record.log, scene.alignment.verdict)
    if not starts:
        raise SettingsError("the log of this run tells of no starts")
    figure, (axes,) = sheet(scene, 0.8)
    named: set[str] = set()
    names = NAMES if scene.alignment.verdict.label != "failed" else NAMES | {"winner": "cheapest"}
    for each in sorted(starts, key=lambda start: start.cost, reverse=True):
        kind = each.role if each.role in STROKES else "crowd"
        path = each.path or (each.cost,)
        turns = range(1, len(path) + 1)
        axes.plot(turns, path, label=f"_{kind}" if kind in named else names[kind], **STROKES[kind])
        axes.plot([len(path)], [each.cost], MARKS[kind], color=STROKES[kind]["color"], markersize=3.5, zorder=4)
        named.add(kind)
    axes.set_xlabel("turn of the alternation")
    axes.set_ylabel("Sinkhorn cost")
    axes.set_title(f"{len(starts)} starts: aligned" if scene.trusted else f"{len(starts)} starts")
    figure.legend(loc="outside lower center", ncols=3)
    return figure
