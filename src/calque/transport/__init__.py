"""Optimal transport between two weighted sets of vectors: costs, plans, and a differentiable distance."""

from calque.transport.costs import CLOSEST, euclidean_cost, sqrt_cosine_cost
from calque.transport.distance import GRADIENTS, sinkhorn_distance
from calque.transport.sinkhorn import Scaling, SinkhornSettings, TransportPlan, inner, scale, sinkhorn, uniform

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
]
