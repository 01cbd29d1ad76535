"""The last step: from a good orthogonal map to one map per side that weighs directions by how well they agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from calque.errors import SettingsError
from calque.maps import LinearMap, procrustes, reweighted
from calque.progress import Listen, Step, never, quiet
from calque.retrieval import Pairs, find, mutual

FEWEST_PAIRS_A_DIMENSION = 4
"""Whitening on fewer pairs than this would fit their noise; a rotation needs fewer."""


@dataclass(frozen=True)
class RefinementSettings:
    """How the induced dictionary improves the maps that induced it."""

    rounds: int = 5
    """How often the dictionary is induced anew."""
    words: int = 20_000
    """How many of the most frequent words of each side may enter it."""
    power: float = 0.5
    """How much a shared direction is stretched by its strength: 0 not at all, 1 fully on each side."""
    retrieval: str = "csls"
    """How mutual neighbours are found."""

    def __post_init__(self) -> None:
        find(self.retrieval)
        if self.rounds < 0 or self.words < 1:
            raise SettingsError(f"rounds is {self.rounds} and words {self.words}; expected at least 0 and 1")
        if not 0 <= self.power <= 1:
            raise SettingsError(f"power is {self.power}; expected between 0 and 1")


def refine(
    source: Tensor,
    target: Tensor,
    maps: tuple[LinearMap, LinearMap],
    settings: RefinementSettings,
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
) -> tuple[LinearMap, LinearMap]:
    """Words that are each other's best become a dictionary, the dictionary makes new maps, and so on in turn."""
    source, target = source[: settings.words], target[: settings.words]
    for number in range(1, settings.rounds + 1):
        if stopped():
            break
        pairs = mutual(maps[0].apply(source), maps[1].apply(target), find(settings.retrieval))
        maps = _from_pairs(source[pairs.source], target[pairs.target], pairs, settings.power)
        listen(Step("refine", number, settings.rounds, {"pairs": float(len(pairs))}))
    return maps


def _from_pairs(source: Tensor, target: Tensor, pairs: Pairs, power: float) -> tuple[LinearMap, LinearMap]:
    dimension = int(source.shape[1])
    if len(pairs) < FEWEST_PAIRS_A_DIMENSION * dimension:
        return procrustes(source, target), LinearMap.identity(dimension, target)
    return reweighted(source, target, power)
