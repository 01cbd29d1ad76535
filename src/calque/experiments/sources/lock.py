"""One process at a time fetches into a data folder, so that no two write to the same file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from calque.experiments.sources.errors import DataError
from calque.experiments.sources.sums import cannot_write

if sys.platform == "win32":
    import msvcrt

    def _take(stream: IO[bytes]) -> None:
        msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(stream: IO[bytes]) -> None:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)


NAME = ".calque-data.lock"
"""Stays behind, empty: the lock is held by the process, not by the file, and so ends with the process."""


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Nobody else fetches into the folder for as long as this lasts; DataError where somebody does already."""
    path = folder / NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stream = path.open("ab")
    except OSError as error:
        raise cannot_write(folder, error) from error
    with stream:
        try:
            _take(stream)
        except OSError as error:
            raise DataError(
                f"{folder}: another process is fetching into it ({error.strerror or error}); wait for it to end"
            ) from error
        yield
