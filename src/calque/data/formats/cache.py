"""The cache: large text and binary files are kept after the first reading, and mapped into memory the next time.

An entry is a folder: ``words.txt``, ``vectors.f32``, ``counts.f64`` if there are counts, and ``source.json``, which
describes the file it came from and its own files. It is used only while all of these are unchanged. Entries may be
removed at any time.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from calque.data.files import FileIdentity, FileRecord, written_whole
from calque.data.formats.format import FileContent, ReadOptions
from calque.data.formats.text import decode

VERSION = 1
"""How an entry is laid out; another layout has another number."""
SHARE = 4
"""An entry may take one in so many bytes of the free disk."""
ABANDONED = 24 * 3600
"""A half-written entry is removed after so many seconds, since nobody will finish it."""
DESCRIPTION, WORDS, VECTORS, COUNTS = "source.json", "words.txt", "vectors.f32", "counts.f64"
UNFINISHED = ".part-"
"""The beginning of the names of half-written entries."""

_READERS: dict[str, Callable[[IO[bytes]], Any]] = {
    WORDS: lambda stream: decode(stream.read()).split("\n"),
    # Pages that are written to are copied, so that nobody changes the cache.
    VECTORS: lambda stream: np.memmap(stream, np.dtype("<f4"), "c"),
    COUNTS: lambda stream: np.fromfile(stream, np.dtype("<f8")),
}


class CacheError(Exception):
    """An entry that cannot be used or made. Only ``reading`` sees it, and then reads the file without the cache."""


@dataclass(frozen=True)
class CacheEntry:
    """The place in the cache for one file, read with certain options."""

    source: Path
    folder: Path

    def read(self) -> FileContent | None:
        """The content, if the file is unchanged; CacheError if the entry is damaged or of another version."""
        try:
            description = json.loads((self.folder / DESCRIPTION).read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            raise CacheError("its entry in the cache was damaged, and is made anew") from error
        if not isinstance(description, dict) or description.get("version") != VERSION:
            raise CacheError("its entry in the cache is of another version of calque, and is made anew")
        try:
            return self._open(description)
        except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise CacheError("its entry in the cache was damaged, and is made anew") from error

    def _open(self, description: dict[str, Any]) -> FileContent | None:
        """None if the source has changed; ValueError if a file of the entry has."""
        records = {name: FileRecord.from_json(value) for name, value in description["stamps"].items()}
        with self.source.open("rb") as stream:
            record = records["source"].renewed(stream)
        if record is None:
            return None
        renewed = {"source": record}
        parts: dict[str, Any] = {}
        for name in [name for name in records if name != "source"]:
            with (self.folder / name).open("rb") as stream:
                record = records[name].renewed(stream)
                if record is None:
                    raise ValueError(f"{name} has changed")
                renewed[name] = record
                parts[name] = _READERS[name](stream)
        words, vectors, counts = parts[WORDS], parts[VECTORS].reshape(description["shape"]), parts.get(COUNTS)
        if len(words) != len(vectors) or (counts is not None and len(counts) != len(words)):
            raise ValueError("words, vectors and counts are not equally many")
        if renewed != records:
            with suppress(OSError):  # if this fails, the sums are computed again next time
                _write_description(self.folder, description, renewed)
        notes = tuple(map(str, description["notes"]))
        return FileContent(words, vectors, notes, counts, format=str(description["format"]))

    def write(self, content: FileContent, source: FileRecord) -> None:
        """Put the content into the cache, whole or not at all; CacheError if that cannot be done.

        An older entry is moved aside first. If another process was faster, its entry stays: it is just as good.
        """
        try:
            cache = self.folder.parent
            cache.mkdir(parents=True, exist_ok=True)
            _remove_abandoned(cache)
            size, free = content.vectors.nbytes, shutil.disk_usage(cache).free
            if size * SHARE > free:
                raise _not_kept(f"it would take {size >> 20} MiB of the {free >> 20} that are free in {cache}")
            with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=cache, ignore_cleanup_errors=True) as part:
                fresh = Path(part) / "new"
                fresh.mkdir()
                _write_files(fresh, self.source, content, source)
                with suppress(FileNotFoundError):
                    self.folder.rename(fresh.with_name("old"))
                try:
                    fresh.rename(self.folder)
                except OSError as error:
                    if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                        raise
        except OSError as error:
            raise _not_kept(error.strerror or str(error)) from error


def cache_entry(source: Path, options: ReadOptions, format: str | None) -> CacheEntry:
    """The place for a file read with these options."""
    # A symbolic link is known by its own path: what it leads to may change.
    place = os.path.abspath(source)  # noqa: PTH100
    words = None if options.words is None else os.path.abspath(options.words)  # noqa: PTH100
    key = json.dumps([place, options.limit, format, words])
    return CacheEntry(source, cache_folder() / hashlib.sha256(key.encode()).hexdigest()[:32])


def cache_folder() -> Path:
    """``$CALQUE_CACHE``, or ``calque`` in the user's folder for caches."""
    named = os.environ.get("CALQUE_CACHE")
    if named:
        return Path(named).absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    try:
        return (Path(shared) if Path(shared).is_absolute() else Path.home() / ".cache") / "calque"
    except RuntimeError as error:
        raise _not_kept("there is no home folder") from error


