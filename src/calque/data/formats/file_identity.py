"""What tells that a file is still the one it was: what the system says of it, and the sum of what was read of it."""

from __future__ import annotations

import hashlib
import io
import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from calque.errors import FormatError

BLOCK_SIZE = 1 << 20
COARSEST = 2_000_000_000
"""Nanoseconds between two time stamps of the coarsest file system: two changes closer than that may look like one."""


@dataclass(frozen=True)
class Look:
    """A file as the system tells it apart from others and from its earlier self."""

    size: int
    modified: int
    changed: int
    """Unlike the time of modification, nobody can set it back."""
    inode: int

    @classmethod
    def of(cls, told: os.stat_result) -> Look:
        """What matters of a stat."""
        return cls(told.st_size, told.st_mtime_ns, told.st_ctime_ns, told.st_ino)

    @property
    def settled(self) -> bool:
        """Whether the last change is so long past that any later one must have another time."""
        return time.time_ns() - max(self.modified, self.changed) > COARSEST


@dataclass(frozen=True)
class Stamp:
    """A file as it was when it was read or written."""

    look: Look
    settled: bool
    """Whether an equal look proves an equal file; where it does not, the sum has to."""
    sha256: str
    summed: int
    """How many of its first bytes the sum is of: all of them, unless no more were needed."""

    def of_same_file(self, stream: IO[bytes]) -> Stamp | None:
        """The stamp of an open file, this one where nothing has changed; None where its content has."""
        look = Look.of(os.fstat(stream.fileno()))
        if look == self.look and self.settled:
            return self
        if look.size < self.summed or (look.size != self.look.size and self.summed == self.look.size):
            return None
        if sum_of(stream, self.summed) != self.sha256:
            return None
        return Stamp(look, look.settled, self.sha256, self.summed)

    def as_json(self) -> dict[str, Any]:
        """As it is kept; ``stamp_from`` gives it back."""
        look = self.look
        kept = {"size": look.size, "mtime_ns": look.modified, "ctime_ns": look.changed, "inode": look.inode}
        return kept | {"settled": self.settled, "sha256": self.sha256, "summed": self.summed}


def stamp_from(told: Any) -> Stamp:
    """The stamp in a JSON value; KeyError or TypeError where it is none."""
    look = Look(*(int(told[name]) for name in ("size", "mtime_ns", "ctime_ns", "inode")))
    return Stamp(look, told["settled"] is True, str(told["sha256"]), int(told["summed"]))


def sum_of(stream: IO[bytes], size: int) -> str:
    """SHA-256 of the first ``size`` bytes of an open file, which is left at its beginning."""
    made = hashlib.sha256()
    stream.seek(0)
    while size > 0 and (block := stream.read(min(size, BLOCK_SIZE))):
        made.update(block)
        size -= len(block)
    stream.seek(0)
    return made.hexdigest()


def check_unchanged(path: Path, before: Look) -> None:
    """FormatError where a file is no longer what it was before it was read."""
    try:
        after = Look.of(path.stat())
    except OSError:
        after = None
    if after is None or (after.size, after.modified, after.inode) != (before.size, before.modified, before.inode):
        raise FormatError(f"{path}: changed while it was read; wait until whatever writes it has ended, and read again")


class Digest:
    """SHA-256 of what is read of a file, made on a thread of its own while the reader parses."""

    def __init__(self) -> None:
        self.size = 0
        self._made = hashlib.sha256()
        self._pool = ThreadPoolExecutor(1)
        self._last: Future[None] | None = None

    def add(self, block: bytes) -> None:
        """The next bytes; waits for those before them, so that no more than one block is held."""
        self._wait()
        self.size += len(block)
        self._last = self._pool.submit(self._made.update, block)

    def finish(self) -> str:
        """The sum of all."""
        self._wait()
        self._pool.shutdown()
        return self._made.hexdigest()

    def _wait(self) -> None:
        if self._last is not None:
            self._last.result()


class Watched(io.RawIOBase):
    """A stream that tells a digest whatever is read of it."""

    def __init__(self, stream: IO[bytes], digest: Digest) -> None:
        self._stream, self._digest = stream, digest

    def readable(self) -> bool:
        """It can be read, and nothing else."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as the file goes."""
        block = self._stream.read(len(buffer))
        buffer[: len(block)] = block
        if block:
            self._digest.add(block)
        return len(block)
