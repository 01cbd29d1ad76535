"""Text files of a word and its numbers a line: parsed a block at a time, and line by line where a block is not clean.

``RowCollector``, which the readers of other formats use too, keeps the usable rows.

Only ASCII spaces and tabs separate fields, and fields are counted from the right. So a word may hold any other Unicode
whitespace, and even spaces. Bytes that are not UTF-8 are kept as surrogates (PEP 383).
"""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from calque.data.formats.block_source import Vectors, problem_in_list
from calque.data.formats.format import FileContent
from calque.errors import FormatError

BLOCK_SIZE = 1 << 20
LONGEST_LINE = 1 << 26
SAMPLED_LINES = 50
MOST_DIGITS = 9
"""Of a number that is read digit by digit: more would not fit 32 bits."""
EXAMPLES = 5
"""How many of the words that were left out a note names."""

BLANK = b" \t\r\n"
NUMBER = re.compile(rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|nan|inf(?:inity)?)", re.IGNORECASE)
SEPARATOR = re.compile(rb"[ \t]+")
_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*(\d{1,15})[ \t]+(\d{1,15})[ \t]*\r?\n?")
_ENDS_IN_NUMBER = re.compile(rb"[ \t][+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\Z", re.IGNORECASE)
_ENDS_IN_FRACTION = re.compile(rb"[ \t][+-]?(?:\d*\.\d+(?:e[+-]?\d+)?|\d+e[+-]?\d+)\Z", re.IGNORECASE)
_NEWLINE, _RETURN, _SPACE, _TAB, _PLUS, _MINUS, _POINT, _ZERO = b"\n\r \t+-.0"
_CONTROL = bytes(set(range(_SPACE)) - set(b"\t\n\r"))
"""Bytes below the space that separate no fields."""

Positions = npt.NDArray[np.intp]


@dataclass
class LeftOut:
    """Words that were left out for one reason: how many, and the first few."""

    count: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, word: str) -> None:
        """Count one more."""
        self.count += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(word)

    def __str__(self) -> str:
        return ", ".join(map(repr, self.examples)) + (", …" if self.count > len(self.examples) else "")


class RowCollector:
    """Collects words and vectors into one array. Of equal words the first is kept; bad rows are left out and noted.

    The array grows in place, by an eighth at a time: neither a wrong header nor a copy can double the memory.
    A first block that owns its memory is taken over as it is.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = sys.maxsize if limit is None else limit
        self._words: list[str] = []
        self._seen: set[str] = set()
        self._vectors: Vectors | None = None
        self._counts: list[float] = []
        self._left_out = {reason: LeftOut() for reason in _NOTES}

    @property
    def wanted(self) -> int:
        """How many more words are wanted; zero once the limit is reached."""
        return self._limit - len(self._words)

    def add(self, words: Sequence[str], block: Vectors, counts: Sequence[float] | None = None) -> None:
        """Take these rows in, up to the limit."""
        with np.errstate(invalid="ignore"):  # numpy warns of signalling NaN
            finite = np.all(np.isfinite(block), axis=1).tolist()
            nonzero = np.any(block, axis=1).tolist()
        wanted, kept = self.wanted, list[int]()
        for row, word in enumerate(words):
            if len(kept) == wanted:
                break
            if word in self._seen:
                self._left_out["duplicate"].add(word)
            elif not word:
                self._left_out["empty"].add(word)
            elif not finite[row]:
                self._left_out["infinite"].add(word)
            elif not nonzero[row]:
                self._left_out["zero"].add(word)
            else:
                kept.append(row)
                self._seen.add(word)
        if not kept:
            return
        self._append_vectors(block if len(kept) == len(block) else block[kept])
        self._words.extend([words[row] for row in kept])
        if counts is not None:
            self._counts.extend([counts[row] for row in kept])

    def _append_vectors(self, block: Vectors) -> None:
        if self._vectors is None:
            owned = block.flags.owndata and block.flags.writeable and block.flags.c_contiguous
            self._vectors = block if owned else block.copy()
            return
        filled = len(self._words)
        needed = filled + len(block)
        if needed > len(self._vectors):
            self._vectors.resize((min(needed + needed // 8, self._limit), block.shape[1]), refcheck=False)
        self._vectors[filled:needed] = block

    def content(self, path: Path, *notes: str) -> FileContent:
        """All that was kept, with these notes and one for each reason why words were left out."""
        notes += tuple(_NOTES[reason](words) for reason, words in self._left_out.items() if words.count)
        if self._vectors is None:
            because = f" ({'; '.join(notes)})" if notes else ""
            raise FormatError(f"{path}: no usable word in it{because}; expected at least one word and its vector")
        self._vectors.resize((len(self._words), self._vectors.shape[1]), refcheck=False)
        counts = np.array(self._counts, dtype=np.float64) if self._counts else None
        return FileContent(self._words, self._vectors, notes, counts)


def plural(count: int, noun: str) -> str:
    """``1 word``, ``2 words``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


