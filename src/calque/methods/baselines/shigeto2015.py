"""Ridge regression from target to source.

min_V Σ ||y V - x||² + λ ||V||²  over all matrices V, for the pairs (x, y) of a dictionary; target words are mapped
among the source words, and looked up there.
Shigeto, Suzuki, Hara, Shimbo, Matsumoto 2015: Ridge regression, hubness, and zero-shot learning, section 3.

mikolov2013 the other way round. Whatever is regressed shrinks towards the mean. Where queries shrink, the candidates
near the mean become everyone's neighbours: hubs. Where candidates shrink, the queries stay spread out among them. For
translating back, from target to source, the roles are exchanged, and mikolov2013 has the fewer hubs.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from calque.data.preprocess import check_steps
from calque.errors import SettingsError
from calque.linear.closed_forms import least_squares
from calque.linear.maps import LinearMap
from calque.methods.baselines.dictionary import prepare
from calque.methods.task import Outcome, Task
from calque.progress import Step


@dataclass(frozen=True)
class Shigeto2015Settings:
    """How strongly the regression is held back, and what is done before it."""

    preprocessing: tuple[str, ...] = ()
    """Steps before anything else; as published, none."""
    ridge: float = 1.0
    """λ, in units of the mean squared length of the paired target vectors: as if so many more pairs had been seen in
    each dimension, of words that translate to nothing. So the scale of the vectors does not matter, and with more pairs
    λ matters less. 0: plain least squares."""

    def __post_init__(self) -> None:
        check_steps(self.preprocessing)
        if not 0 <= self.ridge < float("inf"):
            raise SettingsError(f"ridge is {self.ridge}; expected 0 or more")


def shigeto2015(task: Task, settings: Shigeto2015Settings) -> Outcome:
    """The regression that brings translations nearest to their source words."""
    dictionary = prepare(task, settings.preprocessing)
    source, target = dictionary.paired()
    map = ridge_regression(target, source, settings.ridge)
    task.listen(Step("regress", 1, 1, {"pairs": float(len(dictionary))}))
    return dictionary.target_to_source(map)


def ridge_regression(given: Tensor, wanted: Tensor, ridge: float) -> LinearMap:
    """The V that minimises ||Y V - X||² + λ ||V||² with λ = ridge · mean ||y||², in double precision."""
    strength = ridge * float(given.double().square().sum(dim=1).mean())
    if strength == 0.0:
        return least_squares(given, wanted)
    return LinearMap(least_squares(given.double(), wanted.double(), strength).matrix.to(given))
