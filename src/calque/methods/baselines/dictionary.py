"""Where every method that learns from a dictionary begins and ends: the paired rows before, both sides after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from calque.data.preprocess import Preprocessing, fit
from calque.errors import LexiconError
from calque.linear.closed_forms import procrustes
from calque.linear.maps import LinearMap
from calque.linear.side import Side
from calque.methods.task import Outcome, Task


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Two prepared spaces, and which of their rows translate each other."""

    source: Tensor
    """(n, d): all source words after preprocessing."""
    target: Tensor
    """(m, e): all target words after theirs."""
    rows: tuple[Tensor, Tensor]
    """Row numbers of source and of target, pair by pair; a word with several translations is in several pairs."""
    preprocessing: tuple[Preprocessing, Preprocessing]

    def __len__(self) -> int:
        return len(self.rows[0])

    def paired(self) -> tuple[Tensor, Tensor]:
        """X and Y of the formulas: one row a pair."""
        return self.source[self.rows[0]], self.target[self.rows[1]]

    def source_to_target(self, map: LinearMap, notes: tuple[str, ...] = ()) -> Outcome:
        """The outcome where target words stay and source words are mapped among them."""
        return self._outcome(map, _identity(self.target), notes)

    def target_to_source(self, map: LinearMap, notes: tuple[str, ...] = ()) -> Outcome:
        """The outcome where source words stay and target words are mapped among them."""
        return self._outcome(_identity(self.source), map, notes)

    def _outcome(self, source: LinearMap, target: LinearMap, notes: tuple[str, ...]) -> Outcome:
        sides = _side(self.preprocessing[0], source), _side(self.preprocessing[1], target)
        return Outcome(*sides, notes=(*_few_pairs(self), *notes))


def prepare(task: Task, steps: Sequence[str]) -> Dictionary:
    """Both spaces after these steps of preprocessing, measured over the whole vocabulary, on the task's device."""
    if task.pairs is None or len(task.pairs[0]) == 0:
        raise LexiconError("the task has no word pairs, and this method learns from them; give it a lexicon")
    source = fit(task.source.vectors.to(task.device), steps)
    target = fit(task.target.vectors.to(task.device), steps)
    rows = task.pairs[0].to(task.device), task.pairs[1].to(task.device)
    return Dictionary(source[1], target[1], rows, (source[0], target[0]))


def rotation(source: Tensor, target: Tensor) -> LinearMap:
    """Procrustes in double precision: XᵀY holds the squares of what the spaces agree on weakly.

    max_W <XW, Y> over orthogonal W. Where the spaces differ in dimension, W has orthonormal rows or columns, whichever
    are fewer; only with orthonormal rows (no fewer target dimensions) does it still minimise ||XW - Y|| as well.
    """
    return LinearMap(procrustes(source.double(), target.double()).matrix.to(source))


def _few_pairs(dictionary: Dictionary) -> tuple[str, ...]:
    """A word on it where the pairs leave part of the map undetermined."""
    words = min(len(torch.unique(rows)) for rows in dictionary.rows)
    dimension = min(dictionary.source.shape[1], dictionary.target.shape[1])
    if words >= dimension:
        return ()
    return (f"the pairs have {words} different words for {dimension} dimensions: they alone do not settle the map",)


def _identity(vectors: Tensor) -> LinearMap:
    return LinearMap.identity(int(vectors.shape[1]), vectors)


def _side(preprocessing: Preprocessing, map: LinearMap) -> Side:
    return Side(preprocessing.cpu(), LinearMap(map.matrix.to("cpu", torch.float32)))
