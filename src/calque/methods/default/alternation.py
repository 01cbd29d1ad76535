"""The paper's objective for orthogonal maps, solved by alternation instead of gradient descent.

For a fixed plan P the best orthogonal map follows it in closed form, and for a fixed map the best plan is Sinkhorn's.
Differentiating <P, M> with M = sqrt(2 - 2cos) gives the weight 1/M, so the map is Procrustes on Xᵀ (P ∘ 1/M) Y. Rising
sharpness λ leads from a smooth problem with few local minima to a sharp one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from calque.errors import SettingsError
from calque.progress import never
from calque.transport import inner, scale, sqrt_cosine_cost

SHARPEST = 41.0
"""Above this exp(-λM) underflows in float32, M being at most 2."""


@dataclass(frozen=True)
class AlternationSettings:
    """How plan and map take turns."""

    sharpness: tuple[float, ...] = (10.0, 20.0, 40.0)
    """λ of each phase, rising."""
    steps: tuple[int, ...] = (35, 10, 10)
    """How many turns each phase takes."""
    scalings: int = 6
    """Matrix-scaling steps a turn; each turn continues from the last one's."""

    def __post_init__(self) -> None:
        if len(self.sharpness) != len(self.steps) or not self.steps:
            raise SettingsError(
                f"{len(self.sharpness)} values of sharpness but {len(self.steps)} of steps; expected as many"
            )
        if min(*self.steps, self.scalings) < 1:
            raise SettingsError(f"steps are {self.steps} and scalings {self.scalings}; expected at least 1 of each")
        if not all(0 < each <= SHARPEST for each in self.sharpness):
            raise SettingsError(f"sharpness {self.sharpness} is out of range; expected above 0 and at most {SHARPEST}")

    def schedule(self) -> list[float]:
        """λ of every turn."""
        return [each for each, count in zip(self.sharpness, self.steps, strict=True) for _ in range(count)]


@dataclass(frozen=True, eq=False)
class Alternated:
    """Where the alternation ended."""

    matrix: Tensor
    """(…, k, k) orthogonal."""
    cost: Tensor
    """(…): <P, M> of the last plan: lower is better, comparable at equal words, dimension and λ."""
    path: Tensor
    """(…, turns): the same of every turn."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Two sets of unit vectors in as many dimensions, with the weights of their words."""

    source: Tensor
    """(n, k)."""
    target: Tensor
    """(m, k)."""
    rows: Tensor
    columns: Tensor

    def head(self, words: int) -> Problem:
        """The same on the most frequent words alone."""
        rows, columns = self.rows[:words], self.columns[:words]
        return Problem(self.source[:words], self.target[:words], rows / rows.sum(), columns / columns.sum())


def alternate(
    problem: Problem,
    first: Tensor,
    settings: AlternationSettings,
    stopped: Callable[[], bool] = never,
) -> Alternated:
    """Plan and map in turn from the orthogonal map ``first``, a batch of them if it has leading dimensions."""
    turn, path = _Turn(problem, first), list[Tensor]()
    for sharpness in settings.schedule():
        turn.take(sharpness, settings.scalings)
        path.append(turn.distance)
        if stopped():
            break
    return Alternated(turn.matrix, turn.distance, torch.stack(path, dim=-1))


class _Turn:
    """One turn after another in the same two buffers: allocating them anew would cost more than the arithmetic."""

    def __init__(self, problem: Problem, first: Tensor) -> None:
        self.problem, self.matrix = problem, first
        size = (*first.shape[:-2], len(problem.source), len(problem.target))
        self.cost = torch.empty(size, dtype=first.dtype, device=first.device)
        self.plan = torch.empty_like(self.cost)
        self.log_v = torch.zeros_like(self.cost[..., 0, :])
        self.sharpness = 0.0

    def take(self, sharpness: float, scalings: int) -> None:
        """The plan at this sharpness, continued from the last one, and the map that follows it."""
        problem = self.problem
        sqrt_cosine_cost(problem.source @ self.matrix, problem.target, out=self.cost)
        if self.sharpness:
            self.log_v = self.log_v * (sharpness / self.sharpness)
        exponent = torch.mul(self.cost, -sharpness, out=self.plan).add_(self.log_v.unsqueeze(-2))
        # The largest entry of every row becomes 1: no row underflows, and u takes the difference up.
        kernel = exponent.sub_(exponent.amax(dim=-1, keepdim=True)).exp_()
        scaled = scale(kernel, problem.rows, problem.columns, scalings)
        self.log_v = self.log_v + scaled.log_v()
        plan = kernel.mul_(scaled.u.unsqueeze(-1)).mul_(scaled.v.unsqueeze(-2))
        self.sharpness, self.distance = sharpness, inner(plan, self.cost)
        # The nearest orthogonal map, in closed form.
        u, _, vh = torch.linalg.svd(problem.source.mT @ (plan.div_(self.cost) @ problem.target), full_matrices=False)
        self.matrix = u @ vh


def random_rotation(dimension: int, generator: torch.Generator) -> Tensor:
    """An orthogonal matrix, all equally likely (Haar)."""
    q, r = torch.linalg.qr(torch.randn(dimension, dimension, generator=generator))
    signed: Tensor = q * torch.sign(torch.diagonal(r))
    return signed
