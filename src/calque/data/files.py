"""What several rooms do with files: write them whole or not at all, and compute their SHA-256 sum.

An OSError passes through: the caller knows what the file was for, and words the message.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

BLOCK_SIZE = 1 << 20


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
