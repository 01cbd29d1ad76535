"""Who competes in a table: the twelve methods, and the paper's method with one part taken out at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from calque.errors import SettingsError

Category = Literal["Supervised", "Unsupervised"]


@dataclass(frozen=True)
class Entrant:
    """One row of a table."""

    name: str
    """As --methods and the files of finished runs call it."""
    label: str
    """As the table shows it."""
    category: Category
    cost: int
    """Where it stands in order of time: small ones run first, so that a slow one holds nothing up."""
    published: bool = True
    """Whether the paper's tables have this row."""
    recipe: str = ""
    """The recipe it is made from; the one of its own name where empty."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """What differs from the recipe's settings."""
    drawn: bool = True
    """Whether a seed changes anything where the lexicon is not split by seed; where not, one run serves."""

    @property
    def supervised(self) -> bool:
        """Whether it is shown the training half of the lexicon."""
        return self.category == "Supervised"


METHODS = (
    Entrant("mikolov2013", "Mikolov et al. 2013", "Supervised", 0, drawn=False),
    Entrant("zhang2016", "Zhang et al. 2016", "Supervised", 1, drawn=False),
    Entrant("xing2015", "Xing et al. 2015", "Supervised", 2, drawn=False),
    Entrant("shigeto2015", "Shigeto et al. 2015", "Supervised", 3, drawn=False),
    Entrant("artetxe2016", "Artetxe et al. 2016", "Supervised", 4, drawn=False),
    Entrant("artetxe2017", "Artetxe et al. 2017", "Supervised", 6, drawn=False),
    Entrant("joulin2018", "Joulin et al. 2018", "Supervised", 7, published=False, drawn=False),
    Entrant("conneau2017", "Conneau et al. 2017", "Unsupervised", 9),
    Entrant("zhang2017", "Zhang et al. 2017", "Unsupervised", 10),
    Entrant("paper", "Xu et al. 2018, the paper", "Unsupervised", 11),
    Entrant("artetxe2018", "Artetxe et al. 2018", "Unsupervised", 8, published=False),
    Entrant("default", "calque", "Unsupervised", 5, published=False),
)
"""In the paper's order and grouping, those that it does not have last in each group."""


def _without(name: str, label: str, changes: Mapping[str, Any]) -> Entrant:
    return Entrant(name, label, "Unsupervised", 11, published=False, recipe="paper", changes=changes)


_NO_WAY_BACK = {"back_translation": 0.0}

VARIANTS = (
    Entrant("paper", "the paper's method", "Unsupervised", 11, published=False),
    _without("without-back-translation", "without back-translation", {"back_translation": 0.0, "gan": _NO_WAY_BACK}),
    _without("without-gan", "without the GAN start", {"gan": {"steps": 0}}),
    _without("without-frequencies", "without frequencies", {"frequencies": False}),
    _without("euclidean", "Euclidean instead of √cos", {"cost": "euclidean"}),
    _without("one-direction", "one direction only", {"directions": "forward"}),
)
"""The ablation of the paper's supplement: the whole method first."""


def entrants(table: str) -> tuple[Entrant, ...]:
    """Every row that a table can have."""
    return VARIANTS if table == "ablation" else METHODS


def choose(table: str, names: Sequence[str] | None) -> tuple[Entrant, ...]:
    """The rows of these names, in the order of the table; all without names."""
    known = entrants(table)
    for name in names or ():
        if name not in {each.name for each in known}:
            choices = ", ".join(each.name for each in known)
            raise SettingsError(f"{table} has no method called {name!r}; there are: {choices}")
    return tuple(each for each in known if names is None or each.name in names)
