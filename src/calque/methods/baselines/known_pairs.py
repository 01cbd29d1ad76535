"""Five methods that learn one linear map from known word pairs, each by one formula.

| method | minimises or maximises | over | vectors |
|---|---|---|---|
| mikolov2013 | min Σ ||x W - y||² | all matrices W | as they are |
| zhang2016 | min Σ ||x W - y||² | W Wᵀ = 1 | as they are |
| xing2015 | max Σ cos(x W, y) | W Wᵀ = 1 | unit length |
| artetxe2016 | max Σ <x W, y> | W Wᵀ = 1 | unit length, then centred |
| shigeto2015 | min Σ ||y V - x||² + λ ||V||² | all matrices V | as they are |

The pairs (x, y) come from a dictionary. Mean and length are taken over the whole vocabulary, not over the pairs alone.
joulin2018 and artetxe2017 start from the same pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from calque.errors import LexiconError, SettingsError
from calque.linear.closed_forms import least_squares, procrustes
from calque.linear.maps import LinearMap, Preprocessing, Side, check_steps, fit
from calque.methods.task import Outcome, Task
from calque.progress import Step


@dataclass(frozen=True, eq=False)
class KnownPairs:
    """Two preprocessed spaces, and which of their rows translate each other."""

    source: Tensor
    """(n, d): all source words after preprocessing."""
    target: Tensor
    """(m, e): all target words after preprocessing."""
    rows: tuple[Tensor, Tensor]
    """Row numbers of source and target, pair by pair. A word with several translations is in several pairs."""
    preprocessing: tuple[Preprocessing, Preprocessing]

    def __len__(self) -> int:
        return len(self.rows[0])

    def paired(self) -> tuple[Tensor, Tensor]:
        """X and Y of the formulas: one row per pair."""
        return self.source[self.rows[0]], self.target[self.rows[1]]

    def source_to_target(self, map: LinearMap, notes: tuple[str, ...] = ()) -> Outcome:
        """The outcome where source words are mapped and target words stay."""
        return self._outcome(map, LinearMap.identity(int(self.target.shape[1]), self.target), notes)

    def target_to_source(self, map: LinearMap, notes: tuple[str, ...] = ()) -> Outcome:
        """The outcome where target words are mapped and source words stay."""
        return self._outcome(LinearMap.identity(int(self.source.shape[1]), self.source), map, notes)

    def _outcome(self, source: LinearMap, target: LinearMap, notes: tuple[str, ...]) -> Outcome:
        words = min(len(torch.unique(rows)) for rows in self.rows)
        dimension = min(self.source.shape[1], self.target.shape[1])
        if words < dimension:
            few = f"the pairs have {words} different words for {dimension} dimensions: they alone do not settle the map"
            notes = (few, *notes)
        sides = [
            Side(preprocessing.cpu(), LinearMap(map.matrix.to("cpu", torch.float32)))
            for preprocessing, map in zip(self.preprocessing, (source, target), strict=True)
        ]
        return Outcome(sides[0], sides[1], notes=notes)


def known_pairs(task: Task, steps: Sequence[str]) -> KnownPairs:
    """The task's pairs and both spaces after these preprocessing steps, on the task's device."""
    if task.pairs is None or len(task.pairs[0]) == 0:
        raise LexiconError("the task has no word pairs, and this method learns from them; give it a lexicon")
    source_preprocessing, source = fit(task.source.vectors.to(task.device), steps)
    target_preprocessing, target = fit(task.target.vectors.to(task.device), steps)
    rows = task.pairs[0].to(task.device), task.pairs[1].to(task.device)
    return KnownPairs(source, target, rows, (source_preprocessing, target_preprocessing))


def rotation(source: Tensor, target: Tensor) -> LinearMap:
    """Procrustes: max_W <XW, Y> over orthogonal W.

    It is computed in double precision, because XᵀY holds the squares of what the spaces agree on weakly. Where the
    spaces differ in dimension, W has orthonormal rows or columns, whichever are fewer. Only with orthonormal rows (no
    fewer target dimensions) does it still minimise ||XW - Y|| as well.
    """
    return LinearMap(procrustes(source.double(), target.double()).matrix.to(source))


def ridge_regression(inputs: Tensor, outputs: Tensor, ridge: float) -> LinearMap:
    """The V that minimises ||Y V - X||² + λ ||V||², with Y = inputs, X = outputs and λ = ridge · mean ||y||²."""
    strength = ridge * float(inputs.double().square().sum(dim=1).mean())
    if strength == 0.0:
        return least_squares(inputs, outputs)
    return LinearMap(least_squares(inputs.double(), outputs.double(), strength).matrix.to(inputs))


@dataclass(frozen=True)
class Mikolov2013Settings:
    """What is done before the regression."""

    preprocessing: tuple[str, ...] = ()
    """Steps before anything else; none, as published."""

    def __post_init__(self) -> None:
        check_steps(self.preprocessing)


def mikolov2013(task: Task, settings: Mikolov2013Settings) -> Outcome:
    """Least squares from source to target: min_W Σ ||x W - y||². Of several solutions, the shortest.

    Mikolov, Le, Sutskever 2013: Exploiting similarities among languages for machine translation, section 3. They
    descended the gradient; here the same minimum is computed in closed form. W may stretch and squash.
    """
    pairs = known_pairs(task, settings.preprocessing)
    map = least_squares(*pairs.paired())
    task.listen(Step("regress", 1, 1, {"pairs": float(len(pairs))}))
    return pairs.source_to_target(map)


@dataclass(frozen=True)
class Shigeto2015Settings:
    """How strong the penalty of the regression is, and what is done before it."""

    preprocessing: tuple[str, ...] = ()
    """Steps before anything else; none, as published."""
    ridge: float = 1.0
    """λ, in units of the mean squared length of the paired target vectors. So the scale of the vectors does not matter,
    and λ matters less with more pairs. 0: plain least squares."""

    def __post_init__(self) -> None:
        check_steps(self.preprocessing)
        if not 0 <= self.ridge < float("inf"):
            raise SettingsError(f"ridge is {self.ridge}; expected 0 or more")


def shigeto2015(task: Task, settings: Shigeto2015Settings) -> Outcome:
    """Ridge regression from target to source: min_V Σ ||y V - x||² + λ ||V||².

    Shigeto, Suzuki, Hara, Shimbo, Matsumoto 2015: Ridge regression, hubness, and zero-shot learning, section 3.

    This is mikolov2013 the other way round. Regression shrinks vectors towards the mean. If queries shrink, the
    candidates near the mean become hubs: neighbours of many queries. If candidates shrink, queries stay spread out and
    there are fewer hubs. In the direction target to source the roles are swapped, and mikolov2013 has fewer hubs.
    """
    pairs = known_pairs(task, settings.preprocessing)
    source, target = pairs.paired()
    map = ridge_regression(target, source, settings.ridge)
    task.listen(Step("regress", 1, 1, {"pairs": float(len(pairs))}))
    return pairs.target_to_source(map)


@dataclass(frozen=True)
class Zhang2016Settings:
    """What is done before the rotation."""

    preprocessing: tuple[str, ...] = ()
    """Steps before anything else; none, as published."""

    def __post_init__(self) -> None:
        check_steps(self.preprocessing)


def zhang2016(task: Task, settings: Zhang2016Settings) -> Outcome:
    """Orthogonal least squares from source to target: min_W Σ ||x W - y||² over W Wᵀ = 1.

    Zhang, Gaddy, Barzilay, Jaakkola 2016: Ten pairs to tag – multilingual POS tagging via coarse mapping between
    embeddings, section 3. W keeps lengths and angles, so it needs fewer pairs than mikolov2013. Unlike in xing2015,
    long vectors count for more than short ones.
    """
    return _rotated(task, settings.preprocessing)


@dataclass(frozen=True)
class Xing2015Settings:
    """What is done before the rotation."""

    preprocessing: tuple[str, ...] = ("unit",)
    """Steps before anything else; as published, every vector is scaled to length 1."""

    def __post_init__(self) -> None:
        check_steps(self.preprocessing)


def xing2015(task: Task, settings: Xing2015Settings) -> Outcome:
    """The rotation with the largest mean cosine of words and their translations: max_W Σ cos(x W, y) over W Wᵀ = 1.

    Xing, Wang, Liu, Lin 2015: Normalized word embedding and orthogonal transform for bilingual word translation,
    section 3. For unit vectors the cosine is the product. They took gradient steps and projected; here the same maximum
    is computed in closed form.
    """
    return _rotated(task, settings.preprocessing)


@dataclass(frozen=True)
class Artetxe2016Settings:
    """What is done before the rotation."""

    preprocessing: tuple[str, ...] = ("unit", "center")
    """Steps before anything else; as published, every vector is scaled to length 1, then the mean is set to 0."""

    def __post_init__(self) -> None:
        check_steps(self.preprocessing)


def artetxe2016(task: Task, settings: Artetxe2016Settings) -> Outcome:
    """The rotation under which words and their translations covary most: max_W Σ <x W, y> over W Wᵀ = 1.

    Artetxe, Labaka, Agirre 2016: Learning principled bilingual mappings of word embeddings while preserving monolingual
    invariance, section 2. Vectors are centred after they are scaled, so that two random words are unlike on average.
    """
    return _rotated(task, settings.preprocessing)


def _rotated(task: Task, preprocessing: Sequence[str]) -> Outcome:
    """Preprocess, then rotate the source onto the target."""
    pairs = known_pairs(task, preprocessing)
    map = rotation(*pairs.paired())
    task.listen(Step("rotate", 1, 1, {"pairs": float(len(pairs))}))
    return pairs.source_to_target(map)
