"""Which words of a run are each other's translations."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from calque.runs.alignment import Alignment

FREQUENT = 1000
SHORTEST, SHORTEST_WIDE = 4, 2
"""Letters that make a word of content, as far as its form tells; fewer in scripts whose letters are wide."""


def translations(alignment: Alignment, rows: Sequence[int], retrieval: str = "csls") -> dict[int, int]:
    """The target row of every source row here that is its best translation's best translation."""
    if not rows:
        return {}
    there = alignment.neighbours(alignment.spaces()[0].vectors[list(rows)], 1, False, retrieval).indices[:, 0]
    back = alignment.neighbours(alignment.spaces(True)[0].vectors[there], 1, True, retrieval).indices[:, 0]
    chosen = zip(rows, there.tolist(), back.tolist(), strict=True)
    return {row: target for row, target, returned in chosen if returned == row}


def telling(alignment: Alignment, enough: int) -> dict[int, int]:
    """Frequent words worth showing beside their translations, most frequent first.

    Words of content that are spelled otherwise in the other language; any, where fewer than ``enough`` are.
    """
    found = translations(alignment, range(min(FREQUENT, len(alignment.source))))
    ours, theirs = alignment.source.words, alignment.target.words
    good = {
        row: target
        for row, target in found.items()
        if ours[row].casefold() != theirs[target].casefold() and _content(ours[row]) and _content(theirs[target])
    }
    return good if len(good) >= enough else found


def _content(word: str) -> bool:
    wide = any(unicodedata.east_asian_width(letter) == "W" for letter in word)
    letters = all(unicodedata.category(letter)[0] in "LM" for letter in word)
    return letters and len(word) >= (SHORTEST_WIDE if wide else SHORTEST)
