"""Lines of a word and its numbers: parsed a block at a time, and line by line where a block is not clean.

Fields are separated by ASCII spaces and tabs only, and counted from the right, so a word may hold any other
Unicode whitespace, and even spaces. Bytes that are not UTF-8 survive as surrogates (PEP 383).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from calque.data.formats.decimals import decimals
from calque.data.formats.numerals import BLANK, NUMBER, SEPARATOR, ends_in_fraction, numbers_at_end
from calque.data.formats.rows import Rows, Vectors
from calque.errors import FormatError

BLOCK_SIZE = 1 << 20
LONGEST_LINE = 1 << 26
NEWLINE, RETURN, SPACE, TAB = b"\n\r \t"


@dataclass(frozen=True)
class Layout:
    """Where a text stands and how long its vectors are."""

    path: Path
    dimension: int
    reason: str
    """Why that dimension is expected: ``as the header says``."""
    first_line: int = 1

    def at(self, line: int) -> str:
        """``file:line`` of a line counted from 0 after the header."""
        return f"{self.path}:{self.first_line + line}"


def read_rows(stream: IO[bytes], layout: Layout, rows: Rows) -> tuple[int, tuple[str, ...]]:
    """Read lines into ``rows`` until the limit or the end; the number of lines that held a vector, and the notes."""
    line = held = 0
    for block in _line_blocks(stream, layout):
        if not block.endswith(b"\n"):
            return _read_last(block, layout, line, rows, held)
        while block and rows.wanted:
            part, block = _split_after(block, rows.wanted)
            words, vectors = parse_block(part, layout.dimension) or parse_lines(part, layout, line)
            rows.add(words, vectors)
            line += part.count(b"\n")
            held += len(words)
        if not rows.wanted:
            break
    return held, ()


def _read_last(block: bytes, layout: Layout, line: int, rows: Rows, held: int) -> tuple[int, tuple[str, ...]]:
    """A last line without a line end: whole, or cut and then left out."""
    try:
        words, vectors = parse_lines(block, layout, line)
    except FormatError:
        return held, (f"the last line (line {layout.first_line + line}) is cut: left out",)
    rows.add(words, vectors)
    return held + len(words), ()


def _line_blocks(stream: IO[bytes], layout: Layout) -> Iterator[bytes]:
    """Blocks of whole lines; what follows the last line end comes last, alone."""
    rest = b""
    while chunk := stream.read(BLOCK_SIZE):
        end = chunk.rfind(b"\n") + 1
        if end:
            yield rest + chunk[:end]
        rest = chunk[end:] if end else rest + chunk
        if len(rest) > LONGEST_LINE:
            raise FormatError(
                f"{layout.path}: no line end in {LONGEST_LINE} bytes, expected lines of text; not a text file?"
            )
    if rest:
        yield rest


def _split_after(block: bytes, lines: int) -> tuple[bytes, bytes]:
    """The first ``lines`` lines and the others, so that nothing past the limit is looked at."""
    if block.count(b"\n") <= lines:
        return block, b""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == NEWLINE)
    end = int(ends[lines - 1]) + 1
    return block[:end], block[end:]


def parse_block(block: bytes, dimension: int) -> tuple[list[str], Vectors] | None:
    """All lines of a block at once; None where any of them needs a closer look."""
    spans = _spans(block, dimension)
    if spans is None:
        return None
    tails = b"".join([block[end:stop] for _, end, stop in spans])
    values = _numbers(tails, len(spans) * dimension)
    if values is None:
        return None
    words = [decode(block[start:end].rstrip(b" \t")) for start, end, _ in spans]
    return words, values.reshape(len(spans), dimension)


def _spans(block: bytes, dimension: int) -> list[tuple[int, int, int]] | None:
    """For each line the start of the word, its end and the end of the line, the vector counted from the right.

    None where a line is short, or two separators meet: an empty field would let a later one that holds two
    numbers, such as "1-2", make up for it unseen.
    """
    letters = np.frombuffer(block, np.uint8)
    gaps = letters == SPACE if b"\t" not in block else (letters == SPACE) | (letters == TAB)
    places = np.flatnonzero(gaps)
    starts, stops = _line_ends(letters)
    last = np.searchsorted(places, stops) - gaps[np.maximum(stops - 1, 0)]
    many = last - np.searchsorted(places, starts)
    if (many < dimension).any() or (np.diff(places) == 1).any():
        return None
    ends = places[last - dimension]
    if any(ends_in_fraction(block[starts[row] : ends[row]]) for row in np.flatnonzero(many > dimension).tolist()):
        return None
    return list(zip(starts.tolist(), ends.tolist(), (stops + 1).tolist(), strict=True))


def _line_ends(letters: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Where each line starts, and where its line end (one byte or two) stands."""
    newlines = np.flatnonzero(letters == NEWLINE)
    starts = np.concatenate((np.zeros(1, np.intp), newlines[:-1] + 1))
    return starts, newlines - (letters[np.maximum(newlines - 1, 0)] == RETURN)


