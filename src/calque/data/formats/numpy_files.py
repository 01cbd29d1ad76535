"""numpy ``.npy``, an array of vectors with a list of words beside it, and ``.npz``, with words and counts inside."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from calque.data.formats.block_source import BlockSource, Vectors, encoded_words, problem_in_list
from calque.data.formats.format import FileContent, Format, Head, ReadOptions, in_one_line, open_plain, open_raw, output
from calque.data.formats.text import RowCollector, decode
from calque.errors import FormatError

NPY_MAGIC = b"\x93NUMPY"
ZIP_MAGIC = b"PK\x03\x04"
WORD_LISTS = (".words", ".words.txt", ".txt")
BLOCK_ROWS = 4096


def recognise_npz(head: Head) -> bool:
    """A zip archive of numpy arrays only."""
    names = zip_names(head.path)
    return bool(names) and all(name.endswith(".npy") for name in names)


def zip_names(path: Path) -> list[str]:
    """The names in a zip archive."""
    with open_raw(path) as stream:
        try:
            return zipfile.ZipFile(stream).namelist()
        except Exception as error:  # a damaged directory fails in more ways than BadZipFile
            raise FormatError(
                f"{path}: a cut or damaged zip archive ({in_one_line(error)}); download it again"
            ) from error


def read_npy(path: Path, options: ReadOptions) -> FileContent:
    """Read the array a block at a time, and its words from ``options.words`` or from the list beside it."""
    words = _read_word_list(options.words or _find_word_list(path))
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror or error}); check the path") from error
    except Exception as error:  # numpy's parser fails in as many ways as a header can be damaged
        raise FormatError(f"{path}: not a whole .npy of plain numbers ({in_one_line(error)}); save it again") from error
    check_vectors(array, len(words), path)
    rows = RowCollector(options.limit)
    for start in range(0, len(words), BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        rows.add(words[part], _as_float32(array[part]))
    return rows.content(path)


def _find_word_list(path: Path) -> Path:
    choices = [path.with_suffix(suffix) for suffix in WORD_LISTS]
    for choice in choices:
        if choice.is_file():
            return choice
    names = ", ".join(choice.name for choice in choices)
    raise FormatError(f"{path}: no word list beside it, expected one of {names}; or pass words=")


def _read_word_list(path: Path) -> list[str]:
    with open_plain(path) as stream:
        lines = stream.read().split(b"\n")
    return [decode(line.removesuffix(b"\r")) for line in (lines if lines[-1] else lines[:-1])]


def check_vectors(array: Any, words: int, path: Path) -> None:
    """FormatError unless this is a matrix of numbers with one row for each word."""
    if array.dtype.kind not in "fiu" or array.ndim != 2 or array.shape[1] == 0:
        raise FormatError(
            f"{path}: the vectors are {array.dtype} of shape {array.shape}, "
            "expected numbers of shape (words, dimensions); save them again"
        )
    if len(array) != words:
        raise FormatError(f"{path}: {words} words but {len(array)} vectors; give the word list that belongs to it")


def _as_float32(array: Any) -> Vectors:
    """What float32 cannot hold becomes infinite, and is left out later."""
    with np.errstate(over="ignore"):
        vectors: Vectors = array.astype(np.float32, copy=False)
    return vectors


def read_npz(path: Path, options: ReadOptions) -> FileContent:
    """Read the arrays; pickled code in them is never run."""
    arrays = _load_arrays(path)
    if not {"words", "vectors"} <= arrays.keys():
        raise FormatError(f"{path}: expected the arrays 'words' and 'vectors', found {sorted(arrays)}; rename them")
    words, counts = arrays["words"], arrays.get("counts")
    if words.ndim != 1 or words.dtype.kind not in "US":
        raise FormatError(
            f"{path}: 'words' is {words.dtype} of shape {words.shape}, expected one row of strings; save it again"
        )
    word_list = [decode(word) if isinstance(word, bytes) else str(word) for word in words.tolist()]
    check_vectors(arrays["vectors"], len(word_list), path)
    if counts is not None and (counts.shape != (len(word_list),) or counts.dtype.kind not in "iuf"):
        raise FormatError(
            f"{path}: 'counts' is {counts.dtype} of shape {counts.shape}, "
            f"expected {len(word_list)} numbers; save them again"
        )
    rows = RowCollector(options.limit)
    count_list = None if counts is None else [float(count) for count in counts.tolist()]
    rows.add(word_list, _as_float32(arrays.pop("vectors")), count_list)
    return rows.content(path)


def _load_arrays(path: Path) -> dict[str, Any]:
    """The arrays that a space needs; if some are missing, only the names of those that are there."""
    with open_raw(path) as stream:
        try:
            with np.load(stream, allow_pickle=False) as archive:
                names = [name for name in ("words", "vectors", "counts") if name in archive]
                return {name: archive[name] for name in names} if len(names) > 1 else dict.fromkeys(archive)
        except Exception as error:  # numpy's parser fails in as many ways as an archive can be damaged
            raise FormatError(
                f"{path}: not an .npz of plain arrays ({in_one_line(error)}); save the words as an array of strings"
            ) from error


def write_npy(source: BlockSource, path: Path) -> None:
    """Write the array, and the words beside it as ``name.words``; counts are not kept."""
    with output(path.with_suffix(WORD_LISTS[0])) as stream:
        for words in encoded_words(source, path, problem_in_list):
            stream.write(b"\n".join(words) + b"\n")
    with output(path) as stream:
        _write_array(stream, np.dtype(np.float32), (source.count, source.dimension), source.vectors())


def write_npz(source: BlockSource, path: Path) -> None:
    """Write words, vectors and, if they are known, counts, as ``numpy.savez`` would."""
    longest = 0
    for block, _ in zip(source.words(), encoded_words(source, path, _problem_in_array), strict=True):
        longest = max(longest, *map(len, block))
    letters = np.dtype(f"<U{longest}")
    word_blocks = (np.array(block, letters) for block in source.words())
    with output(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        with archive.open("words.npy", "w", force_zip64=True) as member:
            _write_array(member, letters, (source.count,), word_blocks)
        with archive.open("vectors.npy", "w", force_zip64=True) as member:
            _write_array(member, np.dtype(np.float32), (source.count, source.dimension), source.vectors())
        if source.counts is not None:
            with archive.open("counts.npy", "w", force_zip64=True) as member:
                _write_array(member, source.counts.dtype, source.counts.shape, [source.counts])


def _problem_in_array(word: bytes) -> str:
    """Because numpy pads strings with NUL characters."""
    return "ends in a NUL character, which would be lost" if word.endswith(b"\0") else problem_in_list(word)


def _write_array(
    stream: IO[bytes], kind: np.dtype[Any], shape: tuple[int, ...], blocks: Iterable[npt.NDArray[Any]]
) -> None:
    """An array as numpy saves it, from blocks of its rows."""
    header = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, header)
    for block in blocks:
        stream.write(block.astype(kind, copy=False).tobytes())


NPY = Format("npy", (".npy",), read_npy, write_npy, magic=(NPY_MAGIC,))
NPZ = Format("npz", (".npz",), read_npz, write_npz, magic=(ZIP_MAGIC,), recognise=recognise_npz)
