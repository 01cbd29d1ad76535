"""A classifier of texts as plain numbers: learned by scikit-learn, kept in a file without code, and able to explain."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from calque.data.files import replacing
from calque.errors import CalqueError, FormatError, SettingsError
from calque.text.vectorizer import Array, SpaceVectorizer

STRENGTH = 3.0
"""C of the logistic regression, for vectors of unit length: larger follows the training texts more closely."""
STEPS = 3000
"""The most steps of its solver."""
FOLDS = 5
DECIDING = 8
"""How many deciding words of a text are shown."""
MODEL_FORMAT = "calque text classifier 1"


@dataclass(frozen=True, eq=False)
class TextClassifier:
    """Softmax regression on vectors of the common space. A text without a known word gets the prior."""

    classes: tuple[str, ...]
    """In alphabetical order."""
    coefficients: Array
    """(classes, d)."""
    intercepts: Array
    """(classes,)."""
    prior: Array
    """(classes,) the share of each class among the training texts."""

    def probabilities(self, vectors: Array) -> npt.NDArray[np.float64]:
        """The probability of each class for each vector of the common space (n, classes)."""
        if vectors.ndim != 2 or vectors.shape[1] != self.coefficients.shape[1]:
            raise CalqueError(
                f"vectors have shape {vectors.shape}, but the classifier has learned from "
                f"{self.coefficients.shape[1]} dimensions; use the run that it was trained with"
            )
        scores = (vectors @ self.coefficients.T + self.intercepts).astype(np.float64)
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        scores /= scores.sum(axis=1, keepdims=True)
        scores[~np.any(vectors != 0, axis=1)] = self.prior
        return np.asarray(scores, np.float64)

    def label(self, vectorizer: SpaceVectorizer, texts: Iterable[str]) -> Iterator[Labelled]:
        """Label texts one after the other, some thousand in memory at a time."""
        for block in vectorizer.blocks(texts):
            shares = self.probabilities(block.vectors)
            for place, best in enumerate(shares.argmax(axis=1).tolist()):
                probability = float(shares[place, best])
                yield Labelled(self.classes[best], probability, block.known[place], block.words[place])

    def reasons(self, vectorizer: SpaceVectorizer, text: str, label: str = "") -> list[Reason]:
        """The words of a text, by how much each speaks for a class: the one it gets, where no ``label`` is named.

        A word's part is its share of the class's score, less its mean share of all classes' scores. The parts of all
        words add up to the score of the class without its intercept, less that mean.
        """
        words = vectorizer.words(text)
        vector = vectorizer.transform([text])
        label = label or self.classes[int(self.probabilities(vector).argmax())]
        if label not in self.classes:
            raise SettingsError(f"no class is called {label!r}; there are: {', '.join(self.classes)}")
        parts = vectorizer.word_vectors(words) / max(1, len(words))
        parts -= (parts @ vectorizer.removed_.T) @ vectorizer.removed_
        length = float(np.linalg.norm(parts.sum(axis=0))) or 1.0
        direction = self.coefficients[self.classes.index(label)] - self.coefficients.mean(axis=0)
        sums: Counter[str] = Counter()
        for word, part in zip(words, (parts @ direction / length).tolist(), strict=True):
            sums[word] += part
        return [Reason(word, part) for word, part in sorted(sums.items(), key=lambda item: -item[1])]

    def save(self, path: Path, about: dict[str, Any] | None = None) -> None:
        """Write numbers and names as safetensors: no code, and readable by other tools."""
        from safetensors.numpy import save_file

        tensors = {"coefficients": self.coefficients, "intercepts": self.intercepts, "prior": self.prior}
        header = {"format": MODEL_FORMAT, "classes": list(self.classes), "about": about or {}}
        try:
            with replacing(path) as temporary:
                plain = {name: np.ascontiguousarray(values, np.float32) for name, values in tensors.items()}
                save_file(plain, temporary, {"calque": json.dumps(header)})
                temporary.chmod(0o644)
        except OSError as error:
            raise FormatError(f"{path}: cannot be written: {error.strerror or error}") from error

    @classmethod
    def load(cls, path: Path) -> tuple[TextClassifier, dict[str, Any]]:
        """The classifier in a file, and what was written about it."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="np") as file:
                header = json.loads((file.metadata() or {}).get("calque", "{}"))
                if header.get("format") != MODEL_FORMAT:
                    raise FormatError(
                        f"{path}: is no classifier of calque; expected a file of 'calque classify --model'"
                    )
                values = (file.get_tensor(name) for name in ("coefficients", "intercepts", "prior"))
                model = cls(tuple(map(str, header["classes"])), *values)
        except (OSError, SafetensorError, ValueError, KeyError, AttributeError) as error:
            raise FormatError(f"{path}: cannot be read as a classifier ({error})") from error
        shapes = {len(model.classes), len(model.coefficients), len(model.intercepts), len(model.prior)}
        if len(shapes) != 1 or model.coefficients.ndim != 2:
            raise FormatError(f"{path}: classes and numbers are not equally many; the file is damaged")
        return model, dict(header["about"])


