"""What a figure is drawn from, and the look that all figures share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calque.data.lexicon import Lexicon
from calque.runs.alignment import Alignment
from calque.show.figures.fonts import Fonts
from calque.show.views import language_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SOURCE, TARGET, CROWD, INK = "#0072B2", "#D55E00", "#9a9a9a", "#222222"
"""Okabe and Ito's blue and vermilion, which all kinds of eyes tell apart; markers and strokes differ as well."""
WARNING = "#a33b00"
"""In which a figure says that its run is not to be trusted: maps of noise look as tidy as any."""
LONGEST_NAME = 16
"""Letters of a language's name: two names must stand beside each other in a column."""
SMALLEST = 6.0
"""Points: no letter is smaller."""
STYLE: dict[str, Any] = {
    "font.size": 7.0,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7.0,
    "xtick.labelsize": SMALLEST,
    "ytick.labelsize": SMALLEST,
    "legend.fontsize": SMALLEST,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.formatter.use_mathtext": False,
    "text.parse_math": False,
    "svg.hashsalt": "calque",
    "savefig.dpi": 300,
}
"""matplotlib's settings for all figures."""
MARK_RADIUS = 2.2
"""Points from the middle of a mark to what may stand beside it."""
LABEL_PLACES = tuple(
    place
    for away in (0, 5, 10, 15)
    for place in (
        *((3 + away, 2 + away / 2, "left"), (-3 - away, 2 + away / 2, "right")),
        *((3 + away, -7 - away / 2, "left"), (-3 - away, -7 - away / 2, "right")),
        *((0, 4 + away, "center"), (0, -9 - away, "center")),
    )
)
"""Where a word may stand beside its mark: points across, points up, and which side of the word is there. The nearest
places come first; from the farther ones a thin line leads to the mark."""
NEAR = 6
"""So many of the places are near enough to need no line."""
NO_TRANSLATIONS = "no frequent words of this run are each other's translations; choose some with --words"


@dataclass(frozen=True)
class Label:
    """A word, the place of its mark, and its colour."""

    place: tuple[float, float]
    text: str
    colour: str


@dataclass(frozen=True, eq=False)
class Scene:
    """A run, what to show of it, and how wide."""

    alignment: Alignment
    fonts: Fonts
    lexicon: Lexicon | None = None
    words: tuple[str, ...] = ()
    """Source words to show; () leaves the choice to the figure."""
    width: float = 3.3
    """Inches: a column of most journals."""

    @property
    def trusted(self) -> bool:
        """Whether the run may be shown without a warning."""
        return str(self.alignment.verdict) == "aligned"

    @property
    def names(self) -> tuple[str, str]:
        """What to call the two languages in a legend."""
        short = []
        for name in language_names(self.alignment):
            text = self.fonts.printable(name).lstrip("_")  # matplotlib's legends leave out names that begin with one.
            short.append(text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…")
        source, target = short
        return (source, target) if source != target else ("source", "target")


def panels(scene: Scene, height: float, rows: int = 1, columns: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure of the scene's width, ``height`` of its width high, with panels in it, row by row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(scene.width, scene.width * height), layout="constrained")
    if not scene.trusted:
        figure.suptitle(f"verdict: {scene.alignment.verdict}", color=WARNING, fontsize=7.5)
    return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def write_labels(axes: Axes, labels: Sequence[Label], marks: Sequence[Sequence[float]]) -> None:
    """Write words beside their marks, the first ones first. One that would touch another, a mark or the edge is left
    out.
    """
    from matplotlib.collections import LineCollection
    from matplotlib.patheffects import withStroke
    from matplotlib.transforms import Bbox

    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    edge, radius = axes.get_window_extent(), MARK_RADIUS * figure.dpi / 72
    taken = [
        Bbox.from_bounds(x - radius, y - radius, 2 * radius, 2 * radius) for x, y in axes.transData.transform(marks)
    ]
    for label in labels:
        for number, (across, up, side) in enumerate(LABEL_PLACES if label.text else ()):
            text = axes.annotate(
                label.text,
                label.place,
                (across, up),
                textcoords="offset points",
                ha=side,
                fontsize=SMALLEST,
                color=label.colour,
                path_effects=[withStroke(linewidth=1.4, foreground="white")],  # letters stay clear of the dots below
            )
            box = text.get_window_extent()
            inside = edge.x0 <= box.x0 and box.x1 <= edge.x1 and edge.y0 <= box.y0 and box.y1 <= edge.y1
            if inside and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                if number >= NEAR:
                    x, y = axes.transData.transform(label.place)
                    nearest = min(max(x, box.x0), box.x1), min(max(y, box.y0), box.y1)
                    ends: list[Any] = [label.place, axes.transData.inverted().transform(nearest)]
                    line = LineCollection([ends], colors=label.colour, linewidths=0.4, zorder=2)
                    axes.add_collection(line, autolim=False)
                break
            text.remove()
