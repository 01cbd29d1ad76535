"""From a map that is right for hardly a word to one that is right for most: slowly, and with chance in it.

Every round makes a dictionary with weights from the map, draws a fifth of its pairs at random, and makes the next map
from those. Three things let a few right pairs win among many wrong ones:

- a high temperature: no pair is trusted much;
- the random fifth: wrong pairs cannot keep each other up (Artetxe, Labaka, Agirre 2018 drop pairs for this reason);
- quiet directions: words are compared as x U S^(p/2) with y V S^(p/2), where U S Vᵀ is the cross-covariance of the
  pairs drawn. A direction that the pairs say little about has a small s and so counts for little. The power p falls
  to 0, where the map is a rotation (p = 0 is Procrustes; p = 1 compares by inner products, as Gromov-Wasserstein does).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from calque.data.preprocess import unit
from calque.errors import SettingsError
from calque.linear.maps import nearest_orthogonal
from calque.progress import never
from calque.retrieval.exact import NEIGHBOURHOOD, Neighbours, Pairs, blocks, top
from calque.methods.default.correspondence import Lists, trusted


@dataclass(frozen=True)
class ClimbSettings:
    """How a start becomes a map."""

    rounds: int = 60
    """How often the dictionary is made anew."""
    words: int = 8000
    """How many of the most frequent words of each side take part. More words find weaker starts, at a higher cost."""
    power: float = 0.5
    """p in the first round; 0 makes every map a rotation at once, which is for starts that know much."""
    temperature: float = 0.2
    """How a word divides its trust; higher is slower and forgives more."""
    heard: float = 0.2
    """The share of the pairs that a round draws."""

    def __post_init__(self) -> None:
        if self.rounds < 0 or self.words < 1:
            raise SettingsError(f"rounds is {self.rounds} and words {self.words}; expected at least 0 and 1")
        if not self.temperature > 0 or not 0 < self.heard <= 1 or not 0 <= self.power <= 1:
            raise SettingsError(
                f"temperature is {self.temperature}, heard {self.heard} and power {self.power}; "
                "expected above 0, between 0 and 1, and between 0 and 1"
            )


@dataclass(frozen=True, eq=False)
class Climbed:
    """Where a climb ended."""

    rotation: Tensor
    gram: Tensor
    """The cross-covariance of the last dictionary."""
    pairs: Pairs
    """The dictionary that the rotation follows, whole."""
    trust: float
    """The sum of the weights of its pairs, as a share of the words."""


def climb(
    source: Tensor,
    target: Tensor,
    gram: Tensor,
    settings: ClimbSettings,
    generator: torch.Generator,
    known: tuple[Tensor, Tensor] | None = None,
    stopped: Callable[[], bool] = never,
) -> Climbed:
    """Rounds from the cross-covariance ``gram``, and one more that takes every pair.

    ``known`` are rows that are sure to correspond: every round takes them, whatever it draws.
    """
    source, target = source[: settings.words], target[: settings.words]
    sure = None if known is None else source[known[0]].mT @ target[known[1]]
    for number in range(settings.rounds + 1):
        last = number == settings.rounds or stopped()
        power = settings.power * max(0.0, 1 - number / (0.8 * max(1, settings.rounds)))
        pairs = dictionary(source, target, gram, 0.0 if last else power, settings.temperature)
        if not last:
            drawn = (torch.rand(len(pairs), generator=generator) < settings.heard).to(source.device)
            pairs = Pairs(pairs.source[drawn], pairs.target[drawn], pairs.scores[drawn])
        gram = source[pairs.source].mT @ (pairs.scores.unsqueeze(1) * target[pairs.target])
        if sure is not None:
            gram = gram + sure * (1.0 if last else settings.heard)
        if last:
            break
    trust = float(pairs.scores.sum()) / min(len(source), len(target))
    return Climbed(nearest_orthogonal(gram), gram, pairs, trust)


def dictionary(source: Tensor, target: Tensor, gram: Tensor, power: float, temperature: float) -> Pairs:
    """Pairs with weights, of words compared as x U S^(p/2) and y V S^(p/2)."""
    u, s, vh = torch.linalg.svd(gram, full_matrices=False)
    strength = (s / s[0].clamp_min(1e-30)).clamp_min(1e-9) ** (power / 2)
    return trusted(mutual_lists(unit(source @ (u * strength)), unit(target @ (vh.mT * strength))), temperature)


def mutual_lists(source: Tensor, target: Tensor, k: int = NEIGHBOURHOOD) -> Lists:
    """The ``k`` nearest words of every word of both sides: each block of similarities is looked at along both."""
    k = min(k, len(source), len(target))
    there, best = [], Neighbours(torch.empty((len(target), 0), dtype=torch.long, device=target.device), target[:, :0])
    for rows in blocks(len(source), len(target)):
        similarities = source[rows] @ target.mT
        there.append(top(similarities, k))
        column = top(similarities.mT.contiguous(), min(k, len(similarities)))
        scores = torch.cat([best.scores, column.scores], dim=1)
        indices = torch.cat([best.indices, column.indices + rows.start], dim=1)
        chosen = scores.topk(min(k, scores.shape[1]), dim=1)
        best = Neighbours(indices.gather(1, chosen.indices), chosen.values)
    whole = Neighbours(torch.cat([part.indices for part in there]), torch.cat([part.scores for part in there]))
    return Lists(whole, best)
