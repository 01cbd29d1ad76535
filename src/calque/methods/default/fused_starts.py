"""Starts for pairs on which cheap starts find nothing: several weak signs of who is whom, fused, then a map from them.

No two signs of a word's place suffice by themselves when the spaces come from different texts and algorithms. Each is
a little better than chance, and thousands of words together say enough:

- *profiles by frequency band*: how similar a word is to the words of each band of frequency, as quantiles. Bands match
  between languages even where single ranks do not. Similarities are X (XᵀX)^(a-1) Xᵀ: cosines at a = 1; smaller
  exponents let strong directions count for less. Which exponent serves differs from pair to pair, so starts draw it.
- *neighbours*: how frequent, and how crowded, the neighbours of a word are.

The signs are the first cost of a transport plan. Then plan and map take turns, as in Gromov-Wasserstein: the map is
U S^p Vᵀ of the cross-covariance XᵀPY, so that a direction of which nothing is known yet stays quiet, and the cost of
the signs fades while the plan grows sharper. What comes out is right for hardly a word; `climb` does the rest.

Every start draws its own words and its own weights of the signs. So two that end alike confirm each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from calque.data.preprocess import unit
from calque.linear.maps import principal
from calque.progress import never
from calque.transport.sinkhorn import times

BANDS = (0, 100, 300, 700, 1500, 3000, 6000, 11_000, 20_000)
"""Ranks between which similarities are compared."""
BAND_WORDS = 1000
"""So many words of a band, evenly spaced, stand for all of it."""
QUANTILES = 12
DRAWN = 2600
"""Words of each side that a start draws, at most."""
TURNS = 25
EXPONENTS = ((1.0,), (0.75,), (1.0, 0.5), (0.25,), (0.75,), (1.0,))
WEIGHTS = (8.0, 16.0, 32.0)
NEIGHBOURS = (0.0, 0.02, 0.1)
POOLS = (3000, 6000)
POWERS = (0.2, 0.35)
DIMENSIONS = (60, 100)
FLAT, SHARP = 0.3, 4.0
"""How sharp the plan is in the first turn and in the last, on similarities of unit deviation."""


@dataclass(frozen=True)
class Draw:
    """What one start drew: the words and the weights of the signs."""

    dimensions: int
    exponents: tuple[float, ...]
    weight: float
    neighbours: float
    pool: int
    power: float

    @classmethod
    def of(cls, number: int, generator: torch.Generator) -> Draw:
        """The first starts of a search differ as much as they can; the rest is drawn."""

        def one_of(choices: Sequence, turn: int):  # noqa: ANN202
            return choices[
                (turn + int(torch.randint(len(choices), (1,), generator=generator)) * (len(choices) > 2)) % len(choices)
            ]

        return cls(
            one_of(DIMENSIONS, number // 2 + 1),
            EXPONENTS[number % len(EXPONENTS)],
            one_of(WEIGHTS, number),
            one_of(NEIGHBOURS, number),
            one_of(POOLS, number),
            one_of(POWERS, number // 3),
        )


def fused_start(
    source: Tensor,
    target: Tensor,
    number: int,
    generator: torch.Generator,
    stopped: Callable[[], bool] = never,
) -> Tensor:
    """The cross-covariance (k, k) that follows the fused signs of the words drawn by start ``number``."""
    draw = Draw.of(number, generator)
    most = int(source.shape[1])
    sides, rows = [], []
    for vectors in (source, target):
        pool = min(draw.pool, len(vectors))
        rows.append(torch.randperm(pool, generator=generator)[: min(DRAWN, max(1, int(0.9 * pool)))].sort().values)
        small = vectors if draw.dimensions >= most else unit(principal(vectors, draw.dimensions).apply(vectors))
        sides.append(small)
    count = min(len(rows[0]), len(rows[1]))
    rows = [chosen[:count].to(source.device) for chosen in rows]
    signs = [
        torch.cat([profiles_by_band(side, chosen, exponent) for exponent in draw.exponents], dim=1)
        for side, chosen in zip(sides, rows, strict=True)
    ]
    cost = draw.weight / len(draw.exponents) * torch.cdist(*signs).square()
    if draw.neighbours:
        cost += (
            draw.neighbours
            * torch.cdist(*(crowding(v)[chosen] for v, chosen in zip(sides, rows, strict=True))).square()
        )
    x, y = sides[0][rows[0]], sides[1][rows[1]]
    plan = fused_plan(x, y, cost, draw.power, stopped)
    return source[rows[0]].mT @ plan @ target[rows[1]]


def fused_plan(x: Tensor, y: Tensor, signs: Tensor, power: float, stopped: Callable[[], bool] = never) -> Tensor:
    """Plan and map in turn, from the plan of the signs alone to a plan of the map alone."""
    plan = scaled(-signs, 40)
    for turn in range(TURNS + 1):
        share = min(1.0, turn / (TURNS - 1))
        u, s, vh = torch.linalg.svd(x.mT @ plan @ y)
        similarity = (x @ ((u * s.clamp_min(1e-12) ** power) @ vh)) @ y.mT
        exponent = similarity.mul_(FLAT * (SHARP / FLAT) ** share / float(similarity.std()))
        if share < 1:
            exponent.add_(signs, alpha=share - 1)
        plan = scaled(exponent, 8)
        if stopped():
            break
    return plan


def scaled(exponent: Tensor, scalings: int) -> Tensor:
    """The plan of equal weights from the kernel exp(exponent). The largest entry of a row is 1 before the scaling."""
    kernel = (exponent - exponent.amax(dim=1, keepdim=True)).exp_()
    tiny = torch.finfo(kernel.dtype).tiny * 1e8
    v = torch.ones_like(kernel[0])
    for _ in range(scalings):
        u = 1 / len(kernel) / times(kernel, v).clamp_min(tiny)
        v = 1 / len(v) / times(kernel.mT, u).clamp_min(tiny)
    return kernel.mul_(u.unsqueeze(1)).mul_(v)


def profiles_by_band(vectors: Tensor, rows: Tensor, exponent: float) -> Tensor:
    """Quantiles of the similarities of some words to the words of every band, each of them standardised."""
    compared = vectors
    if exponent != 1:
        values, directions = torch.linalg.eigh((vectors.mT @ vectors).double())
        stretch = values.clamp_min(1e-10 * float(values[-1])) ** ((exponent - 1) / 2)
        compared = (vectors @ directions.to(vectors)) * stretch.to(vectors)
    asked, parts = compared[rows], []
    for begin, end in zip(BANDS, BANDS[1:], strict=False):
        band = compared[begin:end]
        if len(band) < 20:
            continue
        places = torch.linspace(0, len(band) - 1, min(len(band), BAND_WORDS)).round().long()
        ranked = _sorted(asked @ band[places.to(band.device)].mT)
        most = ranked.shape[1]
        low = torch.logspace(0, float(np.log10(most / 2)), QUANTILES).round().long().clamp(1, most) - 1
        wanted = torch.cat([low, most - 1 - low]).unique().to(ranked.device)
        parts.append(standardised(ranked[:, wanted]) / len(wanted) ** 0.5)
    return torch.cat(parts, dim=1) / len(parts) ** 0.5


def crowding(vectors: Tensor, words: int = 8000, near: tuple[int, ...] = (5, 20, 100)) -> Tensor:
    """How frequent the neighbours of a word are, and how crowded the places around them."""
    vectors = vectors[:words]
    count = len(vectors)
    scores, indices = [], []
    for begin in range(0, count, 2000):
        best = (vectors[begin : begin + 2000] @ vectors.mT).topk(min(1 + max(near), count), dim=1)
        scores.append(best.values[:, 1:])
        indices.append(best.indices[:, 1:])
    similar, neighbour = torch.cat(scores), torch.cat(indices)
    log_rank = (torch.arange(count, device=vectors.device, dtype=vectors.dtype) + 10).log().unsqueeze(1)
    density = [similar[:, :k].mean(dim=1, keepdim=True) for k in (3, 10, 50)]
    signs = standardised(torch.cat([log_rank, *density], dim=1))
    around = [signs[neighbour[:, :k]] for k in near]
    first = standardised(
        torch.cat([part for near_signs in around for part in (near_signs.mean(1), near_signs.std(1))], dim=1)
    )
    return standardised(torch.cat([first, first[neighbour[:, :20]].mean(dim=1)], dim=1))


def standardised(columns: Tensor) -> Tensor:
    """Every column with mean 0 and deviation 1."""
    centred = columns - columns.mean(dim=0)
    return centred / centred.std(dim=0).clamp_min(1e-6)


def _sorted(rows: Tensor) -> Tensor:
    """Every row in falling order; numpy sorts faster than torch on a CPU."""
    if rows.device.type == "cpu":
        return torch.from_numpy(np.sort(rows.numpy(), axis=1)).flip(1)
    return rows.sort(dim=1, descending=True).values
