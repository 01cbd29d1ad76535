"""Reads TOML files into dataclasses. An error names the key, what was found there, and what would fit."""

from __future__ import annotations

import dataclasses
import sys
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, overload

from calque.errors import SettingsError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Instance = TypeVar("Instance")
LONGEST_VALUE = 80
"""Longer values are shortened in an error."""


def read_toml(path: Path) -> dict[str, Any]:
    """The tables and values of a TOML file."""
    try:
        return dict(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}; expected a file in TOML") from error
    except ValueError as error:  # not UTF-8, or not TOML
        raise SettingsError(f"{path}: cannot be read as TOML: {' '.join(str(error).split())}") from error


@overload
def into(target: type[Instance], table: Any, where: str = "") -> Instance: ...


@overload
def into(target: Instance, table: Any, where: str = "") -> Instance: ...


def into(target: Any, table: Any, where: str = "") -> Any:
    """A dataclass filled from a TOML table; ``where`` is the key of the table, empty for a whole file.

    ``target`` is a dataclass, or an instance of one whose values stay where the table has none. The metadata of a field
    may hold ``expected``, the words for an error, and ``fits``, a function that a value of the right type must pass.
    """
    if not isinstance(table, Mapping):
        raise SettingsError(f"{where} is {_shown(table)}; expected a table")
    kind = target if isinstance(target, type) else type(target)
    fields, types_of = {field.name: field for field in dataclasses.fields(kind)}, typing.get_type_hints(kind)
    values = {}
    for name, value in table.items():
        if name not in fields:
            unknown = f"{where} has no {name!r}; there are:" if where else f"unknown key {name!r}; expected"
            raise SettingsError(f"{unknown} {', '.join(fields)}")
        key, metadata = f"{where}.{name}" if where else name, fields[name].metadata
        current = None if target is kind else getattr(target, name)
        expected = type(current) if dataclasses.is_dataclass(current) else types_of[name]
        values[name] = _value(value, expected, key, current, metadata.get("expected", ""))
        if not metadata.get("fits", lambda _: True)(values[name]):
            raise SettingsError(f"{key} is {_shown(value)}; expected {metadata.get('expected', 'another value')}")
    if target is not kind:
        return dataclasses.replace(target, **values)
    for name, field in fields.items():
        if name not in values and field.default is field.default_factory is dataclasses.MISSING:
            raise SettingsError(f"{where or 'the file'} has no {name!r}, which must be there")
    return kind(**values)


def _value(value: Any, expected: Any, key: str, current: Any, words: str) -> Any:
    """A TOML value as the type of a field: whole numbers pass for fractions, lists become tuples, texts paths."""
    origin, inner = typing.get_origin(expected), typing.get_args(expected)
    if origin in (typing.Union, types.UnionType):
        expected = next(kind for kind in inner if kind is not type(None))
        return _value(value, expected, key, current, words)
    if expected is Any:
        return value
    if dataclasses.is_dataclass(expected):
        return into(expected if current is None else current, value, key)
    if origin is tuple and isinstance(value, list):
        return tuple(_value(item, inner[0], key, None, words) for item in value)
    if origin in (dict, Mapping) and isinstance(value, Mapping):
        return {name: _value(item, inner[1], f"{key}.{name}", None, words) for name, item in value.items()}
    if expected is float and type(value) in (int, float):
        return float(value)
    if expected is Path and isinstance(value, str) and value:
        return Path(value)
    if (origin is typing.Literal and value in inner) or (isinstance(expected, type) and type(value) is expected):
        return value
    raise SettingsError(f"{key} is {_shown(value)}; expected {words or _words_for(expected)}")


def _words_for(expected: Any) -> str:
    origin, inner = typing.get_origin(expected), typing.get_args(expected)
    if origin is typing.Literal:
        return f"one of {', '.join(map(str, inner))}"
    if origin in (dict, Mapping):
        return "a table"
    names = {bool: "true or false", Path: "the path of a file"}
    return str(expected) if origin else names.get(expected, expected.__name__)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."
