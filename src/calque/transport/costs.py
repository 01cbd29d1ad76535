"""What it costs to carry one word to another (section 3.1.3 of the paper)."""

from __future__ import annotations

import torch
from torch import Tensor

CLOSEST = 1e-6
"""Added under the square root of the cost: its gradient stays finite where two vectors coincide."""


def sqrt_cosine_cost(source: Tensor, target: Tensor, out: Tensor | None = None) -> Tensor:
    """M_ij = sqrt(2 - 2 cos(x_i, y_j)): a metric (Theorem 1). Rows of both must have unit length."""
    doubled = torch.matmul(-2 * source, target.mT, out=out)
    return doubled.add_(2 + CLOSEST).clamp_min_(CLOSEST).sqrt_()


def euclidean_cost(source: Tensor, target: Tensor) -> Tensor:
    """M_ij = ||x_i - y_j||, of vectors as they are: the paper's first thought, which it found to do poorly."""
    lengths = source.square().sum(dim=-1).unsqueeze(-1) + target.square().sum(dim=-1).unsqueeze(-2)
    return (lengths - 2 * source @ target.mT + CLOSEST).clamp_min(CLOSEST).sqrt()
