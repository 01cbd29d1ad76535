"""Words and their vectors: what every alignment starts from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from calque.errors import MissingExtraError, SpaceError, UnknownWordError, listed_words


class SubwordModel(Protocol):
    """Makes vectors for words that are not in a space, from their pieces (fastText)."""

    def vector(self, word: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The vector of any word, of the dimension of the space."""
        ...


@dataclass(frozen=True, eq=False)
class Space:
    """Words of one language and their vectors, most frequent word first."""

    words: tuple[str, ...]
    vectors: Tensor
    """(n, d) float32."""
    counts: Tensor | None = None
    """(n,) how often each word was seen; None if that is not known."""
    name: str = ""
    """Stands in messages: usually the file it came from."""
    subwords: SubwordModel | None = None
    """If present, words that are not in the space get vectors too."""

    def __post_init__(self) -> None:
        if not isinstance(self.vectors, Tensor) or self.vectors.dtype != torch.float32:
            raise SpaceError(f"{self._where}vectors are not a float32 tensor; Space.of makes one of any array")
        if self.vectors.ndim != 2:
            raise SpaceError(
                f"{self._where}vectors have shape {tuple(self.vectors.shape)}, expected (words, dimensions)"
            )
        if len(self.words) != len(self.vectors):
            raise SpaceError(f"{self._where}{len(self.words)} words but {len(self.vectors)} vectors")
        if not self.words or self.vectors.shape[1] == 0:
            raise SpaceError(f"{self._where}is empty: at least one word with one dimension is needed")
        self._check_words()
        if not bool(torch.isfinite(torch.stack(torch.aminmax(self.vectors))).all()):
            row = int((~torch.isfinite(self.vectors).all(dim=1)).nonzero()[0])
            raise SpaceError(f"{self._where}the vector of {self.words[row]!r} (row {row}) has NaN or infinite values")
        if len(self.index) != len(self.words):
            repeated = next(word for row, word in enumerate(self.words) if self.index[word] != row)
            raise SpaceError(f"{self._where}the word {repeated!r} occurs more than once; keep one of them")
        self._check_counts()

    def _check_words(self) -> None:
        """Every word must be a text that can stand on a line of a file."""
        wrong = next((row for row, word in enumerate(self.words) if not isinstance(word, str)), None)
        if wrong is not None:
            word = self.words[wrong]
            raise SpaceError(
                f"{self._where}words[{wrong}] is {repr(word)[:40]}, of type {type(word).__name__}; expected text"
            )
        text = "".join(self.words)
        if "\n" in text:
            row = next(row for row, word in enumerate(self.words) if "\n" in word)
            raise SpaceError(
                f"{self._where}the word {self.words[row]!r} (row {row}) holds a line feed; rename or remove it"
            )
        try:
            text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            row = next(row for row, word in enumerate(self.words) if not _can_be_written(word))
            raise SpaceError(
                f"{self._where}the word {self.words[row]!r} (row {row}) holds half a character; rename or remove it"
            ) from None

    def _check_counts(self) -> None:
        if self.counts is None:
            return
        if self.counts.shape != (len(self.words),):
            raise SpaceError(f"{self._where}{len(self.words)} words but counts of shape {tuple(self.counts.shape)}")
        if not bool(torch.isfinite(self.counts).all()) or bool((self.counts < 0).any()):
            raise SpaceError(f"{self._where}counts must be finite and not negative")
        if float(self.counts.sum()) <= 0:
            raise SpaceError(f"{self._where}all counts are zero; leave them out instead")

    @classmethod
    def of(cls, words: Sequence[str], vectors: Any, counts: Any = None, name: str = "") -> Space:
        """A space from any sequence of words and a numpy array, torch tensor or nested list of vectors."""
        if isinstance(words, (str, bytes)) or not isinstance(words, Iterable):
            raise SpaceError(f"{name or 'space'}: words are {str(words)[:40]!r}; expected a list of words")
        rows = _tensor(vectors, np.float32, f"{name or 'space'}: vectors")
        word_counts = None if counts is None else _tensor(counts, np.float64, f"{name or 'space'}: counts")
        return cls(tuple(words), rows, word_counts, name)

    @classmethod
    def checked_before(
        cls,
        words: tuple[str, ...],
        vectors: Tensor,
        counts: Tensor | None = None,
        name: str = "",
        subwords: SubwordModel | None = None,
    ) -> Space:
        """A space from values that passed all checks before, so that they are not checked again.

        For the cache of read files: checking vectors that are mapped into memory would read them all.
        """
        space = object.__new__(cls)
        values = {"words": words, "vectors": vectors, "counts": counts, "name": name, "subwords": subwords}
        for field, value in values.items():
            object.__setattr__(space, field, value)
        return space

    @classmethod
    def from_gensim(cls, keyed_vectors: Any, name: str = "") -> Space:
        """A space from a gensim ``KeyedVectors`` in memory, with its counts if it has them."""
        words = list(keyed_vectors.index_to_key)
        counts = getattr(keyed_vectors, "expandos", {}).get("count")
        # For a file without counts gensim invents them: n, n - 1, n - 2 …
        if counts is not None and np.array_equal(counts, np.arange(len(words), 0, -1)):
            counts = None
        return cls.of(words, np.asarray(keyed_vectors.vectors), counts, name)

    @classmethod
    def from_frame(cls, frame: Any, name: str = "") -> Space:
        """A space from a pandas or polars DataFrame: one column of words, or else the index; all others are numbers."""
        texts = [column for column in frame.columns if isinstance(next(iter(frame[column]), None), str)]
        if len(texts) > 1:
            raise SpaceError(f"{name or 'the frame'}: columns {texts[:3]} hold text; expected one column of words")
        if not texts and not hasattr(frame, "index"):
            raise SpaceError(f"{name or 'the frame'}: no column holds words; expected one, and numbers in all others")
        words = list(frame[texts[0]] if texts else frame.index)
        return cls.of(words, frame[[column for column in frame.columns if column not in texts]].to_numpy(), name=name)

    def to_gensim(self) -> Any:
        """A gensim ``KeyedVectors`` with the same words, vectors and counts; ``from_gensim`` reads one."""
        try:
            from gensim.models import KeyedVectors
        except ImportError as error:
            raise MissingExtraError("gensim", "fasttext", "to_gensim()") from error
        keyed = KeyedVectors(self.dimension)
        keyed.add_vectors(list(self.words), self.vectors.numpy())
        if self.counts is not None:
            for word, count in zip(self.words, self.counts.tolist(), strict=True):
                keyed.set_vecattr(word, "count", int(count))
        return keyed

    @property
    def dimension(self) -> int:
        """d: the length of each vector."""
        return int(self.vectors.shape[1])

    @cached_property
    def index(self) -> dict[str, int]:
        """The row of each word; the first row if a word occurs twice."""
        return dict(zip(reversed(self.words), range(len(self.words) - 1, -1, -1), strict=True))

    @property
    def _where(self) -> str:
        return f"{self.name}: " if self.name else ""

    def __repr__(self) -> str:
        return f"Space({self.name!r}, {len(self)} words, {self.dimension} dimensions)"

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and word in self.index

    def __getitem__(self, word: str) -> Tensor:
        """The vector of one word, as in ``space["casa"]``."""
        if not isinstance(word, str):
            raise SpaceError(f"{self._where}the index is {word!r}; expected a word, such as space['casa']")
        return self.lookup([word])[0]

    def __iter__(self) -> Iterator[str]:
        """The words, most frequent first."""
        return iter(self.words)

    def head(self, limit: int) -> Space:
        """The ``limit`` most frequent words."""
        if not isinstance(limit, (int, np.integer)) or limit < 1:
            raise SpaceError(f"{self._where}a head of {limit!r} words was asked for; expected at least 1")
        counts = None if self.counts is None else self.counts[:limit]
        return replace(self, words=self.words[:limit], vectors=self.vectors[:limit], counts=counts)

    def lookup(self, words: Sequence[str]) -> Tensor:
        """The vectors of these words (k, d); words that are not in the space get theirs from ``subwords``."""
        vectors: list[Tensor] = []
        for word in listed_words(words):
            row = self.index.get(word)
            if row is not None:
                vectors.append(self.vectors[row])
            elif self.subwords is not None:
                vectors.append(torch.as_tensor(self.subwords.vector(word), dtype=torch.float32))
            else:
                raise UnknownWordError(f"{self._where}{word!r} is not among the {len(self)} words")
        return torch.stack(vectors) if vectors else self.vectors[:0]


def _can_be_written(word: str) -> bool:
    try:
        word.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _tensor(values: Any, kind: type[np.floating[Any]], where: str) -> Tensor:
    """Any real numbers as a contiguous tensor on the CPU."""
    try:
        plain = values.detach().cpu() if isinstance(values, Tensor) else values
        array = np.asarray(plain)
        if array.dtype.kind not in "fiub":
            raise SpaceError(f"{where} are of type {array.dtype}; expected real numbers")
        return torch.from_numpy(np.array(array, dtype=kind, order="C"))
    except (TypeError, ValueError) as error:
        raise SpaceError(f"{where} are no array of numbers: {error}") from error
