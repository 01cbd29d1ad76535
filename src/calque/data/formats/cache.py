"""Large text and binary files are kept after the first reading, in a form that is mapped into memory the next time.

An entry is a folder: ``words.txt``, ``vectors.f32``, ``counts.f64`` where there are counts, and ``source.json`` with
the stamps of the file it came from and of its own files. It is used only while all of them are what they were. Entries
may be removed at any time.
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

from calque.data.formats.file_identity import Look, Stamp, stamp_from
from calque.data.formats.format import Request
from calque.data.formats.rows import Harvest
from calque.data.formats.text import decode

VERSION = 1
"""How an entry is laid out; another number, another layout."""
SMALLEST = 8 << 20
"""Files of fewer bytes are read fast enough."""
SHARE = 4
"""An entry may take one in so many bytes of what is free on the disk."""
ABANDONED = 24 * 3600
"""After so many seconds a half-written entry is one that nobody will finish."""
MARK, WORDS, VECTORS, COUNTS, PART = "source.json", "words.txt", "vectors.f32", "counts.f64", ".part-"


@dataclass(frozen=True)
class Kept:
    """What an entry holds: a harvest, and the name of the format it was read from."""

    harvest: Harvest
    format: str


class CacheError(Exception):
    """An entry that cannot be used or made; it never leaves this room, the file is read without it."""


@dataclass(frozen=True)
class Entry:
    """The place in the cache for one file, read in one way."""

    source: Path
    folder: Path

    def fetch(self) -> Kept | None:
        """What is kept, if it still is what the file holds; CacheError where it is damaged or of another version."""
        try:
            told = json.loads((self.folder / MARK).read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            raise CacheError("its entry in the cache was damaged, and is made anew") from error
        if not isinstance(told, dict) or told.get("version") != VERSION:
            raise CacheError("its entry in the cache is of another version of calque, and is made anew")
        return self._opened(told)

    def _opened(self, told: dict[str, Any]) -> Kept | None:
        try:
            stamps = {name: stamp_from(each) for name, each in told["stamps"].items()}
            with self.source.open("rb") as stream:
                source = stamps["source"].of_same_file(stream)
            if source is None:
                return None
            found = {name: _held(self.folder / name, stamps[name]) for name in stamps if name != "source"}
            made = _kept(told, {name: content for name, (content, _) in found.items()})
        except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise CacheError("its entry in the cache was damaged, and is made anew") from error
        now = {"source": source} | {name: stamp for name, (_, stamp) in found.items()}
        if now != stamps:
            with suppress(OSError):  # then the sums are made again next time
                _write_mark(self.folder, told, now)
        return made

    def keep(self, kept: Kept, source: Stamp) -> None:
        """Put it into the cache, whole or not at all; CacheError where it cannot be."""
        try:
            root = self.folder.parent
            root.mkdir(parents=True, exist_ok=True)
            _remove_abandoned(root)
            _check_room(root, kept.harvest)
            with tempfile.TemporaryDirectory(prefix=PART, dir=root, ignore_cleanup_errors=True) as part:
                fresh = Path(part) / "new"
                fresh.mkdir()
                _write(fresh, self.source, kept, source)
                _put_in_place(fresh, self.folder)
        except OSError as error:
            raise _not_kept(error.strerror or str(error)) from error


def entry(source: Path, request: Request, format: str | None) -> Entry | None:
    """The place for a file read in this way; None where it is too small to be worth one."""
    if source.stat().st_size < SMALLEST:
        return None
    place = os.path.abspath(source)  # noqa: PTH100  (a link is told by where it stands, and by what it leads to now)
    words = None if request.words is None else os.path.abspath(request.words)  # noqa: PTH100
    key = json.dumps([place, request.limit, format, words])
    return Entry(source, _root() / hashlib.sha256(key.encode()).hexdigest()[:32])


def _root() -> Path:
    """``$CALQUE_CACHE``, or ``calque`` in the user's folder for caches."""
    given = os.environ.get("CALQUE_CACHE")
    if given:
        return Path(given).absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    try:
        return (Path(shared) if Path(shared).is_absolute() else Path.home() / ".cache") / "calque"
    except RuntimeError as error:
        raise _not_kept("there is no home folder") from error


def _not_kept(why: str) -> CacheError:
    return CacheError(f"not kept in the cache ({why}), so it is read anew next time; CALQUE_CACHE names its folder")


def _words(stream: IO[bytes]) -> list[str]:
    return decode(stream.read()).split("\n")


