"""numpy ``.npz``: the arrays ``words`` and ``vectors``, and ``counts`` where they are known."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from calque.data.formats.arrays import as_counts, as_float32, as_words, check_vectors
from calque.data.formats.block_source import Sheet
from calque.data.formats.files import Head, in_one_line, open_raw, output
from calque.data.formats.format import Format, Request
from calque.data.formats.npy import write_array
from calque.data.formats.rows import Harvest, Rows
from calque.data.formats.spelling import encoded_words, trouble_in_arrays
from calque.errors import FormatError

ZIP_MAGIC = b"PK\x03\x04"


def zip_names(head: Head) -> list[str]:
    """What a zip archive holds; nothing where the file is not one."""
    if not head.raw.startswith(ZIP_MAGIC):
        return []
    with open_raw(head.path) as stream:
        try:
            return zipfile.ZipFile(stream).namelist()
        except Exception as error:  # a damaged directory fails in more ways than BadZipFile
            raise FormatError(
                f"{head.path}: a cut or damaged zip archive ({in_one_line(error)}); download it again"
            ) from error


def recognise(head: Head) -> bool:
    """A zip archive of numpy arrays only."""
    names = zip_names(head)
    return bool(names) and all(name.endswith(".npy") for name in names)


def read(path: Path, request: Request) -> Harvest:
    """Read the arrays, never running pickled code."""
    arrays = _load_arrays(path)
    if not {"words", "vectors"} <= arrays.keys():
        raise FormatError(f"{path}: expected the arrays 'words' and 'vectors', found {sorted(arrays)}; rename them")
    words = as_words(arrays["words"], path)
    check_vectors(arrays["vectors"], len(words), path)
    rows = Rows(request.limit)
    rows.add(words, as_float32(arrays.pop("vectors")), as_counts(arrays.get("counts"), len(words), path))
    return rows.harvest(path)


def _load_arrays(path: Path) -> dict[str, Any]:
    """Our arrays, or where some are missing the names of those that are there."""
    with open_raw(path) as stream:
        try:
            with np.load(stream, allow_pickle=False) as archive:
                ours = [name for name in ("words", "vectors", "counts") if name in archive]
                return {name: archive[name] for name in ours} if len(ours) > 1 else dict.fromkeys(archive)
        except Exception as error:  # numpy's parser fails in as many ways as an archive can be damaged
            raise FormatError(
                f"{path}: not an .npz of plain arrays ({in_one_line(error)}); save the words as an array of strings"
            ) from error


def write(sheet: Sheet, path: Path) -> None:
    """Write words, vectors and, where they are known, counts, as ``numpy.savez`` would."""
    longest = max(max(map(len, block)) for block in _checked(sheet, path))
    letters = np.dtype(f"<U{longest}")
    with output(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        with _member(archive, "words") as place:
            write_array(place, letters, (sheet.count,), (np.array(block, letters) for block in sheet.words()))
        with _member(archive, "vectors") as place:
            write_array(place, np.dtype(np.float32), (sheet.count, sheet.dimension), sheet.vectors())
        if sheet.counts is not None:
            with _member(archive, "counts") as place:
                write_array(place, sheet.counts.dtype, sheet.counts.shape, [sheet.counts])


def _checked(sheet: Sheet, path: Path) -> Iterator[list[str]]:
    """The words, each of which must come back from an array as it was."""
    for block, _ in zip(sheet.words(), encoded_words(sheet, path, trouble_in_arrays), strict=True):
        yield block


def _member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    return archive.open(f"{name}.npy", "w", force_zip64=True)


NPZ = Format("npz", (".npz",), recognise, read, write)
