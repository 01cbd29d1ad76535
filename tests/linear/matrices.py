"""Random and simple matrices for the tests of maps."""

from __future__ import annotations

import torch


def normal(*size: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def rotation(dimension: int, seed: int = 0) -> torch.Tensor:
    return torch.linalg.qr(normal(dimension, dimension, seed=seed)).Q


def eye(dimension: int) -> torch.Tensor:
    return torch.eye(dimension, dtype=torch.float64)
