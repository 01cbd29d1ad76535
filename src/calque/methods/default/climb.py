"""From a map that is right for hardly a word to one that is right for most: slowly, and with chance in it.

Every round draws words of both sides at random, makes a dictionary with weights between them from the map, and makes
the next map from that dictionary. Three things let a few right pairs win among many wrong ones:

- fresh words: a map cannot be kept up by the wrong pairs that made it, because the next round asks other words;
- a high temperature: no pair is trusted much;
- quiet directions: words are compared as x U S^(p/2) with y V S^(p/2), where U S Vᵀ is the cross-covariance of the
  dictionary. A direction that it says little about has a small s and so counts for little. The power p falls to 0,
  where the map is a rotation (p = 0 is Procrustes; p = 1 compares by inner products, as Gromov-Wasserstein does).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from calque.errors import SettingsError
from calque.linear.maps import unit
from calque.methods.default.correspondence import Lists, trusted
from calque.progress import never
from calque.retrieval.exact import NEIGHBOURHOOD, Neighbours, Pairs, blocks, top


@dataclass(frozen=True)
class ClimbSettings:
    """How a start becomes a map."""

    rounds: int = 60
    """How often the dictionary is made anew."""
    words: int = 12_000
    """Words are drawn from so many of the most frequent ones."""
    drawn: int = 4000
    """How many words of each side a round draws; two fifths of them where there are fewer words."""
    power: float = 0.5
    """p in the first round. 0 makes every map a rotation at once, which is for starts that know much."""
    temperature: float = 0.2
    """How a word divides its trust; higher is slower and forgives more."""

    def __post_init__(self) -> None:
        if min(self.rounds, self.words, self.drawn) < 1:
            raise SettingsError(
                f"rounds is {self.rounds}, words {self.words} and drawn {self.drawn}; expected at least 1 of each"
            )
        if not self.temperature > 0 or not 0 <= self.power <= 1:
            raise SettingsError(
                f"temperature is {self.temperature} and power {self.power}; expected above 0, and between 0 and 1"
            )


SHARE = 0.4
"""A round draws at most this share of the words: the next one must ask others."""
AVERAGED = 5
"""The map at the end follows the dictionaries of so many last rounds."""


def climb(
    source: Tensor,
    target: Tensor,
    gram: Tensor,
    settings: ClimbSettings,
    generator: torch.Generator,
    known: tuple[Tensor, Tensor] | None = None,
    stopped: Callable[[], bool] = never,
) -> Tensor:
    """The cross-covariance (k, k) that rounds from ``gram`` lead to; its rotation is the map.

    ``known`` are rows that are said to correspond: every round hears them, whatever it draws.
    """
    source, target = source[: settings.words], target[: settings.words]
    heard = None if known is None else source[known[0]].mT @ target[known[1]]
    drawn = [min(settings.drawn, max(1, int(SHARE * len(side)))) for side in (source, target)]
    last: list[Tensor] = []
    for number in range(settings.rounds):
        if stopped():
            break
        power = settings.power * max(0.0, 1 - number / (0.8 * settings.rounds))
        x, y = (
            side[torch.randperm(len(side), generator=generator)[:count].to(side.device)]
            for side, count in zip((source, target), drawn, strict=True)
        )
        pairs = dictionary(x, y, gram, power, settings.temperature)
        gram = x[pairs.source].mT @ (pairs.scores.unsqueeze(1) * y[pairs.target])
        if heard is not None:
            gram = gram + heard
        last = [*last[1 - AVERAGED :], gram]
    return torch.stack(last).mean(dim=0) if last else gram


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
