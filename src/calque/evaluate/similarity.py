"""Cross-lingual word similarity, the paper's second task (section 4.4): correlation with human judgement."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from scipy import stats
from torch import Tensor

from calque.data.preprocess import unit
from calque.data.space import Space
from calque.errors import LexiconError
from calque.runs.alignment import Alignment

Phrases = Literal["average", "skip"]


@dataclass(frozen=True)
class Judged:
    """Two words or phrases, and how similar people found them."""

    source: str
    target: str
    score: float


@dataclass(frozen=True)
class SimilarityScore:
    """How well cosines follow the judgements."""

    pearson: float
    spearman: float
    used: int
    missing: int
    """Pairs of which a word is not in the vocabulary."""
    phrases: int
    """Pairs with a phrase in them: averaged and used, or left out, as asked."""

    def as_json(self) -> dict[str, Any]:
        """As `calque similarity --json` prints it."""
        return {
            "pearson": round(self.pearson, 6),
            "spearman": round(self.spearman, 6),
            "used": self.used,
            "missing": self.missing,
            "phrases": self.phrases,
        }


def read_similarity(path: str | os.PathLike[str]) -> list[Judged]:
    """Lines of ``word1<TAB>word2<TAB>score``; a line that is not that is refused with its number."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig", "surrogateescape")
    except OSError as error:
        raise LexiconError(f"{path}: cannot be read: {error.strerror}; expected judged word pairs") from error
    lines = enumerate((line.removesuffix("\r") for line in text.split("\n")), 1)
    return [_judged(line, f"{path}:{number}") for number, line in lines if line.strip()]


def _judged(line: str, where: str) -> Judged:
    fields = [each.strip(" ") for each in line.split("\t")]
    score = _number(fields[2]) if len(fields) == 3 and all(fields) else None
    if score is None:
        raise LexiconError(f"{where}: found {line[:60]!r}; expected 'word1<TAB>word2<TAB>score'")
    return Judged(fields[0], fields[1], score)


def _number(text: str) -> float | None:
    try:
        return float(text) if math.isfinite(float(text)) else None
    except ValueError:
        return None


def score_similarity(alignment: Alignment, judged: Sequence[Judged], phrases: Phrases = "average") -> SimilarityScore:
    """Pearson and Spearman correlation of cosine in the common space with the judgements."""
    with_phrase = [" " in each.source or " " in each.target for each in judged]
    asked = [each for each, phrase in zip(judged, with_phrase, strict=True) if phrases == "average" or not phrase]
    pairs = [(_vector(alignment.source, each.source), _vector(alignment.target, each.target)) for each in asked]
    cosines = [
        (float(one @ other), each.score)
        for (one, other), each in zip(pairs, asked, strict=True)
        if one is not None and other is not None
    ]
    if len(cosines) < 3:
        raise LexiconError(
            f"only {len(cosines)} of {len(judged)} judged pairs are in both vocabularies; expected 3 or more"
        )
    ours, theirs = zip(*cosines, strict=True)
    if len(set(ours)) == 1 or len(set(theirs)) == 1:
        raise LexiconError(
            f"all {len(cosines)} judged pairs are judged or measured alike; a correlation needs differences"
        )
    return SimilarityScore(
        float(stats.pearsonr(ours, theirs).statistic),
        float(stats.spearmanr(ours, theirs).statistic),
        len(cosines),
        len(asked) - len(cosines),
        sum(with_phrase),
    )


def _vector(space: Space, phrase: str) -> Tensor | None:
    """The unit vector of a word, or the mean of a phrase's words; in lower case where the vocabulary has only that."""
    whole = _known(space, phrase)
    if whole is not None:
        return unit(space.vectors[space.index[whole]])
    words = [_known(space, word) for word in phrase.split(" ") if word]
    if not words or None in words:
        return None
    rows = [space.index[word] for word in words if word is not None]
    return unit(space.vectors[torch.tensor(rows)].mean(dim=0))


def _known(space: Space, word: str) -> str | None:
    return next((each for each in (word, word.lower()) if each in space), None)
