"""A small world with known translations, in the layout of the data folder, and an engine that solves it at once.

Every language is the same clustered cloud, rotated; word number n of one is word number n of every other.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from calque.errors import SettingsError
from calque.experiments.driver import run_plan
from calque.experiments.paper_plan import PaperRequest, paper_plan
from calque.experiments.report import Report
from calque.experiments.worker import Engine
from calque.linear.closed_forms import procrustes
from calque.linear.maps import LinearMap, Preprocessing, Side
from calque.recipes import Recipe
from calque.runs.alignment import Alignment, Record
from calque.verdict import Verdict

WORDS, DIMENSION, TRAINED = 60, 8, 40
SUPERVISED = {"mikolov2013", "zhang2016", "xing2015", "shigeto2015", "artetxe2016", "artetxe2017", "joulin2018"}


def word(language: str, number: int) -> str:
    return f"{language}{number:03}"


def vectors(language: str, dimension: int = DIMENSION) -> torch.Tensor:
    """The cloud as this language turns it."""
    cloud = torch.randn(WORDS, dimension, generator=torch.Generator().manual_seed(7))
    turning = torch.Generator().manual_seed(sum(map(ord, language)))
    return cloud @ torch.linalg.qr(torch.randn(dimension, dimension, generator=turning)).Q


def vector_text(language: str) -> str:
    rows = [
        f"{word(language, n)} {' '.join(f'{x:.6f}' for x in row)}" for n, row in enumerate(vectors(language).tolist())
    ]
    return "\n".join([f"{WORDS} {DIMENSION}", *rows]) + "\n"


def counts_text(language: str) -> str:
    return "".join(f"{word(language, n)} {1000 - n}\n" for n in range(WORDS))


def pairs_text(one: str, other: str, numbers: range) -> str:
    return "".join(f"{word(one, n)}\t{word(other, n)}\n" for n in numbers)


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def put_we_z(data: Path, language: str) -> None:
    for each in (language, "en"):
        put(data / f"we-z/{language}-en/word2vec.{each}", vector_text(each))
        put(data / f"we-z/{language}-en/vocab-freq.{each}", counts_text(each))
    for one, other in ((language, "en"), ("en", language)):
        put(data / f"lexicons/muse/{one}-{other}.tsv", pairs_text(one, other, range(WORDS)))
        put(data / f"lexicons/omw/{one}-{other}.tsv", pairs_text(one, other, range(0, WORDS, 2)))


def put_europarl(data: Path, language: str) -> None:
    for each in (language, "en"):
        put(data / f"europarl/{each}.vec.gz", vector_text(each))
        put(data / f"europarl/{each}.freq", counts_text(each))
    for one, other in ((language, "en"), ("en", language)):
        put(data / f"lexicons/muse/{one}-{other}.train.tsv", pairs_text(one, other, range(TRAINED)))
        put(data / f"lexicons/muse/{one}-{other}.test.tsv", pairs_text(one, other, range(TRAINED, WORDS)))
    put(data / f"similarity/semeval17/en-{language}-SEMEVAL17.txt", judged_text(language))


def judged_text(language: str) -> str:
    """English first; judged exactly as similar as their vectors are."""
    cloud = torch.nn.functional.normalize(vectors("en"), dim=1)
    cosines = [(n, (3 * n + 1) % WORDS) for n in range(30)]
    return "".join(
        f"{word('en', one)}\t{word(language, other)}\t{float(cloud[one] @ cloud[other]):.6f}\n"
        for one, other in cosines
    )


@dataclass(frozen=True)
class FakeGan:
    steps: int = 10
    back_translation: float = 1.0


@dataclass(frozen=True)
class FakeSettings:
    """Named as the settings of the paper's method are."""

    back_translation: float = 0.1
    gan: FakeGan = FakeGan()
    frequencies: bool = True
    cost: str = "sqrt-cosine"
    directions: str = "both"
    strength: int = 1


@dataclass
class Solver:
    """Solves by the numbers in the words, or from the lexicon where it is given one; notes every call."""

    settings: FakeSettings = field(default_factory=FakeSettings)
    calls: list[tuple[str, int]] = field(default_factory=list)
    lexicons: dict[tuple[str, int, str], object] = field(default_factory=dict)
    recipes: list[Recipe] = field(default_factory=list)
    blind: set[tuple[str, int]] = field(default_factory=set)
    """Method and seed of runs that learn nothing."""
    diverging: dict[str, Exception] = field(default_factory=dict)
    """Methods that raise, and what."""

    def find(self, name: str) -> Recipe:
        return Recipe(name, f"fake-{name}", self.settings, "")

    def run(self, recipe, source, target, seed=0, lexicon=None, **_) -> Alignment:
        if (recipe.name in SUPERVISED) != (lexicon is not None):
            raise SettingsError(f"{recipe.name}: a lexicon where none belongs, or none where one does")
        self.calls.append((recipe.name, seed))
        self.recipes.append(recipe)
        if lexicon is not None:
            self.lexicons[recipe.name, seed, source.words[0][:2]] = lexicon
        if recipe.name in self.diverging:
            raise self.diverging[recipe.name]
        known = {each: right[0] for each, right in lexicon.answers.items()} if lexicon else None
        rows = [
            (row, target.index[known[each] if known else target.words[0][:2] + each[2:]])
            for row, each in enumerate(source.words)
            if known is None or each in known
        ]
        one, other = torch.tensor(rows).T
        found = procrustes(source.vectors[one], target.vectors[other])
        if (recipe.name, seed) in self.blind:
            found = LinearMap(-found.matrix)
        sides = Side(Preprocessing(()), found), Side(Preprocessing(()), LinearMap.identity(DIMENSION, source.vectors))
        return Alignment.of((source, target), sides, Verdict("aligned", (), {}), Record(seed=seed))

    def run_seeds(self, recipe, source, target, seeds, **about) -> list[Alignment]:
        if len(seeds) > 1 and recipe.name in self.diverging:
            raise self.diverging[recipe.name]
        return [self.run(recipe, source, target, seed, **about) for seed in seeds]

    def engine(self) -> Engine:
        return Engine(self.find, self.run, self.run_seeds)

    def changed(self, **values) -> Solver:
        """The same with other settings, and nothing noted yet."""
        return Solver(replace(self.settings, **values))


def reproduce(request: PaperRequest, output: Path, engine: Engine | None = None, **options) -> Report:
    """Make a table of the paper."""
    engine = engine or Engine()
    return run_plan(paper_plan(request, engine.find), output, engine=engine, **options)
