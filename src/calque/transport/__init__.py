"""Optimal transport between two weighted sets of vectors: costs, plans, and a differentiable distance."""

from calque.transport.distance import GRADIENTS, sinkhorn_distance
from calque.transport.sinkhorn import (
    CLOSEST,
    Scaling,
    SinkhornSettings,
    TransportPlan,
    euclidean_cost,
    inner,
    scale,
    sinkhorn,
    sqrt_cosine_cost,
    uniform,
    word_weights,
)

__all__ = [
    "CLOSEST",
    "GRADIENTS",
    "Scaling",
    "SinkhornSettings",
    "TransportPlan",
    "euclidean_cost",
    "inner",
    "scale",
    "sinkhorn",
    "sinkhorn_distance",
    "sqrt_cosine_cost",
    "uniform",
    "word_weights",
]
