"""Recipes by name or from a TOML file, and back to TOML with every default filled in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from calque.data.toml_reader import into, read_toml
from calque.errors import SettingsError, nearest_name
from calque.recipes.registry import RECIPES, Recipe


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
    if path.resolve() in within:
        raise SettingsError(f"{path}: starts from itself; name another base, such as 'default'")
    table = read_toml(path)
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