_NOTES: dict[str, Callable[[LeftOut], str]] = {
    "empty": lambda words: f"{plural(words.count, 'row')} without a word left out",
    "duplicate": lambda words: f"{plural(words.count, 'duplicate word')} left out (first kept): {words}",
    "infinite": lambda words: f"{plural(words.count, 'word')} with NaN or infinite values left out: {words}",
    "zero": lambda words: f"{plural(words.count, 'word')} with an all-zero vector left out: {words}",
}


@dataclass(frozen=True)
class Layout:
    """Where the lines come from and how long their vectors are."""

    path: Path
    dimension: int
    reason: str
    """Why that dimension is expected: ``as the header says``."""
    first_line: int = 1


def read_rows(stream: IO[bytes], layout: Layout, rows: RowCollector) -> tuple[int, tuple[str, ...]]:
    """Read lines into ``rows`` until its limit or the end of the file.

    Returns the number of lines that held a vector, and notes.
    """
    line = vector_count = 0
    wanted = rows.wanted
    for block in _line_blocks(stream, layout):
        if not block.endswith(b"\n"):  # the end of the file: a whole last line, or one that was cut
            try:
                words, vectors = parse_lines(block, layout, line)
            except FormatError:
                return vector_count, (f"the last line (line {layout.first_line + line}) is cut: left out",)
            rows.add(words, vectors)
            return vector_count + len(words), ()
        while block and wanted:
            part, block = _split_after(block, wanted)
            words, vectors = parse_block(part, layout.dimension) or parse_lines(part, layout, line)
            rows.add(words, vectors)
            line += part.count(b"\n")
            vector_count += len(words)
            wanted = rows.wanted
        if not wanted:
            break
    return vector_count, ()


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
    """The first ``lines`` lines and the others, so that nothing past the limit is parsed."""
    if block.count(b"\n") <= lines:
        return block, b""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == _NEWLINE)
    end = int(ends[lines - 1]) + 1
    return block[:end], block[end:]


def parse_block(block: bytes, dimension: int) -> tuple[list[str], Vectors] | None:
    """All lines of a block at once; None if any line is not clean and has to be parsed alone."""
    spans = _spans(block, dimension)
    if spans is None:
        return None
    text = b"".join([block[word_end:line_end] for _, word_end, line_end in spans])
    values = decimals(text, len(spans) * dimension)
    if values is None:
        values = _any_numbers(text, len(spans) * dimension)
    if values is None:
        return None
    words = [decode(block[start:word_end].rstrip(b" \t")) for start, word_end, _ in spans]
    return words, values.reshape(len(spans), dimension)


def _spans(block: bytes, dimension: int) -> list[tuple[int, int, int]] | None:
    """For each line, where it starts, where its word ends and where the line ends, fields counted from the right.

    None if a line is short or two separators meet: with an empty field, a later field that holds two numbers, such as
    "1-2", would go unnoticed.
    """
    letters = np.frombuffer(block, np.uint8)
    is_gap = letters == _SPACE if b"\t" not in block else (letters == _SPACE) | (letters == _TAB)
    gaps = np.flatnonzero(is_gap)
    newlines = np.flatnonzero(letters == _NEWLINE)
    starts = np.concatenate((np.zeros(1, np.intp), newlines[:-1] + 1))
    ends = newlines - (letters[np.maximum(newlines - 1, 0)] == _RETURN)
    last_gap = np.searchsorted(gaps, ends) - is_gap[np.maximum(ends - 1, 0)]
    gap_counts = last_gap - np.searchsorted(gaps, starts)
    if (gap_counts < dimension).any() or (np.diff(gaps) == 1).any():
        return None
    word_ends = gaps[last_gap - dimension]
    longer_lines = np.flatnonzero(gap_counts > dimension).tolist()
    if any(_ENDS_IN_FRACTION.search(block[starts[row] : word_ends[row]]) for row in longer_lines):
        return None
    return list(zip(starts.tolist(), word_ends.tolist(), (ends + 1).tolist(), strict=True))


