"""Self-learning: a small dictionary makes a map, the map a larger dictionary, and so on in turn.

max_{W, j} Σ_i <x_i W, y_j(i)>  over  W Wᵀ = 1 and any choice j(i) of a translation for each source word. With the
dictionary fixed, W is artetxe2016's rotation; with W fixed, j(i) is the target word with the largest product. Neither
step can lower the mean similarity, so it is done when that gains no more.
Artetxe, Labaka, Agirre 2017: Learning bilingual word embeddings with (almost) no bilingual data, section 3.

Unlike its siblings it learns from every frequent word: the pairs it is given only begin it, and do not stay in the
dictionary. artetxe2018 needs no such beginning, and adds chance, both directions and re-weighting.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from calque.data.preprocess import check_steps
from calque.errors import SettingsError
from calque.linear.maps import LinearMap
from calque.methods.baselines.dictionary import Dictionary, prepare, rotation
from calque.methods.task import Outcome, Task
from calque.progress import Step
from calque.retrieval.exact import Pairs, blocks


@dataclass(frozen=True)
class Artetxe2017Settings:
    """How map and dictionary take turns."""

    preprocessing: tuple[str, ...] = ("unit", "center")
    """Steps before anything else; as published, every vector to length 1, then the mean to 0."""
    words: int = 20_000
    """How many of the most frequent words of each side enter the induced dictionary."""
    threshold: float = 1e-6
    """It has converged when the mean similarity gains less than this."""
    steps: int = 500
    """How often the dictionary is induced at most."""

    def __post_init__(self) -> None:
        check_steps(self.preprocessing)
        if self.words < 1 or self.steps < 0:
            raise SettingsError(f"words is {self.words} and steps {self.steps}; expected at least 1 and 0")
        if not 0 <= self.threshold < float("inf"):
            raise SettingsError(f"threshold is {self.threshold}; expected 0 or more")


@dataclass(frozen=True, eq=False)
class SelfLearned:
    """Where self-learning ended."""

    map: LinearMap
    similarity: float
    """Mean product of the mapped source words with their best target words; it rises from step to step."""
    converged: bool


def artetxe2017(task: Task, settings: Artetxe2017Settings) -> Outcome:
    """The rotation that frequent words agree on, begun from the pairs given."""
    dictionary = prepare(task, settings.preprocessing)
    learned = self_learn(dictionary, settings, task)
    notes = () if learned.converged else (f"self-learning ended before it converged (at most {settings.steps} steps)",)
    return dictionary.source_to_target(learned.map, notes)


def self_learn(dictionary: Dictionary, settings: Artetxe2017Settings, task: Task) -> SelfLearned:
    """Dictionary and rotation in turn until the mean similarity gains no more."""
    source, target = dictionary.source[: settings.words], dictionary.target[: settings.words]
    learned = SelfLearned(rotation(*dictionary.paired()), -float("inf"), converged=False)
    for number in range(1, settings.steps + 1):
        if task.stopped():
            break
        induced = induce(learned.map.apply(source), target)
        similarity = float(induced.scores.double().mean())
        task.listen(Step("self-learn", number, settings.steps, {"similarity": similarity}))
        if similarity - learned.similarity < settings.threshold:
            return SelfLearned(learned.map, similarity, converged=True)
        learned = SelfLearned(rotation(source, target[induced.target]), similarity, converged=False)
    return learned


def induce(source: Tensor, target: Tensor) -> Pairs:
    """Every source word with the target word of the largest product, block by block."""
    best = [(source[rows] @ target.mT).max(dim=1) for rows in blocks(len(source), len(target))]
    chosen, scores = torch.cat([each.indices for each in best]), torch.cat([each.values for each in best])
    return Pairs(torch.arange(len(source), device=source.device), chosen, scores)
