"""What is written to a file: words and vectors in blocks, so that a large space need not be in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from calque.data.space import Space
from calque.errors import FormatError

Vectors = npt.NDArray[np.float32]
BLOCK_ROWS = 1024


@dataclass(frozen=True)
class BlockSource:
    """Words and vectors in blocks. A writer may go through them several times."""

    count: int
    """How many words."""
    dimension: int
    words: Callable[[], Iterator[list[str]]]
    """The words, ``BLOCK_ROWS`` at a time."""
    vectors: Callable[[], Iterator[Vectors]]
    """Their vectors, in blocks of the same rows."""
    counts: npt.NDArray[Any] | None = None

    @classmethod
    def of(cls, space: Space) -> BlockSource:
        """The blocks of a space in memory."""
        starts = range(0, len(space), BLOCK_ROWS)

        def array(tensor: Any) -> npt.NDArray[Any]:
            return np.ascontiguousarray(tensor.detach().cpu().numpy())

        return cls(
            len(space),
            space.dimension,
            lambda: (list(space.words[start : start + BLOCK_ROWS]) for start in starts),
            lambda: (array(space.vectors[start : start + BLOCK_ROWS]) for start in starts),
            None if space.counts is None else array(space.counts),
        )


def encoded_words(source: BlockSource, path: Path, problem: Callable[[bytes], str]) -> Iterator[list[bytes]]:
    """The words as bytes, block by block; FormatError for a word that could not be read back from this format.

    ``problem`` says what is wrong with a word in this format, or nothing.
    """
    for block in source.words():
        encoded = []
        for word in block:
            try:
                letters = word.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError as error:
                raise FormatError(f"{path}: the word {word!r} is not valid Unicode; rename or remove it") from error
            if reason := problem(letters):
                raise FormatError(f"{path}: the word {word!r} {reason}; rename or remove it, or choose another format")
            encoded.append(letters)
        yield encoded


def problem_in_list(word: bytes) -> str:
    """Why a word cannot stand in a list of one word a line; empty if it can."""
    if not word:
        return "is empty"
    if b"\n" in word:
        return "holds a line end"
    return "ends in a carriage return, which would be lost" if word.endswith(b"\r") else ""