def _not_kept(reason: str) -> CacheError:
    return CacheError(f"not kept in the cache ({reason}), so it is read anew next time; CALQUE_CACHE names its folder")


def _write_files(folder: Path, source: Path, content: FileContent, source_record: FileRecord) -> None:
    letters = "\n".join(content.words).encode("utf-8", "surrogateescape")
    if letters.count(b"\n") != len(content.words) - 1:
        raise _not_kept("a word holds a line end")
    arrays: dict[str, npt.NDArray[Any]] = {
        WORDS: np.frombuffer(letters, np.uint8),
        VECTORS: content.vectors.astype("<f4", copy=False),
    }
    if content.counts is not None:
        arrays[COUNTS] = content.counts.astype("<f8", copy=False)
    written: dict[str, tuple[FileIdentity, str]] = {}
    for name, array in arrays.items():
        # The sum is computed while the disk is busy.
        with ThreadPoolExecutor(1) as pool, (folder / name).open("wb") as stream:
            data = array.reshape(-1).view(np.uint8).data
            digest = pool.submit(hashlib.sha256, data)
            stream.write(data)
            stream.flush()
            written[name] = FileIdentity.of(os.fstat(stream.fileno())), digest.result().hexdigest()
    settled = _wait_for_the_clock(folder, max(identity.changed for identity, _ in written.values()))
    records = {"source": source_record}
    for name, (identity, sha256) in written.items():
        records[name] = FileRecord(identity, settled, sha256, identity.size)
    description = {"version": VERSION, "path": str(source), "format": content.format, "notes": list(content.notes)}
    _write_description(folder, description | {"shape": list(content.vectors.shape)}, records)


def _wait_for_the_clock(folder: Path, changed: int) -> bool:
    """Wait until the file system's time is past that of our files, so that a later change must show.

    Returns whether that time came. Nobody else knows the folder yet, so nobody else changes the files before.
    """
    for _ in range(20):
        with tempfile.NamedTemporaryFile(dir=folder) as probe:
            if os.fstat(probe.fileno()).st_ctime_ns > changed:
                return True
        time.sleep(0.002)
    return False


def _write_description(folder: Path, description: dict[str, Any], records: dict[str, FileRecord]) -> None:
    text = json.dumps(description | {"stamps": {name: record.as_json() for name, record in records.items()}}, indent=1)
    with written_whole(folder / DESCRIPTION) as stream:
        stream.write(text.encode())


def _remove_abandoned(cache: Path) -> None:
    for folder in cache.glob(f"{UNFINISHED}*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > ABANDONED:
                shutil.rmtree(folder, ignore_errors=True)
