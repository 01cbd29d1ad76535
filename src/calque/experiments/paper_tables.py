"""The tables of the paper as data: which pairs, which methods, which figures.

A figure of None is a dash in the paper: the method did not converge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from calque.errors import SettingsError
from calque.experiments.plan import Entrant

Task = Literal["translation", "similarity"]


@dataclass(frozen=True)
class Block:
    """One table as the paper prints it."""

    title: str
    directions: tuple[str, ...]
    """'es-en': query words in Spanish, candidates in English; for similarity, the pair."""
    figures: Mapping[str, tuple[float | None, ...]]
    """By method, a figure for each direction; empty if the paper prints none."""

    def __post_init__(self) -> None:
        for method, figures in self.figures.items():
            assert len(figures) == len(self.directions), method

    def figure(self, method: str, direction: str) -> tuple[float | None, ...]:
        """The published figure alone; empty if the paper has no such cell."""
        if method not in self.figures or direction not in self.directions:
            return ()
        return (self.figures[method][self.directions.index(direction)],)

    def only(self, directions: Iterable[str]) -> Block:
        """The same block with fewer columns."""
        places = [place for place, direction in enumerate(self.directions) if direction in set(directions)]
        figures = {method: tuple(row[place] for place in places) for method, row in self.figures.items()}
        return Block(self.title, tuple(self.directions[place] for place in places), figures)


@dataclass(frozen=True)
class PaperTable:
    """A table that `calque reproduce` can make."""

    name: str
    task: Task
    vectors: Literal["we-z", "we-c"]
    """we-z: 50 dimensions, comparable texts. we-c: 300 dimensions, fastText or what stands in for it."""
    lexicons: tuple[str, ...]
    """Those to choose from, the usual one first."""
    split: bool
    """Whether lexicons are halved at random, by seed; if not, they come as training and test files."""
    blocks: tuple[Block, ...]

    @property
    def pairs(self) -> tuple[str, ...]:
        """Every pair once, in the direction that the paper prints first."""
        pairs: dict[str, None] = {}
        for direction in (direction for block in self.blocks for direction in block.directions):
            if turned(direction) not in pairs:
                pairs[direction] = None
        return tuple(pairs)

    def directions(self, pair: str) -> tuple[str, ...]:
        """The columns of a pair."""
        return (pair,) if self.task == "similarity" else (pair, turned(pair))


def turned(direction: str) -> str:
    """'es-en' as 'en-es'."""
    return "-".join(reversed(direction.split("-")))


METHODS = (
    Entrant("mikolov2013", "Mikolov et al. 2013", True, 0, random=False),
    Entrant("zhang2016", "Zhang et al. 2016", True, 1, random=False),
    Entrant("xing2015", "Xing et al. 2015", True, 2, random=False),
    Entrant("shigeto2015", "Shigeto et al. 2015", True, 3, random=False),
    Entrant("artetxe2016", "Artetxe et al. 2016", True, 4, random=False),
    Entrant("artetxe2017", "Artetxe et al. 2017", True, 6, random=False),
    Entrant("joulin2018", "Joulin et al. 2018", True, 7, published=False, random=False),
    Entrant("conneau2017", "Conneau et al. 2017", False, 9),
    Entrant("zhang2017", "Zhang et al. 2017", False, 10),
    Entrant("paper", "Xu et al. 2018, the paper", False, 11),
    Entrant("artetxe2018", "Artetxe et al. 2018", False, 8, published=False),
    Entrant("default", "calque", False, 5, published=False),
)
"""In the paper's order and groups; in each group, those that the paper does not have stand last."""


def _variant(name: str, label: str, changes: Mapping[str, Any]) -> Entrant:
    return Entrant(name, label, False, 11, published=False, recipe="paper", changes=changes)


VARIANTS = (
    _variant("paper", "the paper's method", {}),
    _variant(
        "without-back-translation",
        "without back-translation",
        {"back_translation": 0.0, "gan": {"back_translation": 0.0}},
    ),
    _variant("without-gan", "without the GAN start", {"gan": {"steps": 0}}),
    _variant("without-frequencies", "without frequencies", {"frequencies": False}),
    _variant("euclidean", "Euclidean instead of √cos", {"cost": "euclidean"}),
    _variant("one-direction", "one direction only", {"directions": "forward"}),
)
"""The ablation of the paper's supplement, the whole method first."""


def entrants_of(table: str, names: Sequence[str] | None = None) -> tuple[Entrant, ...]:
    """The methods of these names, in the order of the table; all methods without names."""
    entrants = VARIANTS if table == "ablation" else METHODS
    choices = [entrant.name for entrant in entrants]
    for name in names or ():
        if name not in choices:
            raise SettingsError(f"{table} has no method called {name!r}; there are: {', '.join(choices)}")
    return tuple(entrant for entrant in entrants if names is None or entrant.name in names)


