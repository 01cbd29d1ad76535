"""`calque recipes`: what is there to align with."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Annotated

from tyro.conf import Positional, arg

from calque.cli.common import DONE, Common
from calque.cli.terminal import print_json

NEEDS = {
    "none": "two files of vectors",
    "optional": "two files of vectors, and word pairs if there are some (--lexicon)",
    "required": "two files of vectors and word pairs (--lexicon)",
}
"""What a recipe needs, by how much it learns from word pairs."""


@dataclass(frozen=True, kw_only=True)
class Recipes(Common):
    """List the recipes, or print one with all its settings as TOML to start your own from."""

    name: Annotated[Positional[str], arg(metavar="NAME")] = ""
    """Print this one as TOML."""

    def run(self) -> int:
        """Print a few lines for each recipe, or one recipe as TOML."""
        from calque.recipes import RECIPES, find, to_toml

        if self.name and self.json:
            print_json(dataclasses.asdict(find(self.name)))
            return DONE
        if self.name:
            print(to_toml(find(self.name)), end="")
            return DONE
        needs = {name: NEEDS[recipe.supervision] for name, recipe in RECIPES.items()}
        if self.json:
            print_json(
                {
                    name: {"summary": recipe.summary, "published": recipe.published, "needs": needs[name]}
                    for name, recipe in RECIPES.items()
                }
            )
        else:
            for name, recipe in RECIPES.items():
                print(f"{name}: {recipe.summary}\n  needs {needs[name]}\n  {recipe.published}")
        return DONE
