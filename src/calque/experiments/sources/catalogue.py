"""What the paper's tables need: every file with its publisher, licence and size, and how to get it.

The shipped list is catalogue.toml beside this file; a user may name another of the same form.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from calque.errors import CalqueError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SHIPPED = Path(__file__).with_name("catalogue.toml")
SCHEMES = ("http", "https")


class DataError(CalqueError):
    """A catalogue that cannot be used, or a file that could not be fetched or is not what was expected."""


@dataclass(frozen=True)
class Source:
    """One publication: what its files have in common."""

    title: str
    page: str
    """Where its publisher describes it."""
    licence: str
    by_hand: str = ""
    """What a person must do, if no program can fetch it."""


@dataclass(frozen=True)
class DataFile:
    """One file that a table needs."""

    path: str
    """Its place below the data folder."""
    tables: tuple[str, ...]
    """The tables that need it."""
    source: Source
    licence: str
    url: str = ""
    """Where its publisher offers it, or the archive it is in; empty if no program can fetch it."""
    size: int | None = None
    """Bytes, if they are known exactly; checked."""
    about: int | None = None
    """Bytes, roughly; shown."""
    sha256: str = ""
    """The sum of the publisher's file, if it is known; checked."""
    also: str = ""
    """Another name under which the same content is accepted."""
    substitute: str = ""
    """Another file that serves in part if this one is missing."""
    archive: str = ""
    """The place of the archive that it is taken from."""
    columns: tuple[str, ...] = ()
    """The archive's files whose lines, side by side with tabs between, are this file."""


@dataclass(frozen=True)
class Absent:
    """Something that a table would need and that cannot be obtained."""

    name: str
    tables: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Catalogue:
    """Every table with its title, what it needs, and what cannot be obtained."""

    tables: Mapping[str, str]
    files: tuple[DataFile, ...]
    absent: tuple[Absent, ...] = ()

    def chosen(self, table: str) -> tuple[str, ...]:
        """The table of this name, or all of them."""
        if table and table not in self.tables:
            raise DataError(f"no table is called {table!r}; there are: {', '.join(self.tables)}")
        return (table,) if table else tuple(self.tables)

    def needed(self, table: str = "", only: str = "") -> tuple[DataFile, ...]:
        """The files of one table or of all, those with ``only`` in their path."""
        tables = set(self.chosen(table))
        files = tuple(file for file in self.files if tables & set(file.tables) and only in file.path)
        if only and not files:
            raise DataError(
                f"no file of {table or 'any table'} has {only!r} in its path; leave --only out to see them all"
            )
        return files

    def never(self, table: str = "") -> tuple[Absent, ...]:
        """What cannot be obtained, of one table or of all."""
        tables = set(self.chosen(table))
        return tuple(absent for absent in self.absent if tables & set(absent.tables))


def read_catalogue(path: Path = SHIPPED) -> Catalogue:
    """The catalogue in a TOML file; DataError if something in it cannot be used."""
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
    files = tuple(file for source in top.get("sources", []) for file in _files(source, tables))
    absent = []
    for entry in top.get("absent", []):
        values = _checked("an absent", entry, _ABSENT, tuple(_ABSENT))
        absent.append(Absent(values["name"], _names(values["name"], values["tables"], tables), values["reason"]))
    paths = [file.path for file in files]
    if len(set(paths)) < len(paths):
        raise DataError(f"{next(path for path in paths if paths.count(path) > 1)!r} is there twice; remove one")
    if not files:
        raise DataError("names no file; expected [[sources]] with 'files'")
    return Catalogue(tables, files, tuple(absent))


_SOURCE = {"title": str, "page": str, "licence": str, "tables": list, "base": str, "by_hand": str, "files": list}
_FILE = {"path": str, "url": str, "tables": list, "licence": str, "size": int, "about": int, "sha256": str}
_FILE |= {"also": str, "substitute": str, "archive": str, "columns": list}
_ABSENT = {"name": str, "tables": list, "reason": str}


def _files(table: Any, tables: Mapping[str, str]) -> list[DataFile]:
    values = _checked("a source", table, _SOURCE, ("title", "page", "licence", "files"))
    source = Source(values["title"], values["page"], values["licence"], values.get("by_hand", ""))
    files = []
    for entry in values["files"]:
        file = {"tables": values.get("tables", []), **_checked("a file", entry, _FILE, ("path",))}
        files.append(_file(file, source, values.get("base", ""), tables))
    return files


def _file(values: dict[str, Any], source: Source, base: str, tables: Mapping[str, str]) -> DataFile:
    path = values["path"]
    for name in ("path", "also", "substitute", "archive"):
        _check_inside(path, values.get(name, path))
    name = values.get("url", PurePosixPath(path).name if base else "")
    url = name if ":" in name else base + name
    if url:
        check_address(url)
    elif not source.by_hand:
        raise DataError(f"{path!r} has no address; expected 'url', or 'base' or 'by_hand' in its source")
    if bool(values.get("archive")) != bool(values.get("columns")):
        raise DataError(f"{path!r}: 'archive' and 'columns' go together; expected both or neither")
    if not re.fullmatch(r"([0-9a-fA-F]{64})?", values.get("sha256", "")):
        raise DataError(f"{path!r}: sha256 is {values['sha256']!r}; expected 64 hexadecimal digits")
    return DataFile(
        **{
            **values,
            "url": url,
            "source": source,
            "licence": values.get("licence", source.licence),
            "tables": _names(path, values["tables"], tables),
            "columns": tuple(map(str, values.get("columns", ()))),
            "sha256": values.get("sha256", "").lower(),
        }
    )


def check_address(url: str) -> None:
    """Refuse what is not an address on the web: a catalogue must not be able to read files of this machine."""
    try:
        parts = urlsplit(url)
        right = parts.scheme in SCHEMES and parts.hostname and parts.port != 0 and url.isprintable() and " " not in url
    except ValueError:
        right = False
    if not right:
        raise DataError(f"{url!r} is not an address that data is fetched from; expected http:// or https://")


def _check_inside(path: str, name: str) -> None:
    """Refuse a path that would leave the data folder, on any system."""
    parts = name.split("/")
    if not name.isprintable() or "\\" in name or ":" in name or not all(part.strip(" .") for part in parts):
        raise DataError(
            f"{path!r}: {name!r} does not stay below the data folder; expected a path such as 'folder/name.vec'"
        )


def _names(where: str, names: list[Any], tables: Mapping[str, str]) -> tuple[str, ...]:
    unknown = [name for name in names if not isinstance(name, str) or name not in tables]
    if unknown or not names:
        wrong = repr(unknown[0]) if unknown else "no table"
        raise DataError(f"{where!r} is for {wrong}; there are: {', '.join(tables)}")
    return tuple(names)


def _checked(where: str, table: Any, keys: Mapping[str, type], needed: tuple[str, ...] = ()) -> dict[str, Any]:
    """A table with all the keys it needs, and no unknown key or value of a wrong type."""
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
