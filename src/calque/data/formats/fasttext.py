"""fastText ``.bin``, read with gensim: words, vectors, and vectors for words that are not in the file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from calque.data.formats.block_source import Vectors
from calque.data.formats.format import FileContent, Format, ReadOptions, in_one_line
from calque.data.formats.text import RowCollector
from calque.errors import FormatError, MissingExtraError, UnknownWordError

MAGIC = (793712314).to_bytes(4, "little")


@dataclass(frozen=True)
class Subwords:
    """Makes vectors from the pieces of words, with the tables of a gensim fastText model."""

    keyed_vectors: Any

    def vector(self, word: str) -> Vectors:
        """The vector of any word, seen or unseen."""
        try:
            vector = np.asarray(self.keyed_vectors.get_vector(word), dtype=np.float32)
        except KeyError:  # a model that was trained without pieces
            vector = np.zeros(1, np.float32)
        if not vector.any():  # gensim's answer for a word that has no pieces
            raise UnknownWordError(f"{word!r} has no vector and no pieces to make one of; try a longer word")
        return vector


def read(path: Path, options: ReadOptions) -> FileContent:
    """Read the whole file (gensim cannot read a part), keep the words asked for and the model of their pieces."""
    try:
        from gensim.models.fasttext import load_facebook_vectors
    except ImportError as error:
        raise MissingExtraError("gensim", "fasttext", f"{path}: reading a fastText .bin file") from error
    try:
        model = load_facebook_vectors(str(path))
    except Exception as error:  # gensim's parser fails in as many ways as a file can be damaged
        raise FormatError(
            f"{path}: not a whole fastText .bin file ({in_one_line(error)}); download it again"
        ) from error
    rows = RowCollector(options.limit)
    counts = model.expandos.get("count")
    # If every word is kept, space and model share this one large array.
    vectors = model.vectors.astype(np.float32, copy=False)
    rows.add(model.index_to_key, vectors, None if counts is None else counts.tolist())
    return replace(rows.content(path), subwords=Subwords(model))


FASTTEXT = Format("fasttext", (".bin",), read, magic=(MAGIC,))
