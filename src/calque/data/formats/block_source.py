"""What is written to a file: words and vectors a block at a time, so that no more than that is held."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calque.data.formats.rows import Vectors
from calque.data.space import Space

BLOCK_ROWS = 1024


@dataclass(frozen=True)
class Sheet:
    """A space that comes in blocks, as often as it is asked for."""

    count: int
    dimension: int
    words: Callable[[], Iterator[list[str]]]
    """The words, ``BLOCK_ROWS`` at a time."""
    vectors: Callable[[], Iterator[Vectors]]
    """Their vectors in blocks of as many rows."""
    counts: npt.NDArray[Any] | None = None


def sheet_of(space: Space) -> Sheet:
    """A space in memory, as a sheet."""
    starts = range(0, len(space), BLOCK_ROWS)
    return Sheet(
        len(space),
        space.dimension,
        lambda: (list(space.words[start : start + BLOCK_ROWS]) for start in starts),
        lambda: (_array(space.vectors[start : start + BLOCK_ROWS]) for start in starts),
        None if space.counts is None else _array(space.counts),
    )


def _array(tensor: Any) -> npt.NDArray[Any]:
    return np.ascontiguousarray(tensor.detach().cpu().numpy())
