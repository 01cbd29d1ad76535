"""How each stage of a run went, by its log; and what each was worth, by a lexicon that no stage has seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from calque.data.lexicon import Lexicon
from calque.data.preprocess import Preprocessing
from calque.data.space import Space
from calque.evaluate import ask
from calque.linear.side import Milestone, Side
from calque.retrieval.exact import FREQUENT
from calque.runs.alignment import Alignment
from calque.show.views.spectra import prepared
from calque.show.views.starts import STAGES

MEASURES = ("cost", "loss", "criterion", "objective", "similarity", "pairs")
"""What a stage may follow, what it strives for first: only that is shown of it."""
STARTS = (*STAGES, "second look")
"""Stages whose events are starts beside each other, not steps one after the other."""


@dataclass(frozen=True)
class Course:
    """What one stage followed, step by step."""

    stage: str
    measure: str
    """cost, loss, criterion, objective, similarity or pairs."""
    steps: tuple[int, ...]
    """Counted from 1, as far as the log tells of them."""
    values: tuple[float, ...]


@dataclass(frozen=True)
class Worth:
    """How many words of a lexicon the maps of a stage translate rightly."""

    stage: str
    right: int
    asked: int

    @property
    def share(self) -> float:
        """Accuracy@1."""
        return self.right / self.asked


def courses_of(log: Sequence[Mapping[str, Any]]) -> tuple[Course, ...]:
    """One of every stage that measures its steps, in the order in which they ran; starts are not steps."""
    stages = dict.fromkeys(str(each.get("stage")) for each in log)
    found = (_course(stage, [each for each in log if each.get("stage") == stage]) for stage in stages)
    return tuple(each for each in found if each is not None)


def _course(stage: str, events: Sequence[Mapping[str, Any]]) -> Course | None:
    if stage in STARTS:
        return None
    path = events[0].get("path")
    if len(events) == 1 and isinstance(path, (list, tuple)) and path:
        return Course(stage, "cost", tuple(range(1, len(path) + 1)), tuple(map(float, path)))
    measure = next((name for name in MEASURES if any(_is_number(each.get(name)) for each in events)), None)
    if measure is None:
        return None
    told = [(int(each["number"]), float(each[measure])) for each in events if _is_number(each.get(measure))]
    return Course(stage, measure, tuple(step for step, _ in told), tuple(value for _, value in told))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def worth_of_stages(alignment: Alignment, lexicon: Lexicon, last: str) -> tuple[Worth, ...]:
    """Accuracy@1 by CSLS after each stage that a run kept the maps of, and of the final ones under the name ``last``.

    Among the ``FREQUENT`` most frequent words of both languages, which bounds what it costs.
    """
    spaces = [
        replace(each.head(FREQUENT), vectors=prepared(each.vectors[:FREQUENT], side), subwords=None)
        for each, side in (
            (alignment.source, alignment.source_side),
            (alignment.target, alignment.target_side),
        )
    ]
    final = Milestone(last, alignment.source_side.map, alignment.target_side.map)
    return tuple(_worth(alignment, (spaces[0], spaces[1]), each, lexicon) for each in (*alignment.earlier, final))


def _worth(alignment: Alignment, spaces: tuple[Space, Space], milestone: Milestone, lexicon: Lexicon) -> Worth:
    sides = (Side(Preprocessing(()), each) for each in (milestone.source, milestone.target))
    then = Alignment.of(spaces, (next(sides), next(sides)), alignment.verdict, alignment.record)
    asked = ask(then, lexicon, 1)
    return Worth(milestone.stage, sum(each.place == 0 for each in asked), len(asked))
