"""What third languages know of a pair: whether words find their way round a triangle, and which pairs they confirm.

Maps between three languages that were found independently agree only if all of them are right. So a triangle in which
words do not find their way round holds a wrong pair. And a pair of words of which a third language says that they
translate each other, because both translate the same word of it, is surer than one that only the pair itself proposes.
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
"""By pair of languages, in the order in which the languages were given."""

HOLDS = 0.02
"""A triangle holds where so many of the words that can go round it come back to themselves: of Europarl's 20,000 words
18 to 31 % did, rare ones and doubtful translations included; where a side is wrong, about one word does by chance."""
FEWEST = 10
"""By chance about one word of a vocabulary comes back to itself; so few words, or fewer, say nothing."""


def pairs_of(names: Sequence[str]) -> list[Pair]:
    """Every pair of languages."""
    return list(combinations(names, 2))


def triangles_of(names: Sequence[str], pairs: Iterable[Pair]) -> list[Triangle]:
    """Every three languages of which all pairs are among these."""
    known = set(pairs)
    return [each for each in combinations(names, 3) if all(pair in known for pair in combinations(each, 2))]


def way_round(dictionaries: Dictionaries, triangle: Triangle, sizes: Mapping[str, int]) -> float:
    """The share that come back to themselves, of the first language's words that can go round at all.

    Each step is to the word that the dictionary trusts most.
    """
    one, two, three = triangle
    steps = [
        _best(dictionaries[one, two], sizes[one]),
        _best(dictionaries[two, three], sizes[two]),
        _best(_turned(dictionaries[one, three]), sizes[three]),
    ]
    begun = torch.arange(sizes[one])
    place = begun
    for step in steps:
        place = torch.where(place >= 0, step[place.clamp_min(0)], -1)
    home = int((place == begun).sum())
    return home / int((place >= 0).sum()) if home > FEWEST else 0.0


def _best(pairs: Pairs, size: int) -> Tensor:
    """(size,): the most trusted translation of each word, -1 where there is none."""
    best = torch.full((size,), -1, dtype=torch.long)
    order = pairs.scores.cpu().argsort(stable=True)
    best[pairs.source.cpu()[order]] = pairs.target.cpu()[order]  # of equal places the last is kept: the surest
    return best


def _turned(pairs: Pairs) -> Pairs:
    return Pairs(pairs.target, pairs.source, pairs.scores)


@dataclass(frozen=True)
class Finding:
    """What is known of a pair by itself."""

    label: Label
    clearance: float
    """How many deviations its winner stood clear of the crowd."""


def standing(
    names: Sequence[str], findings: Mapping[Pair, Finding], shares: Mapping[Triangle, float]
) -> tuple[Pair, ...]:
    """The pairs that stay once those are dropped that triangles speak against, one at a time, the most suspect first.

    A pair that failed by itself does not stay. One that is in triangles of which none holds is suspect; of the suspect
    ones the doubtful go first, and those that stood less clear. A pair in no triangle is judged by itself alone, unless
    it only is in none because its neighbours went: then a doubtful one goes with them.
    """
    begun = [pair for pair in pairs_of(names) if pair in findings and findings[pair].label != "failed"]
    stay = list(begun)
    while suspects := [pair for pair in stay if _suspect(pair, names, stay, shares)]:
        stay.remove(min(suspects, key=lambda pair: (findings[pair].label == "aligned", findings[pair].clearance)))
    return tuple(pair for pair in stay if findings[pair].label == "aligned" or not _suspect(pair, names, begun, shares))


def _suspect(pair: Pair, names: Sequence[str], pairs: Sequence[Pair], shares: Mapping[Triangle, float]) -> bool:
    """Whether it is in triangles of these pairs, and none of them holds."""
    around = [each for each in triangles_of(names, pairs) if set(pair) <= set(each)]
    return bool(around) and not any(shares[each] >= HOLDS for each in around)


def strengthened(dictionaries: Dictionaries, sizes: Mapping[str, int], weight: float) -> dict[Pair, Pairs]:
    """Every dictionary with what third languages say: w(x, y) + weight · mean over k of r_k Σ_z w(x, z) w(z, y).

    r_k = min(1, m_ik m_kj / m_ij²)² compares how many pairs the dictionaries trust: two weak ones have little to say to
    a strong one, and a weak one listens.
    """
    matrices = {pair: _matrix(pairs, sizes[pair[0]], sizes[pair[1]]) for pair, pairs in dictionaries.items()}
    matrices |= {(two, one): matrix.T.tocsr() for (one, two), matrix in matrices.items()}
    masses = {pair: max(float(matrix.sum()), LEAST) for pair, matrix in matrices.items()}
    thirds = {name for pair in dictionaries for name in pair}
    made = {}
    for pair, pairs in dictionaries.items():
        one, two = pair
        others = sorted(third for third in thirds - {one, two} if (one, third) in matrices and (third, two) in matrices)
        said = matrices[pair]
        for third in others:
            heed = min(1.0, masses[one, third] * masses[third, two] / masses[pair] ** 2) ** 2
            said = said + (weight * heed / len(others)) * (matrices[one, third] @ matrices[third, two])
        made[pair] = _pairs(said, like=pairs.scores)
    return made


def _matrix(pairs: Pairs, rows: int, columns: int) -> sparse.csr_array:
    """On the CPU, where sums have one order, and the same dictionary comes out every time."""
    where = pairs.source.cpu().numpy(), pairs.target.cpu().numpy()
    return sparse.csr_array((pairs.scores.cpu().numpy(), where), shape=(rows, columns))


def _pairs(matrix: sparse.csr_array, like: Tensor) -> Pairs:
    entries = matrix.tocoo()
    kept = entries.data >= LEAST
    rows, columns = (torch.from_numpy(each[kept].astype("int64")).to(like.device) for each in entries.coords)
    return Pairs(rows, columns, torch.from_numpy(entries.data[kept]).to(like))
