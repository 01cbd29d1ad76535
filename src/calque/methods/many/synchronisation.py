"""From maps between pairs to one map per language.

Rotations first: Q_i with Q_i Q_jᵀ ≈ R_ij for all pairs at once, from the leading eigenvectors of the block matrix of
the R_ij (Singer 2011; Arie-Nachimson et al. 2012). This also gives the pairs that were never aligned. Then, from the
dictionaries of all pairs, maps that weigh directions by how far all languages agree on them (generalised canonical
correlation analysis, Kettenring 1971, with the colours of the languages put back as `maps.two_way` does for two).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from calque.linear.closed_forms import nearest_orthogonal
from calque.linear.maps import LinearMap
from calque.methods.many.triangles import Dictionaries, Pair
from calque.retrieval.exact import Pairs

Vectors = Mapping[str, Tensor]
"""By language, (n, k) unit rows."""


def connected(names: Sequence[str], pairs: Iterable[Pair], first: str) -> list[str]:
    """The languages that can be reached from ``first`` by these pairs."""
    reached, links = {first}, list(pairs)
    while True:
        more = {name for pair in links if reached & set(pair) for name in pair} - reached
        if not more:
            return [name for name in names if name in reached]
        reached |= more


def implied_rotation(vectors: Vectors, pair: Pair, pairs: Pairs) -> Tensor:
    """R_ij: the rotation that fits the dictionary of a pair best."""
    x, y = vectors[pair[0]][pairs.source], vectors[pair[1]][pairs.target]
    return nearest_orthogonal(x.mT @ (pairs.scores.unsqueeze(1) * y))


def synchronise(names: Sequence[str], rotations: Mapping[Pair, Tensor]) -> dict[str, Tensor]:
    """One rotation Q_i per language, so that x Q_i and y Q_j are as near as x R_ij and y are.

    Each language has the same weight, however many pairs it is in.
    """
    dimension = int(next(iter(rotations.values())).shape[0])
    degree = {name: sum(name in pair for pair in rotations) for name in names}
    blocks = {}
    for (one, two), matrix in rotations.items():
        weight = (degree[one] * degree[two]) ** 0.5
        blocks[one, two], blocks[two, one] = matrix / weight, matrix.mT / weight
    parts = _leading(names, blocks, dimension)[1]
    return {name: nearest_orthogonal(part) for name, part in zip(names, parts, strict=True)}


def _leading(names: Sequence[str], blocks: Mapping[Pair, Tensor], dimension: int) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The largest eigenvalues of a symmetric matrix of blocks, and each language's part of their eigenvectors."""
    like = next(iter(blocks.values()))
    nothing = torch.zeros(dimension, dimension, dtype=torch.float64, device=like.device)
    rows = [torch.cat([blocks.get((one, two), nothing).double() for two in names], dim=1) for one in names]
    values, vectors = torch.linalg.eigh(torch.cat(rows))
    leading = vectors.flip(-1)[:, :dimension] * len(names) ** 0.5
    return values.flip(0)[:dimension], torch.split(leading.to(like), dimension)


def shared_maps(names: Sequence[str], vectors: Vectors, dictionaries: Dictionaries) -> dict[str, LinearMap]:
    """One map per language into a space for all, from dictionaries that all have the same weight.

    With C_ij = Σ w(x, y) xᵀy and A_i = C_ii^-½, where C_ii sums over all pairs of i, the leading eigenvectors (U_i) of
    the blocks A_i C_ij A_j are directions on which languages agree, and their eigenvalues S say how far. Language i is
    mapped by A_i U_i S^½ M, where M, the sum of the colours U_iᵀ A_i⁻¹ U_i, undoes the whitening.
    """
    moments: dict[Pair, Tensor] = {}
    for (one, two), pairs in dictionaries.items():
        x, y = vectors[one][pairs.source], vectors[two][pairs.target]
        weights = (pairs.scores / pairs.scores.sum()).unsqueeze(1)
        moments[one, two] = x.mT @ (weights * y)
        moments[two, one] = moments[one, two].mT
        for name, rows in ((one, x), (two, y)):
            earlier = moments.get((name, name), torch.zeros_like(moments[one, two]))
            moments[name, name] = earlier + rows.mT @ (weights * rows)
    whitening, colour = {}, {}
    for name in names:
        values, directions = torch.linalg.eigh(moments[name, name].double())
        roots = values.clamp_min(0.0).sqrt()
        roots = torch.where(roots > 1e-6 * roots.max(), roots, torch.ones_like(roots))
        whitening[name] = (directions / roots) @ directions.mT
        colour[name] = (directions * roots) @ directions.mT
    blocks = {
        (one, two): whitening[one] @ moment.double() @ whitening[two]
        for (one, two), moment in moments.items()
        if one != two
    }
    values, parts = _leading(names, blocks, len(next(iter(whitening.values()))))
    leading = dict(zip(names, parts, strict=True))
    colours = [leading[name].mT @ colour[name] @ leading[name] for name in names]
    common = sum(matrix / matrix.diagonal().mean() for matrix in colours)
    strength, like = values.clamp(0.0, 1.0).sqrt(), vectors[names[0]]
    return {name: LinearMap(((whitening[name] @ leading[name] * strength) @ common).to(like)) for name in names}
