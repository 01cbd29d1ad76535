"""How each stage went, by the log; with a lexicon, also how many words the maps of each stage translate rightly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from calque.data.lexicon import Lexicon
from calque.errors import SettingsError
from calque.evaluate import ask, learned_from
from calque.linear.maps import Milestone, Preprocessing, Side
from calque.retrieval.exact import FREQUENT
from calque.runs.alignment import Alignment
from calque.show.figures.scene import INK, SOURCE, TARGET, Scene, panels
from calque.show.views import SEARCH_STAGES, undo_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURES = ("cost", "loss", "criterion", "objective", "similarity", "pairs")
"""What a stage may measure. Of several, the first one is what it tries to improve, and only that is shown."""
STAGES_OF_STARTS = (*SEARCH_STAGES, "second look")
"""Stages whose events are starts beside each other, not steps one after the other."""


@dataclass(frozen=True)
class StageCourse:
    """What one stage measured, step by step."""

    stage: str
    measure: str
    """cost, loss, criterion, objective, similarity or pairs."""
    steps: tuple[int, ...]
    """Counted from 1; only those in the log."""
    values: tuple[float, ...]


@dataclass(frozen=True)
class StageAccuracy:
    """How many words of a lexicon the maps of a stage translate rightly."""

    stage: str
    right: int
    asked: int

    @property
    def share(self) -> float:
        """Accuracy@1."""
        return self.right / self.asked


def stage_courses(log: Sequence[Mapping[str, Any]]) -> tuple[StageCourse, ...]:
    """One of every stage that measures its steps, in the order in which they ran."""
    courses = []
    for stage in dict.fromkeys(str(event.get("stage")) for event in log):
        events = [event for event in log if event.get("stage") == stage]
        path = events[0].get("path")
        measure = next((name for name in MEASURES if any(_is_number(event.get(name)) for event in events)), None)
        if stage in STAGES_OF_STARTS:
            continue
        if len(events) == 1 and isinstance(path, (list, tuple)) and path:
            courses.append(StageCourse(stage, "cost", tuple(range(1, len(path) + 1)), tuple(map(float, path))))
        elif measure is not None:
            events = [event for event in events if _is_number(event.get(measure))]
            steps, values = (tuple(event[name] for event in events) for name in ("number", measure))
            courses.append(StageCourse(stage, measure, tuple(map(int, steps)), tuple(map(float, values))))
    return tuple(courses)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def stage_accuracies(alignment: Alignment, lexicon: Lexicon, last: str) -> tuple[StageAccuracy, ...]:
    """Accuracy@1 by CSLS after each stage that a run kept the maps of, and of the final ones under the name ``last``.

    Among the ``FREQUENT`` most frequent words of both languages, which limits the work.
    """
    source, target = (
        replace(space.head(FREQUENT), vectors=undo_map(space.vectors[:FREQUENT], side), subwords=None)
        for space, side in ((alignment.source, alignment.source_side), (alignment.target, alignment.target_side))
    )
    accuracies = []
    for milestone in (*alignment.earlier, Milestone(last, alignment.source_side.map, alignment.target_side.map)):
        sides = Side(Preprocessing(()), milestone.source), Side(Preprocessing(()), milestone.target)
        then = Alignment.of((source, target), sides, alignment.verdict, alignment.record)
        asked = ask(then, lexicon, 1)
        accuracies.append(StageAccuracy(milestone.stage, sum(query.place == 0 for query in asked), len(asked)))
    return tuple(accuracies)


def draw(scene: Scene) -> Figure:
    """A panel for each stage; with a lexicon, one more panel, dashed because no stage tries to improve that."""
    from matplotlib.ticker import MaxNLocator

    courses = stage_courses(scene.alignment.record.log)
    if not courses:
        raise SettingsError("the log of this run tells of no steps")
    try:
        last = courses[-1].stage
        accuracies = () if scene.lexicon is None else stage_accuracies(scene.alignment, scene.lexicon, last)
    except SettingsError:  # The maps of this run cannot be undone.
        accuracies = ()
    count = len(courses) + bool(accuracies)
    columns = min(2, count)
    rows = -(-count // columns)
    figure, axes = panels(scene, 0.42 * rows, rows, columns)
    for course, panel in zip(courses, axes, strict=False):
        panel.plot(course.steps, course.values, color=SOURCE, marker=".", markersize=3, linewidth=0.9)
        panel.set_title(course.stage)
        panel.set_ylabel(course.measure)
        panel.set_xlabel("step")
        panel.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        panel.ticklabel_format(axis="y", useOffset=False)
        panel.margins(y=0.15)
    if scene.lexicon is not None and accuracies:
        panel, shares = axes[len(courses)], [100 * accuracy.share for accuracy in accuracies]
        panel.plot(range(len(shares)), shares, color=TARGET, linestyle="--", marker="s", markersize=3, linewidth=0.9)
        panel.set_xticks(range(len(shares)), [accuracy.stage for accuracy in accuracies], rotation=25, ha="right")
        panel.set_ylabel("accuracy@1, %")
        used = learned_from(scene.alignment, scene.lexicon)
        panel.set_title("lexicon (learned from it)" if used else "lexicon (not used)", color=INK)
        panel.margins(y=0.15)
        panel.set_ylim(top=min(100.0, panel.get_ylim()[1]))
    for spare in axes[count:]:
        spare.remove()
    return figure
