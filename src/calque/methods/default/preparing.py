"""Each language by itself, before any map is known: preprocessed, and in as many dimensions as its words allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from calque.data.space import Space
from calque.errors import SpaceError
from calque.linear.closed_forms import principal
from calque.linear.maps import LinearMap, Preprocessing, Side, fit, unit
from calque.methods.task import FEWEST_WORDS


@dataclass(frozen=True, eq=False)
class Prepared:
    """One side before any map between the two is known."""

    preprocessing: Preprocessing
    """In main memory."""
    reduction: LinearMap
    vectors: Tensor
    """(n, k) unit rows."""

    def side(self, map: LinearMap) -> Side:
        """How its language gets into the space that this map leads to."""
        return Side(self.preprocessing, LinearMap((self.reduction.matrix @ map.matrix).cpu()))


def prepare(
    space: Space, dimension: int, preprocessing: Sequence[str], most_words: int, device: torch.device
) -> Prepared:
    """Measured on all words; kept of them are those that any stage looks at."""
    fitted, vectors = fit(space.vectors.to(device), preprocessing)
    if len(vectors) > most_words:
        vectors = vectors[:most_words].clone()
    fitted = fitted.cpu()
    if dimension == space.dimension:
        return Prepared(fitted, LinearMap.identity(dimension, vectors), vectors)
    reduction = principal(vectors, dimension)
    return Prepared(fitted, reduction, unit(reduction.apply(vectors)))


def kept_dimensions(
    spaces: Sequence[Space], words: int, words_a_dimension: int
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """How many dimensions each side keeps, and a note where that is fewer than its vectors have."""
    small = min(spaces, key=len)
    if len(small) < FEWEST_WORDS:
        raise SpaceError(
            f"{small.name or 'one side'}: {len(small)} words are too few to align; expected at least {FEWEST_WORDS}, "
            "and some thousands to do it well"
        )
    used = min(len(small), words)
    most = max(2, used // words_a_dimension)
    kept = tuple(min(space.dimension, most) for space in spaces)
    if most >= max(space.dimension for space in spaces):
        return kept, ()
    sizes = [space.dimension for space in spaces]
    dimensions = " and ".join(map(str, sizes if len(sizes) == 2 else sorted(set(sizes))))
    why = f"{words_a_dimension} of the {used} words used to each"
    return kept, (f"reduced {dimensions} dimensions to at most {most} leading ones of each side ({why})",)


def common_dimension(spaces: Sequence[Space], words: int, words_a_dimension: int) -> tuple[int, tuple[str, ...]]:
    """The dimension that several spaces have in common, and a note where it is less than their vectors have."""
    kept, notes = kept_dimensions(spaces, words, words_a_dimension)
    if len(set(kept)) == 1:
        return kept[0], notes
    dimensions = " and ".join(map(str, sorted({space.dimension for space in spaces})))
    return min(kept), (
        f"reduced {dimensions} dimensions to the {min(kept)} leading ones of each side (unequal dimensions)",
    )
