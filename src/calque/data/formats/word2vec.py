"""word2vec, in text and in binary.

Text is the same as fastText ``.vec``: a header ``words dimensions``, then a word and its numbers a line. A first line
of two whole numbers is always taken for a header; a GloVe file of one dimension that begins so needs
``format="glove"``.
Binary has the same header, then each word, a space and its float32 values, with or without a line end after them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from calque.data.formats.block_source import BlockSource, Vectors, encoded_words, problem_in_list
from calque.data.formats.format import FileContent, Format, Head, ReadOptions, open_plain, output
from calque.data.formats.text import (
    NUMBER,
    SEPARATOR,
    Layout,
    RowCollector,
    decode,
    has_control_bytes,
    header,
    plural,
    problem_in_text,
    read_rows,
    shown,
    write_rows,
)
from calque.errors import FormatError

LONGEST_HEADER = 1 << 16
LONGEST_WORD = 1 << 16
BLOCK_SIZE = 1 << 20
NUMBER_SIZE = 4


def recognise_text(head: Head) -> bool:
    """A header, and a second line that is mostly numbers."""
    first, _, rest = head.plain.partition(b"\n")
    if header(first) is None:
        return False
    fields = SEPARATOR.split(rest.partition(b"\n")[0].strip())[1:]
    numbers = sum(NUMBER.fullmatch(field) is not None for field in fields)
    return not has_control_bytes(rest) if not fields else 2 * numbers >= len(fields)


def recognise_binary(head: Head) -> bool:
    """A header, and after it bytes that are not text."""
    first, _, rest = head.plain.partition(b"\n")
    if header(first) is None or recognise_text(head):
        return False
    try:
        rest[:-3].decode("utf-8")  # without the last bytes, since the head may end inside a character
    except UnicodeDecodeError:
        return True
    return has_control_bytes(rest)


def read_text(path: Path, options: ReadOptions) -> FileContent:
    """Read the words and vectors. The header's dimension binds; its count may be wrong, which is noted."""
    with open_plain(path, options.digest) as stream:
        count, dimension = _parse_header(stream, path)
        rows = RowCollector(options.limit)
        vector_count, notes = read_rows(stream, Layout(path, dimension, "as the header says", first_line=2), rows)
    if rows.wanted:
        notes += _notes_on_count(count, vector_count)
    return rows.content(path, *notes)


def _parse_header(stream: IO[bytes], path: Path) -> tuple[int, int]:
    """Words and dimensions from the first line of a file."""
    line = stream.readline(LONGEST_HEADER)
    numbers = header(line)
    if numbers is None:
        raise FormatError(
            f"{path}:1: expected a header such as '200000 300', found {shown(line.strip())}; "
            "a GloVe file has no header: pass format='glove'"
        )
    if numbers[1] == 0:
        raise FormatError(f"{path}:1: the header says 0 dimensions, expected at least 1; mend the header")
    return numbers


def _notes_on_count(header_count: int, vector_count: int) -> tuple[str, ...]:
    if header_count == vector_count:
        return ()
    return (f"the header says {plural(header_count, 'word')}, the file holds {vector_count}",)


def read_binary(path: Path, options: ReadOptions) -> FileContent:
    """Read the words and vectors. The header's dimension binds; its count may be wrong, which is noted."""
    rows = RowCollector(options.limit)
    vector_count, notes = 0, list[str]()
    with open_plain(path, options.digest) as stream:
        header_count, dimension = _parse_header(stream, path)
        for words, vectors, rest in _binary_blocks(stream, dimension, path):
            rows.add(words, vectors)
            vector_count += len(words)
            if not rows.wanted:
                return rows.content(path)
            if rest.strip(b"\n"):
                word = rest.partition(b" ")[0].lstrip()
                notes.append(f"the file ends inside the vector of {shown(word)}: left out")
    return rows.content(path, *notes, *_notes_on_count(header_count, vector_count))


def _binary_blocks(stream: IO[bytes], dimension: int, path: Path) -> Iterator[tuple[list[str], Vectors, bytes]]:
    """Whole words and vectors, a block at a time. The third value is empty, but for what is left at the end."""
    buffer = b""
    while chunk := stream.read(max(BLOCK_SIZE, NUMBER_SIZE * min(dimension, BLOCK_SIZE))):
        words, vectors, buffer = _parse_binary(buffer + chunk, dimension)
        if len(buffer) > LONGEST_WORD and b" " not in buffer:
            raise FormatError(
                f"{path}: no space within {LONGEST_WORD} bytes, expected one after each word; damaged file?"
            )
        yield words, vectors, b""
    yield [], np.empty((0, dimension), np.float32), buffer


def _parse_binary(buffer: bytes, dimension: int) -> tuple[list[str], Vectors, bytes]:
    """All whole words and vectors of a buffer, and the bytes that follow them."""
    words: list[str] = []
    values: list[bytes] = []
    size, place = NUMBER_SIZE * dimension, 0
    while (gap := buffer.find(b" ", place)) >= 0 and gap + 1 + size <= len(buffer):
        words.append(decode(buffer[place:gap].lstrip(b"\n")))
        values.append(buffer[gap + 1 : gap + 1 + size])
        place = gap + 1 + size
    vectors = np.frombuffer(b"".join(values), "<f4").astype(np.float32, copy=False)
    return words, vectors.reshape(len(words), dimension), buffer[place:]


def write_text(source: BlockSource, path: Path) -> None:
    """Write a header and a line for each word. float32 values survive exactly; counts are not kept."""
    with output(path) as stream:
        stream.write(f"{source.count} {source.dimension}\n".encode())
        write_rows(stream, encoded_words(source, path, problem_in_text), source.vectors())


def write_binary(source: BlockSource, path: Path) -> None:
    """Write as the original word2vec tool does, with a line end after each vector; counts are not kept."""
    words = encoded_words(source, path, _problem_in_binary)
    with output(path) as stream:
        stream.write(f"{source.count} {source.dimension}\n".encode())
        for word_block, block in zip(words, source.vectors(), strict=True):
            rows = zip(word_block, block.astype("<f4", copy=False), strict=True)
            stream.write(b"".join([word + b" " + vector.tobytes() + b"\n" for word, vector in rows]))


def _problem_in_binary(word: bytes) -> str:
    """The first space ends the word."""
    return "holds a space" if b" " in word else problem_in_list(word)


WORD2VEC = Format(
    "word2vec", (".vec", ".txt", ".w2v"), read_text, write_text, recognise=recognise_text, gzipped=True, cached=True
)
WORD2VEC_BINARY = Format(
    "word2vec-binary", (".bin",), read_binary, write_binary, recognise=recognise_binary, gzipped=True, cached=True
)
