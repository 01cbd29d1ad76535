"""Orthogonal least squares from source to target.

min_W Σ ||x W - y||²  over  W Wᵀ = 1, for the pairs (x, y) of a dictionary: orthogonal Procrustes.
Zhang, Gaddy, Barzilay, Jaakkola 2016: Ten pairs to tag – multilingual POS tagging via coarse mapping between
embeddings, section 3.

As mikolov2013, but W keeps lengths and angles, so that fewer pairs suffice and nothing shrinks. As xing2015, but on
vectors as they come: long ones count for more.
"""

from __future__ import annotations

from dataclasses import dataclass

from calque.data.preprocess import check_steps
from calque.methods.baselines.dictionary import prepare, rotation
from calque.methods.task import Outcome, Task
from calque.progress import Step


@dataclass(frozen=True)
class Zhang2016Settings:
    """What is done before the rotation."""

    preprocessing: tuple[str, ...] = ()
    """Steps before anything else; as published, none."""

    def __post_init__(self) -> None:
        check_steps(self.preprocessing)


def zhang2016(task: Task, settings: Zhang2016Settings) -> Outcome:
    """The rotation that brings source words nearest to their translations."""
    dictionary = prepare(task, settings.preprocessing)
    map = rotation(*dictionary.paired())
    task.listen(Step("rotate", 1, 1, {"pairs": float(len(dictionary))}))
    return dictionary.source_to_target(map)
