"""SHA-256 sums: what a file has now, and what it had when it was fetched.

The latter stand in SHA256SUMS in the data folder, which ``sha256sum --check`` reads too; sizes stand in its comments.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from calque.experiments.sources.errors import DataError, DiskError

NAME = "SHA256SUMS"
BLOCK = 1 << 20
_SUM = re.compile(r"([0-9a-f]{64}) [ *](.+)")
_SIZE = re.compile(r"# (\d+) bytes: (.+)")


@dataclass(frozen=True)
class Sum:
    """What is known of a file's content."""

    sha256: str
    size: int | None = None
    """Bytes, where they were written down."""


def unheard(done: int) -> None:
    """Tells nobody how far it is."""


def sha256_of(path: Path, seen: Callable[[int], None] = unheard) -> str:
    """The sum of a file's content; ``seen`` hears how many bytes have been read."""
    digest, done = hashlib.sha256(), 0
    try:
        with path.open("rb") as stream:
            while block := stream.read(BLOCK):
                digest.update(block)
                done += len(block)
                seen(done)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    return digest.hexdigest()


def read_sums(folder: Path) -> dict[str, Sum]:
    """The sums recorded in a data folder, by path; none where nothing was fetched yet."""
    path = folder / NAME
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}; remove it to start anew") from error
    sizes = {match[2]: int(match[1]) for line in lines if (match := _SIZE.fullmatch(line))}
    sums = {}
    for number, line in enumerate(lines, 1):
        match = _SUM.fullmatch(line)
        if match:
            sums[match[2]] = Sum(match[1], sizes.get(match[2]))
        elif line.strip() and not line.startswith("#"):
            raise DataError(f"{path}:{number}: found {line[:40]!r}; expected a SHA-256 sum, two spaces and a path")
    return sums


def write_sums(folder: Path, sums: Mapping[str, Sum]) -> None:
    """Replace the record, whole."""
    lines = []
    for path, known in sorted(sums.items()):
        lines += [f"# {known.size} bytes: {path}"] if known.size is not None else []
        lines.append(f"{known.sha256}  {path}")
    write_whole(folder / NAME, "".join(f"{line}\n" for line in lines).encode())


def write_whole(path: Path, content: bytes) -> None:
    """A file that appears whole: written beside, then renamed."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(content)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: OSError) -> DiskError:
    """What the system has against writing there, in one line."""
    return DiskError(f"{path}: cannot be written: {error.strerror or error}; free some space, or choose another --data")
