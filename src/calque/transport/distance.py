"""The Sinkhorn distance as a differentiable function of the cost (section 3.1.2 of the paper), in two ways.

Automatic differentiation would need a matrix of the size of the cost for every scaling. Both ways keep only a few
vectors from the forward pass. With K = exp(-λM), P = diag(u) K diag(v) and d = <P, M>:

iterations   exact for the number of scalings that were computed; the paper does the same. Going back through
             u_t = r / K v_(t-1) and v_t = c / Kᵀ u_t, every scaling adds two outer products to ∂d/∂K; there are 2I of
             them, and all are one matrix product at the end.
fixed point  exact once the scalings have converged. Differentiating P1 = r and Pᵀ1 = c gives
             ∂d/∂M = P ∘ (1 - λM + λ(α_i + β_j)), where α and β solve r∘α + Pβ = (P∘M)1, Pᵀα + c∘β = (P∘M)ᵀ1:
             solved in turn, as the scaling itself is. Only the plan is kept.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from calque.errors import SettingsError
from calque.transport.sinkhorn import SinkhornSettings, first_potentials, kernel_is_safe, sinkhorn, times

Gradient = Literal["iterations", "fixed-point"]
GRADIENTS = ("iterations", "fixed-point")


def sinkhorn_distance(
    cost: Tensor, rows: Tensor, columns: Tensor, settings: SinkhornSettings, gradient: Gradient = "iterations"
) -> Tensor:
    """d_sh = <P, M> (Algorithm 1), with a gradient to the cost. Leading dimensions are a batch."""
    if gradient not in GRADIENTS:
        raise SettingsError(f"gradient is {gradient!r}; expected one of {', '.join(GRADIENTS)}")
    if gradient == "fixed-point":
        return _ByFixedPoint.apply(cost, rows, columns, settings)  # type: ignore[no-any-return,no-untyped-call]
    if kernel_is_safe(cost, settings) and settings.tolerance == 0:
        return _ByIterations.apply(cost, rows, columns, settings)  # type: ignore[no-any-return,no-untyped-call]
    return sinkhorn(cost, rows, columns, settings).distance


class _ByIterations(torch.autograd.Function):
    """Algorithm 1, keeping u and v of every scaling: 2I vectors."""

    @staticmethod
    def forward(ctx: Any, cost: Tensor, rows: Tensor, columns: Tensor, settings: SinkhornSettings) -> Tensor:
        kernel, us, vs = _scaled(cost, rows, columns, settings)
        plan = (kernel * us[-1].unsqueeze(-1)).mul_(vs[-1].unsqueeze(-2))
        sums = _sums_of_product(plan, cost)
        ctx.save_for_backward(cost, kernel, plan, rows, columns, *sums, torch.stack(us, -1), torch.stack(vs, -1))
        ctx.sharpness = settings.sharpness
        return sums[0].sum(dim=-1)

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> Any:
        cost, kernel, plan, rows, columns, per_row, per_column, us, vs = ctx.saved_tensors
        left, right = _outer_products((per_row, per_column), kernel, (rows, columns), (us, vs))
        scalings = (left @ right.mT).mul_(kernel)
        gradient = (1 - ctx.sharpness * cost).mul_(plan).sub_(scalings, alpha=ctx.sharpness)
        return gradient.mul_(above[..., None, None]), None, None, None


def _scaled(
    cost: Tensor, rows: Tensor, columns: Tensor, settings: SinkhornSettings
) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """K, and u and v of every scaling; the v that the first scaling begins with comes first.

    No value is read from the device in between, which would make the processor wait for it.
    """
    log_u, _ = first_potentials(cost, settings.sharpness)
    kernel = torch.mul(cost, -settings.sharpness).add_(log_u.unsqueeze(-1)).exp_()
    us, vs = list[Tensor](), [torch.ones_like(kernel[..., 0, :]) * (columns > 0)]
    for _ in range(settings.iterations):
        us.append(rows / times(kernel, vs[-1]))
        vs.append(columns / times(kernel.mT, us[-1]))
    return kernel, us, vs


def _outer_products(
    sums: tuple[Tensor, Tensor], kernel: Tensor, weights: tuple[Tensor, Tensor], scalings: tuple[Tensor, Tensor]
) -> tuple[Tensor, Tensor]:
    """Two thin matrices whose product is the part of ∂d/∂K that comes through the scalings.

    ``sums`` are the row and column sums of P ∘ M, ``scalings`` every u and v.
    """
    rows, columns = (torch.where(weight > 0, weight, 1.0) for weight in weights)
    us, vs = scalings
    last = us.shape[-1]
    to_u = _divided(sums[0], us[..., last - 1])
    to_v = _divided(sums[1], vs[..., last])
    left, right = [], []
    for t in range(last - 1, -1, -1):
        u, v = us[..., t], vs[..., t + 1]
        to_product = -to_v * v.square() / columns
        to_u = to_u + times(kernel, to_product)
        left.append(u)
        right.append(to_product)
        to_product = -to_u * u.square() / rows
        left.append(to_product)
        right.append(vs[..., t])
        to_u, to_v = torch.zeros_like(to_u), times(kernel.mT, to_product)
    return torch.stack(left, -1), torch.stack(right, -1)


def _divided(sums: Tensor, scaling: Tensor) -> Tensor:
    """Σ_j K_ij M_ij v_j from Σ_j P_ij M_ij; 0 for a word of weight zero."""
    return torch.where(scaling > 0, sums / torch.where(scaling > 0, scaling, 1.0), 0.0)


class _ByFixedPoint(torch.autograd.Function):
    """Differentiates the conditions that a converged plan fulfils. Only the plan is kept."""

    @staticmethod
    def forward(ctx: Any, cost: Tensor, rows: Tensor, columns: Tensor, settings: SinkhornSettings) -> Tensor:
        if kernel_is_safe(cost, settings) and settings.tolerance == 0:
            kernel, us, vs = _scaled(cost, rows, columns, settings)
            plan = kernel.mul_(us[-1].unsqueeze(-1)).mul_(vs[-1].unsqueeze(-2))
        else:
            plan = sinkhorn(cost, rows, columns, settings).matrix
        per_row, per_column = _sums_of_product(plan, cost)
        ctx.save_for_backward(cost, plan, per_row, per_column)
        ctx.settings = settings
        return per_row.sum(dim=-1)

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> Any:
        cost, plan, per_row, per_column = ctx.saved_tensors
        alpha, beta = _adjoint(plan, per_row, per_column, ctx.settings.iterations)
        gradient = (alpha.unsqueeze(-1) - cost).add_(beta.unsqueeze(-2)).mul_(ctx.settings.sharpness).add_(1)
        return gradient.mul_(plan).mul_(above[..., None, None]), None, None, None


def _sums_of_product(plan: Tensor, cost: Tensor) -> tuple[Tensor, Tensor]:
    """(P∘M)1 and (P∘M)ᵀ1."""
    product = plan * cost
    return product.sum(dim=-1), product.sum(dim=-2)


def _adjoint(plan: Tensor, per_row: Tensor, per_column: Tensor, iterations: int) -> tuple[Tensor, Tensor]:
    """α and β with r∘α + Pβ = (P∘M)1 and Pᵀα + c∘β = (P∘M)ᵀ1, solved in turn; r and c are the sums of P."""
    tiny = torch.finfo(plan.dtype).tiny
    rows, columns = plan.sum(dim=-1).clamp_min(tiny), plan.sum(dim=-2).clamp_min(tiny)
    alpha, beta = torch.zeros_like(rows), per_column / columns
    for _ in range(iterations):
        alpha = (per_row - times(plan, beta)) / rows
        beta = (per_column - times(plan.mT, alpha)) / columns
    return alpha, beta
