"""What of the data is there, what is missing and what is damaged; and the SHA-256 sums of what was fetched.

The sums stand in SHA256SUMS in the data folder, which ``sha256sum --check`` reads too; sizes stand in its comments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from calque.data.files import sha256_of, written_whole
from calque.experiments.sources.catalogue import DataError, DataFile
from calque.progress import Listen, Step, quiet

SUMS = "SHA256SUMS"
UNITS = ("bytes", "kB", "MB", "GB", "TB")
_SUM = re.compile(r"([0-9a-f]{64}) [ *](.+)")
_SIZE = re.compile(r"# (\d+) bytes: (.+)")


class DiskError(DataError):
    """A folder that cannot be written to, or a full disk: no other file will fare better."""


@dataclass(frozen=True)
class Sum:
    """What is known of a file's content."""

    sha256: str
    size: int | None = None
    """Bytes, if they were written down."""


@dataclass(frozen=True)
class FileState:
    """Whether one file is there, and what is there in its place."""

    file: DataFile
    state: Literal["present", "substituted", "missing", "damaged"]
    present: str = ""
    """What is there, below the data folder: the file itself, or one that is accepted or serves in its place."""
    size: int | None = None
    """Bytes of what is there."""
    begun: int = 0
    """Bytes of an unfinished download."""
    reason: str = ""
    """Why it counts as damaged."""

    @property
    def by_hand(self) -> bool:
        """Whether only a person can bring it."""
        return self.state in ("missing", "damaged") and not self.file.url


def survey(
    files: Sequence[DataFile], folder: Path, check: bool = False, listen: Listen = quiet
) -> tuple[FileState, ...]:
    """The state of each of these files; sizes are always compared, sums only with ``check``."""
    try:
        if folder.exists() and not folder.is_dir():
            raise DataError(f"{folder}: is not a folder; expected the one where the data is or shall be")
        sums = read_sums(folder)
        return tuple(_state(file, folder, sums, listen if check else None) for file in files)
    except OSError as error:
        raise DataError(f"{error.filename or folder}: cannot be read: {error.strerror or error}") from error


def _state(file: DataFile, folder: Path, sums: Mapping[str, Sum], check: Listen | None) -> FileState:
    present = next((name for name in (file.path, file.also) if name and (folder / name).is_file()), "")
    if present:
        size = size_of(folder / present)
        reason = _damage(file, folder / present, present, sums.get(present), check)
        return FileState(file, "damaged" if reason else "present", present, size, reason=reason)
    begun = size_of(part_of(folder / (file.archive or file.path)))
    if file.substitute and (folder / file.substitute).is_file():
        return FileState(file, "substituted", file.substitute, size_of(folder / file.substitute), begun)
    return FileState(file, "missing", begun=begun)


def _damage(file: DataFile, path: Path, name: str, recorded: Sum | None, check: Listen | None) -> str:
    """What is wrong with a file that is there; empty if nothing. The catalogue only describes the file itself."""
    size, itself = size_of(path), name == file.path
    right = file.size if itself and file.size is not None else recorded.size if recorded else None
    if size == 0 or right not in (None, size):
        return f"has {size} bytes, expected {'some' if right is None else right}"
    expected = file.sha256 if itself and file.sha256 else recorded.sha256 if recorded else ""
    if check is None or not expected:
        return ""
    sha256 = checked_sum(path, name, size, check)
    return "" if sha256 == expected else f"has the SHA-256 sum {sha256}, expected {expected}"


def checked_sum(path: Path, name: str, size: int, listen: Listen) -> str:
    """The SHA-256 sum of a file, while ``listen`` hears how far it is."""
    try:
        return sha256_of(path, lambda done: listen(Step(name, done, size, {"doing": "checking"})))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def size_of(path: Path) -> int:
    """Bytes of a file, 0 if it is not there."""
    return path.stat().st_size if path.is_file() else 0


def part_of(path: Path) -> Path:
    """Where the content of a file gathers before it is whole."""
    return path.with_name(f"{path.name}.part")


def read_sums(folder: Path) -> dict[str, Sum]:
    """The sums recorded in a data folder, by path; none if nothing was fetched yet."""
    path = folder / SUMS
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
    for path, recorded in sorted(sums.items()):
        lines += [f"# {recorded.size} bytes: {path}"] if recorded.size is not None else []
        lines.append(f"{recorded.sha256}  {path}")
    write_file(folder / SUMS, "".join(f"{line}\n" for line in lines).encode())


def write_file(path: Path, content: bytes) -> None:
    """A file that appears whole."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as stream:
            stream.write(content)
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: OSError) -> DiskError:
    """Why the system refuses to write there, in one line."""
    return DiskError(f"{path}: cannot be written: {error.strerror or error}; free some space, or choose another --data")


def amount(size: int) -> str:
    """'6.6 GB': two figures, in decimal units as publishers count them."""
    number, unit = float(size), 0
    while number >= 999.5 and unit < len(UNITS) - 1:
        number, unit = number / 1000, unit + 1
    return f"{number:.1f} {UNITS[unit]}" if unit and number < 9.95 else f"{number:.0f} {UNITS[unit]}"