def decimals(text: bytes, expected: int) -> Vectors | None:
    """Numbers with equally many decimals, as most vector files have them, read digit by digit over all of them at once.

    Each is a whole number of at most nine digits divided by a power of ten. Both are exact in double precision, so one
    division rounds as a parser would. None unless there are ``expected`` numbers, all of this form.
    """
    if len(text.translate(None, _CONTROL)) != len(text):
        return None
    letters = np.frombuffer(text, np.uint8)
    blank = np.ones(len(letters) + 2, np.bool_)
    np.less_equal(letters, _SPACE, out=blank[1:-1])
    borders = np.flatnonzero(blank[1:] != blank[:-1])
    starts, ends = borders[::2], borders[1::2]
    if len(starts) != expected or expected == 0:
        return None
    places = text[starts[0] : ends[0]][::-1].find(_POINT)
    points = ends - 1 - places
    first = letters[starts]
    negative = first == _MINUS
    before_point = points - starts - (negative | (first == _PLUS))
    if places < 1 or int(before_point.min()) < 1 or places + int(before_point.max()) > MOST_DIGITS:
        return None
    if not (letters[points] == _POINT).all():
        return None
    whole = _whole_numbers(letters, ends, points, places, before_point)
    if whole is None:
        return None
    values = whole / 10.0**places
    np.negative(values, out=values, where=negative)
    return values.astype(np.float32)


def _whole_numbers(
    letters: npt.NDArray[np.uint8], ends: Positions, points: Positions, places: int, before_point: Positions
) -> npt.NDArray[np.int32] | None:
    """The digits of each number as one whole number, from the last digit on; None if a letter is no digit."""
    whole, largest = np.zeros(len(ends), np.int32), np.zeros(len(ends), np.uint8)
    for place in range(places):
        digit = letters[ends - 1 - place] - np.uint8(_ZERO)
        np.maximum(largest, digit, out=largest)
        whole += np.multiply(digit, 10**place, dtype=np.int32)
    shortest = int(before_point.min())
    for place in range(int(before_point.max())):
        digit = letters[np.maximum(points - 1 - place, 0)] - np.uint8(_ZERO)
        if place >= shortest:
            digit = digit * (before_point > place)
        np.maximum(largest, digit, out=largest)
        whole += np.multiply(digit, 10 ** (places + place), dtype=np.int32)
    return whole if int(largest.max()) <= 9 else None


def _any_numbers(text: bytes, expected: int) -> Vectors | None:
    """Numbers of any form, by numpy; None unless there are ``expected`` numbers and nothing else."""
    with warnings.catch_warnings():
        # numpy warns, and will later raise, where it stops before the end of the text.
        warnings.simplefilter("error", DeprecationWarning)
        warnings.filterwarnings("ignore", category=RuntimeWarning)
        try:
            values = np.fromstring(text, dtype=np.float32, sep=" ")
        except (DeprecationWarning, ValueError):
            return None
    return values if len(values) == expected else None


def parse_lines(block: bytes, layout: Layout, line: int) -> tuple[list[str], Vectors]:
    """The same, line by line: slower, but it allows repeated blanks, and names the line and value that are wrong.

    ``line`` is the number of the first line, counted from 0 after the header.
    """
    words: list[str] = []
    vectors: list[list[float]] = []
    for number, text in enumerate(block.removesuffix(b"\n").split(b"\n"), layout.first_line + line):
        if text.strip(BLANK):
            word, values = _parse_line(text.rstrip(BLANK), layout, f"{layout.path}:{number}")
            words.append(word)
            vectors.append(values)
    with np.errstate(over="ignore"):
        return words, np.array(vectors, dtype=np.float32).reshape(len(words), layout.dimension)


