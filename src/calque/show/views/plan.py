"""A transport plan between the frequent words of both languages, and the part of it that some words have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from calque.runs.alignment import Alignment
from calque.show.views.chosen import rows_of
from calque.transport import SinkhornSettings, sinkhorn, sqrt_cosine_cost, uniform

WORDS = 2000
"""So many of the most frequent words of each language take part, beside those chosen."""
SETTINGS = SinkhornSettings(sharpness=40.0, iterations=500, tolerance=1e-3)
"""As sharp as the default recipe ends."""


@dataclass(frozen=True, eq=False)
class PlanOfWords:
    """Where the mass of some source words goes."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    shares: Tensor
    """(source, target): of all that leaves a source word."""
    words: tuple[int, int]
    """How many words of each language the plan is between."""
    converged: bool

    @property
    def elsewhere(self) -> Tensor:
        """(source,): what goes to words that are not here."""
        return (1 - self.shares.sum(dim=1)).clamp_min(0.0)


def plan_of(alignment: Alignment, words: Sequence[str], best: int = 1) -> PlanOfWords:
    """The plan's rows of these source words, and its columns of the ``best`` that each sends most to."""
    chosen = rows_of(alignment.source, words)
    asking = _frequent_and(chosen, len(alignment.source))
    known = alignment.neighbours(alignment.source.vectors[chosen], max(best, 1)).indices.flatten().tolist()
    asked = _frequent_and(known, len(alignment.target))
    cost = sqrt_cosine_cost(alignment.source.vectors[asking], alignment.target.vectors[asked])
    plan = sinkhorn(cost, uniform(len(asking), cost), uniform(len(asked), cost), SETTINGS)
    rows = plan.matrix[[asking.index(row) for row in chosen]]
    rows = rows / rows.sum(dim=1, keepdim=True)
    columns = list(dict.fromkeys(torch.topk(rows, min(best, len(asked)), dim=1).indices.flatten().tolist()))
    return PlanOfWords(
        tuple(words),
        tuple(alignment.target.words[asked[column]] for column in columns),
        rows[:, columns],
        (len(asking), len(asked)),
        plan.converged,
    )


def _frequent_and(rows: Sequence[int], count: int) -> list[int]:
    return list(dict.fromkeys([*range(min(WORDS, count)), *rows]))
