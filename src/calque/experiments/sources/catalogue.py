"""What the paper's tables need: every file with its publisher, licence, size, and how to come by it.

The shipped list is catalogue.toml beside this; anyone may name another of the same form.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from calque.experiments.sources.errors import DataError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SHIPPED = Path(__file__).with_name("catalogue.toml")
SCHEMES = ("http", "https")


@dataclass(frozen=True)
class Source:
    """One publication: what its files have in common."""

    title: str
    page: str
    """Where its publisher describes it."""
    licence: str
    by_hand: str = ""
    """What a person must do, where no program can fetch it."""


@dataclass(frozen=True)
class File:
    """One file that a table needs."""

    path: str
    """Where it belongs, below the data folder."""
    tables: tuple[str, ...]
    """The tables that need it."""
    source: Source
    licence: str
    url: str = ""
    """Where its publisher offers it, or the archive it is in; empty where no program can fetch it."""
    size: int | None = None
    """Bytes, where known exactly; checked."""
    about: int | None = None
    """Bytes, roughly; shown."""
    sha256: str = ""
    """Where the sum of the publisher's file is known; checked."""
    also: str = ""
    """Another name under which the same content does as well."""
    substitute: str = ""
    """Another file that serves some of the purpose where this one is missing."""
    archive: str = ""
    """Where to keep the archive that it is taken from."""
    columns: tuple[str, ...] = ()
    """The archive's files whose lines, side by side with tabs between, are this file."""


@dataclass(frozen=True)
class Absent:
    """Something that a table would need and that nobody can have."""

    name: str
    tables: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Catalogue:
    """Every table with its title, what it needs, and what is not to be had."""

    tables: Mapping[str, str]
    files: tuple[File, ...]
    absent: tuple[Absent, ...] = ()

    def chosen(self, table: str) -> tuple[str, ...]:
        """The table of this name, or all of them."""
        if table and table not in self.tables:
            raise DataError(f"no table is called {table!r}; there are: {', '.join(self.tables)}")
        return (table,) if table else tuple(self.tables)

    def needed(self, table: str = "", only: str = "") -> tuple[File, ...]:
        """The files of one table or of all, those with ``only`` in their path."""
        tables = set(self.chosen(table))
        found = tuple(each for each in self.files if tables & set(each.tables) and only in each.path)
        if only and not found:
            raise DataError(
                f"no file of {table or 'any table'} has {only!r} in its path; leave --only out to see them all"
            )
        return found

    def never(self, table: str = "") -> tuple[Absent, ...]:
        """What is not to be had, of one table or of all."""
        tables = set(self.chosen(table))
        return tuple(each for each in self.absent if tables & set(each.tables))


