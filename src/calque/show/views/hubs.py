"""Hubs: words that are a neighbour of far too many others (Radovanović et al. 2010)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from calque.retrieval.exact import FREQUENT, NEIGHBOURHOOD, find, neighbours
from calque.runs.alignment import Alignment


@dataclass(frozen=True, eq=False)
class Hubs:
    """How often each word is somebody's neighbour."""

    counts: Tensor
    """(m,): N_k of each word asked: of how many asking words it is among the k best."""
    asking: int
    """So many of the most frequent words ask."""
    k: int

    def worst(self, count: int) -> tuple[int, ...]:
        """Rows of the words of largest N_k, the largest first; the more frequent one first of equals."""
        return tuple(torch.sort(self.counts, descending=True, stable=True).indices[:count].tolist())

    @property
    def skewness(self) -> float:
        """Of N_k: 0 where no word is a hub, the larger the worse."""
        deviations = self.counts.double() - self.counts.double().mean()
        spread = deviations.square().mean().sqrt()
        return float((deviations**3).mean() / spread**3) if spread > 0 else 0.0


def hubs(alignment: Alignment, retrieval: str, back: bool = False, k: int = NEIGHBOURHOOD) -> Hubs:
    """Among the ``FREQUENT`` most frequent words of both languages, which bounds what it costs."""
    asking, asked = (each.vectors[:FREQUENT] for each in alignment.spaces(back))
    penalty = alignment.penalty(retrieval, back)[:FREQUENT]
    found = neighbours(asking, asked, k, find(retrieval), penalty).indices
    return Hubs(torch.bincount(found.flatten(), minlength=len(asked)), len(asking), int(found.shape[1]))
