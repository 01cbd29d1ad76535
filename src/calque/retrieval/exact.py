"""Nearest neighbours in a common space: exact, block by block.

Every retrieval ranks target words by ``scale · cos(query, word) - penalty(word)``. The penalty of a word depends on all
source words, not on the query, so it is computed once and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from calque.errors import SettingsError, whole_number
from calque.linear.maps import unit

BLOCK_ENTRIES = 16_000_000
"""How many similarities are in memory at once: 64 MB in float32. It cannot change an answer."""
GROUP = 16
"""How many columns stand in a group when the largest of a row are searched."""
NEIGHBOURHOOD = 10
"""How many neighbours CSLS averages over (Conneau et al. 2018)."""
FREQUENT = 20_000
"""CSLS computes its penalty on so many of the most frequent words. Rare words would cost most of the time, and their
vectors are mostly noise."""
TEMPERATURE = 30.0
"""How sharply inverted softmax prefers the nearest source word (Smith et al. 2017)."""


@dataclass(frozen=True)
class Retrieval:
    """One way to rank candidates."""

    name: str
    scale: float
    penalty: Callable[[Tensor, Tensor], Tensor]
    """(source, target) -> (m,): what is subtracted from the score of each target word."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The best target words of each query, best first."""

    indices: Tensor
    """(q, k)."""
    scores: Tensor
    """(q, k)."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Rows of source and target that correspond, and the score of each pair."""

    source: Tensor
    target: Tensor
    scores: Tensor

    def __len__(self) -> int:
        return len(self.source)


def blocks(count: int, width: int) -> Iterator[slice]:
    """Slices that cover ``count`` rows of ``width`` similarities, each within ``BLOCK_ENTRIES``."""
    height = max(1, BLOCK_ENTRIES // max(1, width))
    for begin in range(0, count, height):
        yield slice(begin, min(begin + height, count))


def top(similarities: Tensor, k: int) -> Neighbours:
    """The ``k`` largest of each row, exactly, and faster than a plain search where rows are long.

    Columns are taken in groups. Each of the k largest lies in one of the k groups of largest maximum, and a processor
    finds a maximum fast.
    """
    rows, columns = similarities.shape
    width = columns // GROUP
    if width < 4 * k:
        return Neighbours(*reversed(similarities.topk(k, dim=1)))
    grouped = similarities[:, : width * GROUP].view(rows, GROUP, width)
    groups = grouped.amax(dim=1).topk(k, dim=1, sorted=False).indices.unsqueeze(1).expand(-1, GROUP, -1)
    offsets = torch.arange(GROUP, device=groups.device).view(1, -1, 1) * width
    rest = torch.arange(width * GROUP, columns, device=groups.device).expand(rows, -1)
    values = torch.cat([grouped.gather(2, groups).flatten(1), similarities[:, width * GROUP :]], dim=1)
    indices = torch.cat([(offsets + groups).flatten(1), rest], dim=1)
    best = values.topk(k, dim=1)
    return Neighbours(indices.gather(1, best.indices), best.values)


def nearest(queries: Tensor, candidates: Tensor, k: int) -> Neighbours:
    """The ``k`` candidates of largest inner product with each query (all, if there are fewer). Rows have length 1."""
    k = min(k, len(candidates))
    parts = [top(queries[rows] @ candidates.mT, k) for rows in blocks(len(queries), len(candidates))]
    return _joined(parts, queries, k)


def _joined(parts: Sequence[Neighbours], queries: Tensor, k: int) -> Neighbours:
    """The blocks of neighbours as one; without any block, no rows."""
    if not parts:
        return Neighbours(queries.new_zeros((0, k), dtype=torch.long), queries.new_zeros((0, k)))
    return Neighbours(torch.cat([part.indices for part in parts]), torch.cat([part.scores for part in parts]))


def _no_penalty(source: Tensor, target: Tensor) -> Tensor:
    return torch.zeros(len(target), dtype=source.dtype, device=source.device)


def neighbourhood_similarity(source: Tensor, target: Tensor) -> Tensor:
    """r(y) of CSLS: the mean cosine of each target word with its nearest frequent source words; large for hubs."""
    source, target = unit(source[:FREQUENT]), unit(target)
    size = min(NEIGHBOURHOOD, len(source))
    parts = [top(target[rows] @ source.mT, size).scores.mean(dim=1) for rows in blocks(len(target), len(source))]
    return torch.cat(parts)


def _log_partition(source: Tensor, target: Tensor) -> Tensor:
    """Log Σ_x exp(β cos(x, y)) over all source words: the normaliser of the inverted softmax."""
    source, target = unit(source), unit(target)
    parts = [
        torch.logsumexp((target[rows] @ source.mT) * TEMPERATURE, dim=1) for rows in blocks(len(target), len(source))
    ]
    return torch.cat(parts)


RETRIEVALS = {
    retrieval.name: retrieval
    for retrieval in (
        Retrieval("nn", 1.0, _no_penalty),
        Retrieval("csls", 2.0, neighbourhood_similarity),
        Retrieval("isf", TEMPERATURE, _log_partition),
    )
}
"""nn: nearest by cosine; csls: Conneau et al. 2018; isf: inverted softmax, Smith et al. 2017."""


def find(name: str) -> Retrieval:
    """The retrieval of this name; SettingsError with the choices if there is none."""
    if not isinstance(name, str) or name not in RETRIEVALS:
        raise SettingsError(f"no retrieval is called {name!r}; there are: {', '.join(RETRIEVALS)}")
    return RETRIEVALS[name]


def neighbours(queries: Tensor, target: Tensor, k: int, retrieval: Retrieval, penalty: Tensor) -> Neighbours:
    """The ``k`` best target words of each query. ``penalty`` is ``retrieval.penalty(source, target)``."""
    whole_number(k, "k")
    queries, target, k = unit(queries), unit(target), min(k, len(target))
    parts = [
        top((queries[rows] @ target.mT).mul_(retrieval.scale).sub_(penalty), k)
        for rows in blocks(len(queries), len(target))
    ]
    return _joined(parts, queries, k)


def neighbours_among(
    queries: Tensor, candidates: Iterable[Tensor], penalty: Tensor, k: int, retrieval: Retrieval
) -> Neighbours:
    """The same for candidates that come in blocks, so that they need not be in memory together."""
    indices, scores = queries.new_zeros((len(queries), 0), dtype=torch.long), queries.new_zeros((len(queries), 0))
    begin = 0
    for block in candidates:
        part = neighbours(queries, block, k, retrieval, penalty[begin : begin + len(block)])
        both_scores = torch.cat([scores, part.scores], dim=1)
        best = both_scores.topk(min(k, both_scores.shape[1]), dim=1)
        indices = torch.cat([indices, part.indices + begin], dim=1).gather(1, best.indices)
        scores = best.values
        begin += len(block)
    return Neighbours(indices, scores)


def mutual(source: Tensor, target: Tensor, retrieval: Retrieval) -> Pairs:
    """Every pair of words that are each other's best match."""
    source, target = unit(source), unit(target)
    there = neighbours(source, target, 1, retrieval, retrieval.penalty(source, target))
    back = neighbours(target, source, 1, retrieval, retrieval.penalty(target, source))
    forward, backward = there.indices[:, 0], back.indices[:, 0]
    rows = torch.arange(len(source), device=source.device)
    is_mutual = backward[forward] == rows
    return Pairs(rows[is_mutual], forward[is_mutual], there.scores[:, 0][is_mutual])
