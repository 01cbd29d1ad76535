"""Small maps, batches and languages whose answers are known, for the tests of the paper's method."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import scipy.linalg
import torch
from torch import Tensor

from calque.data.space import Space
from calque.methods.paper.objective import Batch, Transfer
from calque.methods.task import Checkpoint


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*size: int, seed: int) -> Tensor:
    return torch.randn(*size, generator=seeded(seed), dtype=torch.float64)


def rotation(dimension: int, seed: int) -> Tensor:
    return torch.linalg.qr(normal(dimension, dimension, seed=seed)).Q


def weights(seeds: int, words: int, seed: int) -> Tensor:
    """Uneven, and summing to one for every seed."""
    drawn = torch.rand(seeds, words, generator=seeded(seed), dtype=torch.float64) + 0.2
    return drawn / drawn.sum(dim=1, keepdim=True)


def random_batch(seeds: int = 2, source: int = 5, target: int = 5, dimension: int = 3) -> Batch:
    return Batch(
        normal(seeds, source, dimension, seed=1),
        normal(seeds, target, dimension, seed=2),
        weights(seeds, source, 3),
        weights(seeds, target, 4),
    )


def random_transfer(kind: str, dimension: int = 3, seeds: int = 2) -> Transfer:
    """Any maps at all: tied, free, or networks with a hidden layer of four."""
    if kind == "tied":
        return Transfer((normal(seeds, dimension, dimension, seed=5),), tied=True)
    if kind == "free":
        return Transfer(tuple(normal(seeds, dimension, dimension, seed=each) for each in (5, 6)), tied=False)
    sizes = ((dimension, 4), (4,), (4, dimension), (dimension,)) * 2
    return Transfer(tuple(normal(seeds, *size, seed=7 + place) for place, size in enumerate(sizes)), tied=False)


def only(batch: Batch, seed: int) -> Batch:
    """The part of one seed."""
    return Batch(*(each[seed : seed + 1] for each in batch.tensors()))


def language_pair(words: int = 150, seed: int = 1, noise: float = 0.0) -> tuple[Space, Space, Tensor]:
    """Eight dimensions, a space and its rotated copy, and the rotation between them once both are standardised.

    Standardising stretches coordinates, and after that a rotated copy is rotated no more, unless all coordinates
    vary alike. Skewed principal directions of falling extent, mixed by Hadamard matrices, do so on both sides.
    """
    drawn = torch.zeros(words, 8).exponential_(generator=seeded(seed)) * torch.arange(1, 9) ** -0.7
    drawn = drawn - drawn.mean(dim=0)
    principal = torch.linalg.eigh((drawn.mT @ drawn).double()).eigenvectors.flip(1).float()
    mixed = torch.tensor(scipy.linalg.hadamard(8) / 8**0.5).float()
    generator = seeded(seed + 1)
    signs = torch.sign(torch.randn(8, 1, generator=generator))
    other = (signs * mixed)[:, torch.randperm(8, generator=generator)]
    blur = noise * torch.randn(words, 8, generator=generator)
    latent = drawn @ principal
    return named(latent @ mixed, "s"), named(latent @ other + blur, "t"), mixed.mT @ other


def named(vectors: Tensor, prefix: str, counts: Tensor | None = None) -> Space:
    return Space.of([f"{prefix}{row}" for row in range(len(vectors))], vectors, counts, prefix)


class KilledError(Exception):
    """Stands for SIGKILL."""


class Kept(Checkpoint):
    """Keeps every state that it is offered; killed at the save of this number, after keeping it."""

    def __init__(self, states: dict[str, dict[str, Tensor]] | None = None, killed_at: int | None = None) -> None:
        self.states = dict(states or {})
        self.killed_at, self.saves, self.finished = killed_at, 0, list[str]()

    def load(self, stage: str) -> dict[str, Tensor] | None:
        return self.states.get(stage)

    def save(self, stage: str, tensors: Callable[[], dict[str, Tensor]], finished: bool = False) -> None:
        self.states[stage] = {name: each.detach().clone() for name, each in tensors().items()}
        self.finished += [stage] if finished else []
        self.saves += 1
        if self.saves == self.killed_at:
            raise KilledError


def equal(one: Sequence[Tensor], other: Sequence[Tensor]) -> bool:
    """To the bit."""
    return len(one) == len(other) and all(torch.equal(*each) for each in zip(one, other, strict=True))
