"""Optimal transport between two weighted sets of vectors: costs, plans, and a distance one can differentiate."""

from calque.transport.costs import CLOSEST, euclidean_cost, sqrt_cosine_cost
from calque.transport.distance import GRADIENTS, sinkhorn_distance
from calque.transport.sinkhorn import Plan, Scaling, SinkhornSettings, inner, scale, sinkhorn, uniform

__all__ = [
    "CLOSEST",
    "GRADIENTS",
    "Plan",
    "Scaling",
    "SinkhornSettings",
    "euclidean_cost",
    "inner",
    "scale",
    "sinkhorn",
    "sinkhorn_distance",
    "sqrt_cosine_cost",
    "uniform",
]
