"""How numbers look in a text file, and where on a line they begin."""

from __future__ import annotations

import re
from collections import Counter

NUMBER = re.compile(rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|nan|inf(?:inity)?)", re.IGNORECASE)
SEPARATOR = re.compile(rb"[ \t]+")
BLANK = b" \t\r\n"
HEADER = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*(\d{1,15})[ \t]+(\d{1,15})[ \t]*\r?\n?")
SAMPLE = 50

_ENDS_IN_NUMBER = re.compile(rb"[ \t][+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\Z", re.IGNORECASE)
_ENDS_IN_FRACTION = re.compile(rb"[ \t][+-]?(?:\d*\.\d+(?:e[+-]?\d+)?|\d+e[+-]?\d+)\Z", re.IGNORECASE)


def ends_in_number(word: bytes) -> bool:
    """Whether a word such as ``iphone 6`` could be taken for a shorter word and one more number."""
    return _ENDS_IN_NUMBER.search(word) is not None


def ends_in_fraction(word: bytes) -> bool:
    """Whether what stands before the vector is rather a word and one number too many, as in ``the 0.25``."""
    return _ENDS_IN_FRACTION.search(word) is not None


def header(line: bytes) -> tuple[int, int] | None:
    """The two whole numbers of a header such as ``200000 300``; None where the line is no header."""
    found = HEADER.fullmatch(line)
    return (int(found[1]), int(found[2])) if found else None


def numbers_at_end(line: bytes) -> int:
    """How many numbers stand at the end of a line, after at least one field for the word."""
    fields = SEPARATOR.split(line.rstrip(BLANK))
    for many, piece in enumerate(reversed(fields[1:])):
        if not NUMBER.fullmatch(piece):
            return many
    return len(fields) - 1


def common_dimension(head: bytes) -> int:
    """The length most lines of a headerless file agree on; 0 where fewer than half of them end in a number.

    The most common length, not the first, so that one word with a space and a number in it does not decide.
    """
    lines = [line for line in _whole_lines(head)[:SAMPLE] if line.strip(BLANK)]
    lengths = Counter(filter(None, map(numbers_at_end, lines)))
    if not lines or 2 * lengths.total() < len(lines):
        return 0
    return lengths.most_common(1)[0][0]


def _whole_lines(head: bytes) -> list[bytes]:
    lines = head.split(b"\n", SAMPLE + 1)
    return lines[:-1] if len(lines) > 1 else lines


def has_control_bytes(head: bytes) -> bool:
    """Whether these bytes cannot be plain text."""
    return any(byte < 32 and byte not in b"\t\n\v\f\r" for byte in set(head))
