"""Nearest neighbours among millions of words, nearly exact, with an index of faiss.

CSLS ranks a candidate c for a query q by 2 cos(q, c) - penalty(c), which is the inner product of (2q, -1) and
(c, penalty). So an index for inner products ranks as CSLS does. Candidates lie in lists around centres, with eight bits
a number. The lists nearest to a query are searched, and the best of their candidates are compared again by their real
vectors. How many lists are searched is found by trial, against the exact answers for some words.
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

from calque.errors import MissingExtraError
from calque.linear.maps import unit
from calque.retrieval.exact import Neighbours, find, nearest, neighbours_among

RESCORED = 50
"""How many candidates from the index are compared by their real vectors."""
TRAINED = 32
"""How many words a list has for training the centres."""
ROUNDS = 8
"""Rounds of training the centres."""
RANGED = 20_000
"""How many words are used to measure the range of each number that eight bits divide."""
FIRST_PROBES = 8
"""How many lists are searched at first."""
WANTED = 0.99
"""The share of exact answers among the tried words. Until it is reached, the number of lists searched is doubled."""
SAMPLED = 1000
"""How many words are tried; as many others then measure the recall."""
SEED = 0
AT_ONCE = 2048
BLOCK_ROWS = 8192


class RowSource(Protocol):
    """Vectors that need not be in memory."""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many, and their dimension."""
        ...

    def blocks(self, rows: int) -> Iterator[npt.NDArray[np.float32]]:
        """All of them, ``rows`` at a time."""
        ...

    def pick(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """The vectors of these rows."""
        ...


@dataclass(frozen=True, eq=False)
class Index:
    """Candidates whose nearest can be found without comparing all."""

    index: Any
    """An inverted file of faiss."""
    centres: Tensor
    """(lists, d + 1) of unit length. The nearest of them are found here, since torch multiplies faster than faiss."""
    candidates: RowSource
    penalty: Tensor
    probes: int = FIRST_PROBES
    """How many lists are searched for a query."""

    def neighbours(self, queries: Tensor, k: int) -> Neighbours:
        """The ``k`` best of each query by CSLS, best first, with exact scores; nearly always the right ones."""
        parts = [self._search(block, k) for block in torch.split(queries, AT_ONCE)]
        return Neighbours(torch.cat([part.indices for part in parts]), torch.cat([part.scores for part in parts]))

    def _search(self, queries: Tensor, k: int) -> Neighbours:
        extended = torch.cat([2 * unit(queries), -torch.ones(len(queries), 1)], dim=1)
        count = min(max(RESCORED, k), self.candidates.shape[0])
        lists = nearest(extended, self.centres, self.probes)
        self.index.nprobe = self.probes
        _, rows = self.index.search_preassigned(extended.numpy(), count, lists.indices.numpy(), lists.scores.numpy())
        indices = torch.from_numpy(rows)
        vectors = unit(torch.from_numpy(self.candidates.pick(np.maximum(rows, 0).ravel())))
        cosines = torch.bmm(vectors.view(*indices.shape, -1), unit(queries).unsqueeze(2)).squeeze(2)
        # If the lists hold too few candidates, faiss fills up with -1.
        scores = (2 * cosines - self.penalty[indices.clamp_min(0)]).masked_fill(indices < 0, -math.inf)
        best = scores.topk(min(k, count), dim=1)
        return Neighbours(indices.gather(1, best.indices).clamp_min(0), best.values)


@dataclass(frozen=True)
class Recall:
    """How often an index gives the exact answer."""

    right: int
    sampled: int
    """How many words were asked; the index was not tuned on these."""
    probes: int
    lists: int

    @property
    def share(self) -> float:
        """Recall@1."""
        return self.right / self.sampled


def build(candidates: RowSource, penalty: Tensor) -> Index:
    """An index of all candidates; the same candidates give the same index."""
    try:
        import faiss
    except ImportError as error:
        raise MissingExtraError("faiss", "faiss", "an approximate search") from error
    count, dimension = candidates.shape
    lists = max(1, min(round(4 * math.sqrt(count)), count // 8))
    rows = sample(count, TRAINED * lists)
    training = _extended(candidates.pick(rows), penalty[torch.from_numpy(rows)])
    centres = _centres(training, lists)
    coarse = faiss.IndexFlatIP(dimension + 1)
    coarse.add(centres.numpy())
    kind = faiss.ScalarQuantizer.QT_8bit
    index = faiss.IndexIVFScalarQuantizer(coarse, dimension + 1, lists, kind, faiss.METRIC_INNER_PRODUCT)
    index.train(training[:: max(1, len(training) // RANGED)].contiguous().numpy())
    begin = 0
    for block in candidates.blocks(BLOCK_ROWS):
        extended = _extended(block, penalty[begin : begin + len(block)])
        list_of_row = nearest(extended, centres, 1).indices[:, 0].contiguous()
        index.add_core(len(block), faiss.swig_ptr(extended.numpy()), None, faiss.swig_ptr(list_of_row.numpy()))
        begin += len(block)
    return Index(index, centres, candidates, penalty)


def _extended(vectors: npt.NDArray[np.float32], penalty: Tensor) -> Tensor:
    """(c, penalty) of every candidate."""
    return torch.cat([unit(torch.from_numpy(vectors)), penalty.unsqueeze(1)], dim=1)


def _centres(vectors: Tensor, lists: int) -> Tensor:
    """Cluster centres of unit length; a vector belongs to the centre of largest inner product."""
    order = torch.randperm(len(vectors), generator=torch.Generator().manual_seed(SEED))
    centres = unit(vectors[order[:lists]])
    for _ in range(ROUNDS):
        cluster = nearest(vectors, centres, 1).indices[:, 0]
        sums = torch.zeros_like(centres).index_add_(0, cluster, vectors)
        centres = torch.where(sums.any(dim=1, keepdim=True), unit(sums), centres)
    return centres


def tuned(index: Index, queries: RowSource) -> tuple[Index, Recall]:
    """The index with enough lists searched, and its recall on words that it was not tuned on."""
    rows = sample(queries.shape[0], 2 * SAMPLED)
    is_tried = np.random.default_rng(SEED).permutation(len(rows)) < len(rows) // 2
    vectors = torch.from_numpy(queries.pick(rows))
    exact = exact_best(vectors, index.candidates, index.penalty)
    lists = int(index.index.nlist)
    wanted = WANTED * int(is_tried.sum())
    index = replace(index, probes=min(FIRST_PROBES, lists))
    while index.probes < lists and _count_right(index, vectors[is_tried], exact[is_tried]) < wanted:
        index = replace(index, probes=min(2 * index.probes, lists))
    right = _count_right(index, vectors[~is_tried], exact[~is_tried])
    return index, Recall(right, int((~is_tried).sum()), index.probes, lists)


def _count_right(index: Index, queries: Tensor, exact: Tensor) -> int:
    """How many queries get a candidate as good as the exact best; of equally good ones, each is right."""
    return int((index.neighbours(queries, 1).scores[:, 0] >= exact - 1e-5).sum())


def exact_best(queries: Tensor, candidates: RowSource, penalty: Tensor) -> Tensor:
    """The score of the best candidate of each query, found by comparing all."""
    blocks = map(torch.from_numpy, candidates.blocks(BLOCK_ROWS))
    return neighbours_among(queries, blocks, penalty, 1, find("csls")).scores[:, 0]


def sample(count: int, size: int) -> npt.NDArray[np.int64]:
    """Rows drawn at random, in ascending order; all rows if there are no more than ``size``."""
    if count <= size:
        return np.arange(count)
    return np.sort(np.random.default_rng(SEED).choice(count, size, replace=False))
