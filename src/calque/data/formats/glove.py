"""GloVe text: a word and its numbers a line, with no header.

A file of one dimension looks like a list of words and counts, so it is only read when ``format="glove"`` says so.
"""

from __future__ import annotations

from pathlib import Path

from calque.data.formats.block_source import Sheet
from calque.data.formats.files import GZIP_MAGIC, Head, open_plain, output, peek
from calque.data.formats.format import Format, Request
from calque.data.formats.numerals import SEPARATOR, common_dimension, ends_in_fraction, header
from calque.data.formats.rows import Harvest, Rows
from calque.data.formats.spelling import encoded_words, trouble_in_text
from calque.data.formats.text import Layout, read_rows, shown, write_lines
from calque.errors import FormatError


def recognise(head: Head) -> bool:
    """No header, and most of the first lines end in two numbers or more."""
    first = head.plain.partition(b"\n")[0]
    return header(first) is None and common_dimension(head.plain) >= 2 and not _is_bare_matrix(head.plain)


def _is_bare_matrix(head: bytes) -> bool:
    """Numbers only, whose first column would be taken for words."""
    firsts = [SEPARATOR.split(line.strip())[0] for line in head.split(b"\n", 9)[:9] if line.strip()]
    return all(ends_in_fraction(b" " + field) for field in firsts)


def read(path: Path, request: Request) -> Harvest:
    """Read the words and vectors; the dimension is the one most of the first lines have."""
    head = peek(path).plain
    dimension = common_dimension(head)
    if not dimension:
        first = shown(head.split(b"\n", 1)[0])
        raise FormatError(f"{path}:1: expected a word and its numbers, found {first}; is it a GloVe file at all?")
    rows = Rows(request.limit)
    with open_plain(path, request.digest) as stream:
        _, notes = read_rows(stream, Layout(path, dimension, "as on most of the first lines"), rows)
    return rows.harvest(path, *notes)


def write(sheet: Sheet, path: Path) -> None:
    """Write a line for each word; float32 values survive exactly, counts are not kept."""
    with output(path) as stream:
        write_lines(stream, encoded_words(sheet, path, _trouble), sheet.vectors())


def _trouble(word: bytes) -> str:
    """With no header before it, the first word is what the file is known by."""
    return "begins as a compressed file does" if word.startswith(GZIP_MAGIC) else trouble_in_text(word)


GLOVE = Format("glove", (".glove",), recognise, read, write, gzipped=True, kept=True)
