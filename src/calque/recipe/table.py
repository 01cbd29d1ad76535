"""Every method by name, and every recipe: a method with its settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from calque.methods.coarse_to_fine import CoarseToFineSettings, coarse_to_fine
from calque.methods.task import Method, Outcome, Task


@dataclass(frozen=True)
class Kind:
    """A method, the type of its settings, and what it needs."""

    method: Method
    settings: type
    supervised: bool = False
    """Whether it learns from word pairs; no other method is ever shown any."""
    together: Callable[[Sequence[Task], Any], list[Outcome]] | None = None
    """Many tasks that differ in their seed alone, as one batch, where the method can."""


METHODS = {"coarse-to-fine": Kind(coarse_to_fine, CoarseToFineSettings)}
"""Every method by name."""


@dataclass(frozen=True)
class Recipe:
    """A method, all of its settings, and what to say of it."""

    name: str
    method: str
    settings: Any
    summary: str
    published: str = ""
    """Where the method is described."""

    @property
    def supervised(self) -> bool:
        """Whether it learns from word pairs, and so needs a lexicon."""
        return self.method in METHODS and METHODS[self.method].supervised


RECIPES = {
    each.name: each
    for each in (
        Recipe(
            "default",
            "coarse-to-fine",
            CoarseToFineSettings(),
            "no dictionary: coarse search from many starts, alternation of plan and map, re-weighted refinement",
            "after Xu, Yang, Otani, Wu 2018 (the objective) and Artetxe, Labaka, Agirre 2018 (profiles, re-weighting)",
        ),
    )
}
"""Every recipe by name."""
