"""Named recipes: what they are (table), where they are read from (toml), and how they are run (running)."""

from calque.recipes.checkpoint import forget
from calque.recipes.families import check_names, run_many
from calque.recipes.registry import METHODS, RECIPES, Kind, Recipe
from calque.recipes.running import choose_device, run, run_seeds
from calque.recipes.settings_file import changed, find, read_recipe, to_toml

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
