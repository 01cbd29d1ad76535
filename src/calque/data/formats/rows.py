"""Gathers the rows of a file into one array, leaves out what cannot be used, and says so."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from calque.data.space import SubwordModel
from calque.errors import FormatError

Vectors = npt.NDArray[np.float32]
SHOWN = 5


@dataclass(frozen=True)
class Harvest:
    """What a reader brings home from a file."""

    words: list[str]
    vectors: Vectors
    notes: tuple[str, ...] = ()
    counts: npt.NDArray[np.float64] | None = None
    subwords: SubwordModel | None = None


@dataclass
class LeftOut:
    """Words that were left out for one reason: how many, and the first few."""

    many: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, word: str) -> None:
        """Count one more."""
        self.many += 1
        if len(self.first) < SHOWN:
            self.first.append(word)

    def __str__(self) -> str:
        return ", ".join(map(repr, self.first)) + (", …" if self.many > len(self.first) else "")


class Rows:
    """Words and vectors as they arrive. The first of several equal words is kept; bad rows are left out.

    The array grows in place by an eighth at a time, so that neither a wrong header nor a copy doubles the memory;
    a first block that owns its memory is taken over as it is.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = sys.maxsize if limit is None else limit
        self._words: list[str] = []
        self._seen: set[str] = set()
        self._vectors: Vectors | None = None
        self._counts: list[float] = []
        self._left_out = {reason: LeftOut() for reason in ("empty", "duplicate", "infinite", "zero")}

    @property
    def wanted(self) -> int:
        """How many more words are wanted; zero once the limit is reached."""
        return self._limit - len(self._words)

    def add(self, words: Sequence[str], block: Vectors, counts: Sequence[float] | None = None) -> None:
        """Take these rows in, up to the limit."""
        kept = self._sift(words, block)
        if not kept:
            return
        filled = len(self._words)
        self._words.extend([words[row] for row in kept])
        if counts is not None:
            self._counts.extend([counts[row] for row in kept])
        self._append(block if len(kept) == len(block) else block[kept], filled)

    def _sift(self, words: Sequence[str], block: Vectors) -> list[int]:
        """The rows to keep; each of the others is counted under its reason."""
        with np.errstate(invalid="ignore"):  # the rarer kind of NaN makes numpy warn
            finite = np.all(np.isfinite(block), axis=1).tolist()
            filled = np.any(block, axis=1).tolist()
        wanted = self.wanted
        kept: list[int] = []
        for row, word in enumerate(words):
            if len(kept) == wanted:
                break
            reason = self._reason(word, finite[row], filled[row])
            if reason:
                self._left_out[reason].add(word)
            else:
                kept.append(row)
                self._seen.add(word)
        return kept

    def _reason(self, word: str, finite: bool, filled: bool) -> str:
        if word in self._seen:
            return "duplicate"
        if not word:
            return "empty"
        if not finite:
            return "infinite"
        return "" if filled else "zero"

    def _append(self, block: Vectors, filled: int) -> None:
        if self._vectors is None:
            owned = block.flags.owndata and block.flags.writeable and block.flags.c_contiguous
            self._vectors = block if owned else block.copy()
            return
        needed = filled + len(block)
        if needed > len(self._vectors):
            self._vectors.resize((min(needed + needed // 8, self._limit), block.shape[1]), refcheck=False)
        self._vectors[filled:needed] = block

    def harvest(self, path: Path, *notes: str) -> Harvest:
        """All that was kept, with these notes and one for each reason to leave words out."""
        said = (*notes, *self._sentences())
        if self._vectors is None:
            raise FormatError(
                f"{path}: no usable word in it{_because(said)}; expected at least one word and its vector"
            )
        self._vectors.resize((len(self._words), self._vectors.shape[1]), refcheck=False)
        counts = np.array(self._counts, dtype=np.float64) if self._counts else None
        return Harvest(self._words, self._vectors, said, counts)

    def _sentences(self) -> list[str]:
        return [_SENTENCES[reason](out) for reason, out in self._left_out.items() if out.many]


def plural(many: int, noun: str) -> str:
    """``1 word``, ``2 words``."""
    return f"{many} {noun}" if many == 1 else f"{many} {noun}s"


def _because(notes: tuple[str, ...]) -> str:
    return f" ({'; '.join(notes)})" if notes else ""


_SENTENCES: dict[str, Callable[[LeftOut], str]] = {
    "duplicate": lambda out: f"{plural(out.many, 'duplicate word')} left out (first kept): {out}",
    "empty": lambda out: f"{plural(out.many, 'row')} without a word left out",
    "infinite": lambda out: f"{plural(out.many, 'word')} with NaN or infinite values left out: {out}",
    "zero": lambda out: f"{plural(out.many, 'word')} with an all-zero vector left out: {out}",
}
