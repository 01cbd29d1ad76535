"""What of the data is there, what is missing, and what is damaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from calque.experiments.sources.catalogue import File
from calque.experiments.sources.errors import DataError
from calque.experiments.sources.sums import Sum, read_sums, sha256_of
from calque.progress import Listen, Step, quiet

State = Literal["present", "substituted", "missing", "damaged"]


@dataclass(frozen=True)
class Standing:
    """How it stands with one file."""

    file: File
    state: State
    found: str = ""
    """What is there, below the data folder: the file itself, or what does or serves in its place."""
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


@dataclass(frozen=True)
class _Look:
    """Where to look, and how closely."""

    folder: Path
    sums: Mapping[str, Sum]
    check: bool
    listen: Listen


def survey(files: Sequence[File], folder: Path, check: bool = False, listen: Listen = quiet) -> tuple[Standing, ...]:
    """How it stands with each of these files; sizes are always compared, sums only if ``check``."""
    try:
        if folder.exists() and not folder.is_dir():
            raise DataError(f"{folder}: is not a folder; expected the one where the data is or shall be")
        look = _Look(folder, read_sums(folder), check, listen)
        return tuple(_standing(each, look) for each in files)
    except OSError as error:
        raise DataError(f"{error.filename or folder}: cannot be read: {error.strerror or error}") from error


def part_of(path: Path) -> Path:
    """Where the content of a file gathers before it is whole."""
    return path.with_name(f"{path.name}.part")


def _standing(file: File, look: _Look) -> Standing:
    found = next((each for each in (file.path, file.also) if each and (look.folder / each).is_file()), "")
    if found:
        size = _size(look.folder / found)
        reason = _damage(file, found, size, look)
        return Standing(file, "damaged" if reason else "present", found, size, reason=reason)
    begun = _size(part_of(look.folder / (file.archive or file.path)))
    if file.substitute and (look.folder / file.substitute).is_file():
        return Standing(file, "substituted", file.substitute, _size(look.folder / file.substitute), begun)
    return Standing(file, "missing", begun=begun)


def _damage(file: File, found: str, size: int, look: _Look) -> str:
    """What is wrong with a file that is there; empty if nothing. What the catalogue knows is of the file itself."""
    itself, recorded = found == file.path, look.sums.get(found)
    right = file.size if itself and file.size is not None else recorded.size if recorded else None
    if size == 0 or right not in (None, size):
        return f"has {size} bytes, expected {'some' if right is None else right}"
    expected = file.sha256 if itself and file.sha256 else recorded.sha256 if recorded else ""
    if not (look.check and expected):
        return ""
    sha256 = sha256_of(look.folder / found, lambda done: look.listen(Step(found, done, size, {"doing": "checking"})))
    return "" if sha256 == expected else f"has the SHA-256 sum {sha256}, expected {expected}"


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
