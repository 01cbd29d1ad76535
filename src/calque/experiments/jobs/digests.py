"""Digests of input files, kept beside the runs so that gigabytes are not read again to find nothing changed."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from calque.errors import FormatError, RunError
from calque.runs import folder as store


class Digests:
    """SHA-256 of files; one of the same size and times as before is taken to be the same.

    The time of the last change to a file, unlike that to its content, cannot be set back.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known = _read(path)

    def of(self, file: Path) -> str:
        """The digest of a file's bytes."""
        place, state = str(file.resolve()), file.stat()
        mark = [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino]
        known = self.known.get(place)
        if not isinstance(known, dict) or known.get("mark") != mark or not isinstance(known.get("sha256"), str):
            self.known[place] = {"mark": mark, "sha256": _digest(file)}
            store.write_json(self.path, self.known)
        return str(self.known[place]["sha256"])


def _read(path: Path) -> dict[str, Any]:
    """What was kept; a damaged file only costs the time to read the inputs again."""
    try:
        found = store.read_json(path) if path.exists() else {}
    except RunError:
        return {}
    return found if isinstance(found, dict) else {}


def _digest(file: Path) -> str:
    digest = hashlib.sha256()
    try:
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise FormatError(f"{file}: cannot be read: {error.strerror}; expected an input") from error
    return digest.hexdigest()
