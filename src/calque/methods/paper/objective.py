"""What is minimised: equations 1, 5 and 6 of the paper, section 3.2."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from calque.data.preprocess import unit
from calque.methods.default.alternation import SHARPEST
from calque.methods.paper.transfer import Transfer
from calque.transport import SinkhornSettings, euclidean_cost, sinkhorn_distance, sqrt_cosine_cost
from calque.transport.distance import Gradient

Cost = Literal["sqrt-cosine", "euclidean"]
Directions = Literal["both", "forward"]


@dataclass(frozen=True, eq=False)
class Batch:
    """Words of both sides, for every seed its own."""

    source: Tensor
    """(seeds, n, d) standardised."""
    target: Tensor
    rows: Tensor
    """(seeds, n): r of the paper, summing to one."""
    columns: Tensor

    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """All four, in order."""
        return self.source, self.target, self.rows, self.columns


@dataclass(frozen=True)
class Objective:
    """L(G, F) = d_sh(G) + d_sh(F) + β d_bt(G, F)."""

    sinkhorn: SinkhornSettings
    gradient: Gradient = "iterations"
    back_translation: float = 0.1
    cost: Cost = "sqrt-cosine"
    directions: Directions = "both"

    @classmethod
    def of(
        cls, sinkhorn: SinkhornSettings, gradient: Gradient, back_translation: float, cost: Cost, directions: Directions
    ) -> Objective:
        """The domain is settled here: asking every batch for its largest cost would make a GPU wait for the answer."""
        safe = cost == "sqrt-cosine" and sinkhorn.sharpness <= SHARPEST
        return cls(replace(sinkhorn, domain="kernel" if safe else "log"), gradient, back_translation, cost, directions)

    @property
    def recordable(self) -> bool:
        """Whether a GPU can run it without asking the CPU anything."""
        return self.sinkhorn.domain == "kernel"

    def __call__(self, transfer: Transfer, batch: Batch) -> Tensor:
        """(seeds,): the whole objective."""
        there, back = transfer.there(batch.source), transfer.back(batch.target)
        loss = self.distances(there, back, batch)
        if self.back_translation > 0:
            loss = loss + self.back_translation * back_translation_loss(transfer, (there, back), batch)
        return loss

    def distances(self, there: Tensor, back: Tensor, batch: Batch) -> Tensor:
        """d_sh(G) + d_sh(F) of mapped words, or d_sh(G) alone."""
        distance = self._distance(there, batch.target, batch.rows, batch.columns)
        if self.directions == "both":
            distance = distance + self._distance(back, batch.source, batch.columns, batch.rows)
        return distance

    def _distance(self, mapped: Tensor, other: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        if self.cost == "euclidean":
            cost = euclidean_cost(mapped, other)
        else:
            cost = sqrt_cosine_cost(unit(mapped), unit(other))
        return sinkhorn_distance(cost, rows, columns, self.sinkhorn, self.gradient)


def back_translation_loss(transfer: Transfer, mapped: tuple[Tensor, Tensor], batch: Batch) -> Tensor:
    """d_bt = Σ 1 - cos(x, F(G x)) + Σ 1 - cos(y, G(F y)), weighted as the words are, so that it is one per word."""
    there, back = mapped
    lost_x = 1 - torch.cosine_similarity(batch.source, transfer.back(there), dim=-1)
    lost_y = 1 - torch.cosine_similarity(batch.target, transfer.there(back), dim=-1)
    return (batch.rows * lost_x).sum(dim=-1) + (batch.columns * lost_y).sum(dim=-1)
