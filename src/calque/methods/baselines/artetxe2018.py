"""Self-learning from similarity profiles (Artetxe, Labaka, Agirre 2018).

"A robust self-learning method for fully unsupervised cross-lingual mappings of word embeddings", section 3. Maximises

    Σ_ij D_ij (x_i W_X) · (z_j W_Z)   over orthogonal W_X, W_Z and a dictionary D

by turns. For a dictionary D the best maps are W_X = U, W_Z = V of XᵀDZ = U S Vᵀ; for given maps D pairs every word
with its CSLS neighbour, in both directions. The first dictionary needs no map at all: the sorted row of (XXᵀ)^½ does
not change when a space is rotated, so words of two languages can be compared by it (section 3.2). Similarities are
thinned at random, less and less, so that early mistakes are left behind (section 3.3, `induction.py`). At the end both
sides are re-weighted by how well each direction agrees (section 3.4).

Beside its siblings: `artetxe2017` is the same self-learning from a given dictionary, without thinning; `conneau2017`
and `zhang2017` find the first map by an adversary instead. The default method of this package starts from the same
profiles, but by transport, many times over, and does not trust a single start.

Left open by the paper and decided here: the objective that must improve is the mean cosine of every word, of both
sides, to its nearest word; once nothing is thinned, a dictionary that comes out twice ends the run, since no later one
would differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from calque.data.preprocess import fit, unit
from calque.errors import SettingsError
from calque.linear.closed_forms import reweighted
from calque.linear.maps import LinearMap
from calque.linear.side import Side
from calque.methods.baselines.induction import Dictionary, draw_ranks, induce, induce_from_matrix
from calque.methods.default.starts import profiles
from calque.methods.task import Outcome, Task
from calque.progress import Step

PREPROCESSING = ("unit", "center", "unit")
"""Section 3.1."""
TELL_EVERY = 5
"""Iterations between two events."""


@dataclass(frozen=True)
class Artetxe2018Settings:
    """The published values throughout."""

    start_words: int = 4000
    """How many of the most frequent words are compared by their similarity profiles."""
    words: int = 20_000
    """How many of the most frequent words of each side enter the dictionary."""
    neighbourhood: int = 10
    """How many neighbours CSLS averages over."""
    keep: float = 0.1
    """The share of similarities kept at first."""
    growth: float = 2.0
    """By how much the share grows when nothing improves."""
    patience: int = 50
    """So many iterations without improvement, and the share grows; once all are kept, the run ends."""
    threshold: float = 1e-6
    """What counts as an improvement of the mean cosine."""
    iterations: int = 5000
    """At most so many in all; the published method has no such bound, and some hundreds are usual."""
    power: float = 0.5
    """How much a shared direction is stretched by its strength at the end: 0 not at all, 1 fully on each side."""

    def __post_init__(self) -> None:
        counts = ("start_words", "words", "neighbourhood", "patience", "iterations")
        for name in counts:
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; expected at least 1")
        if not 0 < self.keep <= 1:
            raise SettingsError(f"keep is {self.keep}; expected above 0 and at most 1")
        if not self.growth > 1:
            raise SettingsError(f"growth is {self.growth}; expected above 1, or the share kept would never reach 1")
        if not self.threshold >= 0:
            raise SettingsError(f"threshold is {self.threshold}; expected at least 0")
        if not 0 <= self.power <= 1:
            raise SettingsError(f"power is {self.power}; expected between 0 and 1")


def artetxe2018(task: Task, settings: Artetxe2018Settings) -> Outcome:
    """Maps of both sides into a common space, with no dictionary."""
    fitted = [fit(each.vectors, PREPROCESSING) for each in (task.source, task.target)]
    source, target = (vectors[: settings.words].to(task.device) for _, vectors in fitted)
    first = first_dictionary(source, target, settings)
    dictionary, notes = _learn(source, target, first, task, settings)
    maps = reweighted(source[dictionary.source], target[dictionary.target], settings.power)
    sides = [
        Side(preprocessing, LinearMap(map.matrix.cpu())) for (preprocessing, _), map in zip(fitted, maps, strict=True)
    ]
    return Outcome(sides[0], sides[1], notes=notes)


def first_dictionary(source: Tensor, target: Tensor, settings: Artetxe2018Settings) -> Dictionary:
    """Words paired by the sorted rows of (XXᵀ)^½, of as many words on each side (section 3.2)."""
    size = min(settings.start_words, len(source), len(target))
    there, back = profiles(source[:size], size), profiles(target[:size], size)
    return induce_from_matrix(there @ back.mT, settings.neighbourhood)


def best_maps(source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """W_X = U and W_Z = V of XᵀZ = U S Vᵀ, for rows that correspond (section 3.3, step 1)."""
    u, _, vh = torch.linalg.svd(source.mT @ target, full_matrices=False)
    return u, vh.mT


class _Schedule:
    """When the share of similarities kept grows, and when to end."""

    def __init__(self, settings: Artetxe2018Settings) -> None:
        self.settings, self.keep, self.ended = settings, settings.keep, False
        self.best, self.waited = float("-inf"), 0

    def take(self, objective: float) -> None:
        """Hear what the last dictionary was worth."""
        if objective - self.best >= self.settings.threshold:
            self.best, self.waited = objective, 0
            return
        self.waited += 1
        if self.waited > self.settings.patience:
            self.ended, self.waited = self.keep >= 1.0, 0
            self.keep = min(1.0, self.keep * self.settings.growth)


def _learn(
    source: Tensor, target: Tensor, dictionary: Dictionary, task: Task, settings: Artetxe2018Settings
) -> tuple[Dictionary, tuple[str, ...]]:
    """Dictionary and maps in turn until nothing improves; the last dictionary, and what is to be said of it."""
    schedule, generator = _Schedule(settings), torch.Generator().manual_seed(task.seed)
    for number in range(1, settings.iterations + 1):
        if task.stopped():
            return dictionary, (f"self-learning was interrupted after {number - 1} iterations",)
        keep, previous = schedule.keep, dictionary
        dictionary = _next_dictionary(source, target, previous, (keep, settings.neighbourhood), generator)
        schedule.take(dictionary.objective)
        done = schedule.ended or (keep >= 1.0 and dictionary.same_pairs(previous))
        if number % TELL_EVERY == 1 or done:
            values = {"objective": dictionary.objective, "keep": keep, "pairs": float(len(dictionary))}
            task.listen(Step("self-learn", number, settings.iterations, values))
        if done:
            return dictionary, _few_pairs(dictionary, max(source.shape[1], target.shape[1]))
    return dictionary, (f"self-learning was still improving after {settings.iterations} iterations",)


def _next_dictionary(
    source: Tensor, target: Tensor, dictionary: Dictionary, how: tuple[float, int], generator: torch.Generator
) -> Dictionary:
    keep, neighbourhood = how
    maps = best_maps(source[dictionary.source], target[dictionary.target])
    ranks = draw_ranks(len(source), keep, generator), draw_ranks(len(target), keep, generator)
    return induce(unit(source @ maps[0]), unit(target @ maps[1]), ranks, neighbourhood)


def _few_pairs(dictionary: Dictionary, dimension: int) -> tuple[str, ...]:
    few = len(dictionary) < dimension
    return (f"{len(dictionary)} pairs were induced for {dimension} dimensions",) if few else ()
