"""word2vec text, the same as fastText ``.vec``: a header ``words dimensions``, then a word and its numbers a line.

A first line of two whole numbers is always taken for a header. A GloVe file of one dimension whose first line
looks like that needs ``format="glove"``.
"""

from __future__ import annotations

from pathlib import Path

from calque.data.formats.block_source import Sheet
from calque.data.formats.files import Head, open_plain, output
from calque.data.formats.format import Format, Request
from calque.data.formats.numerals import NUMBER, SEPARATOR, has_control_bytes, header
from calque.data.formats.rows import Harvest, Rows, plural
from calque.data.formats.spelling import encoded_words, trouble_in_text
from calque.data.formats.text import Layout, read_rows, shown, write_lines
from calque.errors import FormatError

LONGEST_HEADER = 1 << 16


def recognise(head: Head) -> bool:
    """A header, and a second line of which most is numbers."""
    first, _, rest = head.plain.partition(b"\n")
    if header(first) is None:
        return False
    fields = SEPARATOR.split(rest.partition(b"\n")[0].strip())[1:]
    numbers = sum(NUMBER.fullmatch(piece) is not None for piece in fields)
    return not has_control_bytes(rest) if not fields else 2 * numbers >= len(fields)


def read(path: Path, request: Request) -> Harvest:
    """Read the words and vectors; the header's dimension binds, its count does not."""
    rows = Rows(request.limit)
    with open_plain(path, request.digest) as stream:
        said, dimension = parse_header(stream.readline(LONGEST_HEADER), path)
        layout = Layout(path, dimension, "as the header says", first_line=2)
        held, notes = read_rows(stream, layout, rows)
    return rows.harvest(path, *notes, *(count_notes(said, held) if rows.wanted else ()))


def parse_header(line: bytes, path: Path) -> tuple[int, int]:
    """Words and dimensions from the first line of a file."""
    found = header(line)
    if found is None:
        raise FormatError(
            f"{path}:1: expected a header such as '200000 300', found {shown(line.strip())}; "
            "a GloVe file has no header: pass format='glove'"
        )
    if found[1] == 0:
        raise FormatError(f"{path}:1: the header says 0 dimensions, expected at least 1; mend the header")
    return found


def count_notes(said: int, held: int) -> tuple[str, ...]:
    """A note where the header's count is not that of the rows found."""
    return () if said == held else (f"the header says {plural(said, 'word')}, the file holds {held}",)


def write(sheet: Sheet, path: Path) -> None:
    """Write a header and a line for each word; float32 values survive exactly, counts are not kept."""
    with output(path) as stream:
        stream.write(f"{sheet.count} {sheet.dimension}\n".encode())
        write_lines(stream, encoded_words(sheet, path, trouble_in_text), sheet.vectors())


WORD2VEC = Format("word2vec", (".vec", ".txt", ".w2v"), recognise, read, write, gzipped=True, kept=True)
