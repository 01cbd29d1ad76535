"""A run beside a lexicon that it has not seen: word by word, and by how frequent the words are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from calque.data.lexicon import Lexicon
from calque.errors import SettingsError
from calque.evaluate import ask
from calque.runs.alignment import Alignment

CONSIDERED = 10
"""A right answer that stands further down counts as not found."""


@dataclass(frozen=True)
class Answer:
    """A word of the lexicon, what is right, and what the run says."""

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


def learned_from(alignment: Alignment, lexicon: Lexicon) -> bool:
    """Whether the run was taught by these very pairs: judged by them it is flattered."""
    taught = alignment.record.inputs.get("lexicon", {})
    return taught.get("sha256") == lexicon.digest


def answers(alignment: Alignment, lexicon: Lexicon, back: bool = False, retrieval: str = "csls") -> tuple[Answer, ...]:
    """Every word of the lexicon that can be answered, most frequent first."""
    asking, asked = alignment.spaces(back)
    given = sorted(ask(alignment, lexicon, CONSIDERED, back, retrieval), key=lambda each: each.row)
    return tuple(
        Answer(
            asking.words[each.row],
            each.row + 1,
            tuple(asked.words[row] for row in sorted(each.right)),
            tuple(asked.words[row] for row in each.found),
            each.place + 1 if each.place < len(each.found) else None,
        )
        for each in given
    )


def by_frequency(given: Sequence[Answer], bands: int = 10) -> tuple[Band, ...]:
    """Equally many words to a band, as far as that goes, most frequent first; fewer bands where there are few words."""
    if bands < 1:
        raise SettingsError(f"{bands} bands of words were asked for; expected at least 1")
    ranked = sorted(given, key=lambda each: each.rank)
    count = min(bands, len(ranked))
    cuts = [len(ranked) * number // count for number in range(count + 1)] if count else []
    parts = [ranked[begin:end] for begin, end in pairwise(cuts)]
    return tuple(Band(part[0].rank, part[-1].rank, len(part), sum(each.place == 1 for each in part)) for part in parts)
