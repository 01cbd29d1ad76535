"""Starts for pairs on which cheap starts find nothing: several weak signs of who translates whom, put together.

When two spaces come from different texts and algorithms, no sign of a word's place says enough by itself. Each is a
little better than chance, and over thousands of words they add up:

- *profiles by frequency band*: how similar a word is to the words of each band of frequency, as quantiles. Bands match
  between languages even where single ranks do not. Similarities are X (XᵀX)^(a-1) Xᵀ: cosines at a = 1; with a smaller
  exponent the strong directions count for less. Which exponent serves differs from pair to pair.
- *neighbours*: how frequent the neighbours of a word are, and how crowded the places around them.

The signs are the first cost of a transport plan. Then plan and map take turns, as in Gromov-Wasserstein. The map is
U S^p Vᵀ of the cross-covariance XᵀPY = U S Vᵀ, so that a direction of which nothing is known yet counts for little. The
signs fade while the plan grows sharper. The result is right for hardly a word; the climb (climb.py) does the rest.

Every start draws its own words and its own mixture of signs. So two starts that end alike confirm each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from calque.linear.maps import unit
from calque.progress import never
from calque.transport.sinkhorn import times

BANDS = (0, 100, 300, 700, 1500, 3000, 6000, 11_000, 20_000)
"""Ranks between which similarities are compared."""
BAND_WORDS = 1000
"""So many words of a band, evenly spaced, stand for all of it."""
QUANTILES = 12
"""Quantiles at either end of a band."""
DRAWN = 2600
"""Words of each side that a start draws, at most."""
TURNS = 25
"""How often plan and map take turns."""
FLAT, SHARP = 0.3, 4.0
"""Sharpness of the plan in the first and in the last turn, for similarities of deviation 1."""


@dataclass(frozen=True)
class Mixture:
    """What one start is made of. Each choice finds pairs that others miss (chosen on training pairs)."""

    exponents: tuple[float, ...]
    """Of the similarities whose profiles are compared."""
    profile_weight: float
    neighbour_weight: float
    pool: int
    """Words are drawn from so many of the most frequent ones."""
    power: float
    """p of the map U S^p Vᵀ."""
    dimensions: int

    @classmethod
    def drawn(cls, number: int, generator: torch.Generator) -> Mixture:
        """That of start ``number``. Exponents are taken in turn, so that a few starts already differ much."""

        def one_of(*choices: float) -> float:
            return choices[int(torch.randint(len(choices), (1,), generator=generator))]

        exponents = ((1.0,), (0.75,), (1.0, 0.5), (0.25,), (0.75,), (1.0, 0.5))[number % 6]
        return cls(
            exponents,
            profile_weight=one_of(8, 16, 32),
            neighbour_weight=one_of(0, 0.02, 0.1),
            pool=int(one_of(3000, 6000)),
            power=one_of(0.2, 0.35),
            dimensions=int(one_of(60, 100)),
        )


def fused_start(
    source: Tensor, target: Tensor, number: int, generator: torch.Generator, stopped: Callable[[], bool] = never
) -> Tensor:
    """The cross-covariance (k, k) that follows the plan of the fused signs, of the words that this start draws."""
    mixture = Mixture.drawn(number, generator)
    drawn, small, profiles = [], [], []
    words = min(len(source), len(target))
    count = min(DRAWN, int(0.9 * min(mixture.pool, words)))
    for vectors in (source, target):
        rows = torch.randperm(min(mixture.pool, len(vectors)), generator=generator)[:count].sort().values
        drawn.append(rows.to(vectors.device))
        small.append(unit(vectors[:, : mixture.dimensions]))
        profiles.append(torch.cat([profiles_by_band(small[-1], drawn[-1], a, words) for a in mixture.exponents], dim=1))
    cost = torch.cdist(profiles[0], profiles[1]).square_().mul_(mixture.profile_weight / len(mixture.exponents))
    if mixture.neighbour_weight:
        neighbours = [neighbour_signs(vectors)[rows] for vectors, rows in zip(small, drawn, strict=True)]
        cost += mixture.neighbour_weight * torch.cdist(neighbours[0], neighbours[1]).square_()
    plan = fused_plan(small[0][drawn[0]], small[1][drawn[1]], cost, mixture.power, stopped)
    return source[drawn[0]].mT @ (plan @ target[drawn[1]])


def fused_plan(x: Tensor, y: Tensor, signs: Tensor, power: float, stopped: Callable[[], bool] = never) -> Tensor:
    """Plan and map in turn, from a plan by the signs alone to a plan by the map alone."""
    plan = _scaled(-signs, 40)
    for turn in range(TURNS + 1):
        share = min(1.0, turn / (TURNS - 1))
        u, s, vh = torch.linalg.svd(x.mT @ (plan @ y))
        similarity = (x @ ((u * s.clamp_min(1e-12) ** power) @ vh)) @ y.mT
        exponent = similarity.mul_(FLAT * (SHARP / FLAT) ** share / max(float(similarity.std()), 1e-12))
        if share < 1:
            exponent.add_(signs, alpha=share - 1)
        plan = _scaled(exponent, 8)
        if stopped():
            break
    return plan


def _scaled(exponent: Tensor, scalings: int) -> Tensor:
    """The transport plan of the kernel exp(exponent) between equal weights."""
    kernel = (exponent - exponent.amax(dim=1, keepdim=True)).exp_()
    v = torch.ones_like(kernel[0])
    for _ in range(scalings):
        u = 1 / len(kernel) / times(kernel, v).clamp_min(1e-30)
        v = 1 / len(v) / times(kernel.mT, u).clamp_min(1e-30)
    return kernel.mul_(u.unsqueeze(1)).mul_(v)


def profiles_by_band(vectors: Tensor, rows: Tensor, exponent: float, words: int) -> Tensor:
    """Quantiles of the similarities of some words to the words of each band, standardised one by one.

    Bands end at ``words``, the size of the smaller vocabulary: profiles of both sides must be equally long.
    """
    compared = vectors
    if exponent != 1:
        values, directions = torch.linalg.eigh((vectors.mT @ vectors).double())
        stretch = values.clamp_min(max(1e-20, 1e-10 * float(values[-1]))) ** ((exponent - 1) / 2)
        compared = (vectors @ directions.to(vectors)) * stretch.to(vectors)
    asked = compared[rows]
    parts: list[Tensor] = []
    for begin, end in pairwise(BANDS):
        band = compared[begin : min(end, words)]
        if parts and len(band) < 20:
            continue
        places = torch.linspace(0, len(band) - 1, min(len(band), BAND_WORDS)).round().long()
        ranked = _in_rising_order(asked @ band[places.to(band.device)].mT)
        most = ranked.shape[1]
        low = torch.logspace(0, float(np.log10(max(1.0, most / 2))), QUANTILES).round().long().clamp(1, most) - 1
        wanted = torch.unique(torch.cat([low, most - 1 - low])).to(ranked.device)
        parts.append(_standardised(ranked[:, wanted]) / len(wanted) ** 0.5)
    joined: Tensor = torch.cat(parts, dim=1) / len(parts) ** 0.5
    return joined


def neighbour_signs(vectors: Tensor, words: int = 8000) -> Tensor:
    """How frequent the neighbours of a word are, and how crowded the places around them, near and further away."""
    vectors = vectors[:words]
    similar, neighbour = [], []
    for block in torch.split(vectors, 2000):
        best = (block @ vectors.mT).topk(min(101, len(vectors)), dim=1)
        similar.append(best.values[:, 1:])
        neighbour.append(best.indices[:, 1:])
    scores, rows = torch.cat(similar), torch.cat(neighbour)
    log_rank = (torch.arange(len(vectors), device=vectors.device, dtype=vectors.dtype) + 10).log().unsqueeze(1)
    crowded = [scores[:, :k].mean(dim=1, keepdim=True) for k in (3, 10, 50)]
    own = _standardised(torch.cat([log_rank, *crowded], dim=1))
    around = [statistic for k in (5, 20, 100) for statistic in (own[rows[:, :k]].mean(1), own[rows[:, :k]].std(1))]
    first = _standardised(torch.cat(around, dim=1))
    second = first[rows[:, :20]].mean(dim=1)
    return _standardised(torch.cat([first, second], dim=1))


def _standardised(columns: Tensor) -> Tensor:
    """Every column with mean 0 and deviation 1."""
    centred = columns - columns.mean(dim=0)
    scaled: Tensor = centred / centred.std(dim=0).clamp_min(1e-6)
    return scaled


def _in_rising_order(rows: Tensor) -> Tensor:
    """Every row sorted. On a CPU numpy sorts faster than torch."""
    if rows.device.type == "cpu":
        return torch.from_numpy(np.sort(rows.numpy(), axis=1))
    return rows.sort(dim=1).values
