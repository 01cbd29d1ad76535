"""Bilingual lexicon induction, the paper's first task (section 4.3): accuracy@k, as counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calque.data.lexicon import Lexicon, read_lexicon
from calque.errors import LexiconError, SettingsError, whole_number
from calque.evaluate.protocol import GoldData
from calque.runs.alignment import Alignment


@dataclass(frozen=True)
class DirectionScore:
    """How many query words had a right translation among their k best, for each k."""

    right: Mapping[int, int]
    asked: int
    """Query words that could be answered: in the vocabulary, and with a right answer in the other one."""
    missing: int
    """Query words of the lexicon that could not be answered."""

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

    def rows(self) -> list[list[str]]:
        """Accuracy@k in per cent, with the words asked and missing."""
        ks = list(next(iter(self.forward.values())).right)
        rows = [["direction", "retrieval", *(f"acc@{k}" for k in ks), "asked", "not asked"]]
        for direction, scores in (("forward", self.forward), ("backward", self.backward)):
            for name, score in scores.items():
                shares = [f"{100 * score.accuracy(k):.1f} %" for k in ks]
                rows.append([direction, name, *shares, str(score.asked), str(score.missing)])
        return rows

    def as_json(self) -> dict[str, Any]:
        """As `calque evaluate --json` prints it."""
        return {
            direction: {name: score.as_json() for name, score in scores.items()}
            for direction, scores in (("forward", self.forward), ("backward", self.backward))
        }


@dataclass(frozen=True)
class TranslationTask:
    """Accuracy@k of the words of a lexicon, in both directions."""

    retrievals: tuple[str, ...] = ("nn", "csls")
    ks: tuple[int, ...] = (1, 5, 10)
    back: Path | None = None
    """A lexicon for the way back; without it, the other one reversed."""
    strict: bool = False
    """Refuse a lexicon with a malformed line instead of leaving the line out."""
    name = "translation"
    gold_name = "lexicon"

    def load(self, path: Path) -> GoldData[tuple[Lexicon, Lexicon | None]]:
        """The lexicons there and back."""
        lexicons: list[Lexicon | None] = [None, None]
        notes: list[str] = []
        for place, file in enumerate((path, self.back)):
            if file is not None:
                reading = read_lexicon(file, self.strict)
                lexicons[place] = reading.lexicon
                notes += reading.notes
                if reading.induced:
                    notes.append(
                        f"{file}: has confidences, as `calque lexicon` writes them; "
                        "by a lexicon that it made itself a run is right"
                    )
        assert lexicons[0] is not None
        return GoldData((lexicons[0], lexicons[1]), tuple(notes))

    def remarks(self, alignment: Alignment, gold: tuple[Lexicon, Lexicon | None]) -> tuple[str, ...]:
        """Whether the run has learned from these pairs, and whether the way back has a lexicon of its own."""
        lexicon, back = gold
        remarks = []
        if learned_from(alignment, lexicon):
            remarks.append(f"{lexicon.name}: the run has learned from these very pairs, which flatters it")
        if back is None:
            remarks.append(
                "backward is scored by the lexicon reversed, which lacks right answers; --lexicon-back FILE is fairer"
            )
        return tuple(remarks)

    def score(self, alignment: Alignment, gold: tuple[Lexicon, Lexicon | None]) -> TranslationScore:
        """Ask every word that can be answered."""
        return score_translation(alignment, *gold, self.retrievals, self.ks)


def learned_from(alignment: Alignment, lexicon: Lexicon) -> bool:
    """Whether the run has learned from these very pairs. Judged by them it looks better than it is."""
    return bool(alignment.record.inputs.get("lexicon", {}).get("sha256") == lexicon.digest)


def score_translation(
    alignment: Alignment,
    lexicon: Lexicon,
    back: Lexicon | None = None,
    retrievals: Sequence[str] = ("nn", "csls"),
    ks: Sequence[int] = (1, 5, 10),
) -> TranslationScore:
    """Ask every answerable word of the lexicon; backwards by ``back``, or else by the lexicon reversed."""
    if isinstance(ks, str) or not isinstance(ks, Sequence) or not ks:
        raise SettingsError(f"k is {ks!r}; expected whole numbers of at least 1, such as (1, 5, 10)")
    for k in ks:
        whole_number(k, "k")
    directions: list[dict[str, DirectionScore]] = []
    for way_back, gold in ((False, lexicon), (True, lexicon.reversed() if back is None else back)):
        scores = {}
        for name in retrievals:
            queries = ask(alignment, gold, max(ks), way_back, name)
            right = {k: sum(query.place < min(k, len(query.candidates)) for query in queries) for k in ks}
            scores[name] = DirectionScore(right, len(queries), len(gold) - len(queries))
        directions.append(scores)
    return TranslationScore(*directions)


@dataclass(frozen=True)
class Asked:
    """One word that was asked, by row numbers."""

    row: int
    """The word, in the language that asks."""
    right: frozenset[int]
    """The right answers, in the language that is asked."""
    candidates: tuple[int, ...]
    """Their rows, best first."""

    @property
    def place(self) -> int:
        """The number of candidates before the first right one; of all candidates where none is right."""
        return next((place for place, row in enumerate(self.candidates) if row in self.right), len(self.candidates))


def ask(alignment: Alignment, lexicon: Lexicon, k: int, back: bool = False, retrieval: str = "csls") -> list[Asked]:
    """Every word of the lexicon that can be answered, with its ``k`` best candidates, in the lexicon's order."""
    asking, asked = alignment.spaces(back)
    gold: dict[int, frozenset[int]] = {}
    for word, translations in lexicon.answers.items():
        right = frozenset(asked.index[translation] for translation in translations if translation in asked)
        if word in asking and right:
            gold[asking.index[word]] = right
    if not gold:
        ways = f"from {asking.name or 'one side'} to {asked.name or 'the other'}"
        raise LexiconError(
            f"{lexicon.name or 'the lexicon'}: none of its {len(lexicon)} words can be asked {ways}; "
            "is it the right language, direction and letter case?"
        )
    best = alignment.neighbours(asking.vectors[list(gold)], k, back, retrieval).indices.tolist()
    return [Asked(row, right, tuple(rows)) for (row, right), rows in zip(gold.items(), best, strict=True)]
