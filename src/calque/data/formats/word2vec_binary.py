"""word2vec binary: a header line, then each word, a space and its float32 values, with or without a line end after."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from calque.data.formats.block_source import Sheet
from calque.data.formats.files import Head, open_plain, output
from calque.data.formats.format import Format, Request
from calque.data.formats.numerals import has_control_bytes, header
from calque.data.formats.rows import Harvest, Rows, Vectors
from calque.data.formats.spelling import encoded_words, trouble_in_binary
from calque.data.formats.text import decode, shown
from calque.data.formats.word2vec import LONGEST_HEADER, count_notes, parse_header
from calque.data.formats.word2vec import recognise as recognise_text
from calque.errors import FormatError

BLOCK_SIZE = 1 << 20
LONGEST_WORD = 1 << 16
NUMBER_SIZE = 4


def recognise(head: Head) -> bool:
    """A header, and after it bytes that are no text."""
    first, _, rest = head.plain.partition(b"\n")
    if header(first) is None or recognise_text(head):
        return False
    return has_control_bytes(rest) or not _is_utf8(rest)


def _is_utf8(text: bytes) -> bool:
    try:
        # The head may end inside a character, which says nothing about the file.
        text[:-3].decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def read(path: Path, request: Request) -> Harvest:
    """Read the words and vectors; the header's dimension binds, its count does not."""
    rows = Rows(request.limit)
    held, notes = 0, []
    with open_plain(path, request.digest) as stream:
        said, dimension = parse_header(stream.readline(LONGEST_HEADER), path)
        for words, vectors, rest in _blocks(stream, dimension, path):
            rows.add(words, vectors)
            held += len(words)
            if not rows.wanted:
                return rows.harvest(path)
            if rest.strip(b"\n"):
                notes.append(f"the file ends inside the vector of {shown(rest.partition(b' ')[0].lstrip())}: left out")
    return rows.harvest(path, *notes, *count_notes(said, held))


def _blocks(stream: IO[bytes], dimension: int, path: Path) -> Iterator[tuple[list[str], Vectors, bytes]]:
    """Whole entries, a block at a time; what follows the last one comes with the last block, else it is empty."""
    buffer = b""
    while chunk := stream.read(max(BLOCK_SIZE, NUMBER_SIZE * min(dimension, BLOCK_SIZE))):
        words, vectors, buffer = _entries(buffer + chunk, dimension)
        if len(buffer) > LONGEST_WORD and b" " not in buffer:
            raise FormatError(
                f"{path}: no space within {LONGEST_WORD} bytes, expected one after each word; damaged file?"
            )
        yield words, vectors, b""
    yield [], np.empty((0, dimension), np.float32), buffer


def _entries(buffer: bytes, dimension: int) -> tuple[list[str], Vectors, bytes]:
    """All whole entries of a buffer, and the bytes that follow them."""
    words: list[str] = []
    values: list[bytes] = []
    size, place = NUMBER_SIZE * dimension, 0
    while (gap := buffer.find(b" ", place)) >= 0 and gap + 1 + size <= len(buffer):
        words.append(decode(buffer[place:gap].lstrip(b"\n")))
        values.append(buffer[gap + 1 : gap + 1 + size])
        place = gap + 1 + size
    vectors = np.frombuffer(b"".join(values), "<f4").astype(np.float32, copy=False)
    return words, vectors.reshape(len(words), dimension), buffer[place:]


def write(sheet: Sheet, path: Path) -> None:
    """Write as the original word2vec tool does, with a line end after each vector; counts are not kept."""
    words = encoded_words(sheet, path, trouble_in_binary)
    with output(path) as stream:
        stream.write(f"{sheet.count} {sheet.dimension}\n".encode())
        for some, block in zip(words, sheet.vectors(), strict=True):
            rows = zip(some, block.astype("<f4", copy=False), strict=True)
            stream.write(b"".join([word + b" " + vector.tobytes() + b"\n" for word, vector in rows]))


WORD2VEC_BINARY = Format("word2vec-binary", (".bin",), recognise, read, write, gzipped=True, kept=True)
