"""Texts as vectors of the common space, as a transformer of scikit-learn.

A text's vector is the weighted mean of its words' vectors, of unit length. So a classifier that learned from vectors of
one language can be asked about vectors of the other one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from calque.data.space import Space
from calque.errors import CalqueError, MissingExtraError, SettingsError
from calque.linear.maps import unit
from calque.runs.alignment import Alignment
from calque.runs.family import open_pair
from calque.text.tokens import Tokenizer, VocabularyTokenizer, part_rows, row_of

try:
    from sklearn.base import BaseEstimator, TransformerMixin
except ImportError as error:
    raise MissingExtraError("scikit-learn", "sklearn", "making vectors of texts") from error

Array = npt.NDArray[np.float32]
Weighting = Literal["sif", "idf", "mean"]
AT_ONCE = 2_000
"""How many texts are turned into vectors together."""
REMEMBERED = 100_000
"""How many different words of texts are kept with their rows, so that common ones are looked up once."""
RANK_OFFSET = 10
"""Where counts are not known, a word of rank r is taken to be seen in proportion to 1 / (r + 10)."""
SHARPNESS = 10.0
"""A translation that is 0.1 better by CSLS weighs e times as much."""
SHORTEST = np.float32(1e-12)
"""A vector that is shorter stays a vector of zeros."""
LEARNED_FROM = 20_000
"""How many texts ``fit`` reads at most: principal components and document frequencies need no more."""


class SpaceVectorizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns texts of one language of a run into vectors of the common space.

    ``fit`` needs no labels. With the usual settings it learns nothing from its texts, so the vector of a text never
    depends on other texts. It learns document frequencies for ``weighting="idf"``, and what all texts have in common
    for ``components``.
    """

    def __init__(
        self,
        run: Alignment | str | Path,
        side: Literal["source", "target"] = "source",
        *,
        pair: str = "",
        weighting: Weighting = "sif",
        tokenizer: Tokenizer | None = None,
        smoothing: float = 3e-4,
        components: int = 0,
        translations: int = 0,
        parts: bool = True,
    ) -> None:
        """Set how texts become vectors.

        run: a run folder, or an alignment.
        side: the language of the texts.
        pair: two languages such as 'fr-en', where the run is a family.
        weighting: 'sif', a / (a + p) for a word of probability p (Arora, Liang, Ma 2017); 'idf'; or 'mean'.
        tokenizer: from a text to its words; without one, by letters, and by longest match in unspaced scripts.
        smoothing: a of 'sif'.
        components: how many principal components of the texts are removed; Arora et al. remove one.
        translations: if above 0, a word stands halfway to its so many best translations into the other language.
        parts: whether an unknown word is read as its longest known beginning and ending.
        """
        self.run, self.side, self.pair, self.weighting, self.tokenizer = run, side, pair, weighting, tokenizer
        self.smoothing, self.components, self.translations, self.parts = smoothing, components, translations, parts

    def fit(self, texts: Iterable[str], y: Any = None) -> SpaceVectorizer:  # noqa: ARG002  (scikit-learn's signature)
        """Open the run, and learn what the settings need from texts without labels."""
        self._check_settings()
        if not isinstance(self.run, (Alignment, str, Path)):
            raise SettingsError(f"run is a {type(self.run).__name__}; expected a run folder or an Alignment")
        self.alignment_ = self.run if isinstance(self.run, Alignment) else open_pair(Path(self.run), self.pair)
        spaces = self.alignment_.source, self.alignment_.target
        self.space_, other = spaces if self.side == "source" else spaces[::-1]
        self.vectors_: Array = unit(self.space_.vectors).numpy()  # a copy, so that words can be moved
        self.rows_ = _WordRows(self.space_.index, self.tokenizer, self.parts and self.space_.subwords is None)
        self.moved_ = np.zeros(len(self.space_), bool)  # which words stand near their translations already
        self.translated_: Array = unit(other.vectors).numpy() if self.translations else self.vectors_
        self.removed_: Array = np.zeros((0, self.space_.dimension), np.float32)
        self.weights_ = np.ones(len(self.space_), np.float32)
        if self.weighting == "sif":
            self.weights_ = sif_weights(self.space_, self.smoothing)
        sample = list(islice(_checked(texts), LEARNED_FROM)) if self.weighting == "idf" or self.components else []
        if self.weighting == "idf":
            self.weights_ = self._document_weights(sample)
        if self.components:
            self.removed_ = self._principal_components(sample)
        return self

    def transform(self, texts: Iterable[str]) -> Array:
        """A unit vector for each text (n, d); zero for a text without a known word."""
        blocks = [block.vectors for block in self.blocks(texts)]
        return np.concatenate(blocks) if blocks else np.zeros((0, self._fitted().dimension), np.float32)

    def blocks(self, texts: Iterable[str]) -> Iterator[TextBlock]:
        """Vectors of some texts at a time, and how many words each has: texts may be a stream without end."""
        self._fitted()
        stream = iter(_checked(texts))
        while block := list(islice(stream, AT_ONCE)):
            read = [self._read(text) for text in block]
            vectors = self._summed([known for known, _, _ in read])
            vectors -= (vectors @ self.removed_.T) @ self.removed_
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            vectors /= np.maximum(lengths, SHORTEST)
            yield TextBlock(vectors, [known for _, known, _ in read], [words for _, _, words in read])

    def words(self, text: str) -> list[str]:
        """The words of a text that have vectors, as the vocabulary writes them; a compound may stand as two."""
        self._fitted()
        return self._read(text)[0]

    def word_vectors(self, words: Sequence[str]) -> Array:
        """What each known word adds to the vector of a text, before that is made of unit length (n, d)."""
        space = self._fitted()
        rows = [space.index.get(word) for word in words]
        inside = np.array(sorted({row for row in rows if row is not None}), np.int64)
        self._move_towards_translations(inside)
        vectors = np.zeros((len(words), space.dimension), np.float32)
        for place, (word, row) in enumerate(zip(words, rows, strict=True)):
            if row is not None:
                vectors[place] = self.weights_[row] * self.vectors_[row]
            elif space.subwords is not None:
                made = np.asarray(space.subwords.vector(word), np.float32)
                vectors[place] = made * (self.weights_.max() / max(float(np.linalg.norm(made)), 1e-12))
        return vectors

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:  # noqa: ARG002
        """Names of the dimensions: 'space0', 'space1' and so on."""
        return np.array([f"space{place}" for place in range(self._fitted().dimension)], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags

    def __sklearn_clone__(self) -> SpaceVectorizer:
        # An alignment is frozen: a clone may share it, and need not copy its vectors.
        return type(self)(**self.get_params(deep=False))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "space_")

    def _fitted(self) -> Space:
        if not hasattr(self, "space_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError("this SpaceVectorizer is not fitted; call fit first, with texts or an empty list")
        return self.space_

    def _check_settings(self) -> None:
        for name, choices in (("side", ("source", "target")), ("weighting", ("sif", "idf", "mean"))):
            if getattr(self, name) not in choices:
                raise SettingsError(f"{name} is {getattr(self, name)!r}; expected one of {', '.join(choices)}")
        if not self.smoothing > 0:
            raise SettingsError(f"smoothing is {self.smoothing}; expected a number above 0")
        for name in ("components", "translations"):
            if getattr(self, name) < 0:
                raise SettingsError(f"{name} is {getattr(self, name)}; expected at least 0")

    def _read(self, text: str) -> tuple[list[str], int, int]:
        """The known words of a text or their parts, how many of its words are known, and how many it has."""
        known: list[str] = []
        count, words = 0, 0
        for word in self.rows_.tokenizer(text):
            rows = self.rows_.of(word)
            names = [self.space_.words[row] for row in rows]
            known += [word] if not rows and self.space_.subwords is not None else names
            count, words = count + (bool(rows) or self.space_.subwords is not None), words + 1
        return known, count, words

    def _summed(self, texts: Sequence[Sequence[str]]) -> Array:
        """The mean of the weighted vectors of each text's words."""
        places: dict[str, int] = {}
        columns = [places.setdefault(word, len(places)) for words in texts for word in words]
        ends = np.cumsum([0, *(len(words) for words in texts)])
        shares = np.concatenate([[1 / len(words)] * len(words) for words in texts if words] or [[]])
        table = sparse.csr_matrix((shares.astype(np.float32), columns, ends), (len(texts), max(1, len(places))))
        if not places:
            return np.zeros((len(texts), self.space_.dimension), np.float32)
        return np.asarray(table @ self.word_vectors(list(places)), np.float32)

    def _document_weights(self, texts: Sequence[str]) -> Array:
        """log((1 + n) / (1 + texts with the word)) + 1."""
        seen = np.zeros(len(self.space_))
        for text in texts:
            seen[[self.space_.index[word] for word in set(self.words(text)) if word in self.space_.index]] += 1
        return np.asarray(np.log((1 + len(texts)) / (1 + seen)) + 1, np.float32)

    def _principal_components(self, texts: Sequence[str]) -> Array:
        """The directions that texts have most in common, as rows (Arora et al. 2017 do not centre)."""
        vectors = self.transform(texts)
        vectors = vectors[np.any(vectors != 0, axis=1)]
        if len(vectors) <= self.components:
            raise SettingsError(
                f"components is {self.components}, but only {len(vectors)} texts have a known word; "
                "fit on more texts, or remove none"
            )
        covariance = vectors.T @ vectors
        return np.asarray(np.linalg.eigh(covariance)[1][:, : -self.components - 1 : -1].T, np.float32)

    def _move_towards_translations(self, rows: npt.NDArray[np.int64]) -> None:
        """Put words halfway between their own place and that of their translations, once for each word."""
        if not self.translations:
            return
        back = self.side == "target"
        rows = rows[~self.moved_[rows]]
        queries = self.alignment_.spaces(back)[0].vectors
        for begin in range(0, len(rows), AT_ONCE):
            block = rows[begin : begin + AT_ONCE]
            best = self.alignment_.neighbours(queries[block], self.translations, back)
            scores = best.scores.numpy()
            shares = np.exp(SHARPNESS * (scores - scores.max(axis=1, keepdims=True)))
            shares /= shares.sum(axis=1, keepdims=True)
            translated = np.einsum("nk,nkd->nd", shares, self.translated_[best.indices.numpy()])
            moved = self.vectors_[block] + translated / np.linalg.norm(translated, axis=1, keepdims=True)
            self.vectors_[block] = moved / np.linalg.norm(moved, axis=1, keepdims=True)
            self.moved_[block] = True


@dataclass(frozen=True, eq=False)
class TextBlock:
    """Some texts as vectors, and how well each is known."""

    vectors: Array
    known: list[int]
    """How many words of a text have vectors."""
    words: list[int]
    """How many words it has."""


class _WordRows:
    """The rows that stand for any word of a text, kept for words that were asked lately."""

    def __init__(self, vocabulary: Mapping[str, int], tokenizer: Tokenizer | None, parts: bool) -> None:
        self.vocabulary, self.parts = vocabulary, parts
        self.tokenizer = VocabularyTokenizer(vocabulary) if tokenizer is None else tokenizer
        self.kept: dict[str, list[int]] = {}

    def of(self, word: str) -> list[int]:
        """The row of the word, or the rows of its longest known beginning and ending; none for an unknown word."""
        if word not in self.kept:
            if len(self.kept) >= REMEMBERED:
                self.kept.clear()
            row = row_of(word, self.vocabulary)
            others = part_rows(word, self.vocabulary) if self.parts else []
            self.kept[word] = others if row is None else [row]
        return self.kept[word]


def sif_weights(space: Space, smoothing: float) -> Array:
    """The weight a / (a + p) of words; p comes from counts where the space has them, and from ranks where not."""
    seen = 1 / (np.arange(len(space)) + RANK_OFFSET) if space.counts is None else space.counts.double().numpy()
    return np.asarray(smoothing / (smoothing + seen / seen.sum()), np.float32)


def _checked(texts: Iterable[str]) -> Iterator[str]:
    """The texts, once it is sure that each is one."""
    if isinstance(texts, str):
        raise SettingsError("found one text, expected several; put it into a list")
    for number, text in enumerate(texts, 1):
        if not isinstance(text, str):
            raise CalqueError(f"text {number} is a {type(text).__name__}; expected a str")
        yield text
