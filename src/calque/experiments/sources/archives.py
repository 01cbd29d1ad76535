"""Files that their publisher offers only inside an archive."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

from calque.experiments.sources.errors import DataError

LIMIT = 1 << 28
"""No file that the tables need from an archive comes near it; more would be an attack on the memory."""


def columns_of(archive: Path, members: tuple[str, ...]) -> bytes:
    """The lines of several files of a zip archive side by side, with tabs between."""
    try:
        with zipfile.ZipFile(archive) as opened:
            columns = [_lines(opened, each) for each in members]
    except (zipfile.BadZipFile, zlib.error, OSError, NotImplementedError, RuntimeError, EOFError) as error:
        raise DataError(
            f"{archive}: is not a zip archive that can be read ({error}); remove it, and fetch again"
        ) from error
    lengths = [len(each) for each in columns]
    if len(set(lengths)) > 1:
        raise DataError(f"{archive}: {' and '.join(members)} have {lengths} lines; expected as many in each")
    return b"".join(b"\t".join(row) + b"\n" for row in zip(*columns, strict=True))


def _lines(archive: zipfile.ZipFile, member: str) -> list[bytes]:
    try:
        size = archive.getinfo(member).file_size
    except KeyError:
        raise DataError(f"{archive.filename}: has no {member!r} in it; its publisher has changed it") from None
    if size > LIMIT:
        raise DataError(f"{archive.filename}: {member!r} would be {size} bytes long; expected at most {LIMIT}")
    return archive.read(member).removeprefix(b"\xef\xbb\xbf").splitlines()
