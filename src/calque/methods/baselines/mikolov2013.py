"""Least squares from source to target.

min_W Σ ||x W - y||² over all matrices W, for the pairs (x, y) of a dictionary.
Mikolov, Le, Sutskever 2013: Exploiting similarities among languages for machine translation, section 3.

The first of its family, and the freest: W may stretch and squash. They descended the gradient; the minimum is the same
in closed form. Its siblings bind W (zhang2016), also normalise the vectors (xing2015, artetxe2016), or turn the
regression around (shigeto2015): regressed queries shrink towards the mean, where a few target words are everyone's
neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

from calque.data.preprocess import check_steps
from calque.linear.closed_forms import least_squares
from calque.methods.baselines.dictionary import prepare
from calque.methods.task import Outcome, Task
from calque.progress import Step


@dataclass(frozen=True)
class Mikolov2013Settings:
    """What is done before the regression."""

    preprocessing: tuple[str, ...] = ()
    """Steps before anything else; as published, none."""

    def __post_init__(self) -> None:
        check_steps(self.preprocessing)


def mikolov2013(task: Task, settings: Mikolov2013Settings) -> Outcome:
    """The linear map that brings source words nearest to their translations; the shortest one where several do."""
    dictionary = prepare(task, settings.preprocessing)
    map = least_squares(*dictionary.paired())
    task.listen(Step("regress", 1, 1, {"pairs": float(len(dictionary))}))
    return dictionary.source_to_target(map)
