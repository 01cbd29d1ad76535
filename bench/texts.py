"""Settings of texts as vectors, compared on training and development sentences of SIB-200; no test sentence is read.

    python bench/texts.py fra=RUN-fr-en tur=RUN-tr-en

A run maps the named language (source) and English (target). Sentences of both languages with the same number are in the
same fifth: a classifier learns from four fifths of one language and is asked about the last fifth of a language. Per
cent: English in English, English carried over, learned in the other language; then parallel sentences found by CSLS.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from calque.evaluate.sentences import score_sentences
from calque.runs.alignment import Alignment
from calque.text import SpaceVectorizer, train_classifier
from calque.text.table import TextTable
from calque.text.vectorizer import Array
from common import headline, markdown, parser

FOLDS = 5
BASE: Mapping[str, Any] = {"translations": 10}
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "as calque classify": {},
    "without translations": {"translations": 0},
    "without parts of words": {"parts": False},
    "one principal component removed": {"components": 1},
    "smoothing 1e-3": {"smoothing": 1e-3},
    "smoothing 1e-4": {"smoothing": 1e-4},
    "idf": {"weighting": "idf"},
    "idf, one component removed, no translations": {"weighting": "idf", "components": 1, "translations": 0},
    "mean": {"weighting": "mean"},
}


def main() -> None:
    """Measure and print a table for each run."""
    arguments = parser(__doc__ or "")
    arguments.add_argument("runs", nargs="+", metavar="LANGUAGE=RUN")
    arguments.add_argument("--strength", type=float, default=3.0, help="C of the logistic regression")
    asked = arguments.parse_args()
    print(headline("cpu"))
    for part in asked.runs:
        language, _, folder = part.partition("=")
        alignment = Alignment.load(Path(folder))
        rows = [[name, *measure(alignment, asked.data / "sib", language, {**BASE, **changes}, asked.strength)]
                for name, changes in SETTINGS.items()]  # fmt: skip
        print(f"\n{language}\n\n{markdown(['settings', 'home', 'carried', 'learned there', 'found', 'MRR'], rows)}")


def sentences(folder: Path, language: str) -> dict[str, tuple[str, str]]:
    """Text and class by number, of both parts that may be looked at."""
    by_number = {}
    for part in ("train", "dev"):
        for text, label, number in TextTable(folder / f"{language}.{part}.tsv").rows("text", "category", "index_id"):
            by_number[number] = (text, label)
    return by_number


def measure(
    alignment: Alignment, folder: Path, language: str, settings: Mapping[str, Any], strength: float
) -> list[str]:
    """The figures of one setting."""
    here, there = sentences(folder, language), sentences(folder, "eng")
    numbers = sorted(set(here) & set(there))
    labels = np.array([there[number][1] for number in numbers])
    vectors = {}
    for side, texts, options in (("source", here, settings), ("target", there, {**settings, "translations": 0})):
        listed = [texts[number][0] for number in numbers]
        vectors[side] = SpaceVectorizer(alignment, side, **options).fit(listed).transform(listed)  # type: ignore[arg-type]
    ways = [("target", "target"), ("target", "source"), ("source", "source")]
    shares = [accuracy(vectors[learned], vectors[asked], labels, strength) for learned, asked in ways]
    found = score_sentences(vectors["source"], vectors["target"])
    return [*(f"{100 * share:.1f}" for share in (*shares, found.accuracy)), f"{found.mean_reciprocal_rank:.3f}"]


def accuracy(learned: Array, asked: Array, labels: npt.NDArray[np.str_], strength: float) -> float:
    """The share of right labels; the fifth of a sentence is drawn once, for all settings alike."""
    fold = np.random.default_rng(0).permutation(len(labels)) % FOLDS
    right = 0
    for number in range(FOLDS):
        inside = fold == number
        model = train_classifier(learned[~inside], labels[~inside].tolist(), strength)
        best = model.probabilities(asked[inside]).argmax(axis=1)
        right += int((np.array(model.classes)[best] == labels[inside]).sum())
    return right / len(labels)


if __name__ == "__main__":
    main()
