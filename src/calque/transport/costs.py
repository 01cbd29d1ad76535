"""The cost of moving one word to another (section 3.1.3 of the paper)."""

from __future__ import annotations

import torch
from torch import Tensor

CLOSEST = 1e-6
"""Added under the square root of the cost, so that its gradient is finite even if two vectors are equal."""


def sqrt_cosine_cost(source: Tensor, target: Tensor, out: Tensor | None = None) -> Tensor:
    """M_ij = sqrt(2 - 2 cos(x_i, y_j)): a metric (Theorem 1). Rows of both must have unit length."""
    doubled = torch.matmul(-2 * source, target.mT, out=out)
    return doubled.add_(2 + CLOSEST).clamp_min_(CLOSEST).sqrt_()


def euclidean_cost(source: Tensor, target: Tensor) -> Tensor:
    """M_ij = ||x_i - y_j||, of vectors of any length. The paper tried it first and found it to do poorly."""
    lengths = source.square().sum(dim=-1).unsqueeze(-1) + target.square().sum(dim=-1).unsqueeze(-2)
    return (lengths - 2 * source @ target.mT + CLOSEST).clamp_min(CLOSEST).sqrt()
