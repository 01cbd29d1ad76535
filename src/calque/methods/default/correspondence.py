"""Which words correspond under given maps, and how surely: a dictionary with doubt in it.

Each word divides its trust among its nearest words of the other side, by a softmax of their CSLS, and a pair counts as
far as both its words trust it. That is a transport plan cut down to what matters: a few entries a word, found by
matrix products and a search for the largest.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from calque.linear.closed_forms import TwoWay
from calque.linear.maps import unit
from calque.retrieval.exact import NEIGHBOURHOOD, Neighbours, Pairs, nearest

LEAST = 1e-3
"""Pairs that count for less are left out."""
AT_ONCE = 50_000
"""So many candidates are compared at once; it bounds the memory."""


@dataclass(frozen=True, eq=False)
class Lists:
    """The nearest words of every word, each direction asked by its own maps."""

    there: Neighbours
    """(n, k): target words of each source word."""
    back: Neighbours
    """(m, k): source words of each target word."""


def correspondence(source: Tensor, target: Tensor, maps: TwoWay, temperature: float) -> Pairs:
    """Pairs (x, y) with p(y | x) p(x | y) as their scores, each factor asked in its own direction."""
    return trusted(lists(source, target, maps, NEIGHBOURHOOD), temperature)


def lists(source: Tensor, target: Tensor, maps: TwoWay, k: int) -> Lists:
    """The ``k`` nearest words of every word, by cosine."""
    there = nearest(unit(source @ maps.there[0].matrix), unit(target @ maps.there[1].matrix), k)
    back = nearest(unit(target @ maps.back[1].matrix), unit(source @ maps.back[0].matrix), k)
    return Lists(there, back)


def trusted(near: Lists, temperature: float) -> Pairs:
    """The dictionary of such lists: a word divides its trust among the first of its list by a softmax of CSLS.

    What depends on the query alone cancels in the softmax.
    """
    there, back = near.there.indices[:, :NEIGHBOURHOOD], near.back.indices[:, :NEIGHBOURHOOD]
    there_scores, back_scores = near.there.scores[:, :NEIGHBOURHOOD], near.back.scores[:, :NEIGHBOURHOOD]
    source_density, target_density = there_scores.mean(dim=1), back_scores.mean(dim=1)
    forward = torch.softmax((2 * there_scores - target_density[there]) / temperature, dim=1)
    backward = torch.softmax((2 * back_scores - source_density[back]) / temperature, dim=1)
    return _both(there, forward, back, backward)


def _both(there: Tensor, forward: Tensor, back: Tensor, backward: Tensor) -> Pairs:
    """Pairs that stand in both lists, with the product of their trusts."""
    rows, columns = len(there), len(back)
    device = there.device
    keys = (torch.arange(rows, device=device).unsqueeze(1) * columns + there).flatten()
    known, order = (back * columns + torch.arange(columns, device=device).unsqueeze(1)).flatten().sort()
    place = torch.searchsorted(known, keys).clamp_max(len(known) - 1)
    scores = forward.flatten() * backward.flatten()[order][place]
    kept = (known[place] == keys) & (scores >= LEAST)
    return Pairs(keys[kept] // columns, keys[kept] % columns, scores[kept])


@dataclass(frozen=True, eq=False)
class Candidates:
    """Words among which the nearest ones are sought from now on: they move little once the maps are nearly right."""

    there: Tensor
    """(n, k): rows of target words for each source word."""
    back: Tensor
    """(m, k): rows of source words for each target word."""

    @classmethod
    def of(cls, source: Tensor, target: Tensor, maps: TwoWay, k: int) -> Candidates:
        """The ``k`` nearest words of every word, exactly."""
        exact = lists(source, target, maps, k)
        return cls(exact.there.indices, exact.back.indices)

    def lists(self, source: Tensor, target: Tensor, maps: TwoWay, k: int) -> Lists:
        """The ``k`` nearest of them under other maps."""
        there = _nearest_of(unit(source @ maps.there[0].matrix), unit(target @ maps.there[1].matrix), self.there, k)
        back = _nearest_of(unit(target @ maps.back[1].matrix), unit(source @ maps.back[0].matrix), self.back, k)
        return Lists(there, back)


def _nearest_of(queries: Tensor, words: Tensor, candidates: Tensor, k: int) -> Neighbours:
    """The ``k`` nearest of each query's own candidates."""
    size = max(1, AT_ONCE // max(1, candidates.shape[1]))
    parts = []
    for asked, rows in zip(torch.split(queries, size), torch.split(candidates, size), strict=True):
        cosines = torch.bmm(words[rows], asked.unsqueeze(2)).squeeze(2)
        best = cosines.topk(min(k, cosines.shape[1]), dim=1)
        parts.append((rows.gather(1, best.indices), best.values))
    return Neighbours(torch.cat([rows for rows, _ in parts]), torch.cat([scores for _, scores in parts]))
