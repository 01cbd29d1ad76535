"""fastText ``.bin``, read with gensim: words, vectors, and vectors for words it has never seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calque.data.formats.files import Head, in_one_line
from calque.data.formats.format import Format, Request
from calque.data.formats.rows import Harvest, Rows, Vectors
from calque.errors import FormatError, MissingExtraError, UnknownWordError

MAGIC = (793712314).to_bytes(4, "little")


@dataclass(frozen=True)
class Subwords:
    """Makes vectors from the pieces of words, with the tables of a gensim fastText model."""

    keyed_vectors: Any

    def vector(self, word: str) -> Vectors:
        """The vector of any word, seen or unseen."""
        try:
            made = np.asarray(self.keyed_vectors.get_vector(word), dtype=np.float32)
        except KeyError:  # a model that was trained without pieces
            made = np.zeros(1, np.float32)
        if not made.any():  # what gensim gives for a word that has none
            raise UnknownWordError(f"{word!r} has no vector and no pieces to make one of; try a longer word")
        return made


def recognise(head: Head) -> bool:
    """The magic number that fastText begins its files with."""
    return head.raw.startswith(MAGIC)


def read(path: Path, request: Request) -> Harvest:
    """Read all of the file (gensim cannot read a part), keep the words asked for and the model of their pieces."""
    model = _load_model(_gensim_loader(path), path)
    rows = Rows(request.limit)
    counts = model.expandos.get("count")
    # Where every word is kept, space and model share the one array: there is none to spare of this size.
    vectors = model.vectors.astype(np.float32, copy=False)
    rows.add(model.index_to_key, vectors, None if counts is None else counts.tolist())
    gathered = rows.harvest(path)
    return Harvest(gathered.words, gathered.vectors, gathered.notes, gathered.counts, Subwords(model))


def _gensim_loader(path: Path) -> Callable[[str], Any]:
    try:
        from gensim.models.fasttext import load_facebook_vectors
    except ImportError as error:
        raise MissingExtraError("gensim", "fasttext", f"{path}: reading a fastText .bin file") from error
    return load_facebook_vectors  # type: ignore[no-any-return]


def _load_model(loader: Callable[[str], Any], path: Path) -> Any:
    try:
        return loader(str(path))
    except Exception as error:  # gensim's parser fails in as many ways as a file can be damaged
        raise FormatError(
            f"{path}: not a whole fastText .bin file ({in_one_line(error)}); download it again"
        ) from error


FASTTEXT = Format("fasttext", (".bin",), recognise, read)
