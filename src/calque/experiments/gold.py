"""Lexicons and human judgements: read once, and halved at random as the paper did for LEX-Z (section 4.1.2)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from calque.data.lexicon import Lexicon, read_lexicon
from calque.evaluate import read_similarity
from calque.evaluate.similarity import Judged
from calque.experiments.plan import GoldFile


def split(lexicon: Lexicon, seed: int) -> tuple[Lexicon, Lexicon]:
    """A training and a test half by query word: a word with all its answers is in one of them only.

    Words are put in the order of a digest of seed and word, so that neither the order of the file nor the version of
    any library changes the halves. If the number of words is odd, the test half has one more.
    """

    def draw(word: str) -> bytes:
        return hashlib.sha256(f"{seed}\0{word}".encode("utf-8", "surrogateescape")).digest()

    order = sorted(lexicon.answers, key=draw)
    parts = {"train": order[: len(order) // 2], "test": order[len(order) // 2 :]}
    train, test = (
        Lexicon({word: lexicon.answers[word] for word in words}, f"{lexicon.name} ({part} {seed})")
        for part, words in parts.items()
    )
    return train, test


@dataclass(frozen=True)
class WordPairs:
    """A lexicon that was read, and which random half of it is used."""

    lexicon: Lexicon
    half: Literal["", "train", "test"] = ""
    first: int | None = None

    def drawn_by(self, seed: int) -> Lexicon:
        """The word pairs of a run."""
        if self.first is not None:
            words = list(self.lexicon.answers)[: self.first]
            name = f"{self.lexicon.name} (first {self.first})"
            return Lexicon({word: self.lexicon.answers[word] for word in words}, name)
        return self.lexicon if not self.half else split(self.lexicon, seed)[self.half == "test"]


class GoldCache:
    """Lexicons and judgements that were read: every method needs the same ones."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self.note = note
        """Hears what had to be mended in a file."""
        self.lexicons: dict[tuple[Path, bool], Lexicon] = {}
        self.judgements: dict[Path, list[Judged]] = {}

    def word_pairs(self, file: GoldFile) -> WordPairs:
        """The word pairs of a file, from source to target; LexiconError if they cannot be read."""
        path = file.path
        if (path, False) not in self.lexicons:
            reading = read_lexicon(path)
            for note in reading.notes:
                self.note(note if str(path) in note else f"{path}: {note}")
            self.lexicons[path, False] = reading.lexicon
        if (path, file.turned) not in self.lexicons:
            self.lexicons[path, True] = self.lexicons[path, False].reversed()
        return WordPairs(self.lexicons[path, file.turned], file.half, file.first)

    def similarities(self, file: GoldFile) -> Sequence[Judged]:
        """Human judgements, source word first."""
        if file.path not in self.judgements:
            self.judgements[file.path] = read_similarity(file.path)
        judgements = self.judgements[file.path]
        return [pair.swapped() for pair in judgements] if file.turned else judgements
