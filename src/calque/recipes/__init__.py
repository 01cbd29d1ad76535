"""Recipes: all of them (registry), as files (settings_file), and how they run (running, many)."""

from calque.data.toml_reader import into, read_toml
from calque.recipes.checkpoint import forget
from calque.recipes.many import check_names, run_many
from calque.recipes.registry import METHODS, RECIPES, MethodEntry, Recipe, Supervision, searching
from calque.recipes.running import choose_device, run, run_seeds
from calque.recipes.settings_file import find, read_recipe, to_toml

__all__ = [
    "METHODS",
    "RECIPES",
    "MethodEntry",
    "Recipe",
    "Supervision",
    "check_names",
    "choose_device",
    "find",
    "forget",
    "into",
    "read_recipe",
    "read_toml",
    "run",
    "run_many",
    "run_seeds",
    "searching",
    "to_toml",
]
