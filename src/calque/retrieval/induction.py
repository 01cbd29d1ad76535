"""The dictionary that a run implies: who chooses whom, how surely, and whether each is the other's choice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from calque.retrieval.exact import Neighbours

CONSIDERED = 10
"""Among so many candidates a word prefers one."""
SHARPNESS = 10.0


@dataclass(frozen=True)
class Entry:
    """One line of an induced dictionary."""

    source: str
    target: str
    confidence: float
    """Between 0 and 1: how far each word prefers the other to its next nine candidates, both ways."""
    mutual: bool
    """Whether each is the other's best translation."""

    @property
    def line(self) -> str:
        """As a file of word pairs has it."""
        return f"{self.source}\t{self.target}\t{self.confidence:.4f}"


@dataclass(frozen=True, eq=False)
class Choices:
    """The best candidate of every word, and how far it is preferred to the next ones."""

    best: Tensor
    """(n,)."""
    sure: Tensor
    """(n,) the share that the best of the candidates takes of all ten, by softmax."""

    @classmethod
    def of(cls, found: Neighbours) -> Choices:
        """Of the ten nearest of every word."""
        return cls(found.indices[:, 0].clone(), torch.softmax(SHARPNESS * found.scores, dim=1)[:, 0].clone())

    @classmethod
    def joined(cls, parts: Iterable[Choices]) -> Choices:
        """Block under block."""
        listed = list(parts)
        return cls(torch.cat([each.best for each in listed]), torch.cat([each.sure for each in listed]))


def judged(there: Choices, back: Choices) -> tuple[Tensor, Tensor]:
    """The confidence of every source word's choice, and whether it is mutual."""
    mutual = back.best[there.best] == torch.arange(len(there.best))
    return torch.where(mutual, (there.sure * back.sure[there.best]).sqrt(), there.sure / 2), mutual
