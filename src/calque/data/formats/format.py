"""What all file formats share: how a format is described, what its reader gets and returns, and how files are opened.

Gzip is recognised by its first bytes, the errors of the system become sentences, and output appears whole.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt

from calque.data.files import written_whole
from calque.data.formats.block_source import BlockSource, Vectors
from calque.data.space import SubwordModel
from calque.errors import FormatError

GZIP_MAGIC = b"\x1f\x8b"
HEAD_SIZE = 1 << 20
COMPRESSION = 6


@dataclass(frozen=True)
class Head:
    """The first bytes of a file, by which its format is recognised."""

    path: Path
    raw: bytes
    """As they stand in the file."""
    plain: bytes
    """Decompressed."""


@dataclass(frozen=True)
class ReadOptions:
    """What to read of a file, and how."""

    limit: int | None = None
    """Read until this many words are kept; None reads all. Words left out do not count."""
    words: Path | None = None
    """The word list that belongs to a bare array."""
    digest: ReadDigest | None = None
    """If the file may go into the cache: where the reader sums the bytes that it reads."""


@dataclass(frozen=True)
class FileContent:
    """What a reader found in a file."""

    words: list[str]
    vectors: Vectors
    notes: tuple[str, ...] = ()
    """Plain sentences, one for each thing mended or left out."""
    counts: npt.NDArray[np.float64] | None = None
    subwords: SubwordModel | None = None
    format: str = ""
    """The name of the format; filled in by whoever chose the reader."""


@dataclass(frozen=True)
class Format:
    """One way to keep a space in a file."""

    name: str
    suffixes: tuple[str, ...]
    """Lower case, with the dot; the usual one first. Only used to choose what to write."""
    read: Callable[[Path, ReadOptions], FileContent]
    write: Callable[[BlockSource, Path], None] | None = None
    """None if the format can only be read."""
    magic: tuple[bytes, ...] = ()
    """What a file of this format begins with: one of these, or, if there are none, anything."""
    recognise: Callable[[Head], bool] = lambda head: True  # noqa: ARG005
    """Whether a file that begins so is of this format."""
    gzipped: bool = False
    """Whether the file may be compressed with gzip."""
    cached: bool = False
    """Whether large files are cached once they were read. A format that can be mapped into memory needs no cache."""


def peek(path: Path) -> Head:
    """The first bytes of a file; FormatError if there is no such file, or it is empty."""
    with open_raw(path) as stream:
        raw = stream.read(HEAD_SIZE)
    if not raw:
        raise FormatError(f"{path}: the file is empty, expected words and vectors; download or export it again")
    if not raw.startswith(GZIP_MAGIC):
        return Head(path, raw, raw)
    with open_plain(path) as stream:
        return Head(path, raw, stream.read(HEAD_SIZE))


@contextmanager
def open_plain(path: Path, digest: ReadDigest | None = None) -> Iterator[IO[bytes]]:
    """The content of a file, decompressed if it is gzip; FormatError if the gzip stream is damaged.

    ``digest`` sums the bytes that are read of the file itself.
    """
    with open_raw(path) as raw:
        compressed = raw.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        raw.seek(0)
        stream: IO[bytes] = raw if digest is None else io.BufferedReader(_DigestedStream(raw, digest), HEAD_SIZE)
        try:
            if compressed:
                stream = io.BufferedReader(gzip.GzipFile(fileobj=stream, mode="rb"), HEAD_SIZE)
            yield stream
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FormatError(f"{path}: the gzip stream is cut or damaged ({error}); download it again") from error


@contextmanager
def open_raw(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file; an error of the system becomes a FormatError."""
    try:
        check_is_file(path)
        with path.open("rb") as stream:
            yield stream
    except PermissionError as error:
        raise FormatError(f"{path}: may not be read (permission denied); check its owner and mode") from error
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror or error}); check the disk and the path") from error


def check_is_file(path: Path) -> None:
    """FormatError for a directory, a pipe, or a path where nothing is."""
    if path.is_dir():
        raise FormatError(f"{path}: is a directory, expected a file of word vectors; name a file inside it")
    if not path.exists():
        raise FormatError(f"{path}: no such file; check the path")
    if not path.is_file():
        raise FormatError(f"{path}: is not a plain file, and a pipe cannot be read twice; save it to a file first")


@contextmanager
def output(path: Path) -> Iterator[IO[bytes]]:
    """A stream that becomes ``path`` once all is written; compressed if the name ends in ``.gz``."""
    try:
        with written_whole(path) as stream:
            if path.suffix.lower() != ".gz":
                yield stream
            else:
                with gzip.GzipFile("", "wb", compresslevel=COMPRESSION, fileobj=stream, mtime=0) as packed:
                    yield cast("IO[bytes]", packed)
    except OSError as error:
        raise FormatError(f"{path}: cannot be written ({error.strerror or error}); check the folder") from error


def in_one_line(error: Exception) -> str:
    """The message of another library's error, short enough to quote."""
    return " ".join(str(error).split())[:160]


class ReadDigest:
    """The SHA-256 sum of what is read of a file, computed on another thread while the reader parses."""

    def __init__(self) -> None:
        self.size = 0
        """How many bytes have been added."""
        self._digest = hashlib.sha256()
        self._pool = ThreadPoolExecutor(1)
        self._last: Future[None] | None = None

    def add(self, block: bytes) -> None:
        """Add the next bytes. Waits for the block before, so that no more than one is held."""
        if self._last is not None:
            self._last.result()
        self.size += len(block)
        self._last = self._pool.submit(self._digest.update, block)

    def finish(self) -> str:
        """The sum of all bytes, in hexadecimal."""
        self._pool.shutdown()
        return self._digest.hexdigest()


class _DigestedStream(io.RawIOBase):
    """A stream that passes everything that is read of it to a digest."""

    def __init__(self, stream: IO[bytes], digest: ReadDigest) -> None:
        self._stream, self._digest = stream, digest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._stream.read(len(buffer))
        buffer[: len(block)] = block
        if block:
            self._digest.add(block)
        return len(block)
