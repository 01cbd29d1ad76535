"""Named recipes: what they are (table), where they are read from (toml), and how they are run (running)."""

from calque.recipe.checkpoint import forget
from calque.recipe.many import check_names, run_many
from calque.recipe.running import choose_device, run, run_seeds
from calque.recipe.table import METHODS, RECIPES, Kind, Recipe
from calque.recipe.toml import changed, find, read_recipe, to_toml

__all__ = [
    "METHODS",
    "RECIPES",
    "Kind",
    "Recipe",
    "changed",
    "check_names",
    "choose_device",
    "find",
    "forget",
    "read_recipe",
    "run",
    "run_many",
    "run_seeds",
    "to_toml",
]