def _numbers(tails: bytes, expected: int) -> Vectors | None:
    """Every number in a text; None unless all of it is numbers, and as many as expected."""
    plain = decimals(tails, expected)
    if plain is not None:
        return plain
    with warnings.catch_warnings():
        # numpy warns, and will later raise, where it stops before the end of the text.
        warnings.simplefilter("error", DeprecationWarning)
        warnings.filterwarnings("ignore", category=RuntimeWarning)
        try:
            values = np.fromstring(tails, dtype=np.float32, sep=" ")
        except (DeprecationWarning, ValueError):
            return None
    return values if len(values) == expected else None


def parse_lines(block: bytes, layout: Layout, line: int) -> tuple[list[str], Vectors]:
    """The same one line at a time: slower, forgiving about blanks, and able to name the line that is wrong."""
    words: list[str] = []
    vectors: list[list[float]] = []
    for offset, text in enumerate(block.removesuffix(b"\n").split(b"\n")):
        if not text.strip(BLANK):
            continue
        word, values = _parse_line(text, layout, layout.at(line + offset))
        words.append(word)
        vectors.append(values)
    with np.errstate(over="ignore"):
        return words, np.array(vectors, dtype=np.float32).reshape(len(words), layout.dimension)


def _parse_line(text: bytes, layout: Layout, where: str) -> tuple[str, list[float]]:
    text = text.rstrip(BLANK)
    gaps = list(SEPARATOR.finditer(text))
    word = text[: gaps[-layout.dimension].start()] if len(gaps) >= layout.dimension else text
    if len(gaps) < layout.dimension or ends_in_fraction(word):
        raise _wrong_length(text, layout, where)
    fields = SEPARATOR.split(text[gaps[-layout.dimension].end() :])
    wrong = next((place for place, piece in enumerate(fields) if not NUMBER.fullmatch(piece)), None)
    if wrong is not None:
        raise FormatError(
            f"{where}: value {wrong + 1} of the word {shown(word)} is {shown(fields[wrong])}, "
            f"expected a number, {layout.dimension} to a line {layout.reason}; mend or remove the line"
        )
    return decode(word), list(map(float, fields))


def _wrong_length(text: bytes, layout: Layout, where: str) -> FormatError:
    many = numbers_at_end(text)
    word = SEPARATOR.split(text)[0]
    return FormatError(
        f"{where}: found {many} numbers after {shown(word)}, expected {layout.dimension} {layout.reason}; "
        "mend or remove the line"
    )


def write_lines(stream: IO[bytes], words: Iterable[list[bytes]], vectors: Iterable[Vectors]) -> None:
    """One line a word, block by block. With nine significant digits every float32 is read back exactly."""
    for some, block in zip(words, vectors, strict=True):
        pattern = b" %.9g" * block.shape[1] + b"\n"
        stream.write(b"".join([word + pattern % tuple(row) for word, row in zip(some, block.tolist(), strict=True)]))


def decode(word: bytes) -> str:
    """The word as text; bytes that are not UTF-8 are kept as surrogates."""
    return word.decode("utf-8", "surrogateescape")


def shown(word: bytes) -> str:
    """The word as an error message shows it: quoted, and not too long."""
    return repr(decode(word[:40]))
