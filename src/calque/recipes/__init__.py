"""Recipes: all of them, by name or as files (registry), and how they run (running, many)."""

from calque.data.toml_reader import into, read_toml
from calque.recipes.checkpoint import forget
from calque.recipes.many import check_names, run_many
from calque.recipes.registry import (
    METHODS,
    RECIPES,
    MethodEntry,
    Recipe,
    Supervision,
    find,
    read_recipe,
    searching,
    to_toml,
)
from calque.recipes.running import choose_device, run, run_seeds

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
