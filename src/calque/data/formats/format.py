"""What all file formats share: how a format is described, what its reader gets and returns, how rows are collected."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from calque.data.formats.block_source import BlockSource, Vectors
from calque.data.formats.streams import Head, ReadDigest
from calque.data.space import SubwordModel
from calque.errors import FormatError

EXAMPLES = 5
"""How many of the words that were left out a note names."""


@dataclass(frozen=True)
class ReadOptions:
    """What to read of a file, and how."""

    limit: int | None = None
    """Read until this many words are kept; None reads all. Words left out do not count."""
    words: Path | None = None
    """The word list that belongs to a bare array."""
    digest: ReadDigest | None = None
    """If the file may go into the cache: where the reader sums the bytes that it reads."""


@dataclass(frozen=True)
class FileContent:
    """What a reader found in a file."""

    words: list[str]
    vectors: Vectors
    notes: tuple[str, ...] = ()
    """Plain sentences, one for each thing mended or left out."""
    counts: npt.NDArray[np.float64] | None = None
    subwords: SubwordModel | None = None
    format: str = ""
    """The name of the format; filled in by whoever chose the reader."""


@dataclass(frozen=True)
class Format:
    """One way to keep a space in a file."""

    name: str
    suffixes: tuple[str, ...]
    """Lower case, with the dot; the usual one first. Only used to choose what to write."""
    read: Callable[[Path, ReadOptions], FileContent]
    write: Callable[[BlockSource, Path], None] | None = None
    """None if the format can only be read."""
    magic: tuple[bytes, ...] = ()
    """What a file of this format begins with: one of these, or, if there are none, anything."""
    recognise: Callable[[Head], bool] = lambda head: True  # noqa: ARG005
    """Whether a file that begins so is of this format."""
    gzipped: bool = False
    """Whether the file may be compressed with gzip."""
    cached: bool = False
    """Whether large files are cached once they were read. A format that can be mapped into memory needs no cache."""


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
