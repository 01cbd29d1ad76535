"""A run beside a lexicon that it has not seen: word by word, and by how frequent the words are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from calque.data.lexicon import Lexicon
from calque.errors import SettingsError
from calque.evaluate import ask
from calque.runs.alignment import Alignment

DEVIATIONS = 1.96
"""So many standard deviations to either side hold 95 % of a normal distribution."""
CANDIDATES = 10
"""So many translations are looked at; a right one that stands further down counts as not found."""


@dataclass(frozen=True)
class JudgedWord:
    """A word of the lexicon, its right translations, and those that the run gives."""

    word: str
    rank: int
    """Of the word by frequency, counted from 1."""
    right: tuple[str, ...]
    found: tuple[str, ...]
    """Best first."""
    place: int | None
    """Of the first right one among those found, counted from 1; None where none is right."""


@dataclass(frozen=True)
class Band:
    """Words of neighbouring frequency ranks."""

    first: int
    last: int
    """Ranks, counted from 1."""
    asked: int
    right: int
    """Words whose best candidate is right."""

    @property
    def share(self) -> float:
        """Accuracy@1."""
        return self.right / self.asked

    @property
    def interval(self) -> tuple[float, float]:
        """Where the accuracy of all such words lies, with 95 % confidence (Wilson 1927)."""
        middle = (self.share + DEVIATIONS**2 / (2 * self.asked)) / (1 + DEVIATIONS**2 / self.asked)
        spread = self.share * (1 - self.share) / self.asked + (DEVIATIONS / (2 * self.asked)) ** 2
        half = DEVIATIONS * math.sqrt(spread) / (1 + DEVIATIONS**2 / self.asked)
        return max(0.0, middle - half), min(1.0, middle + half)


def judge_words(
    alignment: Alignment, lexicon: Lexicon, back: bool = False, retrieval: str = "csls"
) -> tuple[JudgedWord, ...]:
    """Every word of the lexicon that can be translated, most frequent first."""
    asking, asked = alignment.spaces(back)
    return tuple(
        JudgedWord(
            word=asking.words[query.row],
            rank=query.row + 1,
            right=tuple(asked.words[row] for row in sorted(query.right)),
            found=tuple(asked.words[row] for row in query.candidates),
            place=query.place + 1 if query.place < len(query.candidates) else None,
        )
        for query in sorted(ask(alignment, lexicon, CANDIDATES, back, retrieval), key=lambda query: query.row)
    )


def accuracy_by_frequency(words: Sequence[JudgedWord], bands: int = 10) -> tuple[Band, ...]:
    """Bands of equally many words, as far as possible, most frequent first; fewer bands where there are few words."""
    if bands < 1:
        raise SettingsError(f"{bands} bands of words were asked for; expected at least 1")
    ranked = sorted(words, key=lambda word: word.rank)
    count = min(bands, len(ranked))
    cuts = [len(ranked) * number // count for number in range(count + 1)] if count else []
    parts = [ranked[begin:end] for begin, end in pairwise(cuts)]
    return tuple(Band(part[0].rank, part[-1].rank, len(part), sum(word.place == 1 for word in part)) for part in parts)
