"""numpy ``.npy``: an array of vectors, and beside it a list of one word a line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from calque.data.formats.arrays import as_float32, check_vectors
from calque.data.formats.block_source import Sheet
from calque.data.formats.files import Head, in_one_line, open_plain, output
from calque.data.formats.format import Format, Request
from calque.data.formats.rows import Harvest, Rows
from calque.data.formats.spelling import encoded_words, trouble_in_lists
from calque.data.formats.text import decode
from calque.errors import FormatError

MAGIC = b"\x93NUMPY"
WORD_LISTS = (".words", ".words.txt", ".txt")
BLOCK_ROWS = 4096


def recognise(head: Head) -> bool:
    """The magic bytes of a numpy array."""
    return head.raw.startswith(MAGIC)


def read(path: Path, request: Request) -> Harvest:
    """Read the array a block at a time, and its words from ``request.words`` or the list beside it."""
    words = read_words(request.words or _find_words(path))
    array = _open_array(path)
    check_vectors(array, len(words), path)
    rows = Rows(request.limit)
    for start in range(0, len(words), BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        rows.add(words[part], as_float32(array[part]))
    return rows.harvest(path)


def _find_words(path: Path) -> Path:
    choices = [path.with_suffix(suffix) for suffix in WORD_LISTS]
    found = next((choice for choice in choices if choice.is_file()), None)
    if found is None:
        names = ", ".join(choice.name for choice in choices)
        raise FormatError(f"{path}: no word list beside it, expected one of {names}; or pass words=")
    return found


def read_words(path: Path) -> list[str]:
    """The words of a list of one word a line."""
    with open_plain(path) as stream:
        lines = stream.read().split(b"\n")
    return [decode(line.removesuffix(b"\r")) for line in (lines if lines[-1] else lines[:-1])]


def _open_array(path: Path) -> Any:
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror or error}); check the path") from error
    except Exception as error:  # numpy's parser fails in as many ways as a header can be damaged
        raise FormatError(f"{path}: not a whole .npy of plain numbers ({in_one_line(error)}); save it again") from error


def write(sheet: Sheet, path: Path) -> None:
    """Write the array, and the words beside it as ``name.words``; counts are not kept."""
    with output(path.with_suffix(WORD_LISTS[0])) as stream:
        for words in encoded_words(sheet, path, trouble_in_lists):
            stream.write(b"\n".join(words) + b"\n")
    with output(path) as stream:
        write_array(stream, np.dtype(np.float32), (sheet.count, sheet.dimension), sheet.vectors())


def write_array(
    stream: IO[bytes], kind: np.dtype[Any], shape: tuple[int, ...], blocks: Iterable[npt.NDArray[Any]]
) -> None:
    """An array as numpy saves it, from blocks of its rows."""
    header = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, header)
    for block in blocks:
        stream.write(block.astype(kind, copy=False).tobytes())


NPY = Format("npy", (".npy",), recognise, read, write)