def _parse_line(text: bytes, layout: Layout, where: str) -> tuple[str, list[float]]:
    gaps = list(SEPARATOR.finditer(text))
    word = text[: gaps[-layout.dimension].start()] if len(gaps) >= layout.dimension else text
    if len(gaps) < layout.dimension or _ENDS_IN_FRACTION.search(word):
        raise FormatError(
            f"{where}: found {numbers_at_end(text)} numbers after {shown(SEPARATOR.split(text)[0])}, "
            f"expected {layout.dimension} {layout.reason}; mend or remove the line"
        )
    fields = SEPARATOR.split(text[gaps[-layout.dimension].end() :])
    for place, text_field in enumerate(fields, 1):
        if not NUMBER.fullmatch(text_field):
            raise FormatError(
                f"{where}: value {place} of the word {shown(word)} is {shown(text_field)}, "
                f"expected a number, {layout.dimension} to a line {layout.reason}; mend or remove the line"
            )
    return decode(word), list(map(float, fields))


def header(line: bytes) -> tuple[int, int] | None:
    """The two whole numbers of a header such as ``200000 300``; None if the line is no header."""
    match = _HEADER.fullmatch(line)
    return (int(match[1]), int(match[2])) if match else None


def common_dimension(head: bytes) -> int:
    """The vector length of most of the first lines of a file without a header; 0 if fewer than half end in a number.

    The first line alone does not decide: its word may hold a space and a number.
    """
    lines = head.split(b"\n", SAMPLED_LINES + 1)
    if len(lines) > 1:
        lines = lines[:-1]  # which may be cut
    lines = [line for line in lines[:SAMPLED_LINES] if line.strip(BLANK)]
    lengths = Counter(filter(None, map(numbers_at_end, lines)))
    if not lines or 2 * lengths.total() < len(lines):
        return 0
    return lengths.most_common(1)[0][0]


def numbers_at_end(line: bytes) -> int:
    """How many numbers stand at the end of a line, after at least one field for the word."""
    fields = SEPARATOR.split(line.rstrip(BLANK))
    for count, text_field in enumerate(reversed(fields[1:])):
        if not NUMBER.fullmatch(text_field):
            return count
    return len(fields) - 1


def is_bare_matrix(head: bytes) -> bool:
    """Whether the first lines are numbers only, so that their first column would be taken for words."""
    first_fields = [SEPARATOR.split(line.strip())[0] for line in head.split(b"\n", 9)[:9] if line.strip()]
    return all(_ENDS_IN_FRACTION.search(b" " + field) for field in first_fields)


def has_control_bytes(head: bytes) -> bool:
    """Whether these bytes cannot be plain text."""
    return any(byte < 32 and byte not in b"\t\n\v\f\r" for byte in set(head))


def write_rows(stream: IO[bytes], words: Iterable[list[bytes]], vectors: Iterable[Vectors]) -> None:
    """One line a word, block by block. With nine significant digits every float32 is read back exactly."""
    for word_block, block in zip(words, vectors, strict=True):
        pattern = b" %.9g" * block.shape[1] + b"\n"
        rows = zip(word_block, block.tolist(), strict=True)
        stream.write(b"".join([word + pattern % tuple(row) for word, row in rows]))


def problem_in_text(word: bytes) -> str:
    """Why a word cannot stand before its numbers on a line; empty if it can."""
    if word and b"\n" not in word and word[-1:] in (b" ", b"\t", b"\r"):
        return "ends in a blank, which would be lost"
    if ends_in_number(word):
        return "ends in a number after a space, which would be read as part of its vector"
    return problem_in_list(word)


def ends_in_number(word: bytes) -> bool:
    """Whether a word such as ``iphone 6`` could be taken for a shorter word and one more number."""
    return _ENDS_IN_NUMBER.search(word) is not None


def decode(word: bytes) -> str:
    """The word as text; bytes that are not UTF-8 are kept as surrogates."""
    return word.decode("utf-8", "surrogateescape")


def shown(word: bytes) -> str:
    """The word as an error message shows it: quoted, and not too long."""
    return repr(decode(word[:40]))
