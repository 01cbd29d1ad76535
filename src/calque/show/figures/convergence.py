"""How each stage went; with a lexicon, what it was worth, dashed, since that is not what it strives for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calque.errors import SettingsError
from calque.show.figures.scene import INK, SOURCE, TARGET, Scene, sheet
from calque.show.views import Worth, courses_of, learned_from, worth_of_stages

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(scene: Scene) -> Figure:
    """A panel a stage, in what it strives for."""
    from matplotlib.ticker import MaxNLocator

    courses = courses_of(scene.alignment.record.log)
    if not courses:
        raise SettingsError("the log of this run tells of no steps")
    worth = _worth(scene, courses[-1].stage)
    panels = len(courses) + bool(worth)
    columns = min(2, panels)
    rows = -(-panels // columns)
    figure, axes = sheet(scene, 0.42 * rows, rows, columns)
    for course, panel in zip(courses, axes, strict=False):
        panel.plot(course.steps, course.values, color=SOURCE, marker=".", markersize=3, linewidth=0.9)
        panel.set_title(course.stage)
        panel.set_ylabel(course.measure)
        panel.set_xlabel("step")
        panel.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        panel.ticklabel_format(axis="y", useOffset=False)
        panel.margins(y=0.15)
    if scene.lexicon is not None and worth:
        panel = axes[len(courses)]
        shares = [100 * each.share for each in worth]
        panel.plot(range(len(worth)), shares, color=TARGET, linestyle="--", marker="s", markersize=3, linewidth=0.9)
        panel.set_xticks(range(len(worth)), [each.stage for each in worth], rotation=25, ha="right")
        panel.set_ylabel("accuracy@1, %")
        used = learned_from(scene.alignment, scene.lexicon)
        panel.set_title("lexicon (learned from it)" if used else "lexicon (not used)", color=INK)
        panel.margins(y=0.15)
        panel.set_ylim(top=min(100.0, panel.get_ylim()[1]))
    for spare in axes[panels:]:
        spare.remove()
    return figure


def _worth(scene: Scene, last: str) -> tuple[Worth, ...]:
    """Of every stage, where there is a lexicon and maps that can be undone."""
    if scene.lexicon is None:
        return ()
    try:
        return tuple(worth_of_stages(scene.alignment, scene.lexicon, last))
    except SettingsError:
        return ()
