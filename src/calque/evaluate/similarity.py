"""Cross-lingual word similarity, the paper's second task (section 4.4): correlation with human judgement."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from scipy import stats
from torch import Tensor

from calque.data.space import Space
from calque.errors import LexiconError
from calque.evaluate.protocol import GoldData
from calque.linear.maps import unit
from calque.runs.alignment import Alignment

Phrases = Literal["average", "skip"]


@dataclass(frozen=True)
class Judged:
    """Two words or phrases, and how similar people found them."""

    source: str
    target: str
    score: float

    @property
    def has_phrase(self) -> bool:
        """Whether a side has more than one word."""
        return " " in self.source or " " in self.target

    def swapped(self) -> Judged:
        """The same for the other direction."""
        return Judged(self.target, self.source, self.score)


@dataclass(frozen=True)
class SimilarityScore:
    """How well cosines agree with the judgements."""

    pearson: float
    spearman: float
    used: int
    missing: int
    """Pairs of which a word is not in the vocabulary."""
    phrases: int
    """Pairs with a phrase in them: averaged and used, or left out."""
    averaged: bool = field(default=True, compare=False)
    """What was done with them."""

    def rows(self) -> list[list[str]]:
        """Two sentences: the correlations, and what they are of."""
        done = "averaged" if self.averaged else "left out"
        counts = f"{self.used} pairs used, {self.missing} not in the vocabularies; {self.phrases} with a phrase, {done}"
        return [[f"pearson {self.pearson:.3f}  spearman {self.spearman:.3f}"], [counts]]

    def as_json(self) -> dict[str, Any]:
        """As `calque similarity --json` prints it."""
        return {
            "pearson": round(self.pearson, 6),
            "spearman": round(self.spearman, 6),
            "used": self.used,
            "missing": self.missing,
            "phrases": self.phrases,
        }


@dataclass(frozen=True)
class SimilarityTask:
    """Correlation of cosines with human judgements of similarity."""

    phrases: Phrases = "average"
    """Average the words of a phrase, or skip pairs with phrases."""
    swap: bool = False
    """The file has the target word first."""
    name = "similarity"
    gold_name = "pairs"

    def load(self, path: Path) -> GoldData[list[Judged]]:
        """The judged pairs, source word first."""
        pairs = read_similarity(path)
        return GoldData([pair.swapped() for pair in pairs] if self.swap else pairs)

    def remarks(self, alignment: Alignment, gold: list[Judged]) -> tuple[str, ...]:  # noqa: ARG002
        """None: no method learns from such pairs."""
        return ()

    def score(self, alignment: Alignment, gold: list[Judged]) -> SimilarityScore:
        """Pearson and Spearman correlation."""
        return score_similarity(alignment, gold, self.phrases)


def read_similarity(path: str | os.PathLike[str]) -> list[Judged]:
    """Lines of ``word1<TAB>word2<TAB>score``; LexiconError, with the number of the line, for any other."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig", "surrogateescape")
    except OSError as error:
        raise LexiconError(f"{path}: cannot be read: {error.strerror}; expected judged word pairs") from error
    pairs = []
    for number, line in enumerate((line.removesuffix("\r") for line in text.split("\n")), 1):
        fields = [text.strip(" ") for text in line.split("\t")]
        if not line.strip():
            continue
        try:
            score = float(fields[2]) if len(fields) == 3 and all(fields) else math.nan
        except ValueError:
            score = math.nan
        if not math.isfinite(score):
            raise LexiconError(f"{path}:{number}: found {line[:60]!r}; expected 'word1<TAB>word2<TAB>score'")
        pairs.append(Judged(fields[0], fields[1], score))
    return pairs


def score_similarity(alignment: Alignment, judged: Sequence[Judged], phrases: Phrases = "average") -> SimilarityScore:
    """Pearson and Spearman correlation of cosine in the common space with the judgements."""
    phrase_count = sum(pair.has_phrase for pair in judged)
    asked = [pair for pair in judged if phrases == "average" or not pair.has_phrase]
    cosines, scores = [], []
    for pair in asked:
        source, target = _vector(alignment.source, pair.source), _vector(alignment.target, pair.target)
        if source is not None and target is not None:
            cosines.append(float(source @ target))
            scores.append(pair.score)
    if len(cosines) < 3:
        raise LexiconError(
            f"only {len(cosines)} of {len(judged)} judged pairs are in both vocabularies; expected 3 or more"
        )
    if len(set(cosines)) == 1 or len(set(scores)) == 1:
        raise LexiconError(
            f"all {len(cosines)} judged pairs are judged or measured alike; a correlation needs differences"
        )
    return SimilarityScore(
        pearson=float(stats.pearsonr(cosines, scores).statistic),
        spearman=float(stats.spearmanr(cosines, scores).statistic),
        used=len(cosines),
        missing=len(asked) - len(cosines),
        phrases=phrase_count,
        averaged=phrases == "average",
    )


def _vector(space: Space, phrase: str) -> Tensor | None:
    """The unit vector of a word, or of the mean of a phrase's words; in lower case where there is only that."""

    def known(text: str) -> str | None:
        return next((spelling for spelling in (text, text.lower()) if spelling in space), None)

    whole = known(phrase)
    if whole is not None:
        return unit(space.vectors[space.index[whole]])
    words = [known(word) for word in phrase.split(" ") if word]
    if not words or None in words:
        return None
    rows = [space.index[word] for word in words if word is not None]
    return unit(space.vectors[torch.tensor(rows)].mean(dim=0))
