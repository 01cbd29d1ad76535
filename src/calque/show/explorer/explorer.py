"""What the page asks of a run, answered as plain values. Knows nothing of HTTP."""

from __future__ import annotations

import heapq
import threading
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from calque.data.lexicon import Lexicon
from calque.errors import SettingsError, UnknownWordError
from calque.runs.alignment import Alignment
from calque.runs.lookup import OTHER, Lookup
from calque.show.views import answers, by_frequency, learned_from, names_of, positions, starts_of

Kept = TypeVar("Kept")
Value = dict[str, Any]
SHOWN = 20_000
"""So many words of each language are on the map, the most frequent ones."""
MOST_CANDIDATES = 100
MOST_COMPLETIONS = 50
RETRIEVALS = ("nn", "csls")
SIDES = tuple(OTHER)


class Explorer:
    """One run, open to questions from many threads: a folder, or an alignment in memory."""

    def __init__(self, run: str | Path | Alignment, lexicon: Lexicon | None = None, shown: int = SHOWN) -> None:
        self.run, self.lexicon, self.shown = run, lexicon, shown
        self.lookup = run.lookup() if isinstance(run, Alignment) else Lookup.open(run)
        self.closing = threading.Event()
        """Set when nobody will wait for an answer any more."""
        self._lock = threading.RLock()
        self._locks: dict[Hashable, threading.Lock] = {}
        # Products use all cores by themselves: many at once would only be in each other's way.
        self._counting = threading.Lock()
        self._kept: dict[Hashable, Any] = {}

    def prepare(self) -> None:
        """Find out before the first question whether the run and the lexicon are sound.

        All of the run is read by then, so that it stays the same one if another takes its folder.
        """
        self.map_places()
        for side in SIDES:
            self.lookup.words(side)
        if self.lexicon is not None:
            for back in (False, True):
                self.judged(back, "csls")

    def summary(self) -> Value:
        """What was aligned, and how much of it can be trusted."""
        config = self.alignment.record
        verdict = self.alignment.verdict
        return {
            "names": dict(zip(SIDES, names_of(self.alignment), strict=True)),
            "words": {side: len(self.lookup.words(side)) for side in SIDES},
            "verdict": verdict.label,
            "reasons": list(verdict.reasons),
            "notes": list(config.notes),
            "recipe": config.recipe.get("name", ""),
            "seed": config.seed,
            "seconds": round(sum(config.seconds.values()), 1),
            "lexicon": None if self.lexicon is None else self._told_of(self.lexicon),
        }

    def _told_of(self, lexicon: Lexicon) -> Value:
        learned = learned_from(self.alignment, lexicon)
        return {"name": lexicon.name, "words": len(lexicon), "learned": learned}

    def starts(self) -> list[Value]:
        """Every start of the search: the picture of the verdict."""
        return [asdict(each) for each in starts_of(self.alignment.record.log, self.alignment.verdict)]

    def row(self, side: str, word: str | None, row: int | None) -> int:
        """Of a word that is named, or numbered: some words cannot be written in an address."""
        words = self.lookup.words(_side(side))
        if row is None and not word:
            raise SettingsError("no word was asked about; give word=… or row=…")
        if row is None:
            return self.lookup.row(side, word or "")
        if not 0 <= row < len(words):
            raise UnknownWordError(f"row {row} is not among the {len(words)} words of {side}; rows count from 0")
        return row

    def neighbours(self, side: str, row: int, k: int) -> Value:
        """The best translations by either retrieval, and whether each translates back."""
        if not 1 <= k <= MOST_CANDIDATES:
            raise SettingsError(f"k is {k}; expected 1 to {MOST_CANDIDATES}")
        with self._counting:
            found = {each: self.lookup.ranked(_side(side), [row], k, each)[0] for each in RETRIEVALS}
            told = {each: self._with_way_back(side, row, best, each) for each, best in found.items()}
        return {"side": side, "row": row, "word": self.lookup.words(side)[row], **told}

    def _with_way_back(self, side: str, row: int, best: list[tuple[int, float]], retrieval: str) -> list[Value]:
        other = OTHER[side]
        back = self.lookup.ranked(other, [place for place, _ in best], 1, retrieval)
        theirs, ours = self.lookup.words(other), self.lookup.words(side)
        return [
            {
                "row": place,
                "word": theirs[place],
                "score": round(score, 4),
                "back": {"row": home[0], "word": ours[home[0]]},
                "returns": home[0] == row,
            }
            for (place, score), (home, *_) in zip(best, back, strict=True)
        ]

    def complete(self, side: str, prefix: str, limit: int) -> list[Value]:
        """Words that begin so, whatever the case, the most frequent first."""
        if not 1 <= limit <= MOST_COMPLETIONS:
            raise SettingsError(f"limit is {limit}; expected 1 to {MOST_COMPLETIONS}")
        spelled, rows = self._kept_once(("spelled", _side(side)), lambda: _sorted(self.lookup.words(side)))
        sought = prefix.casefold()
        begin, end = bisect_left(spelled, sought), bisect_left(spelled, f"{sought}\U0010ffff")
        words = self.lookup.words(side)
        return [{"row": row, "word": words[row]} for row in heapq.nsmallest(limit, rows[begin:end])]

    def map_words(self) -> Value:
        """The words on the map, in the order of their places."""
        words = {side: self.lookup.words(side)[: self.shown] for side in SIDES}
        return {**words, "why_not": self._places()[1]}

    def map_places(self) -> bytes:
        """float32, little-endian: two numbers a word, of the source before, the source after, and the target."""
        return self._places()[0]

    def _places(self) -> tuple[bytes, str]:
        return self._kept_once("places", self._placed)

    def _placed(self) -> tuple[bytes, str]:
        placed = positions(self.alignment, slice(self.shown), slice(self.shown))
        before = placed.after if placed.before is None else placed.before
        arrays = [each.numpy().astype("<f4") for each in (before, placed.after, placed.at)]
        return b"".join(np.ascontiguousarray(each).tobytes() for each in arrays), placed.why_not

    def judged(self, back: bool, retrieval: str) -> Value:
        """By the lexicon: accuracy by frequency, and every word whose best translation is not a right one."""
        if retrieval not in RETRIEVALS:
            raise SettingsError(f"no retrieval is called {retrieval!r} here; there are: {', '.join(RETRIEVALS)}")
        return self._kept_once(("judged", back, retrieval), lambda: self._judged(back, retrieval))

    def _judged(self, back: bool, retrieval: str) -> Value:
        if self.lexicon is None:
            raise SettingsError("no lexicon was given, so nothing is known of errors; start with --lexicon FILE")
        given = answers(self.alignment, self.lexicon.reversed() if back else self.lexicon, back, retrieval)
        return {
            "asked": len(given),
            "right": sum(each.place == 1 for each in given),
            "bands": [asdict(each) for each in by_frequency(given)],
            "errors": [asdict(each) for each in given if each.place != 1],
        }

    def lexicon_lines(self) -> Iterator[bytes]:
        """The induced dictionary, as `calque lexicon` writes it; found before the first line is asked for."""
        entries = self._kept_once("induced", lambda: self.alignment.lexicon(stopped=self.closing.is_set))
        return (f"{each.line}\n".encode("utf-8", "surrogateescape") for each in entries)

    @cached_property
    def alignment(self) -> Alignment:
        """All of the run; look-ups do without."""
        with self._lock:
            return self.run if isinstance(self.run, Alignment) else Alignment.load(self.run)

    def _kept_once(self, name: Hashable, make: Callable[[], Kept]) -> Kept:
        with self._lock:
            lock = self._locks.setdefault(name, threading.Lock())
        with lock:  # Of its own, so that what takes long keeps nobody else waiting.
            if name not in self._kept:
                self._kept[name] = make()
            kept: Kept = self._kept[name]
            return kept


def _side(name: str) -> str:
    if name not in SIDES:
        raise SettingsError(f"no side is called {name!r}; there are: {', '.join(SIDES)}")
    return name


def _sorted(words: Sequence[str]) -> tuple[list[str], list[int]]:
    """Words without case in order of spelling, and their rows."""
    pairs = sorted((word.casefold(), row) for row, word in enumerate(words))
    return [spelled for spelled, _ in pairs], [row for _, row in pairs]