LEX_Z = Block(
    "Table 2: accuracy@1 on LEX-Z",
    ("tr-en", "en-tr", "es-en", "en-es", "zh-en", "en-zh", "it-en", "en-it"),
    {
        "mikolov2013": (19.41, 10.81, 68.73, 41.19, 45.88, 45.37, 59.83, 41.26),
        "zhang2016": (23.39, 11.07, 72.36, 41.19, 48.01, 42.66, 63.19, 40.37),
        "xing2015": (24.00, 10.78, 71.92, 41.02, 48.10, 42.90, 62.81, 40.43),
        "shigeto2015": (26.56, 8.52, 72.23, 37.80, 49.95, 38.15, 63.14, 35.63),
        "artetxe2016": (23.49, 10.74, 71.98, 41.12, 48.01, 42.66, 63.14, 40.28),
        "artetxe2017": (22.88, 10.78, 72.61, 41.62, 47.54, 42.82, 61.32, 39.63),
        "conneau2017": (4.09, 1.41, 60.16, 33.58, 41.98, 34.70, 26.98, 15.47),
        "zhang2017": (15.83, 7.41, 63.41, 37.73, 42.08, 41.26, 54.75, 37.17),
        "paper": (23.29, 9.96, 73.05, 41.95, 49.03, 44.63, 61.42, 39.63),
    },
)

LEX_C_FAR = Block(
    "Table 3: accuracy@1 on LEX-C, pairs further apart",
    ("bg-en", "en-bg", "ca-en", "en-ca", "sv-en", "en-sv", "lv-en", "en-lv"),
    {
        "mikolov2013": (44.80, 48.47, 57.73, 66.20, 43.73, 63.73, 26.53, 28.93),
        "zhang2016": (50.60, 39.73, 63.40, 58.73, 50.87, 53.93, 34.53, 22.87),
        "xing2015": (50.33, 40.00, 63.40, 58.53, 51.13, 53.73, 34.27, 21.60),
        "shigeto2015": (61.00, 33.80, 69.33, 53.60, 61.27, 41.67, 42.20, 13.87),
        "artetxe2016": (53.27, 43.40, 65.27, 60.87, 54.07, 55.93, 35.80, 26.47),
        "artetxe2017": (47.27, 34.40, 61.27, 56.73, 38.07, 44.20, 24.07, 12.20),
        "conneau2017": (26.47, 13.87, 41.00, 33.07, 24.27, 24.47, None, None),
        "zhang2017": (None,) * 8,
        "paper": (50.33, 34.27, 58.60, 54.60, 48.13, 50.47, 27.73, 13.53),
    },
)

LEX_C_NEAR = Block(
    "Table 4: accuracy@1 on LEX-C, pairs nearer to each other",
    ("de-en", "en-de", "es-en", "en-es", "fr-en", "en-fr", "it-en", "en-it"),
    {
        "mikolov2013": (61.93, 73.07, 74.00, 80.73, 71.33, 82.20, 68.93, 77.60),
        "zhang2016": (67.67, 69.87, 77.27, 78.53, 76.07, 78.20, 72.40, 73.40),
        "xing2015": (67.73, 69.53, 77.20, 78.60, 76.33, 78.67, 72.00, 73.33),
        "shigeto2015": (71.07, 63.73, 81.07, 74.53, 79.93, 73.13, 76.47, 68.13),
        "artetxe2016": (69.13, 72.13, 78.27, 80.07, 77.73, 79.20, 73.60, 74.47),
        "artetxe2017": (68.07, 69.20, 75.60, 78.20, 74.47, 77.67, 70.53, 71.67),
        "conneau2017": (69.87, 71.53, 78.53, 79.40, 77.67, 78.33, 74.60, 75.80),
        "zhang2017": (None,) * 8,
        "paper": (67.00, 69.33, 77.80, 79.53, 75.47, 77.93, 72.60, 73.47),
    },
)

SIMILARITY = Block(
    "Table 5: Pearson correlation with human judgement of similarity",
    ("de-en", "es-en", "fa-en", "it-en"),
    {
        "mikolov2013": (0.71, 0.72, 0.68, 0.71),
        "zhang2016": (0.71, 0.71, 0.69, 0.71),
        "xing2015": (0.72, 0.71, 0.69, 0.72),
        "shigeto2015": (0.72, 0.72, 0.69, 0.71),
        "artetxe2016": (0.73, 0.72, 0.70, 0.73),
        "artetxe2017": (0.70, 0.70, 0.67, 0.71),
        "conneau2017": (0.71, 0.71, 0.68, 0.71),
        "zhang2017": (None,) * 4,
        "paper": (0.71, 0.71, 0.67, 0.71),
    },
)

ABLATION = Block(
    "Ablation: accuracy@1 of the paper's method with one part taken out",
    ("es-en", "en-es", "zh-en", "en-zh", "it-en", "en-it"),
    {},
)
"""The paper has these figures in a supplement that cannot be obtained."""

TABLES = {
    table.name: table
    for table in (
        PaperTable("lex-z", "translation", "we-z", ("muse", "omw"), True, (LEX_Z,)),
        PaperTable("lex-c", "translation", "we-c", ("muse",), False, (LEX_C_FAR, LEX_C_NEAR)),
        PaperTable("similarity", "similarity", "we-c", ("muse",), False, (SIMILARITY,)),
        PaperTable("ablation", "translation", "we-z", ("muse", "omw"), True, (ABLATION,)),
    )
}
"""Every table by name."""


def find_table(name: str) -> PaperTable:
    """The table of this name."""
    if name not in TABLES:
        raise SettingsError(f"no table is called {name!r}; there are: {', '.join(TABLES)}, sib")
    return TABLES[name]
