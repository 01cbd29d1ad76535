"""safetensors: ``vectors``, ``words`` as the bytes of a newline-joined list, and ``counts`` where they are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from calque.errors import FormatError
from calque.formats.files import Head, in_one_line, replacing
from calque.formats.format import Format, Request
from calque.formats.rows import Harvest, Rows
from calque.formats.spelling import encoded_words, trouble_in_lists
from calque.formats.text import decode
from calque.space import Space

LENGTH_SIZE = 8
BLOCK_ROWS = 4096


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


def write(space: Space, path: Path) -> None:
    """Write words, vectors and, where they are known, counts."""
    joined = b"\n".join(encoded_words(space, path, trouble_in_lists))
    tensors = {"vectors": space.vectors, "words": torch.frombuffer(bytearray(joined), dtype=torch.uint8)}
    if space.counts is not None:
        tensors["counts"] = space.counts
    with replacing(path) as beside:
        beside.touch()
        mode = beside.stat().st_mode
        _save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, beside, path)
        beside.chmod(mode)  # safetensors makes files that only their owner may read


def _save(tensors: dict[str, Tensor], beside: Path, path: Path) -> None:
    try:
        save_file(tensors, beside)
    except SafetensorError as error:
        raise FormatError(f"{path}: cannot be written ({in_one_line(error)}); check the disk") from error


SAFETENSORS = Format("safetensors", (".safetensors",), recognise, read, write)
