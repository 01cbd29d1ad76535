"""Orthogonal map between vectors of unit length.

max_W Σ cos(x W, y)  over  W Wᵀ = 1, for the pairs (x, y) of a dictionary.
Xing, Wang, Liu, Lin 2015: Normalized word embedding and orthogonal transform for bilingual word translation, section 3.

Words are compared by their cosine in the end, so it is the cosine that is maximised: for unit vectors, and a W that
leaves them at unit length, cosine and product are one. They took gradient steps and projected; the maximum is the same
in closed form. zhang2016 is the same without normalising; artetxe2016 centres as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from calque.data.preprocess import check_steps
from calque.methods.baselines.dictionary import prepare, rotation
from calque.methods.task import Outcome, Task
from calque.progress import Step


@dataclass(frozen=True)
class Xing2015Settings:
    """What is done before the rotation."""

    preprocessing: tuple[str, ...] = ("unit",)
    """Steps before anything else; as published, every vector to length 1."""

    def __post_init__(self) -> None:
        check_steps(self.preprocessing)


def xing2015(task: Task, settings: Xing2015Settings) -> Outcome:
    """The rotation under which words and their translations have the largest cosine on average."""
    dictionary = prepare(task, settings.preprocessing)
    map = rotation(*dictionary.paired())
    task.listen(Step("rotate", 1, 1, {"pairs": float(len(dictionary))}))
    return dictionary.source_to_target(map)
