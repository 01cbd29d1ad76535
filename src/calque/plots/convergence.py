"""How each stage went; with a lexicon, what it was worth, dashed, since no stage has seen it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calque.errors import SettingsError
from calque.plots.scene import INK, SOURCE, TARGET, Scene, sheet
from calque.views import courses_of, worth_of_stages

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(scene: Scene) -> Figure:
    """A panel a stage, in what it strives for."""
    from matplotlib.ticker import MaxNLocator

    courses = courses_of(scene.alignment.record.log)
    if not courses:
        raise SettingsError("the log of this run tells of no steps")
    panels = len(courses) + (scene.lexicon is not None)
    columns = min(2, panels)
    rows = -(-panels // columns)
    figure, axes = sheet(scene, 0.42 * rows, rows, columns)
    for course, panel in zip(courses, axes, strict=False):
        panel.plot(course.steps, course.values, color=SOURCE, marker=".", markersize=3, linewidth=0.9)
        panel.set_title(course.stage)
        panel.set_ylabel(course.measure)
        panel.set_xlabel("step")
        panel.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        panel.margins(y=0.15)
    if scene.lexicon is not None:
        panel = axes[len(courses)]
        worth = worth_of_stages(scene.alignment, scene.lexicon, courses[-1].stage)
        shares = [100 * each.share for each in worth]
        panel.plot(range(len(worth)), shares, color=TARGET, linestyle="--", marker="s", markersize=3, linewidth=0.9)
        panel.set_xticks(range(len(worth)), [each.stage for each in worth], rotation=25, ha="right")
        panel.set_ylabel("accuracy@1, %")
        panel.set_title("lexicon (not used)", color=INK)
        panel.margins(y=0.15)
    for spare in axes[panels:]:
        spare.remove()
    return figure
