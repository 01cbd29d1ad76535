"""Maps and dictionary improve each other: from a rough rotation to maps that weigh directions by how well they agree.

A dictionary with doubt in it (correspondence.py) makes new maps in closed form (``two_way``), they make a better
dictionary, and so on until it no longer grows surer. From a good rotation that takes a few rounds; with a higher
temperature it also climbs, slowly, from one that is nearly all wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from calque.errors import SettingsError
from calque.linear.closed_forms import TwoWay, nearest_orthogonal, two_way
from calque.linear.maps import LinearMap
from calque.methods.default.correspondence import correspondence
from calque.progress import Listen, Step, never, quiet
from calque.retrieval.exact import Pairs

FEWEST_PAIRS_A_DIMENSION = 4
"""Whitening on fewer pairs than this would fit their noise; a rotation needs fewer."""


@dataclass(frozen=True)
class RefinementSettings:
    """How the induced dictionary improves the maps that induced it."""

    rounds: int = 12
    """How often the dictionary is induced anew, at most."""
    fewest: int = 4
    """How often at least."""
    growth: float = 0.01
    """It ends once the dictionary grows surer by less than this share in a round."""
    words: int = 20_000
    """How many of the most frequent words of each side may enter it."""
    temperature: float = 0.05
    """How a word divides its trust: near 0 its best translation gets all of it."""
    shrinkage: float = 0.75
    """How much of a direction's strength is taken to candidates, the rest to queries: ½ treats both alike, 1 is least
    squares. More leaves fewer hubs, and gains where words are sought by cosine alone."""

    def __post_init__(self) -> None:
        if self.rounds < 0 or self.fewest < 0 or self.words < 1:
            raise SettingsError(
                f"rounds is {self.rounds}, fewest {self.fewest} and words {self.words}; expected at least 0, 0 and 1"
            )
        if not self.temperature > 0 or not self.growth >= 0:
            raise SettingsError(
                f"temperature is {self.temperature} and growth {self.growth}; expected above 0, and at least 0"
            )
        if not 0 <= self.shrinkage <= 1:
            raise SettingsError(f"shrinkage is {self.shrinkage}; expected between 0 and 1")


def refine(
    source: Tensor,
    target: Tensor,
    maps: TwoWay,
    settings: RefinementSettings,
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
) -> TwoWay:
    """Dictionary and maps in turn, until the dictionary no longer grows surer."""
    source, target, sure = source[: settings.words], target[: settings.words], 0.0
    for number in range(1, settings.rounds + 1):
        if stopped():
            break
        pairs = correspondence(source, target, maps, settings.temperature)
        maps = from_pairs(source, target, pairs, settings.shrinkage)
        before, sure = sure, float(pairs.scores.sum())
        listen(Step("refine", number, settings.rounds, {"pairs": sure}))
        if number >= settings.fewest and sure - before < settings.growth * sure:
            break
    return maps


def from_pairs(source: Tensor, target: Tensor, pairs: Pairs, shrinkage: float) -> TwoWay:
    """Maps in closed form from a dictionary; a rotation where it says too little for more."""
    dimension = int(source.shape[1])
    x, y = source[pairs.source], target[pairs.target]
    if not enough(pairs, dimension):
        rotation = nearest_orthogonal(x.mT @ (pairs.scores.unsqueeze(1) * y))
        return TwoWay.of(LinearMap(rotation), LinearMap.identity(dimension, target))
    return two_way(x, y, pairs.scores, shrinkage)


def enough(pairs: Pairs, dimension: int) -> bool:
    """Whether a dictionary says enough to learn more than a rotation from it."""
    return float(pairs.scores.sum()) >= FEWEST_PAIRS_A_DIMENSION * dimension
