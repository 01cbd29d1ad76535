"""Word pairs. They judge an alignment; an unsupervised method never learns from them."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from calque.errors import LexiconError, file_path

MOST_NOTES = 10
"""How many lines that are no pairs are named: the wrong file would otherwise fill the screen."""
_CONFIDENCE = re.compile(r"[01]\.\d+")


@dataclass(frozen=True)
class Lexicon:
    """Source words, each with the translations that count as right."""

    answers: Mapping[str, tuple[str, ...]]
    name: str = ""

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]], name: str = "") -> Lexicon:
        """From pairs in any order; a repeated pair counts once."""
        answers: dict[str, dict[str, None]] = {}
        for number, pair in enumerate(pairs if isinstance(pairs, Iterable) else [pairs]):
            if not isinstance(pair, (tuple, list)) or [isinstance(word, str) for word in pair] != [True, True]:
                raise LexiconError(f"pair {number} is {repr(pair)[:80]}; expected two words, such as ('perro', 'dog')")
            answers.setdefault(pair[0], {})[pair[1]] = None
        return cls({source: tuple(targets) for source, targets in answers.items()}, name)

    def __len__(self) -> int:
        return len(self.answers)

    @property
    def digest(self) -> str:
        """The SHA-256 sum of the pairs; the file's name does not matter."""
        text = "\n".join(f"{source}\t{target}" for source, targets in self.answers.items() for target in targets)
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()

    def reversed(self) -> Lexicon:
        """The same pairs in the other direction."""
        pairs = ((target, source) for source, targets in self.answers.items() for target in targets)
        return Lexicon.of(pairs, self.name)


@dataclass(frozen=True)
class LexiconReading:
    """A lexicon, and notes on what was left out of its file."""

    lexicon: Lexicon
    notes: tuple[str, ...]
    induced: bool = False
    """Whether a confidence follows each pair, as in a file that `calque lexicon` wrote."""


def read_lexicon(path: str | os.PathLike[str], strict: bool = False) -> LexiconReading:
    """Word pairs, one a line, separated by a tab, or by spaces if the file has no tabs.

    With tabs, words may hold spaces, and a confidence may follow, as `calque lexicon` writes it.
    A line that is no pair is left out and noted, or refused if ``strict``.
    """
    path = file_path(path)
    lines = _read_lines(path)
    has_tabs = any("\t" in line for line in lines)
    separator = "a tab" if has_tabs else "a space"
    pairs: list[tuple[str, str]] = []
    notes: list[str] = []
    with_confidence = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        fields = line.split("\t") if has_tabs else [field for field in line.split(" ") if field]
        fields = [field.strip(" ") for field in fields]
        if has_tabs and len(fields) == 3 and _CONFIDENCE.fullmatch(fields[2]):
            del fields[2]
            with_confidence += 1
        if len(fields) == 2 and all(fields):
            pairs.append((fields[0], fields[1]))
            continue
        notes.append(f"{path}:{number}: left out {line[:60]!r}; expected two words with {separator} between them")
        if strict:
            raise LexiconError(notes[-1])
    if not pairs:
        raise LexiconError(f"{path}: no word pairs found; expected 'source<TAB>target' on each line")
    if len(notes) > MOST_NOTES:
        notes[MOST_NOTES:] = [f"{path}: left out {len(notes) - MOST_NOTES} more lines that are no pair of words"]
    return LexiconReading(Lexicon.of(pairs, str(path)), tuple(notes), with_confidence == len(pairs))


def _read_lines(path: Path) -> list[str]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LexiconError(f"{path}: cannot be read: {error.strerror}; expected a file of word pairs") from error
    if b"\0" in data[:4096]:
        raise LexiconError(f"{path}: is not a text file; expected 'source<TAB>target' on each line")
    text = data.decode("utf-8-sig", "surrogateescape")
    return [line.removesuffix("\r") for line in text.split("\n")]
