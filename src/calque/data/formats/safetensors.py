"""safetensors: ``vectors``, ``words`` as the bytes of a newline-joined list, and ``counts`` where they are known."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from calque.data.formats.block_source import Sheet
from calque.data.formats.files import Head, in_one_line, output
from calque.data.formats.format import Format, Request
from calque.data.formats.rows import Harvest, Rows
from calque.data.formats.spelling import encoded_words, trouble_in_lists
from calque.data.formats.text import decode
from calque.errors import FormatError

LENGTH_SIZE = 8
BLOCK_ROWS = 4096
_LETTER = np.dtype(np.uint8)
_NAMES = {"|u1": "U8", "<f4": "F32", "<f8": "F64", "<i4": "I32", "<i8": "I64"}
_Tensor = tuple[str, np.dtype[Any], tuple[int, ...]]


def recognise(head: Head) -> bool:
    """A length in eight bytes, then JSON."""
    length = int.from_bytes(head.raw[:LENGTH_SIZE], "little")
    header = head.raw[LENGTH_SIZE : LENGTH_SIZE + length]
    if not header.startswith(b"{"):
        return False
    try:
        return isinstance(json.loads(header), dict)
    except ValueError:
        return False


def read(path: Path, request: Request) -> Harvest:
    """Read the tensors a block at a time."""
    try:
        with safe_open(path, framework="pt") as archive:
            return _read_archive(archive, path, request)
    except (SafetensorError, OSError) as error:
        raise FormatError(f"{path}: not a whole safetensors file ({in_one_line(error)}); save it again") from error


def _read_archive(archive: Any, path: Path, request: Request) -> Harvest:
    names = sorted(archive.keys())
    if not {"words", "vectors"} <= set(names):
        raise FormatError(f"{path}: holds the tensors {names}, expected 'words' and 'vectors'; rename them")
    words = _split_words(archive.get_tensor("words"), path)
    counts = archive.get_tensor("counts").tolist() if "counts" in names else None
    vectors = archive.get_slice("vectors")
    _check_shape(vectors.get_shape(), len(words), counts, path)
    rows = Rows(request.limit)
    for start in range(0, len(words), BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        rows.add(words[part], vectors[part].to(torch.float32).numpy(), counts and counts[part])
    return rows.harvest(path)


def _split_words(letters: Tensor, path: Path) -> list[str]:
    if letters.dtype != torch.uint8 or letters.ndim != 1:
        raise FormatError(f"{path}: 'words' is {letters.dtype}, expected the bytes of a newline-joined list in one row")
    return list(map(decode, letters.numpy().tobytes().split(b"\n")))


def _check_shape(shape: list[int], words: int, counts: list[float] | None, path: Path) -> None:
    if len(shape) != 2 or shape[0] != words or shape[1] == 0:
        raise FormatError(f"{path}: {words} words but vectors of shape {tuple(shape)}, expected ({words}, dimensions)")
    if counts is not None and len(counts) != words:
        raise FormatError(f"{path}: {words} words but {len(counts)} counts, expected as many")


def write(sheet: Sheet, path: Path) -> None:
    """Write words, vectors and, where they are known, counts, as the safetensors library would.

    It lays larger numbers before smaller ones, and can only write what is in memory as a whole.
    """
    letters = sum(len(word) + 1 for block in encoded_words(sheet, path, trouble_in_lists) for word in block) - 1
    tensors: list[_Tensor] = [
        ("vectors", np.dtype("<f4"), (sheet.count, sheet.dimension)),
        ("words", _LETTER, (letters,)),
    ]
    if sheet.counts is not None:
        tensors.append(("counts", sheet.counts.dtype, sheet.counts.shape))
    tensors.sort(key=lambda each: (-each[1].itemsize, each[0]))
    contents = {"vectors": _vectors, "words": _words, "counts": _counts}
    with output(path) as stream:
        stream.write(_header(tensors))
        for name, _, _ in tensors:
            contents[name](stream, sheet)


def _header(tensors: Sequence[_Tensor]) -> bytes:
    """The table of contents, filled up with blanks to a multiple of eight bytes."""
    told, begin = {}, 0
    for name, kind, shape in tensors:
        end = begin + kind.itemsize * math.prod(shape)
        told[name] = {"dtype": _NAMES[kind.str], "shape": list(shape), "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(told, separators=(",", ":")).encode()
    text += b" " * (-len(text) % LENGTH_SIZE)
    return len(text).to_bytes(LENGTH_SIZE, "little") + text


def _vectors(stream: IO[bytes], sheet: Sheet) -> None:
    for block in sheet.vectors():
        stream.write(block.astype("<f4", copy=False).tobytes())


def _words(stream: IO[bytes], sheet: Sheet) -> None:
    for number, block in enumerate(sheet.words()):
        stream.write(b"\n" * (number > 0) + "\n".join(block).encode("utf-8", "surrogateescape"))


def _counts(stream: IO[bytes], sheet: Sheet) -> None:
    stream.write(b"" if sheet.counts is None else sheet.counts.tobytes())


SAFETENSORS = Format("safetensors", (".safetensors",), recognise, read, write)
