"""GloVe text: a word and its numbers a line, with no header.

A file of one dimension looks like a list of words and counts, so it is only read if ``format="glove"`` says so.
"""

from __future__ import annotations

from pathlib import Path

from calque.data.formats.block_source import BlockSource, encoded_words
from calque.data.formats.format import GZIP_MAGIC, FileContent, Format, Head, ReadOptions, open_plain, output, peek
from calque.data.formats.text import (
    Layout,
    RowCollector,
    common_dimension,
    header,
    is_bare_matrix,
    problem_in_text,
    read_rows,
    shown,
    write_rows,
)
from calque.errors import FormatError


def recognise(head: Head) -> bool:
    """No header, and most of the first lines end in two numbers or more."""
    first = head.plain.partition(b"\n")[0]
    return header(first) is None and common_dimension(head.plain) >= 2 and not is_bare_matrix(head.plain)


def read(path: Path, options: ReadOptions) -> FileContent:
    """Read the words and vectors; the dimension is that of most of the first lines."""
    head = peek(path).plain
    dimension = common_dimension(head)
    if not dimension:
        first_line = shown(head.split(b"\n", 1)[0])
        raise FormatError(f"{path}:1: expected a word and its numbers, found {first_line}; is it a GloVe file at all?")
    rows = RowCollector(options.limit)
    with open_plain(path, options.digest) as stream:
        _, notes = read_rows(stream, Layout(path, dimension, "as on most of the first lines"), rows)
    return rows.content(path, *notes)


def write(source: BlockSource, path: Path) -> None:
    """Write a line for each word. float32 values survive exactly; counts are not kept."""
    with output(path) as stream:
        write_rows(stream, encoded_words(source, path, _problem), source.vectors())


def _problem(word: bytes) -> str:
    """With no header before it, the first word is how the file is recognised."""
    return "begins as a compressed file does" if word.startswith(GZIP_MAGIC) else problem_in_text(word)


GLOVE = Format("glove", (".glove",), read, write, recognise=recognise, gzipped=True, cached=True)
