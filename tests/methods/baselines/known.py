"""Problems whose answer is known, for the methods that learn from pairs."""

from __future__ import annotations

import torch
from torch import Tensor

from calque.data.space import Space
from calque.linear.maps import unit
from calque.methods.task import Outcome, Task


def normal(*size: int, seed: int) -> Tensor:
    return torch.randn(*size, generator=torch.Generator().manual_seed(seed))


def orthogonal(dimension: int, seed: int) -> Tensor:
    return torch.linalg.qr(normal(dimension, dimension, seed=seed).double()).Q.float()


def space(vectors: Tensor, name: str) -> Space:
    return Space.of([f"{name}{row}" for row in range(len(vectors))], vectors, name=name)


def task(source: Tensor, target: Tensor, pairs: int | tuple[Tensor, Tensor] | None = None, **options: object) -> Task:
    """Both as spaces. Row i means row i for the first ``pairs`` rows, or for all, or else as the pairs say."""
    if not isinstance(pairs, tuple):
        rows = torch.arange(len(source) if pairs is None else pairs)
        pairs = rows, rows
    return Task(space(source, "source"), space(target, "target"), pairs=pairs, **options)


def turns(matrix: Tensor, size: float = 1e-2, count: int = 20) -> list[Tensor]:
    """Orthogonal matrices near an orthogonal one: turned along skew-symmetric directions, each way."""
    halves = [normal(len(matrix), len(matrix), seed=100 + number).double() for number in range(count)]
    skew = [size * (half - half.mT) for half in halves]
    return [torch.linalg.matrix_exp(sign * each) @ matrix.double() for each in skew for sign in (1, -1)]


def common(outcome: Outcome, problem: Task) -> tuple[Tensor, Tensor]:
    """All words of both sides in the common space."""
    return outcome.source.apply(problem.source.vectors), outcome.target.apply(problem.target.vectors)


def right_share(outcome: Outcome, problem: Task, answers: Tensor | None = None) -> float:
    """Of the source words whose nearest target word is the right one: the one of the same row, or of these rows."""
    source, target = common(outcome, problem)
    result = (source @ target.mT).argmax(dim=1)
    return float((result == (torch.arange(len(result)) if answers is None else answers)).double().mean())


def unit_rows(words: int, dimension: int, seed: int) -> Tensor:
    return unit(normal(words, dimension, seed=seed) * torch.linspace(2.0, 1.0, dimension))