def _vectors(stream: IO[bytes]) -> npt.NDArray[np.float32]:
    """Copied where it is written to, so that nobody changes the cache."""
    return np.memmap(stream, np.dtype("<f4"), "c")


def _counts(stream: IO[bytes]) -> npt.NDArray[np.float64]:
    return np.fromfile(stream, np.dtype("<f8"))


_READERS: dict[str, Callable[[IO[bytes]], Any]] = {WORDS: _words, VECTORS: _vectors, COUNTS: _counts}


def _held(path: Path, stamp: Stamp) -> tuple[Any, Stamp]:
    """The content of one of our files, and its stamp now; ValueError where it is not what was written."""
    with path.open("rb") as stream:
        now = stamp.of_same_file(stream)
        if now is None:
            raise ValueError(f"{path.name} has changed")
        return _READERS[path.name](stream), now


def _kept(told: dict[str, Any], found: dict[str, Any]) -> Kept:
    words, vectors, counts = found[WORDS], found[VECTORS].reshape(told["shape"]), found.get(COUNTS)
    if len(words) != len(vectors) or (counts is not None and len(counts) != len(words)):
        raise ValueError("words, vectors and counts are not equally many")
    return Kept(Harvest(words, vectors, tuple(map(str, told["notes"])), counts), str(told["format"]))


def _write(folder: Path, source: Path, kept: Kept, stamp: Stamp) -> None:
    harvest = kept.harvest
    letters = "\n".join(harvest.words).encode("utf-8", "surrogateescape")
    if letters.count(b"\n") != len(harvest.words) - 1:
        raise _not_kept("a word holds a line end")
    contents = {WORDS: np.frombuffer(letters, np.uint8), VECTORS: harvest.vectors.astype("<f4", copy=False)}
    if harvest.counts is not None:
        contents[COUNTS] = harvest.counts.astype("<f8", copy=False)
    written = {name: _written(folder / name, content) for name, content in contents.items()}
    settled = _wait_for_the_clock(folder, max(look.changed for look, _ in written.values()))
    own = {name: Stamp(look, settled, made, look.size) for name, (look, made) in written.items()}
    told = {"version": VERSION, "path": str(source), "format": kept.format, "notes": list(harvest.notes)}
    _write_mark(folder, told | {"shape": list(harvest.vectors.shape)}, {"source": stamp} | own)


def _written(path: Path, content: npt.NDArray[Any]) -> tuple[Look, str]:
    """The file's look and sum; the sum is made while the disk is busy."""
    with ThreadPoolExecutor(1) as pool, path.open("wb") as stream:
        letters = content.reshape(-1).view(np.uint8).data
        summed = pool.submit(hashlib.sha256, letters)
        stream.write(letters)
        stream.flush()
        return Look.of(os.fstat(stream.fileno())), summed.result().hexdigest()


def _wait_for_the_clock(folder: Path, changed: int) -> bool:
    """Wait until the file system's time is past that of our files, so that a later change must show; whether it came.

    Nobody else knows the folder yet, so what changes them before cannot be anyone but us.
    """
    for _ in range(20):
        with tempfile.NamedTemporaryFile(dir=folder) as probe:
            if os.fstat(probe.fileno()).st_ctime_ns > changed:
                return True
        time.sleep(0.002)
    return False


def _write_mark(folder: Path, told: dict[str, Any], stamps: dict[str, Stamp]) -> None:
    beside = folder / f".{MARK}.{os.getpid()}"
    kept = told | {"stamps": {name: each.as_json() for name, each in stamps.items()}}
    try:
        beside.write_text(json.dumps(kept, indent=1), encoding="utf-8")
        beside.replace(folder / MARK)
    finally:
        beside.unlink(missing_ok=True)


def _put_in_place(fresh: Path, folder: Path) -> None:
    """Rename; what was there is moved aside. Where another process was faster, its entry stays: it is as good."""
    with suppress(FileNotFoundError):
        folder.rename(fresh.with_name("old"))
    try:
        fresh.rename(folder)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise


def _check_room(root: Path, harvest: Harvest) -> None:
    size, free = harvest.vectors.nbytes, shutil.disk_usage(root).free
    if size * SHARE > free:
        raise _not_kept(f"it would take {size >> 20} MiB of the {free >> 20} that are free in {root}")


def _remove_abandoned(root: Path) -> None:
    for each in root.glob(f"{PART}*"):
        with suppress(OSError):
            if time.time() - each.stat().st_mtime > ABANDONED:
                shutil.rmtree(each, ignore_errors=True)
