"""Every method by name, and every recipe: a method with its settings, by name or from a TOML file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from calque.data.toml_reader import into, read_toml
from calque.errors import SettingsError, nearest_name
from calque.methods.baselines.conneau2017 import Conneau2017Settings, conneau2017
from calque.methods.baselines.joulin2018 import Joulin2018Settings, joulin2018
from calque.methods.baselines.known_pairs import (
    Artetxe2016Settings,
    Mikolov2013Settings,
    Shigeto2015Settings,
    Xing2015Settings,
    Zhang2016Settings,
    artetxe2016,
    mikolov2013,
    shigeto2015,
    xing2015,
    zhang2016,
)
from calque.methods.baselines.self_learning import Artetxe2017Settings, Artetxe2018Settings, artetxe2017, artetxe2018
from calque.methods.baselines.zhang2017 import Zhang2017Settings, zhang2017
from calque.methods.default.coarse_to_fine import CoarseToFineSettings, Identical, coarse_to_fine
from calque.methods.paper.method import PaperSettings, paper, paper_together
from calque.methods.task import Method, Outcome, Task

Supervision = Literal["none", "optional", "required"]
"""Whether a method learns from word pairs: never, where some are given, or always."""


@dataclass(frozen=True)
class MethodEntry:
    """A method, the type of its settings, and what it needs."""

    method: Method
    settings: type
    supervision: Supervision = "none"
    together: Callable[[Sequence[Task], Any], list[Outcome]] | None = None
    """Runs many tasks that differ only in their seed as one batch, where the method can."""
    resumes: bool = False
    """Whether it saves its state at checkpoints, and goes on from there."""


METHODS = {
    "coarse-to-fine": MethodEntry(coarse_to_fine, CoarseToFineSettings, "optional"),
    "paper": MethodEntry(paper, PaperSettings, together=paper_together, resumes=True),
    "mikolov2013": MethodEntry(mikolov2013, Mikolov2013Settings, "required"),
    "zhang2016": MethodEntry(zhang2016, Zhang2016Settings, "required"),
    "xing2015": MethodEntry(xing2015, Xing2015Settings, "required"),
    "shigeto2015": MethodEntry(shigeto2015, Shigeto2015Settings, "required"),
    "artetxe2016": MethodEntry(artetxe2016, Artetxe2016Settings, "required"),
    "artetxe2017": MethodEntry(artetxe2017, Artetxe2017Settings, "required"),
    "joulin2018": MethodEntry(joulin2018, Joulin2018Settings, "required"),
    "conneau2017": MethodEntry(conneau2017, Conneau2017Settings),
    "zhang2017": MethodEntry(zhang2017, Zhang2017Settings),
    "artetxe2018": MethodEntry(artetxe2018, Artetxe2018Settings),
}
"""Every method by name."""


@dataclass(frozen=True)
class Recipe:
    """A method, all of its settings, and a summary of it."""

    name: str
    method: str
    settings: Any
    summary: str
    published: str = ""
    """Where the method is described."""

    @property
    def entry(self) -> MethodEntry:
        """The method; SettingsError where there is none of this name."""
        if self.method not in METHODS:
            raise SettingsError(f"no method is called {self.method!r}; there are: {', '.join(METHODS)}")
        return METHODS[self.method]

    @property
    def supervision(self) -> Supervision:
        """Whether it learns from word pairs, and so from a lexicon."""
        return METHODS[self.method].supervision if self.method in METHODS else "none"

    @property
    def supervised(self) -> bool:
        """Whether it cannot do without a lexicon."""
        return self.supervision == "required"

    @property
    def resumes(self) -> bool:
        """Whether it can go on from a checkpoint."""
        return self.method in METHODS and METHODS[self.method].resumes


_PUBLISHED = (
    (
        "default",
        "coarse search from many starts, alternation of plan and map, refinement, contrast with rivals",
        "after Xu, Yang, Otani, Wu 2018 (the objective) and Artetxe, Labaka, Agirre 2018 (profiles, re-weighting)",
    ),
    (
        "paper",
        "Wasserstein GAN, then Sinkhorn distances and back-translation by gradient descent",
        "Xu, Yang, Otani, Wu 2018, Unsupervised Cross-lingual Transfer of Word Embedding Spaces",
    ),
    (
        "mikolov2013",
        "least squares, source to target",
        "Mikolov, Le, Sutskever 2013, Exploiting Similarities among Languages for Machine Translation",
    ),
    (
        "zhang2016",
        "orthogonal map",
        "Zhang, Gaddy, Barzilay, Jaakkola 2016, Ten Pairs to Tag: Multilingual POS Tagging via Coarse Mapping",
    ),
    (
        "xing2015",
        "unit vectors, orthogonal map",
        "Xing, Wang, Liu, Lin 2015, Normalized Word Embedding and Orthogonal Transform for Bilingual Word Translation",
    ),
    (
        "shigeto2015",
        "ridge regression, target to source",
        "Shigeto, Suzuki, Hara, Shimbo, Matsumoto 2015, Ridge Regression, Hubness, and Zero-Shot Learning",
    ),
    (
        "artetxe2016",
        "unit vectors, centred, orthogonal map",
        "Artetxe, Labaka, Agirre 2016, Learning Principled Bilingual Mappings of Word Embeddings",
    ),
    (
        "artetxe2017",
        "orthogonal map and dictionary in turn, from a small dictionary",
        "Artetxe, Labaka, Agirre 2017, Learning Bilingual Word Embeddings with (Almost) No Bilingual Data",
    ),
    (
        "joulin2018",
        "relaxed CSLS as the loss (RCSLS)",
        "Joulin, Bojanowski, Mikolov, Jégou, Grave 2018, Loss in Translation",
    ),
    (
        "conneau2017",
        "adversarial with a discriminator, then Procrustes on CSLS pairs",
        "Conneau, Lample, Ranzato, Denoyer, Jégou 2017, Word Translation Without Parallel Data",
    ),
    (
        "zhang2017",
        "adversarial autoencoder",
        "Zhang, Liu, Luan, Sun 2017, Adversarial Training for Unsupervised Bilingual Lexicon Induction",
    ),
    (
        "artetxe2018",
        "similarity profiles, stochastic self-learning, symmetric re-weighting",
        "Artetxe, Labaka, Agirre 2018, A Robust Self-Learning Method for Fully Unsupervised Cross-Lingual Mappings",
    ),
)

_METHOD_OF = {name: name for name in METHODS} | {"default": "coarse-to-fine"}
RECIPES = {
    name: Recipe(name, _METHOD_OF[name], METHODS[_METHOD_OF[name]].settings(), summary, published)
    for name, summary, published in _PUBLISHED
}
"""Every recipe by name."""

EFFORTS = {"quick": 0, "normal": 1, "thorough": 5}
"""How many times as long the deep search looks as its settings say."""


def searching(recipe: Recipe, identical: Identical = "auto", effort: str = "normal") -> Recipe:
    """The recipe with another search: with or without words spelled alike, and for how long."""
    if effort not in EFFORTS:
        raise SettingsError(f"effort is {effort!r}; expected one of: {', '.join(EFFORTS)}")
    if not isinstance(recipe.settings, CoarseToFineSettings):
        if (identical, effort) != ("auto", "normal"):
            raise SettingsError(f"the recipe {recipe.name!r} has no search; leave out --identical and --effort")
        return recipe
    rounds = recipe.settings.deep.rounds * EFFORTS[effort]
    settings = replace(recipe.settings, deep=replace(recipe.settings.deep, rounds=rounds))
    return replace(recipe, settings=settings if identical == "auto" else replace(settings, identical=identical))


@dataclass(frozen=True)
class RecipeFile:
    """What may stand in a recipe's file."""

    name: str = ""
    """The name of the file without its suffix, where none is given."""
    base: str = "default"
    """The recipe to start from: its name, or a file beside this one."""
    summary: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Only what differs from the base."""


def find(name: str) -> Recipe:
    """The recipe of this name, or the one in the TOML file of this path."""
    if name in RECIPES:
        return RECIPES[name]
    if name.endswith(".toml"):
        return read_recipe(Path(name))
    nearest = nearest_name(name, RECIPES)
    raise SettingsError(
        f"no recipe is called {name!r}{nearest}; there are: {', '.join(RECIPES)}, or the path of a .toml file"
    )


def read_recipe(path: Path, within: tuple[Path, ...] = ()) -> Recipe:
    """A recipe from TOML; ``within`` are the files that start from this one."""
    table = read_toml(path)
    if path.resolve() in within:
        raise SettingsError(f"{path}: starts from itself; name another base, such as 'default'")
    try:
        file = into(RecipeFile, table)
        if file.base in RECIPES or not file.base.endswith(".toml"):
            base = find(file.base)
        else:
            base = read_recipe(path.parent / file.base, (*within, path.resolve()))
        settings = into(base.settings, file.settings, "settings")
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from None
    return replace(
        base, name=file.name if "name" in table else path.stem, summary=file.summary or base.summary, settings=settings
    )


def to_toml(recipe: Recipe) -> str:
    """The recipe with every default filled in; ``read_recipe`` gives it back."""
    base = next(other.name for other in RECIPES.values() if other.method == recipe.method)
    head = {"name": recipe.name, "base": base, "summary": recipe.summary}
    lines = [*(f"{name} = {_toml_value(value)}" for name, value in head.items()), ""]
    return "\n".join([*lines, *_toml_table(asdict(recipe.settings), "settings")]) + "\n"


def _toml_table(table: Mapping[str, Any], where: str) -> list[str]:
    plain = {name: value for name, value in table.items() if not isinstance(value, Mapping)}
    lines = [f"[{where}]", *(f"{name} = {_toml_value(value)}" for name, value in plain.items()), ""]
    for name, value in table.items():
        if isinstance(value, Mapping):
            lines += _toml_table(value, f"{where}.{name}")
    return lines


def _toml_value(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, str) else repr(value)