@dataclass(frozen=True)
class Labelled:
    """What a classifier says of a text."""

    label: str
    probability: float
    known: int
    """How many of its words have vectors; 0 means that the label is the prior's."""
    words: int = 0
    """How many words it has."""


@dataclass(frozen=True)
class Reason:
    """How much a word spoke for a class; below 0: against it."""

    word: str
    part: float


def explain(classifier: TextClassifier, vectorizer: SpaceVectorizer, text: str) -> dict[str, Any]:
    """The class of a text, and the words that spoke most for it or against it with their nearest words, as JSON."""
    said = next(classifier.label(vectorizer, [text]))
    reasons = sorted(classifier.reasons(vectorizer, text), key=lambda reason: -abs(reason.part))[:DECIDING]
    known = [reason.word for reason in reasons if reason.word in vectorizer.space_]
    translations = vectorizer.alignment_.translate(known, 3, vectorizer.side == "target") if known else []
    nearest = {found.word: [candidate.word for candidate in found.candidates] for found in translations}
    words = [
        {"word": reason.word, "part": round(reason.part, 6), "nearest": nearest.get(reason.word, [])}
        for reason in reasons
    ]
    return {"text": text, "label": said.label, "probability": round(said.probability, 6), "words": words}


def train_classifier(vectors: Array, labels: Sequence[str], strength: float = STRENGTH) -> TextClassifier:
    """Logistic regression over all classes at once. Texts without a known word count for the prior alone."""
    from sklearn.linear_model import LogisticRegression

    if not strength > 0:
        raise SettingsError(f"strength is {strength}; expected a number above 0")
    counts = Counter(labels)
    if len(counts) < 2:
        only = f"all {len(labels)} are {next(iter(counts))!r}" if counts else "there is none"
        raise SettingsError(f"training texts have {len(counts)} classes ({only}); expected two or more")
    known = np.any(vectors != 0, axis=1)
    learned = np.array(labels, dtype=object)[known]
    if len(set(learned)) < len(counts):
        lost = sorted(set(counts) - set(learned))
        raise SettingsError(
            f"no training text of class {lost[0]!r} has a known word; are the texts in the language of this side?"
        )
    classes = tuple(sorted(counts))
    numbers = np.array([classes.index(label) for label in learned])
    model = LogisticRegression(C=strength, max_iter=STEPS).fit(vectors[known], numbers)
    coefficients, intercepts = model.coef_, model.intercept_
    if len(classes) == 2:  # scikit-learn keeps one row for two classes: half of it for one, half against the other
        coefficients = np.concatenate([-coefficients, coefficients]) / 2
        intercepts = np.concatenate([-intercepts, intercepts]) / 2
    prior = np.array([counts[name] / len(labels) for name in classes], np.float32)
    return TextClassifier(classes, coefficients.astype(np.float32), intercepts.astype(np.float32), prior)


def cross_validated(vectors: Array, labels: Sequence[str], strength: float = STRENGTH) -> float | None:
    """The accuracy in the training language, each fifth of the texts judged by a model of the others.

    None where a class has fewer texts than there are folds.
    """
    from sklearn.model_selection import StratifiedKFold

    if min(Counter(labels).values()) < FOLDS:
        return None
    right, names = 0, np.array(labels, dtype=object)
    for learned, asked in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(vectors, names.astype(str)):
        try:
            model = train_classifier(vectors[learned], names[learned].tolist(), strength)
        except SettingsError:  # all texts of a class that have a known word are in one fold
            return None
        best = model.probabilities(vectors[asked]).argmax(axis=1)
        right += int(sum(model.classes[row] == name for row, name in zip(best, names[asked], strict=True)))
    return right / len(names)
