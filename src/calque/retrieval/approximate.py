"""Nearest neighbours among millions of words, nearly exact, with an index of faiss.

CSLS ranks a candidate c for a query q by 2 cos(q, c) - penalty(c), which is the inner product of (2q, -1) and
(c, penalty). So one index for inner products has the right order. Candidates lie in lists around centres, with eight
bits a number; the lists nearest to a query are looked through, and the best of what they hold are compared again by
their real vectors. How many lists that takes is found by trial against the exact answers of some words.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from calque.data.preprocess import unit
from calque.errors import MissingExtraError
from calque.retrieval.exact import Neighbours, find, nearest, neighbours_among

RESCORED = 50
"""So many of what the index finds are compared by their real vectors."""
TRAINED = 32
"""Words a list on which the centres are trained."""
ROUNDS = 8
"""Of training the centres."""
RANGED = 20_000
"""Words from which the range of each number is taken that eight bits divide."""
FIRST_PROBES = 8
WANTED = 0.99
"""The share of the tried words whose best must be the exact one; until then, twice as many lists are looked through."""
SAMPLED = 1000
"""Words that are tried, and others by which the recall is then measured."""
SEED = 0
AT_ONCE = 2048
BLOCK_ROWS = 8192


class Rows(Protocol):
    """Vectors that need not be in memory."""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many, and how long."""
        ...

    def blocks(self, rows: int) -> Iterator[npt.NDArray[np.float32]]:
        """All of them, so many at a time."""
        ...

    def pick(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Those of these rows."""
        ...


@dataclass(frozen=True, eq=False)
class Index:
    """Candidates of which the nearest can be found without looking at all."""

    index: Any
    """An inverted file of faiss."""
    centres: Tensor
    """(lists, d + 1) of unit length. Which of them are near is found here, since our products are the faster ones."""
    candidates: Rows
    penalty: Tensor
    probes: int = FIRST_PROBES
    """Lists that are looked through for a query."""

    def neighbours(self, queries: Tensor, k: int) -> Neighbours:
        """The ``k`` best of each query by CSLS, best first, with exact scores; nearly always the right ones."""
        parts = [self._some(block, k) for block in torch.split(queries, AT_ONCE)]
        return Neighbours(torch.cat([each.indices for each in parts]), torch.cat([each.scores for each in parts]))

    def _some(self, queries: Tensor, k: int) -> Neighbours:
        asked = torch.cat([2 * unit(queries), -torch.ones(len(queries), 1)], dim=1)
        many = min(max(RESCORED, k), self.candidates.shape[0])
        near = nearest(asked, self.centres, self.probes)
        self.index.nprobe = self.probes
        told = self.index.search_preassigned(asked.numpy(), many, near.indices.numpy(), near.scores.numpy())[1]
        found = torch.from_numpy(told)
        real = unit(torch.from_numpy(self.candidates.pick(np.maximum(told, 0).ravel())))
        cosines = torch.bmm(real.view(*found.shape, -1), unit(queries).unsqueeze(2)).squeeze(2)
        # Where the lists held too few, faiss fills up with -1.
        scores = (2 * cosines - self.penalty[found.clamp_min(0)]).masked_fill(found < 0, -math.inf)
        best = scores.topk(min(k, many), dim=1)
        return Neighbours(found.gather(1, best.indices).clamp_min(0), best.values)


@dataclass(frozen=True)
class Recall:
    """How often an index finds what an exact search finds."""

    right: int
    sampled: int
    """Words that were asked, other ones than those by which the index was set up."""
    probes: int
    lists: int

    @property
    def share(self) -> float:
        """Recall@1."""
        return self.right / self.sampled


def build(candidates: Rows, penalty: Tensor) -> Index:
    """An index of all candidates; the same ones give the same index."""
    faiss = _faiss()
    count, dimension = candidates.shape
    lists = max(1, min(round(4 * math.sqrt(count)), count // 8))
    rows = sample(count, TRAINED * lists)
    some = _extended(candidates.pick(rows), penalty[torch.from_numpy(rows)])
    centres = _centres(some, lists)
    coarse = faiss.IndexFlatIP(dimension + 1)
    coarse.add(centres.numpy())
    kind = faiss.ScalarQuantizer.QT_8bit
    made = faiss.IndexIVFScalarQuantizer(coarse, dimension + 1, lists, kind, faiss.METRIC_INNER_PRODUCT)
    made.train(some[:: max(1, len(some) // RANGED)].contiguous().numpy())
    begin = 0
    for block in candidates.blocks(BLOCK_ROWS):
        extended = _extended(block, penalty[begin : begin + len(block)])
        chosen = nearest(extended, centres, 1).indices[:, 0].contiguous()
        made.add_core(len(block), faiss.swig_ptr(extended.numpy()), None, faiss.swig_ptr(chosen.numpy()))
        begin += len(block)
    return Index(made, centres, candidates, penalty)


def _centres(vectors: Tensor, lists: int) -> Tensor:
    """The centres of as many clusters, of unit length; a vector belongs to the one of largest inner product."""
    order = torch.randperm(len(vectors), generator=torch.Generator().manual_seed(SEED))
    centres = unit(vectors[order[:lists]])
    for _ in range(ROUNDS):
        chosen = nearest(vectors, centres, 1).indices[:, 0]
        sums = torch.zeros_like(centres).index_add_(0, chosen, vectors)
        centres = torch.where(sums.any(dim=1, keepdim=True), unit(sums), centres)
    return centres


def tuned(index: Index, queries: Rows) -> tuple[Index, Recall]:
    """The index looking through as many lists as it takes, and its recall on words it was not tuned by."""
    rows = sample(queries.shape[0], 2 * SAMPLED)
    tried = np.random.default_rng(SEED).permutation(len(rows)) < len(rows) // 2
    asked = torch.from_numpy(queries.pick(rows))
    exact = exact_best(asked, index.candidates, index.penalty)
    lists = int(index.index.nlist)
    index = replace(index, probes=min(FIRST_PROBES, lists))
    while index.probes < lists and _right(index, asked[tried], exact[tried]) < WANTED * int(tried.sum()):
        index = replace(index, probes=min(2 * index.probes, lists))
    right = _right(index, asked[~tried], exact[~tried])
    return index, Recall(right, int((~tried).sum()), index.probes, lists)


def exact_best(queries: Tensor, candidates: Rows, penalty: Tensor) -> Tensor:
    """The score of the best candidate of each query, by looking at all."""
    blocks = map(torch.from_numpy, candidates.blocks(BLOCK_ROWS))
    return neighbours_among(queries, blocks, penalty, 1, find("csls")).scores[:, 0]


def sample(count: int, size: int) -> npt.NDArray[np.int64]:
    """Rows drawn at random, in order; all where there are no more."""
    if count <= size:
        return np.arange(count)
    return np.sort(np.random.default_rng(SEED).choice(count, size, replace=False))


def _right(index: Index, queries: Tensor, exact: Tensor) -> int:
    """How many find a candidate as good as the exact best; two that are equally good are both right."""
    return int((index.neighbours(queries, 1).scores[:, 0] >= exact - 1e-5).sum())


def _extended(vectors: npt.NDArray[np.float32], penalty: Tensor) -> Tensor:
    """(c, penalty) of every candidate."""
    return torch.cat([unit(torch.from_numpy(vectors)), penalty.unsqueeze(1)], dim=1)


def _faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise MissingExtraError("faiss", "faiss", "an approximate search") from error
    return faiss
