"""Arrays that a file gave us, checked and made what a space needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from calque.data.formats.rows import Vectors
from calque.data.formats.text import decode
from calque.errors import FormatError


def check_vectors(array: Any, words: int, path: Path) -> None:
    """FormatError unless this is an array (or numpy view) of numbers with one row for each word."""
    if array.dtype.kind not in "fiu" or array.ndim != 2 or array.shape[1] == 0:
        raise FormatError(
            f"{path}: the vectors are {array.dtype} of shape {array.shape}, "
            "expected numbers of shape (words, dimensions); save them again"
        )
    if len(array) != words:
        raise FormatError(f"{path}: {words} words but {len(array)} vectors; give the word list that belongs to it")


def as_float32(array: Any) -> Vectors:
    """The array in the precision of a space; what float32 cannot hold becomes infinite, and is left out later."""
    with np.errstate(over="ignore"):
        made: Vectors = array.astype(np.float32, copy=False)
    return made


def as_words(array: Any, path: Path) -> list[str]:
    """The strings of an array of strings or bytes."""
    if array.ndim != 1 or array.dtype.kind not in "US":
        raise FormatError(
            f"{path}: 'words' is {array.dtype} of shape {array.shape}, expected one row of strings; save it again"
        )
    listed: list[Any] = array.tolist()
    return [decode(word) if isinstance(word, bytes) else str(word) for word in listed]


def as_counts(array: Any, words: int, path: Path) -> list[float] | None:
    """The counts of an array, one for each word; None where there is no array."""
    if array is None:
        return None
    if array.shape != (words,) or array.dtype.kind not in "iuf":
        raise FormatError(
            f"{path}: 'counts' is {array.dtype} of shape {array.shape}, expected {words} numbers; save them again"
        )
    return [float(count) for count in array.tolist()]
