"""A dictionary induced from two mapped vocabularies, as it is or from randomly thinned similarities.

Artetxe, Labaka, Agirre 2018 ("A robust self-learning method for fully unsupervised cross-lingual mappings of word
embeddings"), section 3.3. A word's translation is the best by CSLS; both directions count, so that a pair which each
side chooses counts twice. To leave bad dictionaries behind, only a share p of the similarities is kept at random.

The thinning is drawn, not carried out. Of candidates ordered by score, each kept with probability p on its own, the
best that is kept is number R, with R geometric: P(R = r) = p (1 - p)^(r - 1). So one number a word says which of its
candidates it takes. For every word, and for all words of one direction together, that is exactly the distribution of
thinning the whole matrix, at the price of a few draws; the two directions are thinned independently of each other.
Where nothing is kept, a word is left out; the published text sets what is dropped to 0 instead, so that such a word
pairs with one that was dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from calque.retrieval.exact import blocks

CPU_FRACTION = 16
"""On a CPU blocks are so many times smaller, to stay in its cache; it cannot change an answer."""


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Rows that were paired, first as the source words choose, then as the target words do."""

    source: Tensor
    target: Tensor
    objective: float
    """The mean cosine of a word to its nearest word on the other side, over both sides, nothing thinned."""

    def __len__(self) -> int:
        return len(self.source)

    def same_pairs(self, other: Dictionary) -> bool:
        """Whether both pair the same words."""
        return torch.equal(self.source, other.source) and torch.equal(self.target, other.target)


@dataclass(frozen=True, eq=False)
class _Nearby:
    """What the nearest words of each query are like."""

    best: Tensor
    """(q,): the cosine of the nearest."""
    mean: Tensor
    """(q,): the mean cosine of the nearest few, r of CSLS."""


def draw_ranks(count: int, keep: float, generator: torch.Generator) -> Tensor:
    """(count,) on the CPU: which of a word's candidates, by rank from 1, is the best of those kept."""
    if keep >= 1.0:
        return torch.ones(count, dtype=torch.long)
    uniform = 1.0 - torch.rand(count, generator=generator, dtype=torch.float64)
    return 1 + (uniform.log() / torch.log1p(torch.tensor(-keep, dtype=torch.float64))).long()


def induce(source: Tensor, target: Tensor, ranks: tuple[Tensor, Tensor], neighbourhood: int) -> Dictionary:
    """The pairs that unit vectors of both sides choose by CSLS, each word its candidate of the given rank."""
    there, back = _nearby(source, target, neighbourhood), _nearby(target, source, neighbourhood)
    forward = _choose(source, target, back.mean, ranks[0])
    backward = _choose(target, source, there.mean, ranks[1])
    return Dictionary(
        torch.cat([forward[0], backward[1]]),
        torch.cat([forward[1], backward[0]]),
        float(there.best.mean() + back.best.mean()) / 2,
    )


def induce_from_matrix(similarity: Tensor, neighbourhood: int) -> Dictionary:
    """The same from similarities that are there already, each word its best candidate."""
    sides = similarity, similarity.mT
    nearest = [each.topk(min(neighbourhood, each.shape[1]), dim=1).values for each in sides]
    forward, backward = (
        (each - other.mean(dim=1) / 2).argmax(dim=1) for each, other in zip(sides, reversed(nearest), strict=True)
    )
    rows, columns = (torch.arange(size, device=similarity.device) for size in similarity.shape)
    objective = sum(float(each[:, 0].mean()) for each in nearest) / 2
    return Dictionary(torch.cat([rows, backward]), torch.cat([forward, columns]), objective)


def _nearby(queries: Tensor, candidates: Tensor, size: int) -> _Nearby:
    size = min(size, len(candidates))
    penalty = candidates.new_zeros(len(candidates))
    parts = [
        scores.topk(size, dim=1).values
        for _, scores in _scores(queries, candidates, penalty, torch.arange(len(queries)))
    ]
    nearest = torch.cat(parts)
    return _Nearby(nearest[:, 0], nearest.mean(dim=1))


def _choose(queries: Tensor, candidates: Tensor, penalty: Tensor, ranks: Tensor) -> tuple[Tensor, Tensor]:
    """Queries that have a candidate of their rank, in their order, and which it is."""
    order = ranks.argsort(stable=True)
    order = order[ranks[order] <= len(candidates)]
    chosen = torch.empty(len(queries), dtype=torch.long, device=queries.device)
    # In the order of their ranks, so that no block looks further down its candidates than its own words must.
    for rows, scores in _scores(queries, candidates, penalty / 2, order):
        wanted = ranks[rows]
        rows = rows.to(queries.device)
        if int(wanted[-1]) == 1:
            chosen[rows] = scores.argmax(dim=1)
        else:
            best = scores.topk(int(wanted[-1]), dim=1).indices
            chosen[rows] = best.gather(1, wanted.to(best.device).unsqueeze(1) - 1).squeeze(1)
    kept = order.sort().values.to(queries.device)
    return kept, chosen[kept]


def _scores(queries: Tensor, candidates: Tensor, penalty: Tensor, order: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Queries in this order, block by block: which they are, and their cosines less the penalties.

    All blocks share one buffer: allocating each anew costs as much as computing it.
    """
    smaller = CPU_FRACTION if queries.device.type == "cpu" else 1
    slices = list(blocks(len(order), smaller * len(candidates)))
    height = max((each.stop - each.start for each in slices), default=0)
    buffer = torch.empty(height, len(candidates), dtype=queries.dtype, device=queries.device)
    for each in slices:
        rows = order[each]
        out = buffer[: len(rows)]
        yield rows, torch.addmm(penalty, queries[rows.to(queries.device)], candidates.mT, alpha=1, beta=-1, out=out)
