"""Recipes by name or from a TOML file, and back to TOML with every default filled in."""

from __future__ import annotations

import dataclasses
import json
import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from calque.errors import SettingsError
from calque.recipes.registry import RECIPES, Recipe

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def find(name: str) -> Recipe:
    """The recipe of this name, or the one in the TOML file of this path."""
    if name in RECIPES:
        return RECIPES[name]
    if name.endswith(".toml"):
        return read_recipe(Path(name), ())
    raise SettingsError(f"no recipe is called {name!r}; there are: {', '.join(RECIPES)}, or the path of a .toml file")


def read_recipe(path: Path, within: tuple[Path, ...] = ()) -> Recipe:
    """A recipe from TOML: ``base`` names the recipe it starts from, ``[settings]`` holds what differs.

    A base that is a file itself is looked for beside this one; ``within`` are the files that led here.
    """
    try:
        itself = path.resolve() in within
        table = {} if itself else tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: cannot be read as TOML: {error}") from error
    if itself:
        raise SettingsError(f"{path}: starts from itself; name another base, such as 'default'")
    unknown = set(table) - {"name", "base", "summary", "settings"}
    if unknown:
        raise SettingsError(f"{path}: unknown key {sorted(unknown)[0]!r}; expected name, base, summary, settings")
    try:
        base = _base(str(table.get("base", "default")), path, within)
        settings = changed(base.settings, table.get("settings", {}), "settings")
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from None
    return replace(
        base, name=str(table.get("name", path.stem)), summary=str(table.get("summary", base.summary)), settings=settings
    )


def _base(name: str, path: Path, within: tuple[Path, ...]) -> Recipe:
    if name in RECIPES or not name.endswith(".toml"):
        return find(name)
    return read_recipe(path.parent / name, (*within, path.resolve()))


def changed(settings: Any, table: Any, where: str) -> Any:
    """Settings with the values of a table put in, checked by name and type, tables within tables."""
    if not isinstance(table, Mapping):
        raise SettingsError(f"{where} is {table!r}; expected a table")
    types_of = typing.get_type_hints(type(settings))
    values = {}
    for name, value in table.items():
        if name not in types_of:
            raise SettingsError(f"{where} has no {name!r}; there are: {', '.join(types_of)}")
        current = getattr(settings, name)
        values[name] = (
            changed(current, value, f"{where}.{name}")
            if dataclasses.is_dataclass(current)
            else _checked(value, types_of[name], f"{where}.{name}")
        )
    return replace(settings, **values)


def _checked(value: Any, expected: Any, where: str) -> Any:
    """A TOML value as the type a setting has: whole numbers pass for fractions, lists become tuples."""
    origin, inner = typing.get_origin(expected), typing.get_args(expected)
    if origin is tuple and isinstance(value, list):
        return tuple(_checked(each, inner[0], where) for each in value)
    if expected is float and type(value) in (int, float):
        return float(value)
    if origin is typing.Literal and value in inner:
        return value
    if isinstance(expected, type) and type(value) is expected:
        return value
    name = (
        expected.__name__ if isinstance(expected, type) and not isinstance(expected, types.GenericAlias) else expected
    )
    raise SettingsError(f"{where} is {value!r}; expected {name}")


def to_toml(recipe: Recipe) -> str:
    """The recipe with every default filled in; ``read_recipe`` gives it back."""
    base = next(each.name for each in RECIPES.values() if each.method == recipe.method)
    lines = [f"{name} = {_toml_value(value)}" for name, value in (("name", recipe.name), ("base", base))]
    lines += [f"summary = {_toml_value(recipe.summary)}", ""]
    return "\n".join(lines + _toml_table(asdict(recipe.settings), "settings")) + "\n"


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
