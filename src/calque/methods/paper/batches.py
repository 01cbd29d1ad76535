"""Mini-batches of the training words, and all randomness, as functions of seed and step alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from calque.methods.paper.objective import Batch


@dataclass(frozen=True, eq=False)
class Words:
    """The training words of both sides."""

    source: Tensor
    """(n, d) standardised."""
    target: Tensor
    rows: Tensor
    columns: Tensor

    def frequent(self, count: int) -> Words:
        """The most frequent of them alone."""
        rows, columns = self.rows[:count], self.columns[:count]
        return Words(self.source[:count], self.target[:count], rows / rows.sum(), columns / columns.sum())

    def head(self, count: int, seeds: int) -> Batch:
        """The most frequent words, the same for every seed: on them models are compared."""
        few = self.frequent(count)
        each = few.source, few.target, few.rows, few.columns
        return Batch(*(tensor.expand(seeds, *tensor.shape) for tensor in each))


@dataclass(frozen=True)
class Batches:
    """Mini-batches drawn by shuffled epochs, every seed from its own shuffles; a function of the step alone."""

    words: Words
    size: int
    seeds: tuple[int, ...]
    stage: int
    shuffled: dict[int, tuple[int, Tensor]] = field(default_factory=dict)
    """The present epoch of each side: its number, and the order of its words."""

    def __call__(self, step: int) -> Batch:
        """The batch of this step."""
        size = min(self.size, len(self.words.source), len(self.words.target))
        rows = self._drawn(len(self.words.source), size, step, 0)
        columns = self._drawn(len(self.words.target), size, step, 1)
        weights = self.words.rows[rows], self.words.columns[columns]
        return Batch(
            self.words.source[rows],
            self.words.target[columns],
            weights[0] / weights[0].sum(dim=-1, keepdim=True),
            weights[1] / weights[1].sum(dim=-1, keepdim=True),
        )

    def _drawn(self, count: int, size: int, step: int, side: int) -> Tensor:
        epoch, place = divmod(step, count // size)
        if side not in self.shuffled or self.shuffled[side][0] != epoch:
            self.shuffled[side] = epoch, self._shuffle(count, epoch, side)
        return self.shuffled[side][1][:, place * size : (place + 1) * size]

    def _shuffle(self, count: int, epoch: int, side: int) -> Tensor:
        generators = [generator_of(seed, self.stage, 2 * epoch + side) for seed in self.seeds]
        orders = [torch.randperm(count, generator=each) for each in generators]
        return torch.stack(orders).to(self.words.source.device)


def generator_of(seed: int, stage: int, number: int, device: torch.device | None = None) -> torch.Generator:
    """Randomness of its own for every seed, stage and number, so that any step can be taken again."""
    mixed = ((seed * 1_000_003 + stage) * 1_000_003 + number + 1) % 2**63
    return torch.Generator(device or "cpu").manual_seed(mixed)
