"""Fetching what is missing, file by file: whole or not at all, checked, and written down."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from calque.experiments.sources.archives import columns_of
from calque.experiments.sources.catalogue import File
from calque.experiments.sources.errors import DataError, DiskError, NoConnectionError
from calque.experiments.sources.lock import alone_in
from calque.experiments.sources.state import part_of
from calque.experiments.sources.sums import NAME, Sum, cannot_write, read_sums, sha256_of, write_sums, write_whole
from calque.experiments.sources.transfer import Job, Patience, Pause, discard, download, note_of
from calque.progress import Listen, Step, quiet


@dataclass(frozen=True)
class Outcome:
    """What became of one file."""

    file: File
    size: int = 0
    """Bytes that are there now."""
    sha256: str = ""
    error: str = ""
    """Why it is not there; empty where it is."""


@dataclass(frozen=True)
class Errand:
    """Where to fetch to, how patiently, and who wants to know."""

    folder: Path
    patience: Patience = field(default_factory=Patience)
    listen: Listen = quiet
    pause: Pause = time.sleep


def fetch(files: Sequence[File], errand: Errand) -> Iterator[Outcome]:
    """Fetch these files one after the other, and say of each what became of it, as it happens.

    A file that fails does not stop the others; a disk that is full or cannot be written to does (DiskError). A server
    that could not be connected to is not tried again for its other files: that would only take long.
    """
    with alone_in(errand.folder):
        silent = set[str]()
        for each in files:
            server = urlsplit(each.url).netloc
            if server in silent:
                yield Outcome(each, error=f"{each.url}: not tried, since {server} could not be connected to just now")
                continue
            try:
                yield _fetched(each, errand)
            except DiskError:
                raise
            except DataError as error:
                yield Outcome(each, error=str(error))
                if isinstance(error, NoConnectionError):
                    silent.add(server)


def _fetched(file: File, errand: Errand) -> Outcome:
    if not file.url:
        raise DataError(f"{file.path}: no program can fetch it; {file.source.by_hand} ({file.source.page})")
    if not file.archive:
        return _downloaded(file, errand)
    archive = replace(file, path=file.archive, archive="", columns=(), size=None, sha256="")
    if not (errand.folder / archive.path).is_file():
        _downloaded(archive, errand)
    return _unpacked(file, errand)


def _downloaded(file: File, errand: Errand) -> Outcome:
    """Gather, check, put in place, write down: in this order, so that what is in place was checked."""
    target = errand.folder / file.path
    part = part_of(target)
    download(Job(file.path, file.url, part, file.size), errand.patience, errand.listen, errand.pause)
    size = part.stat().st_size
    sha256 = sha256_of(part, lambda done: errand.listen(Step(file.path, done, size, {"doing": "checking"})))
    try:
        _check(file, errand.folder, Sum(sha256, size))
    except DataError:
        discard(part)
        raise
    try:
        part.replace(target)
        note_of(part).unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(target, error) from error
    _record(errand.folder, file.path, Sum(sha256, size))
    return Outcome(file, size, sha256)


def _unpacked(file: File, errand: Errand) -> Outcome:
    target = errand.folder / file.path
    content = columns_of(errand.folder / file.archive, file.columns)
    sha256 = hashlib.sha256(content).hexdigest()
    _check(file, errand.folder, Sum(sha256, len(content)))
    write_whole(target, content)
    _record(errand.folder, file.path, Sum(sha256, len(content)))
    return Outcome(file, len(content), sha256)


def _check(file: File, folder: Path, got: Sum) -> None:
    """Refuse what differs from the catalogue, or from what the same address gave the first time."""
    recorded = read_sums(folder).get(file.path)
    expected = file.sha256 or (recorded.sha256 if recorded else "")
    if file.size is not None and got.size != file.size:
        raise DataError(f"{file.url}: sent {got.size} bytes, expected {file.size}; nothing was kept, fetch it again")
    if got.size == 0:
        raise DataError(f"{file.url}: sent nothing, expected content; look on its publisher's page")
    if expected and got.sha256 != expected:
        known = "the catalogue" if file.sha256 else f"{folder / NAME}, from an earlier fetch,"
        raise DataError(
            f"{file.url}: wrong checksum: SHA-256 is {got.sha256}, but {known} has {expected}; nothing was kept, "
            f"fetch it again{'' if file.sha256 else ', or remove its line there if its publisher has changed it'}"
        )


def _record(folder: Path, path: str, known: Sum) -> None:
    write_sums(folder, {**read_sums(folder), path: known})
