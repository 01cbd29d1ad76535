"""Bilingual lexicon induction, the paper's first task (section 4.3): accuracy@k, as counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calque.data.lexicon import Lexicon
from calque.errors import LexiconError, SettingsError
from calque.runs.alignment import Alignment


@dataclass(frozen=True)
class DirectionScore:
    """How many query words found a right translation among their k best, for each k."""

    right: Mapping[int, int]
    asked: int
    """Query words that could be answered: in the vocabulary, and with a right answer in the other one."""
    missing: int
    """Query words of the lexicon that could not."""

    def accuracy(self, k: int) -> float:
        """The share of the words asked."""
        return self.right[k] / self.asked

    def as_json(self) -> dict[str, Any]:
        """Shares and counts, as `calque evaluate --json` prints them."""
        shares = {str(k): round(self.accuracy(k), 6) for k in self.right}
        counts = {str(k): count for k, count in self.right.items()}
        return {"accuracy": shares, "right": counts, "asked": self.asked, "missing": self.missing}


@dataclass(frozen=True)
class TranslationScore:
    """Both directions, by retrieval."""

    forward: Mapping[str, DirectionScore]
    backward: Mapping[str, DirectionScore]

    def as_json(self) -> dict[str, Any]:
        """As `calque evaluate --json` prints it."""
        return {
            direction: {name: score.as_json() for name, score in scores.items()}
            for direction, scores in (("forward", self.forward), ("backward", self.backward))
        }


def score_translation(
    alignment: Alignment,
    lexicon: Lexicon,
    back: Lexicon | None = None,
    retrievals: Sequence[str] = ("nn", "csls"),
    ks: Sequence[int] = (1, 5, 10),
) -> TranslationScore:
    """Ask every answerable word of the lexicon; backwards by ``back``, or else by the lexicon reversed."""
    if not ks or min(ks) < 1:
        raise SettingsError(f"k is {list(ks)}; expected numbers of at least 1")
    there, returned = lexicon, lexicon.reversed() if back is None else back
    return TranslationScore(
        {name: _direction(alignment, there, False, name, ks) for name in retrievals},
        {name: _direction(alignment, returned, True, name, ks) for name in retrievals},
    )


@dataclass(frozen=True)
class Asked:
    """One word that was asked, and what came back."""

    row: int
    """Of the word, in the language that asks."""
    right: frozenset[int]
    """Rows of the right answers, in the language that is asked."""
    found: tuple[int, ...]
    """Rows of the candidates, best first."""

    @property
    def place(self) -> int:
        """How many candidates stand before the first right one; all of them where none is right."""
        return next((place for place, row in enumerate(self.found) if row in self.right), len(self.found))


def ask(alignment: Alignment, lexicon: Lexicon, k: int, back: bool = False, retrieval: str = "csls") -> list[Asked]:
    """Every word of the lexicon that can be answered, with its ``k`` best candidates, in the lexicon's order."""
    asking, asked = alignment.spaces(back)
    gold = _answerable(lexicon, asking.index, asked.index)
    if not gold:
        ways = f"from {asking.name or 'one side'} to {asked.name or 'the other'}"
        raise LexiconError(
            f"{lexicon.name or 'the lexicon'}: none of its {len(lexicon)} words can be asked {ways}; "
            "is it the right language, direction and letter case?"
        )
    found = alignment.neighbours(asking.vectors[list(gold)], k, back, retrieval).indices.tolist()
    return [Asked(row, frozenset(right), tuple(rows)) for (row, right), rows in zip(gold.items(), found, strict=True)]


def _direction(alignment: Alignment, lexicon: Lexicon, back: bool, retrieval: str, ks: Sequence[int]) -> DirectionScore:
    asked = ask(alignment, lexicon, max(ks), back, retrieval)
    right = {k: sum(each.place < min(k, len(each.found)) for each in asked) for k in ks}
    return DirectionScore(right, len(asked), len(lexicon) - len(asked))


def _answerable(lexicon: Lexicon, asking: Mapping[str, int], asked: Mapping[str, int]) -> dict[int, set[int]]:
    """Row of each query word, and the rows of its right answers."""
    gold = {
        asking[word]: {asked[right] for right in many if right in asked}
        for word, many in lexicon.answers.items()
        if word in asking
    }
    return {row: right for row, right in gold.items() if right}
