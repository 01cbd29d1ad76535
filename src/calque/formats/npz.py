"""numpy ``.npz``: the arrays ``words`` and ``vectors``, and ``counts`` where they are known."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from calque.errors import FormatError
from calque.formats.arrays import as_counts, as_float32, as_words, check_vectors
from calque.formats.files import Head, in_one_line, open_raw, output
from calque.formats.format import Format, Request
from calque.formats.rows import Harvest, Rows
from calque.formats.spelling import encoded_words, trouble_in_arrays
from calque.space import Space

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


def write(space: Space, path: Path) -> None:
    """Write words, vectors and, where they are known, counts."""
    encoded_words(space, path, trouble_in_arrays)
    arrays: dict[str, Any] = {"words": np.array(space.words), "vectors": space.vectors.detach().cpu().numpy()}
    if space.counts is not None:
        arrays["counts"] = space.counts.detach().cpu().numpy()
    with output(path) as stream:
        np.savez(stream, **arrays)


NPZ = Format("npz", (".npz",), recognise, read, write)
