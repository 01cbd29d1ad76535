"""From an arena to all dimensions."""

from __future__ import annotations

from torch import Tensor

from calque.linear.closed_forms import nearest_orthogonal
from calque.methods.default.starts import Arena
from calque.transport import SinkhornSettings, sinkhorn, sqrt_cosine_cost


def lift(arena: Arena, matrix: Tensor) -> Tensor:
    """The orthogonal map in all dimensions that follows the transport plan of an arena's map between its words."""
    cost = sqrt_cosine_cost(arena.problem.source @ matrix, arena.problem.target)
    plan = sinkhorn(cost, arena.problem.rows, arena.problem.columns, SinkhornSettings(40.0, iterations=30))
    words = slice(0, len(arena.problem.source)), slice(0, len(arena.problem.target))
    return nearest_orthogonal(arena.full.source[words[0]].mT @ ((plan.matrix / cost) @ arena.full.target[words[1]]))
