"""The lexicon that a run implies: the best translation of each word, with a confidence, and whether it is mutual."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from calque.retrieval.exact import Neighbours

CONSIDERED = 10
"""How many candidates of a word are compared for its confidence."""
SHARPNESS = 10.0


@dataclass(frozen=True)
class LexiconEntry:
    """One line of an induced lexicon."""

    source: str
    target: str
    confidence: float
    """Between 0 and 1: how much each of the two words is preferred to the next nine candidates of the other."""
    mutual: bool
    """Whether each is the other's best translation."""

    @property
    def line(self) -> str:
        r"""The entry as a line of a file of word pairs. A tab inside a word is written as \t: tabs part columns."""
        source, target = (word.replace("\t", "\\t") for word in (self.source, self.target))
        return f"{source}\t{target}\t{self.confidence:.4f}"


@dataclass(frozen=True, eq=False)
class Choices:
    """The best candidate of every word, and how much it is preferred to the next ones."""

    best: Tensor
    """(n,)."""
    share: Tensor
    """(n,): the share of the best of the ten candidates, by softmax."""

    @classmethod
    def of(cls, neighbours: Neighbours) -> Choices:
        """From the ten nearest neighbours of every word."""
        shares = torch.softmax(SHARPNESS * neighbours.scores, dim=1)
        return cls(neighbours.indices[:, 0].clone(), shares[:, 0].clone())

    @classmethod
    def joined(cls, parts: Iterable[Choices]) -> Choices:
        """The choices of several blocks of words as one."""
        blocks = list(parts)
        return cls(torch.cat([block.best for block in blocks]), torch.cat([block.share for block in blocks]))


def confidence_and_mutual(there: Choices, back: Choices) -> tuple[Tensor, Tensor]:
    """The confidence of every source word's choice, and whether it is mutual."""
    mutual = back.best[there.best] == torch.arange(len(there.best))
    return torch.where(mutual, (there.share * back.share[there.best]).sqrt(), there.share / 2), mutual
