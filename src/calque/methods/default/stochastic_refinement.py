"""How a rotation that is right for hardly a word becomes one that is right for most: slowly, and by chance.

Rotation and dictionary take turns, as in the refinement, but with so little trust in any pair (a high temperature) that
a few right pairs among many wrong ones can prevail; and each round hears a fifth of the pairs, drawn by lot, which
keeps wrong ones from holding each other up (as the dropped dictionary entries of Artetxe, Labaka, Agirre 2018 do).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from calque.linear.closed_forms import TwoWay, nearest_orthogonal
from calque.linear.maps import LinearMap
from calque.methods.default.correspondence import correspondence
from calque.progress import never
from calque.retrieval.exact import Pairs

TEMPERATURE = 0.2
HEARD = 0.2
"""The share of the pairs that a round hears."""


@dataclass(frozen=True, eq=False)
class Climbed:
    """Where a climb ended."""

    rotation: Tensor
    pairs: Pairs
    """The dictionary that the rotation follows, whole."""


def climb(
    source: Tensor,
    target: Tensor,
    rotation: Tensor,
    rounds: int,
    generator: torch.Generator,
    stopped: Callable[[], bool] = never,
) -> Climbed:
    """So many rounds from this rotation, and one more that hears every pair."""
    for _ in range(rounds):
        if stopped():
            break
        pairs = _dictionary(source, target, rotation)
        heard = (torch.rand(len(pairs), generator=generator) < HEARD).to(source.device)
        rotation = _rotation(source, target, Pairs(pairs.source[heard], pairs.target[heard], pairs.scores[heard]))
    pairs = _dictionary(source, target, rotation)
    return Climbed(_rotation(source, target, pairs), pairs)


def _dictionary(source: Tensor, target: Tensor, rotation: Tensor) -> Pairs:
    maps = TwoWay.of(LinearMap(rotation), LinearMap.identity(len(rotation), rotation))
    return correspondence(source, target, maps, TEMPERATURE)


def _rotation(source: Tensor, target: Tensor, pairs: Pairs) -> Tensor:
    weighted = pairs.scores.unsqueeze(1) * target[pairs.target]
    return nearest_orthogonal(source[pairs.source].mT @ weighted)
