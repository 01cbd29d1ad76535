"""What third languages say about a pair: which pairs are wrong, and which translations they confirm.

Translate a word around three languages, by three dictionaries that were found independently. It comes back to itself
only if all three are right. So if too few words come back, one of the three pairs is wrong. And a translation that a
third language confirms, because both words translate the same word of it, is surer than one that only the pair itself
proposes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import torch
from scipy import sparse
from torch import Tensor

from calque.methods.default.correspondence import LEAST
from calque.retrieval.exact import Pairs
from calque.verdict import Label

Pair = tuple[str, str]
Triangle = tuple[str, str, str]
Dictionaries = Mapping[Pair, Pairs]
"""By pair of languages, in the order of the languages."""

HOLDS = 0.02
"""A triangle holds if this share of the words that can go round it come back to themselves. Of Europarl's 20,000 words
18 to 31 % did, rare words and doubtful translations included; where a side is wrong, about one word does by chance."""
FEWEST = 10
"""By chance about one word of a vocabulary comes back to itself; this many words, or fewer, say nothing."""


def pairs_of(names: Sequence[str]) -> list[Pair]:
    """Every pair of languages."""
    return list(combinations(names, 2))


def triangles_of(names: Sequence[str], pairs: Iterable[Pair]) -> list[Triangle]:
    """Every three languages of which all pairs are among these."""
    present = set(pairs)
    return [triangle for triangle in combinations(names, 3) if present.issuperset(combinations(triangle, 2))]


def round_trip_share(dictionaries: Dictionaries, triangle: Triangle, sizes: Mapping[str, int]) -> float:
    """Of the first language's words that can go round the triangle, the share that come back to themselves.

    Each step goes to the translation with the most trust.
    """
    one, two, three = triangle
    last = dictionaries[one, three]
    steps = [
        _best(dictionaries[one, two], sizes[one]),
        _best(dictionaries[two, three], sizes[two]),
        _best(Pairs(last.target, last.source, last.scores), sizes[three]),
    ]
    start = torch.arange(sizes[one])
    place = start
    for step in steps:
        place = torch.where(place >= 0, step[place.clamp_min(0)], -1)
    home = int((place == start).sum())
    return home / int((place >= 0).sum()) if home > FEWEST else 0.0


def _best(pairs: Pairs, size: int) -> Tensor:
    """(size,): the most trusted translation of each word, -1 where there is none."""
    best = torch.full((size,), -1, dtype=torch.long)
    order = pairs.scores.cpu().argsort(stable=True)
    best[pairs.source.cpu()[order]] = pairs.target.cpu()[order]  # of several translations the last, the surest, stays
    return best


@dataclass(frozen=True)
class Finding:
    """The verdict on a pair by itself."""

    label: Label
    clearance: float
    """How many deviations its winner stood clear of the crowd."""


def pairs_to_keep(
    names: Sequence[str], findings: Mapping[Pair, Finding], shares: Mapping[Triangle, float]
) -> tuple[Pair, ...]:
    """The pairs that stay when those that triangles speak against are dropped, one at a time.

    Pairs that failed by themselves are dropped first. A pair is suspect if it is in triangles and none of them holds.
    Of the suspect pairs, doubtful ones are dropped before aligned ones, and then those with the smallest clearance. A
    pair in no triangle is judged by itself alone. But if it is in none only because its neighbours were dropped, a
    doubtful pair is dropped with them.
    """

    def suspect(pair: Pair, pairs: Sequence[Pair]) -> bool:
        around = [triangle for triangle in triangles_of(names, pairs) if set(pair) <= set(triangle)]
        return bool(around) and not any(shares[triangle] >= HOLDS for triangle in around)

    not_failed = [pair for pair in pairs_of(names) if pair in findings and findings[pair].label != "failed"]
    stay = list(not_failed)
    while suspects := [pair for pair in stay if suspect(pair, stay)]:
        stay.remove(min(suspects, key=lambda pair: (findings[pair].label == "aligned", findings[pair].clearance)))
    return tuple(pair for pair in stay if findings[pair].label == "aligned" or not suspect(pair, not_failed))


def strengthened(dictionaries: Dictionaries, sizes: Mapping[str, int], weight: float) -> dict[Pair, Pairs]:
    """Every dictionary with what third languages add: w(x, y) + weight · mean over k of r_k Σ_z w(x, z) w(z, y).

    r_k = min(1, m_ik m_kj / m_ij²)² compares the sums m of trust in the dictionaries. So two weak dictionaries add
    little to a strong one, and much to a weak one. The sums run on the CPU, where they have one order, so that the same
    dictionary comes out every time.
    """
    matrices = {}
    for (one, two), pairs in dictionaries.items():
        places = pairs.source.cpu().numpy(), pairs.target.cpu().numpy()
        matrix = sparse.csr_array((pairs.scores.cpu().numpy(), places), shape=(sizes[one], sizes[two]))
        matrices[one, two], matrices[two, one] = matrix, matrix.T.tocsr()
    masses = {pair: max(float(matrix.sum()), LEAST) for pair, matrix in matrices.items()}
    languages = {name for pair in dictionaries for name in pair}
    stronger = {}
    for (one, two), pairs in dictionaries.items():
        thirds = sorted(name for name in languages - {one, two} if (one, name) in matrices and (name, two) in matrices)
        total = matrices[one, two]
        for third in thirds:
            heed = min(1.0, masses[one, third] * masses[third, two] / masses[one, two] ** 2) ** 2
            total = total + (weight * heed / len(thirds)) * (matrices[one, third] @ matrices[third, two])
        entries = total.tocoo()
        kept = entries.data >= LEAST
        rows, columns = (torch.from_numpy(numbers[kept].astype("int64")) for numbers in entries.coords)
        scores, like = torch.from_numpy(entries.data[kept]), pairs.scores
        stronger[one, two] = Pairs(rows.to(like.device), columns.to(like.device), scores.to(like))
    return stronger
