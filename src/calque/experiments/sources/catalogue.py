"""What the paper's tables need: every file with its publisher, licence and size, and how to get it.

The shipped list is catalogue.toml beside this file; a user may name another of the same form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from calque.data.toml_reader import into, read_toml
from calque.errors import CalqueError

SHIPPED = Path(__file__).with_name("catalogue.toml")


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
class FileEntry:
    """One file that a table needs, as the catalogue has it."""

    path: str
    """Its place below the data folder."""
    tables: tuple[str, ...] = ()
    """The tables that need it; those of its source if empty."""
    licence: str = ""
    """The one of its source if empty."""
    url: str = ""
    """Where its publisher offers it, or the archive it is in; empty if no program can fetch it."""
    size: int | None = None
    """Bytes, if they are known exactly; checked."""
    about: int | None = None
    """Bytes, roughly; shown."""
    sha256: str = ""
    """The sum of the publisher's file, if it is known; checked."""
    also: str | None = None
    """Another name under which the same content is accepted."""
    substitute: str | None = None
    """Another file that serves in part if this one is missing."""
    archive: str | None = None
    """The place of the archive that it is taken from."""
    columns: tuple[str, ...] = ()
    """The archive's files whose lines, side by side with tabs between, are this file."""


@dataclass(frozen=True)
class DataFile(FileEntry):
    """One file that a table needs, with everything that its source says of it."""

    source: Source = field(kw_only=True)


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


@dataclass(frozen=True)
class SourceTable(Source):
    """What may stand in the table of a source."""

    tables: tuple[str, ...] = ()
    base: str = ""
    """What stands before the names of its files in their addresses."""
    files: tuple[FileEntry, ...] = field(kw_only=True)


@dataclass(frozen=True)
class CatalogueFile:
    """What may stand in the file."""

    tables: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[SourceTable, ...] = ()
    absent: tuple[Absent, ...] = ()


def read_catalogue(path: Path = SHIPPED) -> Catalogue:
    """The catalogue in a TOML file; DataError if something in it cannot be used."""
    try:
        table = read_toml(path)
    except CalqueError as error:
        raise DataError(str(error)) from error
    try:
        return _catalogue(into(CatalogueFile, table))
    except CalqueError as error:
        raise DataError(f"{path}: {error}") from None


def _catalogue(catalogue: CatalogueFile) -> Catalogue:
    files = tuple(_data_file(entry, source) for source in catalogue.sources for entry in source.files)
    for path, tables in [(file.path, file.tables) for file in files] + [(a.name, a.tables) for a in catalogue.absent]:
        unknown = [name for name in tables if name not in catalogue.tables]
        if unknown or not tables:
            wrong = repr(unknown[0]) if unknown else "no table"
            raise DataError(f"{path!r} is for {wrong}; there are: {', '.join(catalogue.tables)}")
    paths = [file.path for file in files]
    if len(set(paths)) < len(paths):
        raise DataError(f"{next(path for path in paths if paths.count(path) > 1)!r} is there twice; remove one")
    if not files:
        raise DataError("names no file; expected [[sources]] with 'files'")
    return Catalogue(catalogue.tables, files, catalogue.absent)


def _data_file(entry: FileEntry, source: SourceTable) -> DataFile:
    """A file of a source; DataError if its path leaves the data folder or its address is not on the web."""
    path = entry.path
    for name in (path, entry.also, entry.substitute, entry.archive):
        parts = [] if name is None else name.split("/")
        if name is not None and not (
            name.isprintable() and not {"\\", ":"} & set(name) and all(part.strip(" .") for part in parts)
        ):
            raise DataError(
                f"{path!r}: {name!r} does not stay below the data folder; expected a path such as 'folder/name.vec'"
            )
    name = entry.url or (PurePosixPath(path).name if source.base else "")
    url = name if ":" in name else source.base + name
    if url:
        check_address(url)
    elif not source.by_hand:
        raise DataError(f"{path!r} has no address; expected 'url', or 'base' or 'by_hand' in its source")
    if bool(entry.archive) != bool(entry.columns):
        raise DataError(f"{path!r}: 'archive' and 'columns' go together; expected both or neither")
    if not re.fullmatch(r"([0-9a-fA-F]{64})?", entry.sha256):
        raise DataError(f"{path!r}: sha256 is {entry.sha256!r}; expected 64 hexadecimal digits")
    publication = Source(source.title, source.page, source.licence, source.by_hand)
    tables, licence = entry.tables or source.tables, entry.licence or source.licence
    values = asdict(entry) | {"tables": tables, "licence": licence, "url": url, "sha256": entry.sha256.lower()}
    return DataFile(**values, source=publication)


def check_address(url: str) -> None:
    """Refuse what is not an address on the web: a catalogue must not be able to read files of this machine."""
    try:
        parts = urlsplit(url)
        right = (
            parts.scheme in ("http", "https")
            and parts.hostname
            and parts.port != 0
            and url.isprintable()
            and " " not in url
        )
    except ValueError:
        right = False
    if not right:
        raise DataError(f"{url!r} is not an address that data is fetched from; expected http:// or https://")
