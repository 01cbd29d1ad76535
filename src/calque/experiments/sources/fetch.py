"""Fetching what is missing, file by file: whole or not at all, checked, and its sum written down."""

from __future__ import annotations

import hashlib
import sys
import time
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from calque.experiments.sources.catalogue import DataError, DataFile
from calque.experiments.sources.download import Download, NoConnectionError, Patience, Pause, discard, download, note_of
from calque.experiments.sources.state import (
    SUMS,
    DiskError,
    Sum,
    cannot_write,
    checked_sum,
    part_of,
    read_sums,
    write_file,
    write_sums,
)
from calque.progress import Listen, quiet

if sys.platform == "win32":
    import msvcrt

    def _take_lock(stream: IO[bytes]) -> None:
        msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take_lock(stream: IO[bytes]) -> None:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)


LOCK = ".calque-data.lock"
"""This file stays, empty: the lock is held by the process, not by the file, and so ends with the process."""
LARGEST_MEMBER = 1 << 28
"""No file that the tables need from an archive is nearly as large; a larger one would be an attack on the memory."""


@dataclass(frozen=True)
class DownloadResult:
    """What became of one file."""

    file: DataFile
    size: int = 0
    """Bytes that are there now."""
    sha256: str = ""
    error: str = ""
    """Why it is not there; empty if it is."""


@dataclass(frozen=True)
class FetchOptions:
    """Where to fetch to, how patiently, and who hears about it."""

    folder: Path
    patience: Patience = field(default_factory=Patience)
    listen: Listen = quiet
    pause: Pause = time.sleep


def fetch(files: Sequence[DataFile], options: FetchOptions) -> Iterator[DownloadResult]:
    """Fetch these files one after the other, and report each result as it comes.

    A file that fails does not stop the others; a disk that is full or cannot be written to does (DiskError). A server
    that could not be connected to is not tried again for its other files, because that would only take long.
    """
    with locked(options.folder):
        silent = set[str]()
        for file in files:
            server = urlsplit(file.url).netloc
            if server in silent:
                error = f"{file.url}: not tried, since {server} could not be connected to just now"
                yield DownloadResult(file, error=error)
                continue
            try:
                yield _fetched(file, options)
            except DiskError:
                raise
            except DataError as error:
                yield DownloadResult(file, error=str(error))
                if isinstance(error, NoConnectionError):
                    silent.add(server)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """No other process fetches into the folder for as long as this lasts; DataError if one does already."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stream = (folder / LOCK).open("ab")
    except OSError as error:
        raise cannot_write(folder, error) from error
    with stream:
        try:
            _take_lock(stream)
        except OSError as error:
            raise DataError(
                f"{folder}: another process is fetching into it ({error.strerror or error}); wait for it to end"
            ) from error
        yield


def _fetched(file: DataFile, options: FetchOptions) -> DownloadResult:
    if not file.url:
        raise DataError(f"{file.path}: no program can fetch it; {file.source.by_hand} ({file.source.page})")
    if not file.archive:
        return _downloaded(file, options)
    archive = replace(file, path=file.archive, archive="", columns=(), size=None, sha256="")
    if not (options.folder / archive.path).is_file():
        _downloaded(archive, options)
    content = columns_of(options.folder / file.archive, file.columns)
    content_sum = Sum(hashlib.sha256(content).hexdigest(), len(content))
    _check(file, options.folder, content_sum)
    write_file(options.folder / file.path, content)
    return _recorded(file, options.folder, content_sum)


def _downloaded(file: DataFile, options: FetchOptions) -> DownloadResult:
    """Gather, check, put in place, write down: in this order, so that what is in place was checked."""
    target = options.folder / file.path
    part = part_of(target)
    download(Download(file.path, file.url, part, file.size), options.patience, options.listen, options.pause)
    size = part.stat().st_size
    content_sum = Sum(checked_sum(part, file.path, size, options.listen), size)
    try:
        _check(file, options.folder, content_sum)
    except DataError:
        discard(part)
        raise
    try:
        part.replace(target)
        note_of(part).unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(target, error) from error
    return _recorded(file, options.folder, content_sum)


def _check(file: DataFile, folder: Path, arrived: Sum) -> None:
    """Refuse what differs from the catalogue, or from what the same address gave the first time."""
    recorded = read_sums(folder).get(file.path)
    expected = file.sha256 or (recorded.sha256 if recorded else "")
    if file.size is not None and arrived.size != file.size:
        raise DataError(
            f"{file.url}: sent {arrived.size} bytes, expected {file.size}; nothing was kept, fetch it again"
        )
    if arrived.size == 0:
        raise DataError(f"{file.url}: sent nothing, expected content; look on its publisher's page")
    if expected and arrived.sha256 != expected:
        known = "the catalogue" if file.sha256 else f"{folder / SUMS}, from an earlier fetch,"
        raise DataError(
            f"{file.url}: wrong checksum: SHA-256 is {arrived.sha256}, but {known} has {expected}; nothing was kept, "
            f"fetch it again{'' if file.sha256 else ', or remove its line there if its publisher has changed it'}"
        )


def _recorded(file: DataFile, folder: Path, content_sum: Sum) -> DownloadResult:
    write_sums(folder, {**read_sums(folder), file.path: content_sum})
    return DownloadResult(file, content_sum.size or 0, content_sum.sha256)


def columns_of(archive: Path, members: tuple[str, ...]) -> bytes:
    """The lines of several files of a zip archive side by side, with tabs between."""
    try:
        with zipfile.ZipFile(archive) as opened:
            columns = [_lines(opened, member) for member in members]
    except (zipfile.BadZipFile, zlib.error, OSError, NotImplementedError, RuntimeError, EOFError) as error:
        raise DataError(
            f"{archive}: is not a zip archive that can be read ({error}); remove it, and fetch again"
        ) from error
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise DataError(f"{archive}: {' and '.join(members)} have {lengths} lines; expected as many in each")
    return b"".join(b"\t".join(row) + b"\n" for row in zip(*columns, strict=True))


def _lines(archive: zipfile.ZipFile, member: str) -> list[bytes]:
    try:
        size = archive.getinfo(member).file_size
    except KeyError:
        raise DataError(f"{archive.filename}: has no {member!r} in it; its publisher has changed it") from None
    if size > LARGEST_MEMBER:
        raise DataError(f"{archive.filename}: {member!r} would be {size} bytes long; expected at most {LARGEST_MEMBER}")
    return archive.read(member).removeprefix(b"\xef\xbb\xbf").splitlines()
