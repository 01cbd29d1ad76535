"""The transport plan of chosen words as a heat map: where the mass of each goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calque.errors import SettingsError
from calque.show.figures.scene import SMALLEST, Scene, sheet
from calque.show.views import plan_of, telling

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHOSEN, MOST = 10, 40
WRITTEN = 0.05
"""A smaller share is left to the colour alone."""


def draw(scene: Scene) -> Figure:
    """A row a source word, a column a target word; what of a row goes to words that are not shown, is not shown."""
    words = scene.words or _some(scene)
    if len(words) > MOST:
        raise SettingsError(f"{len(words)} words were chosen; expected at most {MOST}, of which each can be read")
    found = plan_of(scene.alignment, words)
    figure, (axes,) = sheet(scene, min(3.0, max(0.5, 0.3 + 0.075 * len(words))))
    shares = found.shares.numpy()
    picture = axes.imshow(shares, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    names = [[scene.letters.plain(word) or "·" for word in side] for side in (found.source, found.target)]
    axes.set_yticks(range(len(names[0])), names[0])
    axes.set_xticks(range(len(names[1])), names[1], rotation=45, ha="right", rotation_mode="anchor")
    for row, line in enumerate(shares.tolist()):
        for column, share in enumerate(line):
            if share >= WRITTEN:
                ink = "black" if share > 0.6 else "white"
                axes.text(
                    column,
                    row,
                    f"{share:.2f}".lstrip("0"),
                    ha="center",
                    va="center",
                    color=ink,
                    fontsize=SMALLEST,
                )
    bar = figure.colorbar(picture, ax=axes, fraction=0.05)
    bar.set_label("share of the word's mass")
    return figure


def _some(scene: Scene) -> tuple[str, ...]:
    rows = list(telling(scene.alignment, CHOSEN))
    if not rows:
        raise SettingsError("no frequent words of this run are each other's translations; choose some with --words")
    return tuple(scene.alignment.source.words[row] for row in rows[:: max(1, len(rows) // CHOSEN)][:CHOSEN])
