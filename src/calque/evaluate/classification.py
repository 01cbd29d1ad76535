"""Classification of texts: how well a classifier that learned in one language labels texts of the other one."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from calque.errors import FormatError, SettingsError
from calque.evaluate.protocol import GoldData
from calque.runs.alignment import Alignment

if TYPE_CHECKING:  # they need scikit-learn, which is an extra
    from calque.text.classifier import Labelled, TextClassifier
    from calque.text.table import TextTable
    from calque.text.vectorizer import SpaceVectorizer

Language = Literal["source", "target"]
OTHER: Mapping[Language, Language] = {"source": "target", "target": "source"}
DRAWS = 1000
"""How many times the test texts are drawn anew for an interval."""
INTERVAL = (2.5, 97.5)
"""The percentiles between which 95 of 100 draws are."""
MOST_TRAINING = 100_000
"""How many training texts are learned from; of more, so many are drawn at random."""

AT_HOME, CROSS_VALIDATED = "in the training language", "in the training language, cross-validated"
"""What the model in its own language is called, judged by test texts of that language, or by its training texts."""
TOPLINE = "trained in the test language"
"""What a model with labels in the test language is called."""


@dataclass(frozen=True)
class ClassificationScore:
    """Counts of true and chosen classes, and what to compare them with."""

    classes: tuple[str, ...]
    """Those of the training texts, then those that only the test texts have."""
    confusion: tuple[tuple[int, ...], ...]
    """How many texts of a class (row) were given a class (column)."""
    unknown: int
    """Texts without a known word, which were given the commonest class of the training texts."""
    trained: Mapping[str, int]
    """How many training texts each class has."""
    words: tuple[int, int] = (0, 0)
    """How many words of the test texts have vectors, and how many words there are."""
    comparisons: Mapping[str, float] = field(default_factory=dict)
    """Accuracies of other models, by what they are."""

    @property
    def texts(self) -> int:
        """Test texts."""
        return int(self._counts.sum())

    @property
    def coverage(self) -> float:
        """The share of the words of the test texts that have vectors, or parts with vectors."""
        return self.words[0] / max(1, self.words[1])

    @property
    def accuracy(self) -> float:
        """The share of the texts that were given their class."""
        return float(np.trace(self._counts) / self.texts)

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the classes that the test texts have: rare ones count as much as common ones."""
        return float(_macro_f1(self._counts[None])[0])

    @property
    def chance(self) -> float:
        """What guessing every class of the training texts alike would reach."""
        return 1 / len(self.trained)

    @property
    def majority(self) -> float:
        """What the commonest class of the training texts would reach."""
        commonest = max(self.trained, key=lambda name: (self.trained[name], name))
        return float(self._counts[self.classes.index(commonest)].sum() / self.texts)

    def intervals(self, seed: int = 0) -> dict[str, tuple[float, float]]:
        """Between which values accuracy and macro-F1 are in 95 of 100 draws of as many test texts (bootstrap).

        To draw texts with replacement is to draw cells of the confusion table, by their counts.
        """
        counts, generator = self._counts, np.random.default_rng(seed)
        used = np.nonzero(counts.ravel())[0]
        shares = counts.ravel()[used] / counts.sum()
        accuracies, f1s = np.zeros(DRAWS), np.zeros(DRAWS)
        for draw in range(DRAWS):
            drawn = np.zeros(counts.size, np.int64)
            drawn[used] = generator.multinomial(self.texts, shares)
            table = drawn.reshape(counts.shape)
            accuracies[draw], f1s[draw] = np.trace(table) / self.texts, _macro_f1(table[None])[0]
        return {name: _percentiles(values) for name, values in (("accuracy", accuracies), ("macro_f1", f1s))}

    def per_class(self) -> dict[str, dict[str, float]]:
        """Precision, recall and F1 of each class, and how many test texts it has."""
        counts = self._counts
        right, true, chosen = np.diagonal(counts), counts.sum(axis=1), counts.sum(axis=0)
        return {
            name: {
                "precision": float(right[row] / max(1, chosen[row])),
                "recall": float(right[row] / max(1, true[row])),
                "f1": float(2 * right[row] / max(1, true[row] + chosen[row])),
                "texts": int(true[row]),
            }
            for row, name in enumerate(self.classes)
        }

    def rows(self) -> list[list[str]]:
        """A line for each class, then one for all: accuracy and macro-F1 with their intervals."""
        table = [["class", "texts", "precision", "recall", "F1"]]
        for name, figures in self.per_class().items():
            shares = [f"{100 * figures[key]:.1f} %" for key in ("precision", "recall", "f1")]
            table.append([name, str(figures["texts"]), *shares])
        return table

    def confusion_rows(self) -> list[list[str]]:
        """The confusion table: a line for each true class, a column for each class that was given."""
        head = ["true \\ given", *(str(place + 1) for place in range(len(self.classes)))]
        lines = zip(self.classes, self.confusion, strict=True)
        return [head, *([f"{place} {name}", *map(str, row)] for place, (name, row) in enumerate(lines, 1))]

    def sentences(self) -> list[str]:
        """Accuracy and macro-F1 with their intervals, and what stands beside them."""
        between = {name: f"{100 * low:.1f} to {100 * high:.1f}" for name, (low, high) in self.intervals().items()}
        others = {"the commonest class": self.majority, "chance": self.chance, **self.comparisons}
        return [
            f"accuracy {100 * self.accuracy:.1f} % (95 % interval {between['accuracy']}), "
            f"macro-F1 {100 * self.macro_f1:.1f} % ({between['macro_f1']}), {self.texts} texts, "
            f"{self.unknown} without a known word, {100 * self.coverage:.1f} % of the words known",
            "beside it: " + ", ".join(f"{name} {100 * share:.1f} %" for name, share in others.items()),
        ]

    def as_json(self) -> dict[str, Any]:
        """As `calque classify --json` prints it."""
        intervals = {f"{name}_interval": [round(x, 6) for x in ends] for name, ends in self.intervals().items()}
        return {
            "accuracy": round(self.accuracy, 6),
            "macro_f1": round(self.macro_f1, 6),
            "texts": self.texts,
            "unknown": self.unknown,
            "coverage": round(self.coverage, 6),
            **intervals,
            "chance": round(self.chance, 6),
            "majority": round(self.majority, 6),
            "comparisons": {name: round(share, 6) for name, share in self.comparisons.items()},
            "per_class": self.per_class(),
            "confusion": {"classes": list(self.classes), "counts": [list(row) for row in self.confusion]},
            "trained": dict(self.trained),
        }

    @property
    def _counts(self) -> npt.NDArray[np.int64]:
        return np.array(self.confusion, np.int64)


