"""What a sweep is: which spaces, which pairs of them, by which recipes, from which seeds, judged by what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from calque.data.lexicon import Lexicon
from calque.experiments.jobs import SpaceFile
from calque.recipes import Recipe


@dataclass(frozen=True)
class Pair:
    """Two spaces by name; maps go both ways."""

    source: str
    target: str

    @property
    def name(self) -> str:
        """'es-en': there."""
        return f"{self.source}-{self.target}"

    @property
    def back(self) -> str:
        """'en-es': and back."""
        return f"{self.target}-{self.source}"


@dataclass(frozen=True)
class Key:
    """Which run it is."""

    pair: str
    method: str
    """The name of its recipe."""
    seed: int

    @property
    def stem(self) -> str:
        """Where it lies among the runs: a folder a pair, since there may be very many."""
        return f"{quote(self.pair, safe='')}/{quote(self.method, safe='')}.{self.seed}"

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.stem}.json"


@dataclass(frozen=True)
class Wish:
    """What one run of a recipe shall have."""

    cpus: int = 1
    gpus: float | None = None
    """A part of a GPU; None: a quarter where there is a GPU and the device allows it."""


@dataclass(frozen=True)
class WordPairs:
    """A lexicon and its file."""

    path: Path
    lexicon: Lexicon
    turned: bool = False
    """Whether the file has it the other way round."""


@dataclass(frozen=True)
class Plan:
    """A plan whose every name and file has been found."""

    path: Path
    spaces: Mapping[str, SpaceFile]
    pairs: tuple[Pair, ...]
    recipes: tuple[Recipe, ...]
    seeds: tuple[int, ...]
    lexicons: Mapping[str, WordPairs] = field(default_factory=dict)
    """What judges a direction, by its name; a pair has both or none."""
    training: Mapping[str, WordPairs] = field(default_factory=dict)
    """What supervised recipes learn from, the same way."""
    wishes: Mapping[str, Wish] = field(default_factory=dict)
    """By recipe."""
    retrieval: str = "csls"
    """What the table shows; both are measured."""
    device: str = "auto"
    save: bool = False
    """Whether the folder of every run is kept."""
    notes: tuple[str, ...] = ()
    """What the reader should know before it begins."""

    @property
    def total(self) -> int:
        """How many runs it has."""
        return len(self.pairs) * len(self.recipes) * len(self.seeds)

    @property
    def most_cpus(self) -> int:
        """The largest share of any recipe."""
        return max(self.wish(recipe).cpus for recipe in self.recipes)

    def wish(self, recipe: Recipe) -> Wish:
        """What a run of this recipe shall have."""
        return self.wishes.get(recipe.name, Wish())

    def judges(self, pair: Pair) -> tuple[WordPairs, WordPairs] | None:
        """What judges a pair, there and back; None where nothing does."""
        return (self.lexicons[pair.name], self.lexicons[pair.back]) if pair.name in self.lexicons else None

    def trains(self, pair: Pair) -> WordPairs | None:
        """What a supervised recipe learns a pair from."""
        return self.training.get(pair.name)


def in_tiles(plan: Plan, hold: int) -> list[Pair]:
    """The pairs in an order in which few spaces serve many runs, where only ``hold`` fit into memory.

    Spaces are taken in blocks of half as many, and all pairs between two blocks are done before the next block is
    read: n spaces are read n²/hold times in all, and not once a pair.
    """
    places = {name: place // max(1, hold // 2) for place, name in enumerate(plan.spaces)}

    def tile(pair: Pair) -> tuple[int, int]:
        row, column = sorted((places[pair.source], places[pair.target]))
        # To and fro, so that the block at the end of one row is there at the beginning of the next.
        return row, -column if row % 2 else column

    return sorted(plan.pairs, key=tile)
