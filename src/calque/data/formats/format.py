"""What every format has: a name, its suffixes, and how to recognise, read and write it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from calque.data.formats.block_source import Sheet
from calque.data.formats.file_identity import Digest
from calque.data.formats.files import Head
from calque.data.formats.rows import Harvest


@dataclass(frozen=True)
class Request:
    """What the caller wants from a file, beyond where it is."""

    limit: int | None = None
    """Read until this many words are kept; None reads all. Words left out do not count."""
    words: Path | None = None
    """The word list that belongs to a bare array."""
    digest: Digest | None = None
    """Where present, it is to be told what is read of a file that may be kept in the cache."""


@dataclass(frozen=True)
class Format:
    """One way to keep a space in a file."""

    name: str
    suffixes: tuple[str, ...]
    """Lower case, with the dot; the first is the customary one. Only used to choose what to write."""
    recognise: Callable[[Head], bool]
    read: Callable[[Path, Request], Harvest]
    write: Callable[[Sheet, Path], None] | None = None
    """None where the format can only be read."""
    gzipped: bool = False
    """Whether the file may be compressed with gzip."""
    kept: bool = False
    """Whether a large file is kept in the cache once it was read; those that can be mapped as they are need not be."""