def _macro_f1(tables: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The mean F1 over classes with a true text, for each confusion table."""
    right, true, chosen = np.diagonal(tables, axis1=1, axis2=2), tables.sum(axis=2), tables.sum(axis=1)
    f1 = np.where(true > 0, 2 * right / np.maximum(1, true + chosen), 0)
    return np.asarray(f1.sum(axis=1) / np.maximum(1, (true > 0).sum(axis=1)), np.float64)


def _percentiles(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.percentile(values, INTERVAL)
    return float(low), float(high)


@dataclass(frozen=True)
class Learned:
    """A classifier, and what its training texts were."""

    classifier: TextClassifier
    counts: Mapping[str, int]
    """Texts by class."""
    notes: tuple[str, ...] = ()
    cross_validated: float | None = None
    """Its accuracy in its own language; None where a class has too few texts."""


@dataclass(frozen=True)
class ClassificationTask:
    """Trains a classifier on texts of one language, and asks it about texts of the other one."""

    train: Path = Path()
    """Labelled texts of the language that the classifier learns in."""
    language: Language = "target"
    """The side of the run that the training texts are in; the test texts are in the other one."""
    text: str = "text"
    """The column of the texts, by its name in the head or by its number."""
    label: str = "category"
    """The column of the classes."""
    strength: float = 3.0
    """C of the logistic regression."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """More settings of SpaceVectorizer, such as weighting."""
    topline: Path | None = None
    """Labelled training texts of the test language, for a model to compare with."""
    home: Path | None = None
    """Labelled test texts of the training language; without them the model at home is cross-validated."""
    name = "classification"
    gold_name = "texts"

    def load(self, path: Path) -> GoldData[TextTable]:
        """The labelled test texts; only their head is read now."""
        from calque.text.table import TextTable

        table = TextTable(path, self.text, self.label)
        table.check(labelled=True)
        return GoldData(table)

    def remarks(self, alignment: Alignment, gold: TextTable) -> tuple[str, ...]:
        """Whether the run can be trusted, and whether test texts are among the training texts."""
        remarks = (
            [] if alignment.verdict.label == "aligned" else [f"the verdict on this run is {alignment.verdict.label}"]
        )
        if gold.path.resolve() == self.train.resolve():
            remarks.append(f"{gold.path}: is the training file as well, which flatters the score")
        return tuple(remarks)

    def vectorizer(self, alignment: Alignment, language: Language) -> SpaceVectorizer:
        """How texts of a language become vectors; words of the test language alone lean on their translations."""
        from calque.text.vectorizer import SpaceVectorizer

        options = {**self.options}
        if language == self.language:
            options["translations"] = 0
        return SpaceVectorizer(alignment, language, **options)

    def learn(self, alignment: Alignment, compare: bool = True) -> Learned:
        """Train the classifier; with ``compare``, also measure it in its own language."""
        from calque.text.classifier import cross_validated, train_classifier

        texts, labels, notes = training_texts(self.train, self.text, self.label)
        vectors = self.vectorizer(alignment, self.language).fit(texts).transform(texts)
        empty = int((~np.any(vectors != 0, axis=1)).sum())
        if empty:
            notes.append(f"{self.train}: {empty} of {len(texts)} texts have no known word, and are not learned from")
        own = cross_validated(vectors, labels, self.strength) if compare else None
        classifier = train_classifier(vectors, labels, self.strength)
        return Learned(classifier, Counter(labels), tuple(notes), own)

    def score(self, alignment: Alignment, gold: TextTable) -> ClassificationScore:
        """Train, then label every test text."""
        learned = self.learn(alignment, compare=self.home is None)
        vectorizer = self.vectorizer(alignment, OTHER[self.language]).fit(text for text, _ in gold.labelled())
        said = labelled(learned.classifier, vectorizer, gold.labelled())
        score = score_labels(((true, answer) for _, true, answer in said), learned.counts)
        return replace(score, comparisons=self.comparisons(alignment, learned, gold))

    def comparisons(self, alignment: Alignment, learned: Learned, gold: TextTable) -> dict[str, float]:
        """Accuracies of models that are not carried: the same one at home, and one with labels in the test language."""
        accuracies = {}
        if learned.cross_validated is not None:
            accuracies[CROSS_VALIDATED] = learned.cross_validated
        if self.home is not None:
            accuracies[AT_HOME] = self.accuracy_within(alignment, learned, replace(gold, path=self.home))
        if self.topline is not None:
            there = replace(self, train=self.topline, language=OTHER[self.language])
            accuracies[TOPLINE] = there.accuracy_within(alignment, there.learn(alignment, compare=False), gold)
        return accuracies

    def accuracy_within(self, alignment: Alignment, learned: Learned, table: TextTable) -> float:
        """The accuracy of a model on texts of the language that it has learned in."""
        vectorizer = self.vectorizer(alignment, self.language).fit(text for text, _ in table.labelled())
        said = labelled(learned.classifier, vectorizer, table.labelled())
        return score_labels(((true, answer) for _, true, answer in said), learned.counts).accuracy


def training_texts(path: Path, text: str, label: str, seed: int = 0) -> tuple[list[str], list[str], list[str]]:
    """Texts, their classes, and what the user should know. Classes that differ by case alone are one class.

    Of a file that is too long for memory, texts are drawn at random, each with the same chance.
    """
    from calque.text.table import TextTable

    table = TextTable(path, text, label)
    table.check(labelled=True)
    generator, kept, read, without = np.random.default_rng(seed), list[tuple[int, str, str]](), 0, 0
    for line, name in table.labelled():
        if not name:
            without += 1
            continue
        read += 1
        if len(kept) < MOST_TRAINING:
            kept.append((read, line, name))
        elif (place := int(generator.integers(read))) < MOST_TRAINING:
            kept[place] = (read, line, name)
    if not kept:
        raise FormatError(f"{path}: no line has a text and a label; expected labelled texts")
    kept.sort()
    spellings = Counter(name for _, _, name in kept)
    names = one_spelling(spellings)
    notes = [f"{path}: {without} lines have no label, and are left out"] if without else []
    if read > len(kept):
        notes.append(f"{path}: has {read:,} texts, of which {len(kept):,} drawn at random are learned from")
    merged = sorted(spelling for spelling in spellings if names[spelling.casefold()] != spelling)
    if merged:
        pairs = ", ".join(f"{spelling!r} as {names[spelling.casefold()]!r}" for spelling in merged)
        notes.append(f"{path}: labels that differ by case alone are one class: {pairs}")
    return [line for _, line, _ in kept], [names[name.casefold()] for _, _, name in kept], notes


def one_spelling(spellings: Mapping[str, int]) -> dict[str, str]:
    """By the label without case, its commonest spelling."""
    names: dict[str, str] = {}
    for spelling in sorted(spellings, key=lambda name: (-spellings[name], name)):
        names.setdefault(spelling.casefold(), spelling)
    return names


def labelled(
    classifier: TextClassifier, vectorizer: SpaceVectorizer, rows: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, str, Labelled]]:
    """Texts, their true labels and what the classifier says, some thousand in memory at a time."""
    waiting: deque[tuple[str, str]] = deque()

    def texts() -> Iterator[str]:
        for row in rows:
            waiting.append(row)
            yield row[0]

    for said in classifier.label(vectorizer, texts()):
        yield (*waiting.popleft(), said)


def score_labels(rows: Iterable[tuple[str, Labelled]], trained: Mapping[str, int]) -> ClassificationScore:
    """Count true labels and what the classifier said; case does not matter. Texts without a true label are left out."""
    names = {name.casefold(): name for name in trained}
    cells: Counter[tuple[str, str]] = Counter()
    unknown, known, words = 0, 0, 0
    for true, said in rows:
        if true:
            cells[names.setdefault(true.casefold(), true), said.label] += 1
            unknown, known, words = unknown + (said.known == 0), known + said.known, words + said.words
    if not cells:
        raise SettingsError("no test text has a label, so there is nothing to score; --out writes predictions")
    classes = (*sorted(trained), *sorted(set(names.values()) - set(trained)))
    confusion = tuple(tuple(cells[true, given] for given in classes) for true in classes)
    return ClassificationScore(classes, confusion, unknown, dict(trained), (known, words))
