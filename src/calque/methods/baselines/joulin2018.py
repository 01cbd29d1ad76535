"""Gradient descent on the retrieval criterion itself: relaxed CSLS (RCSLS).

min_W 1/n Σ_i [ -2 <x_i W, y_i> + 1/k Σ_{y ∈ N_Y(x_i W)} <x_i W, y> + 1/k Σ_{x ∈ N_X(y_i)} <x W, y_i> ]
for the n pairs (x_i, y_i) of a dictionary. N_Y(x_i W) are the k target words with the largest product with x_i W, and
N_X(y_i) are the k source words x for which x W has the largest product with y_i, among the frequent words of each side.
Joulin, Bojanowski, Mikolov, Jégou, Grave 2018: Loss in translation – learning bilingual word mapping with a retrieval
criterion, section 3.

The closed forms bring a word near to its translation. This method also pushes it away from the words that would be
retrieved instead, including words outside the dictionary. It starts from xing2015's rotation.

The criterion is a maximum of linear functions of W (any other choice of k words gives less), so it is convex. It
grows in proportion to W, so it equals <W, its gradient>. Over all matrices it therefore has no lowest value, only
directions in which it falls for ever; there, the number of steps keeps W near the rotation it started from. Over the
matrices of spectral norm at most 1, the convex hull of the orthogonal ones, it has a lowest value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from calque.errors import SettingsError
from calque.linear.closed_forms import nearest_orthogonal
from calque.linear.maps import LinearMap, check_steps
from calque.methods.baselines.known_pairs import KnownPairs, known_pairs, rotation
from calque.methods.task import Outcome, Task
from calque.progress import Step
from calque.retrieval.exact import blocks

NEGLIGIBLE = 1e-6
"""The descent ends at a gain below this share of the criterion, or at a step below this share of the first."""


@dataclass(frozen=True)
class Joulin2018Settings:
    """How the criterion is descended."""

    preprocessing: tuple[str, ...] = ("unit",)
    """Steps before anything else; they end in unit. With centring: unit, center, unit."""
    neighbourhood: int = 10
    """k: from how many neighbours a word is pushed away on each side."""
    words: int = 50_000
    """How many of the most frequent words of each side can be neighbours."""
    steps: int = 10
    """Gradient steps tried."""
    step_size: float = 0.02
    """How far the first step goes along the gradient, in units of the dimension: unit vectors spread over d directions
    leave a gradient of about 1/d. Halved whenever a step would raise the criterion."""
    constraint: Literal["none", "spectral", "orthogonal"] = "none"
    """Where W is projected after each step. spectral: spectral norm at most 1; orthogonal: rotations; none: nowhere."""

    def __post_init__(self) -> None:
        check_steps(self.preprocessing)
        if not self.preprocessing or self.preprocessing[-1] != "unit":
            raise SettingsError(f"preprocessing is {list(self.preprocessing)}; expected steps that end in 'unit'")
        if min(self.neighbourhood, self.words) < 1 or self.steps < 0:
            raise SettingsError(
                f"neighbourhood is {self.neighbourhood}, words {self.words} and steps {self.steps}; "
                "expected at least 1, 1 and 0"
            )
        if not 0 < self.step_size < float("inf"):
            raise SettingsError(f"step_size is {self.step_size}; expected above 0")
        if self.constraint not in PROJECTIONS:
            raise SettingsError(f"constraint is {self.constraint!r}; expected one of: {', '.join(PROJECTIONS)}")


@dataclass(frozen=True, eq=False)
class Criterion:
    """RCSLS at one map."""

    matrix: Tensor
    """W."""
    gradient: Tensor

    @property
    def value(self) -> float:
        """<W, gradient>: the criterion grows in proportion to W."""
        return float((self.matrix.double() * self.gradient.double()).sum())


def joulin2018(task: Task, settings: Joulin2018Settings) -> Outcome:
    """The map under which CSLS retrieves the translations of the dictionary."""
    pairs = known_pairs(task, settings.preprocessing)
    return pairs.source_to_target(LinearMap(minimise(pairs, settings, task).matrix))


def minimise(pairs: KnownPairs, settings: Joulin2018Settings, task: Task) -> Criterion:
    """Gradient steps from the rotation of the pairs; a step that would raise the criterion is taken back."""
    best = rcsls(rotation(*pairs.paired()).matrix, pairs, settings)
    project, step = PROJECTIONS[settings.constraint], settings.step_size
    for number in range(1, settings.steps + 1):
        if task.stopped() or step < NEGLIGIBLE * settings.step_size:
            break
        tried = rcsls(project(best.matrix - step * len(best.matrix) * best.gradient), pairs, settings)
        gain = best.value - tried.value
        best, step = (tried, step) if gain > 0 else (best, step / 2)
        task.listen(Step("descend", number, settings.steps, {"criterion": best.value, "step_size": step}))
        if 0 < gain < NEGLIGIBLE * abs(best.value):
            break
    return best


def rcsls(matrix: Tensor, pairs: KnownPairs, settings: Joulin2018Settings) -> Criterion:
    """The criterion at W and its gradient, (-2 XᵀY + Xᵀ Y' + X'ᵀ Y)/n.

    Row i of Y' is the mean of N_Y(x_i W), and row i of X' is the mean of N_X(y_i).
    """
    x, y = pairs.paired()
    source, target = pairs.source[: settings.words], pairs.target[: settings.words]
    # A word with several translations is searched for once.
    source_rows, pair_of_x = torch.unique(pairs.rows[0], return_inverse=True)
    target_rows, pair_of_y = torch.unique(pairs.rows[1], return_inverse=True)
    k = settings.neighbourhood
    near_x = mean_of_nearest(pairs.source[source_rows] @ matrix, target, target, k)[pair_of_x]
    near_y = mean_of_nearest(pairs.target[target_rows], source @ matrix, source, k)[pair_of_y]
    return Criterion(matrix, (x.mT @ (near_x - 2 * y) + near_y.mT @ y) / len(pairs))


def mean_of_nearest(queries: Tensor, words: Tensor, values: Tensor, k: int) -> Tensor:
    """For each query, the mean of the ``values`` of the k ``words`` with the largest products, block by block."""
    k = min(k, len(words))
    width = max(len(words), k * int(values.shape[1]))
    means = [
        values[(queries[rows] @ words.mT).topk(k, dim=1).indices].mean(dim=1) for rows in blocks(len(queries), width)
    ]
    return torch.cat(means)


def into_unit_ball(matrix: Tensor) -> Tensor:
    """The nearest matrix of spectral norm at most 1: singular values above 1 become 1."""
    u, s, vh = torch.linalg.svd(matrix.double(), full_matrices=False)
    shrunk: Tensor = (u * s.clamp(max=1.0)) @ vh
    return shrunk.to(matrix)


PROJECTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "none": lambda matrix: matrix,
    "spectral": into_unit_ball,
    "orthogonal": lambda matrix: nearest_orthogonal(matrix.double()).to(matrix),
}
"""By the name of the constraint."""