def read_catalogue(path: Path = SHIPPED) -> Catalogue:
    """The catalogue in a TOML file; DataError where something in it cannot be used."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{path}: cannot be read as TOML: {error}") from error
    try:
        return _catalogue(table)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def _catalogue(table: Mapping[str, Any]) -> Catalogue:
    top = _checked("the catalogue", table, {"tables": dict, "sources": list, "absent": list})
    tables = _checked("tables", top.get("tables", {}), dict.fromkeys(top.get("tables", {}), str))
    files = tuple(file for each in top.get("sources", []) for file in _files(each, tables))
    absent = tuple(_absent(each, tables) for each in top.get("absent", []))
    paths = [each.path for each in files]
    if len(set(paths)) < len(paths):
        raise DataError(f"{next(path for path in paths if paths.count(path) > 1)!r} is there twice; remove one")
    if not files:
        raise DataError("names no file; expected [[sources]] with 'files'")
    return Catalogue(tables, files, absent)


_SOURCE = {"title": str, "page": str, "licence": str, "tables": list, "base": str, "by_hand": str, "files": list}
_FILE = {"path": str, "url": str, "tables": list, "licence": str, "size": int, "about": int, "sha256": str}
_FILE |= {"also": str, "substitute": str, "archive": str, "columns": list}


def _files(table: Any, tables: Mapping[str, str]) -> list[File]:
    given = _checked("a source", table, _SOURCE, ("title", "page", "licence", "files"))
    source = Source(given["title"], given["page"], given["licence"], given.get("by_hand", ""))
    files = []
    for each in given["files"]:
        file = {"tables": given.get("tables", []), **_checked("a file", each, _FILE, ("path",))}
        files.append(_file(file, source, given.get("base", ""), tables))
    return files


def _file(given: dict[str, Any], source: Source, base: str, tables: Mapping[str, str]) -> File:
    path = given["path"]
    for name in ("path", "also", "substitute", "archive"):
        _check_inside(path, given.get(name, path))
    name = given.get("url", PurePosixPath(path).name if base else "")
    url = name if ":" in name else base + name
    _check_offer(path, url, given, source)
    return File(
        **{
            **given,
            "url": url,
            "source": source,
            "licence": given.get("licence", source.licence),
            "tables": _names(path, given["tables"], tables),
            "columns": tuple(map(str, given.get("columns", ()))),
            "sha256": given.get("sha256", "").lower(),
        }
    )


def _check_offer(path: str, url: str, given: Mapping[str, Any], source: Source) -> None:
    if url:
        check_address(url)
    elif not source.by_hand:
        raise DataError(f"{path!r} has no address; expected 'url', or 'base' or 'by_hand' in its source")
    if bool(given.get("archive")) != bool(given.get("columns")):
        raise DataError(f"{path!r}: 'archive' and 'columns' go together; expected both or neither")
    if not re.fullmatch(r"([0-9a-fA-F]{64})?", given.get("sha256", "")):
        raise DataError(f"{path!r}: sha256 is {given['sha256']!r}; expected 64 hexadecimal digits")


def check_address(url: str) -> None:
    """Refuse what is not an address on the web: a catalogue must not be able to read files of this machine."""
    try:
        parts = urlsplit(url)
        right = parts.scheme in SCHEMES and parts.hostname and parts.port != 0 and url.isprintable() and " " not in url
    except ValueError:
        right = False
    if not right:
        raise DataError(f"{url!r} is not an address that data is fetched from; expected http:// or https://")


def _check_inside(path: str, given: str) -> None:
    """Refuse a path that would leave the data folder, on any system."""
    parts = given.split("/")
    if not given.isprintable() or "\\" in given or ":" in given or not all(part.strip(" .") for part in parts):
        raise DataError(
            f"{path!r}: {given!r} does not stay below the data folder; expected a path such as 'folder/name.vec'"
        )


def _absent(table: Any, tables: Mapping[str, str]) -> Absent:
    keys = {"name": str, "tables": list, "reason": str}
    given = _checked("an absent", table, keys, tuple(keys))
    return Absent(given["name"], _names(given["name"], given["tables"], tables), given["reason"])


def _names(where: str, given: list[Any], tables: Mapping[str, str]) -> tuple[str, ...]:
    unknown = [each for each in given if not isinstance(each, str) or each not in tables]
    if unknown or not given:
        found = repr(unknown[0]) if unknown else "no table"
        raise DataError(f"{where!r} is for {found}; there are: {', '.join(tables)}")
    return tuple(given)


def _checked(where: str, table: Any, keys: Mapping[str, type], needed: tuple[str, ...] = ()) -> dict[str, Any]:
    """A table whose keys are all known and of their type, with none missing that is needed."""
    if not isinstance(table, dict):
        raise DataError(f"{where} is {table!r}; expected a table")
    for name, value in table.items():
        if name not in keys:
            raise DataError(f"{where} has an unknown key {name!r}; there are: {', '.join(keys)}")
        if not isinstance(value, keys[name]) or isinstance(value, bool):
            raise DataError(f"{where} has {name} = {value!r}; expected {keys[name].__name__}")
    missing = [name for name in needed if name not in table]
    if missing:
        raise DataError(f"{where} has no {missing[0]!r}, which it needs")
    return table
