"""Opening files: gzip by its magic bytes, errors in words, and outputs that appear whole or not at all."""

from __future__ import annotations

import gzip
import io
import secrets
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from calque.data.formats.file_identity import Digest, Watched
from calque.errors import FormatError

GZIP_MAGIC = b"\x1f\x8b"
HEAD_SIZE = 1 << 20
COMPRESSION = 6


@dataclass(frozen=True)
class Head:
    """The first bytes of a file, as they are and decompressed."""

    path: Path
    raw: bytes
    plain: bytes


def peek(path: Path) -> Head:
    """The first bytes of a file; FormatError where there is no such file or nothing in it."""
    with open_raw(path) as stream:
        raw = stream.read(HEAD_SIZE)
    if not raw:
        raise FormatError(f"{path}: the file is empty, expected words and vectors; download or export it again")
    if not raw.startswith(GZIP_MAGIC):
        return Head(path, raw, raw)
    with open_plain(path) as stream:
        return Head(path, raw, stream.read(HEAD_SIZE))


@contextmanager
def open_plain(path: Path, digest: Digest | None = None) -> Iterator[IO[bytes]]:
    """The file's content, decompressed where it is gzip; a damaged stream is a FormatError.

    Where there is a ``digest``, it is told the bytes of the file that were read.
    """
    with open_raw(path) as raw:
        compressed = raw.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        raw.seek(0)
        stream: IO[bytes] = raw if digest is None else io.BufferedReader(Watched(raw, digest), HEAD_SIZE)
        try:
            yield _decompressed(stream) if compressed else stream
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FormatError(f"{path}: the gzip stream is cut or damaged ({error}); download it again") from error


def _decompressed(raw: IO[bytes]) -> IO[bytes]:
    return io.BufferedReader(gzip.GzipFile(fileobj=raw, mode="rb"), HEAD_SIZE)


@contextmanager
def open_raw(path: Path) -> Iterator[IO[bytes]]:
    """The file's bytes; what the system has against it becomes a FormatError."""
    try:
        check_is_file(path)
        with path.open("rb") as stream:
            yield stream
    except PermissionError as error:
        raise FormatError(f"{path}: may not be read (permission denied); check its owner and mode") from error
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror or error}); check the disk and the path") from error


def check_is_file(path: Path) -> None:
    """Refuse what cannot be a vector file whatever it holds."""
    if path.is_dir():
        raise FormatError(f"{path}: is a directory, expected a file of word vectors; name a file inside it")
    if not path.exists():
        raise FormatError(f"{path}: no such file; check the path")
    if not path.is_file():
        raise FormatError(f"{path}: is not a plain file, and a pipe cannot be read twice; save it to a file first")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside ``path`` to write to, moved over ``path`` once all is written, removed if anything fails."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield beside
        beside.replace(path)
    except OSError as error:
        raise FormatError(f"{path}: cannot be written ({error.strerror or error}); check the folder") from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


@contextmanager
def output(path: Path) -> Iterator[IO[bytes]]:
    """A stream that becomes ``path`` once all is written; compressed where the name ends in ``.gz``."""
    with replacing(path) as beside, beside.open("wb") as stream:
        if path.suffix.lower() != ".gz":
            yield stream
            return
        with gzip.GzipFile(filename="", mode="wb", compresslevel=COMPRESSION, fileobj=stream, mtime=0) as packed:
            yield cast("IO[bytes]", packed)


def in_one_line(error: Exception) -> str:
    """What another library had to say, short enough to quote."""
    return " ".join(str(error).split())[:160]
