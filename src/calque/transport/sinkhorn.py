"""Costs and transport plans between two weighted sets (section 3.1 of the paper, Algorithm 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from calque.data.space import Space
from calque.errors import SettingsError

CLOSEST = 1e-6
"""Added under the square root of the cost, so that its gradient is finite even if two vectors are equal."""
RARE = 1e-3
"""Words rarer than this share of the text get more weight than their frequency."""


@dataclass(frozen=True)
class SinkhornSettings:
    """How the transport plan between two sets is computed."""

    sharpness: float = 10.0
    """λ in the paper: larger is closer to exact transport, and slower to converge."""
    iterations: int = 20
    """Matrix-scaling steps, at most."""
    tolerance: float = 0.0
    """Stop once the row sums of the plan differ from their weights by less than this in total; 0: never stop early."""
    domain: Literal["auto", "kernel", "log"] = "auto"
    """kernel: fast, underflows at large sharpness; log: slower, never underflows; auto: kernel where it is safe."""

    def __post_init__(self) -> None:
        if not 0 < self.sharpness < math.inf:
            raise SettingsError(f"sharpness is {self.sharpness}; expected a finite number above 0")
        if not self.tolerance >= 0:
            raise SettingsError(f"tolerance is {self.tolerance}; expected 0 or more")
        if self.domain not in ("auto", "kernel", "log"):
            raise SettingsError(f"domain is {self.domain!r}; expected one of auto, kernel, log")
        if self.iterations < 1:
            raise SettingsError(f"iterations is {self.iterations}; expected at least 1")


@dataclass(frozen=True)
class TransportPlan:
    """A transport plan P = diag(u) K diag(v), and how exact it is."""

    matrix: Tensor
    """(…, n, m): P, how much of each source word goes to each target word."""
    distance: Tensor
    """(…): <P, M>, the Sinkhorn distance."""
    log_u: Tensor
    log_v: Tensor
    error: float
    """The sum of absolute differences between the row sums of P and their weights; of a batch, the largest."""
    iterations: int
    converged: bool
    """Whether the error fell below the tolerance."""


@dataclass(frozen=True)
class Scaling:
    """The two diagonals of Algorithm 1."""

    u: Tensor
    v: Tensor
    error: float
    iterations: int

    def log_u(self) -> Tensor:
        """To continue from; 0 for a word of weight zero, whose u is always 0."""
        return torch.where(self.u > 0, self.u, 1.0).log()

    def log_v(self) -> Tensor:
        """To continue from; 0 for a word of weight zero."""
        return torch.where(self.v > 0, self.v, 1.0).log()


def sqrt_cosine_cost(source: Tensor, target: Tensor, out: Tensor | None = None) -> Tensor:
    """M_ij = sqrt(2 - 2 cos(x_i, y_j)): a metric (Theorem 1). Rows of both must have unit length."""
    doubled = torch.matmul(-2 * source, target.mT, out=out)
    return doubled.add_(2 + CLOSEST).clamp_min_(CLOSEST).sqrt_()


def euclidean_cost(source: Tensor, target: Tensor) -> Tensor:
    """M_ij = ||x_i - y_j||, of vectors of any length. The paper tried it first and found it to do poorly."""
    lengths = source.square().sum(dim=-1).unsqueeze(-1) + target.square().sum(dim=-1).unsqueeze(-2)
    return (lengths - 2 * source @ target.mT + CLOSEST).clamp_min(CLOSEST).sqrt()


def uniform(count: int, like: Tensor) -> Tensor:
    """Equal weights that sum to one, on the device and in the type of ``like``."""
    return torch.full((count,), 1.0 / count, dtype=like.dtype, device=like.device)


def word_weights(space: Space, like: Tensor) -> Tensor:
    """The weights of words in the transport (r and c of the paper): their frequencies, with rare words raised.

    p ∝ count · max(1, (√(f/t) + 1) · t/f) with f = count / total and t = 1e-3, as in the published training. A word
    with a count of 0 weighs as much as the rarest word seen. Without counts all words weigh the same.
    """
    if space.counts is None:
        return uniform(len(space), like)
    counts = space.counts.clamp_min(float(space.counts[space.counts > 0].min()))
    frequency = counts / counts.sum()
    raised = counts * (((frequency / RARE).sqrt() + 1) * RARE / frequency).clamp_min(1.0)
    return (raised / raised.sum()).to(like)


def sinkhorn(
    cost: Tensor,
    rows: Tensor,
    columns: Tensor,
    settings: SinkhornSettings,
    start: tuple[Tensor, Tensor] | None = None,
) -> TransportPlan:
    """Entropic transport between two weighted sets (section 3.1.2, Algorithm 1).

    min_P <P, M> - h(P)/λ  over  P 1 = r, Pᵀ 1 = c, by scaling K = exp(-λM) in turn on both sides. Leading dimensions
    of ``cost`` are a batch. ``start`` continues from the (log_u, log_v) of an earlier plan.
    """
    log_u, log_v = first_potentials(cost, settings.sharpness) if start is None else start
    if kernel_is_safe(cost, settings):
        return _scale_kernel(cost, rows, columns, settings, log_u, log_v)
    return _scale_log(cost, rows, columns, settings, log_u, log_v)


def first_potentials(cost: Tensor, sharpness: float) -> tuple[Tensor, Tensor]:
    """log_v is zero; log_u makes the largest entry in every row of exp(log_u + log_v - λM) a 1."""
    log_u = sharpness * cost.detach().amin(dim=-1)
    return log_u, torch.zeros_like(cost[..., 0, :])


def kernel_is_safe(cost: Tensor, settings: SinkhornSettings) -> bool:
    """Whether exp(-λM) cannot underflow, or the settings ask for the kernel in any case."""
    if settings.domain != "auto":
        return settings.domain == "kernel"
    largest = -0.95 * math.log(torch.finfo(cost.dtype).tiny)
    span = float(cost.detach().amax() - cost.detach().amin())
    return settings.sharpness * span < largest


def _scale_kernel(
    cost: Tensor, rows: Tensor, columns: Tensor, settings: SinkhornSettings, log_u: Tensor, log_v: Tensor
) -> TransportPlan:
    """Algorithm 1 on the kernel; the first potentials are multiplied into it, so that u and v begin at one."""
    kernel = cost.mul(-settings.sharpness).add_(log_u.unsqueeze(-1)).add_(log_v.unsqueeze(-2)).exp_()
    scaled = scale(kernel, rows, columns, settings.iterations, settings.tolerance)
    matrix = (kernel * scaled.u.unsqueeze(-1)).mul_(scaled.v.unsqueeze(-2))
    return TransportPlan(
        matrix=matrix,
        distance=inner(matrix, cost),
        log_u=log_u + scaled.log_u(),
        log_v=log_v + scaled.log_v(),
        error=scaled.error,
        iterations=scaled.iterations,
        converged=scaled.error < settings.tolerance,
    )


def scale(kernel: Tensor, rows: Tensor, columns: Tensor, iterations: int, tolerance: float = 0.0) -> Scaling:
    """The loop of Algorithm 1: u and v in turn, so that diag(u) K diag(v) has the sums ``rows`` and ``columns``."""
    v, done, error = torch.ones_like(kernel[..., 0, :]) * (columns > 0), 0, float("inf")
    product = times(kernel, v)
    while done < iterations and not error < tolerance:
        u = rows / product
        v = columns / times(kernel.mT, u)
        product = times(kernel, v)
        done += 1
        if tolerance > 0 or done == iterations:
            error = _row_error(u * product, rows)
    return Scaling(u, v, error, done)


def _scale_log(
    cost: Tensor, rows: Tensor, columns: Tensor, settings: SinkhornSettings, log_u: Tensor, log_v: Tensor
) -> TransportPlan:
    """The same scaling on logarithms: nothing underflows at any sharpness."""
    exponent = cost.mul(-settings.sharpness)
    log_rows, log_columns = rows.log(), columns.log()
    error, done = float("inf"), 0
    scaled = torch.logsumexp(exponent + log_v.unsqueeze(-2), dim=-1)
    while done < settings.iterations and not error < settings.tolerance:
        log_u = log_rows - scaled
        log_v = log_columns - torch.logsumexp(exponent + log_u.unsqueeze(-1), dim=-2)
        scaled = torch.logsumexp(exponent + log_v.unsqueeze(-2), dim=-1)
        done += 1
        if settings.tolerance > 0 or done == settings.iterations:
            error = _row_error((log_u + scaled).exp(), rows)
    matrix = (exponent + log_u.unsqueeze(-1) + log_v.unsqueeze(-2)).exp()
    return TransportPlan(
        matrix=matrix,
        distance=inner(matrix, cost),
        log_u=log_u,
        log_v=log_v,
        error=error,
        iterations=done,
        converged=error < settings.tolerance,
    )


def times(matrix: Tensor, vector: Tensor) -> Tensor:
    """Matrix times vector; leading dimensions are a batch."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def inner(left: Tensor, right: Tensor) -> Tensor:
    """<P, M> without a third matrix of that size."""
    return (left.flatten(-2).unsqueeze(-2) @ right.flatten(-2).unsqueeze(-1)).squeeze(-1).squeeze(-1)


def _row_error(sums: Tensor, rows: Tensor) -> float:
    return float((sums.detach() - rows).abs().sum(dim=-1).max())
