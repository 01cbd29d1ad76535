"""Word pairs: what judges an alignment, and never what an unsupervised one learns from."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from calque.errors import LexiconError

MOST_NOTES = 10
_CONFIDENCE = re.compile(r"[01]\.\d+")


@dataclass(frozen=True)
class Lexicon:
    """Source words and the translations that count as right, one or several a word."""

    answers: Mapping[str, tuple[str, ...]]
    name: str = ""

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]], name: str = "") -> Lexicon:
        """From pairs in any order; a pair given twice counts once."""
        answers: dict[str, dict[str, None]] = {}
        for source, target in pairs:
            answers.setdefault(source, {})[target] = None
        return cls({word: tuple(right) for word, right in answers.items()}, name)

    def __len__(self) -> int:
        return len(self.answers)

    @property
    def digest(self) -> str:
        """SHA-256 of the pairs, whatever the file is called."""
        text = "\n".join(f"{word}\t{right}" for word, many in self.answers.items() for right in many)
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()

    def reversed(self) -> Lexicon:
        """The same pairs the other way round."""
        return Lexicon.of(((right, word) for word, many in self.answers.items() for right in many), self.name)


@dataclass(frozen=True)
class LexiconReading:
    """A lexicon and what had to be left out of its file."""

    lexicon: Lexicon
    notes: tuple[str, ...]
    induced: bool = False
    """Whether a confidence follows each pair, as in a file that `calque lexicon` wrote."""


def read_lexicon(path: str | os.PathLike[str], strict: bool = False) -> LexiconReading:
    """Word pairs, one a line, separated by a tab, or by spaces where a file has no tabs.

    With tabs, words may hold spaces, and a confidence may follow, as `calque lexicon` writes it.
    A line that is not a pair is left out and named, or refused if ``strict``.
    """
    lines = _lines(Path(path))
    tabs = any("\t" in line for line in lines)
    pairs: list[tuple[str, str]] = []
    notes: list[str] = []
    sure = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        fields = line.split("\t") if tabs else [each for each in line.split(" ") if each]
        fields = [each.strip(" ") for each in fields]
        if tabs and len(fields) == 3 and _CONFIDENCE.fullmatch(fields[2]):
            fields, sure = fields[:2], sure + 1
        if len(fields) != 2 or not all(fields):
            notes.append(_malformed(path, number, line, tabs))
            if strict:
                raise LexiconError(notes[-1])
            continue
        pairs.append((fields[0], fields[1]))
    if not pairs:
        raise LexiconError(f"{path}: no word pairs found; expected 'source<TAB>target' on each line")
    return LexiconReading(Lexicon.of(pairs, str(path)), _shortened(notes, path), sure == len(pairs))


def _shortened(notes: list[str], path: str | os.PathLike[str]) -> tuple[str, ...]:
    """The first few, and how many more: the wrong file would otherwise fill the screen."""
    if len(notes) <= MOST_NOTES:
        return tuple(notes)
    return (*notes[:MOST_NOTES], f"{path}: left out {len(notes) - MOST_NOTES} more lines that are no pair of words")


def _lines(path: Path) -> list[str]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LexiconError(f"{path}: cannot be read: {error.strerror}; expected a file of word pairs") from error
    if b"\0" in data[:4096]:
        raise LexiconError(f"{path}: is not a text file; expected 'source<TAB>target' on each line")
    text = data.decode("utf-8-sig", "surrogateescape")
    return [line.removesuffix("\r") for line in text.split("\n")]


def _malformed(path: str | os.PathLike[str], number: int, line: str, tabs: bool) -> str:
    separator = "a tab" if tabs else "a space"
    return f"{path}:{number}: left out {line[:60]!r}; expected two words with {separator} between them"
