"""Orthogonal map between vectors of unit length, centred.

max_W Σ <x W, y>  over  W Wᵀ = 1, for the pairs (x, y) of a dictionary, x and y made unit length and then centred,
dimension by dimension, over their whole vocabularies.
Artetxe, Labaka, Agirre 2016: Learning principled bilingual mappings of word embeddings while preserving monolingual
invariance, section 2.

As xing2015, and then centred, so that two words picked at random are expected to be unlike: what is maximised is a sum
of covariances. artetxe2017 starts here and goes on alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from calque.data.preprocess import check_steps
from calque.methods.baselines.dictionary import prepare, rotation
from calque.methods.task import Outcome, Task
from calque.progress import Step


@dataclass(frozen=True)
class Artetxe2016Settings:
    """What is done before the rotation."""

    preprocessing: tuple[str, ...] = ("unit", "center")
    """Steps before anything else; as published, every vector to length 1, then the mean to 0."""

    def __post_init__(self) -> None:
        check_steps(self.preprocessing)


def artetxe2016(task: Task, settings: Artetxe2016Settings) -> Outcome:
    """The rotation under which words and their translations covary the most."""
    dictionary = prepare(task, settings.preprocessing)
    map = rotation(*dictionary.paired())
    task.listen(Step("rotate", 1, 1, {"pairs": float(len(dictionary))}))
    return dictionary.source_to_target(map)
