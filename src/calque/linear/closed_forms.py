"""Closed forms for linear maps: from rows of two spaces that correspond, and from one space alone."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from calque.linear.maps import LinearMap, pseudo_inverse


def procrustes(source: Tensor, target: Tensor) -> LinearMap:
    """The orthogonal W that minimises ||X W - Y|| for rows that correspond (Schönemann 1966)."""
    return LinearMap(nearest_orthogonal(source.mT @ target))


def nearest_orthogonal(gram: Tensor) -> Tensor:
    """The orthogonal W that maximises <W, C>: U Vᵀ where C = U S Vᵀ. Leading dimensions are a batch."""
    u, _, vh = torch.linalg.svd(gram, full_matrices=False)
    product: Tensor = u @ vh
    return product


def least_squares(source: Tensor, target: Tensor, ridge: float = 0.0) -> LinearMap:
    """The W that minimises ||X W - Y||² + ridge ||W||²; if several do, the one of least norm."""
    if ridge == 0.0:
        return LinearMap(pseudo_inverse(source) @ target)
    gram = source.mT @ source
    return LinearMap(torch.linalg.solve(gram + ridge * torch.eye(len(gram)).to(gram), source.mT @ target))


def principal(vectors: Tensor, dimension: int) -> LinearMap:
    """Onto the ``dimension`` leading principal directions: orthogonal ones in which the vectors are longest."""
    _, directions = torch.linalg.eigh(vectors.mT @ vectors)
    return LinearMap(directions.flip(-1)[..., :dimension].contiguous())


def reweighted(source: Tensor, target: Tensor, power: float = 0.5) -> tuple[LinearMap, LinearMap]:
    """One map per side into a common space, from rows that correspond (Artetxe, Labaka, Agirre 2018, section 3.4).

    Whiten each side on its own rows (X A, with AᵀXᵀX A = 1), rotate both onto the singular vectors U, V of what they
    then share, XᵀY = U S Vᵀ, stretch each shared direction by S^power, and undo the whitening inside the rotation:
    W_x = A U S^p Uᵀ A⁻¹ U, W_y = B V S^p Vᵀ B⁻¹ V. Directions on which the two sides agree count for more.
    """
    whiten_x, colour_x = _whitening(source)
    whiten_y, colour_y = _whitening(target)
    u, s, vh = torch.linalg.svd((source @ whiten_x).mT @ (target @ whiten_y), full_matrices=False)
    stretch = torch.diag(s.clamp_min(0.0) ** power)
    return (
        LinearMap(whiten_x @ u @ stretch @ u.mT @ colour_x @ u),
        LinearMap(whiten_y @ vh.mT @ stretch @ vh @ colour_y @ vh.mT),
    )


@dataclass(frozen=True, eq=False)
class TwoWay:
    """Maps of both sides into a common space, for each direction of translation: (source, target) both times."""

    there: tuple[LinearMap, LinearMap]
    back: tuple[LinearMap, LinearMap]

    @classmethod
    def of(cls, source: LinearMap, target: LinearMap) -> TwoWay:
        """The same maps in both directions."""
        return cls((source, target), (source, target))


def two_way(source: Tensor, target: Tensor, weights: Tensor, shrinkage: float) -> TwoWay:
    """Maps from weighted rows that correspond, which treat queries and candidates differently.

    Whiten each side, A = (XᵀX)^-½ and B = (YᵀY)^-½, and rotate both onto the singular vectors of what they then
    share, AXᵀYB = U S Vᵀ. Give both the mean M of their two colours, UᵀA⁻¹U and VᵀB⁻¹V. S says how far each shared
    direction can be trusted; with q = ``shrinkage``, queries are mapped by A U S^(1-q) M and candidates by B V S^q M.
    On the way back source and target change parts. With q = 1, candidates are predicted from queries by least squares,
    which leaves few hubs (Shigeto et al. 2015). With q = ½ both sides are treated alike, as in `reweighted`, but for
    the colours.
    """
    root = weights.sqrt().unsqueeze(1)
    whiten_x, colour_x = _whitening(root * source)
    whiten_y, colour_y = _whitening(root * target)
    u, s, vh = torch.linalg.svd(whiten_x @ (source.mT @ (weights.unsqueeze(1) * target)) @ whiten_y)
    colours = u.mT @ colour_x @ u, vh @ colour_y @ vh.mT
    mean_colour = sum(colour / colour.diagonal().mean() for colour in colours)
    source_side, target_side = whiten_x @ u, whiten_y @ vh.mT

    def side_map(side: Tensor, power: float) -> LinearMap:
        return LinearMap((side * s.clamp(0.0, 1.0) ** power) @ mean_colour)

    query, candidate = 1 - shrinkage, shrinkage
    return TwoWay(
        there=(side_map(source_side, query), side_map(target_side, candidate)),
        back=(side_map(source_side, candidate), side_map(target_side, query)),
    )


def _whitening(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """(XᵀX)^-½ and (XᵀX)^½; directions in which X has no extent stay as they are."""
    values, directions = torch.linalg.eigh(vectors.mT @ vectors)
    roots = values.clamp_min(0.0).sqrt()
    roots = torch.where(roots > 1e-6 * roots.max(), roots, torch.ones_like(roots))
    return (directions / roots) @ directions.mT, (directions * roots) @ directions.mT
