"""What several rooms do with files: write them whole or not at all, sum them up, and see whether they have changed.

A file has changed if its size, its times or its inode have. Where these prove nothing, its SHA-256 sum decides.
An OSError passes through: the caller knows what the file was for, and words the message.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from calque.errors import FormatError

BLOCK_SIZE = 1 << 20
COARSEST = 2_000_000_000
"""Nanoseconds between two time stamps of the coarsest file system. Two changes closer together may get one time."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path in the same folder, for a library that writes to a path.

    At the end it is renamed to ``path``. If anything fails it is removed, and an older file at ``path`` stays.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def written_whole(path: Path) -> Iterator[IO[bytes]]:
    """A binary stream to a file that appears at ``path`` once all is written; if anything fails, nothing changes."""
    with replacing(path) as temporary, temporary.open("wb") as stream:
        yield stream


def sha256_of(path: Path, listen: Callable[[int], None] | None = None) -> str:
    """The SHA-256 sum of a file, in hexadecimal; ``listen`` hears how many bytes have been read so far."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as stream:
        while block := stream.read(BLOCK_SIZE):
            digest.update(block)
            size += len(block)
            if listen is not None:
                listen(size)
    return digest.hexdigest()


@dataclass(frozen=True)
class FileIdentity:
    """Size, times and inode of a file: enough to see that it changed."""

    size: int
    modified: int
    changed: int
    """Unlike the time of modification, nobody can set it back."""
    inode: int

    @classmethod
    def of(cls, stat: os.stat_result) -> FileIdentity:
        """The identity in what the system says of a file."""
        return cls(stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)

    @property
    def settled(self) -> bool:
        """Whether the last change is so long ago that a later one must have another time."""
        return time.time_ns() - max(self.modified, self.changed) > COARSEST


@dataclass(frozen=True)
class FileRecord:
    """A file as it was when it was read or written."""

    identity: FileIdentity
    settled: bool
    """Whether an equal identity proves an equal file. If not, the sum has to be compared."""
    sha256: str
    summed: int
    """How many bytes, from the beginning, the sum covers: the whole file, unless the reader needed only a part."""

    def renewed(self, stream: IO[bytes]) -> FileRecord | None:
        """The record of the open file as it is now: this one if nothing changed, None if the content changed."""
        identity = FileIdentity.of(os.fstat(stream.fileno()))
        if identity == self.identity and self.settled:
            return self
        covers_all = self.summed == self.identity.size
        if identity.size < self.summed or (covers_all and identity.size != self.identity.size):
            return None
        if sha256_of_start(stream, self.summed) != self.sha256:
            return None
        return FileRecord(identity, identity.settled, self.sha256, self.summed)

    def as_json(self) -> dict[str, Any]:
        """As it is stored; ``from_json`` reads it."""
        identity = self.identity
        return {
            "size": identity.size,
            "mtime_ns": identity.modified,
            "ctime_ns": identity.changed,
            "inode": identity.inode,
            "settled": self.settled,
            "sha256": self.sha256,
            "summed": self.summed,
        }

    @classmethod
    def from_json(cls, value: Any) -> FileRecord:
        """The record in a JSON value; KeyError, TypeError or ValueError if it is none."""
        identity = FileIdentity(*(int(value[name]) for name in ("size", "mtime_ns", "ctime_ns", "inode")))
        return cls(identity, value["settled"] is True, str(value["sha256"]), int(value["summed"]))


def sha256_of_start(stream: IO[bytes], size: int) -> str:
    """The SHA-256 sum of the first ``size`` bytes of an open file. The stream is then at its beginning again."""
    digest = hashlib.sha256()
    stream.seek(0)
    while size > 0 and (block := stream.read(min(size, BLOCK_SIZE))):
        digest.update(block)
        size -= len(block)
    stream.seek(0)
    return digest.hexdigest()


def check_unchanged(path: Path, before: FileIdentity) -> None:
    """FormatError if a file changed while it was read."""
    try:
        after = FileIdentity.of(path.stat())
    except OSError:
        after = None
    if after is None or (after.size, after.modified, after.inode) != (before.size, before.modified, before.inode):
        raise FormatError(f"{path}: changed while it was read; wait until whatever writes it has ended, and read again")
