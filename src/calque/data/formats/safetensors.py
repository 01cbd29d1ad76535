"""safetensors: ``vectors``, ``words`` as the bytes of a newline-joined list, and ``counts`` if they are known."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open

from calque.data.formats.block_source import BlockSource, encoded_words, problem_in_list
from calque.data.formats.format import FileContent, Format, Head, ReadOptions, in_one_line, output
from calque.data.formats.text import RowCollector, decode
from calque.errors import FormatError

LENGTH_SIZE = 8
BLOCK_ROWS = 4096
_TYPE_NAMES = {"|u1": "U8", "<f4": "F32", "<f8": "F64", "<i4": "I32", "<i8": "I64"}


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


def read(path: Path, options: ReadOptions) -> FileContent:
    """Read the tensors a block at a time."""
    try:
        with safe_open(path, framework="pt") as archive:
            return _read_tensors(archive, path, options)
    except (SafetensorError, OSError) as error:
        raise FormatError(f"{path}: not a whole safetensors file ({in_one_line(error)}); save it again") from error


def _read_tensors(archive: Any, path: Path, options: ReadOptions) -> FileContent:
    names = sorted(archive.keys())
    if not {"words", "vectors"} <= set(names):
        raise FormatError(f"{path}: holds the tensors {names}, expected 'words' and 'vectors'; rename them")
    letters = archive.get_tensor("words")
    if letters.dtype != torch.uint8 or letters.ndim != 1:
        raise FormatError(f"{path}: 'words' is {letters.dtype}, expected the bytes of a newline-joined list in one row")
    words = list(map(decode, letters.numpy().tobytes().split(b"\n")))
    counts = archive.get_tensor("counts").tolist() if "counts" in names else None
    vectors = archive.get_slice("vectors")
    shape = tuple(vectors.get_shape())
    if len(shape) != 2 or shape[0] != len(words) or shape[1] == 0:
        raise FormatError(
            f"{path}: {len(words)} words but vectors of shape {shape}, expected ({len(words)}, dimensions)"
        )
    if counts is not None and len(counts) != len(words):
        raise FormatError(f"{path}: {len(words)} words but {len(counts)} counts, expected as many")
    rows = RowCollector(options.limit)
    for start in range(0, len(words), BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        rows.add(words[part], vectors[part].to(torch.float32).numpy(), counts and counts[part])
    return rows.content(path)


def write(source: BlockSource, path: Path) -> None:
    """Write words, vectors and, if they are known, counts: to the byte what the safetensors library would write.

    That library only writes what is in memory as a whole. It puts tensors of larger numbers before those of smaller
    ones, and fills the table of contents up with blanks to a multiple of eight bytes.
    """
    letters = sum(len(word) + 1 for block in encoded_words(source, path, problem_in_list) for word in block) - 1
    tensors: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {
        "vectors": (np.dtype("<f4"), (source.count, source.dimension)),
        "words": (np.dtype(np.uint8), (letters,)),
    }
    if source.counts is not None:
        tensors["counts"] = (source.counts.dtype, source.counts.shape)
    order = sorted(tensors, key=lambda name: (-tensors[name][0].itemsize, name))
    table, begin = {}, 0
    for name in order:
        kind, shape = tensors[name]
        end = begin + kind.itemsize * math.prod(shape)
        table[name] = {"dtype": _TYPE_NAMES[kind.str], "shape": list(shape), "data_offsets": [begin, end]}
        begin = end
    header = json.dumps(table, separators=(",", ":")).encode()
    header += b" " * (-len(header) % LENGTH_SIZE)
    with output(path) as stream:
        stream.write(len(header).to_bytes(LENGTH_SIZE, "little") + header)
        for name in order:
            if name == "vectors":
                for block in source.vectors():
                    stream.write(block.astype("<f4", copy=False).tobytes())
            elif name == "words":
                for number, words in enumerate(encoded_words(source, path, problem_in_list)):
                    stream.write(b"\n" * (number > 0) + b"\n".join(words))
            elif source.counts is not None:
                stream.write(source.counts.tobytes())


SAFETENSORS = Format("safetensors", (".safetensors",), read, write, recognise=recognise)
