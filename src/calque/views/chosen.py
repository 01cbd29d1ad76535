"""Words that somebody asks to see."""

from __future__ import annotations

from collections.abc import Sequence

from calque.errors import UnknownWordError
from calque.lookup import similar
from calque.space import Space


def rows_of(space: Space, words: Sequence[str]) -> list[int]:
    """The row of each word; UnknownWordError, with words of similar spelling, where one has none."""
    for word in words:
        if word not in space:
            where = f"{space.name}: " if space.name else ""
            raise UnknownWordError(f"{where}{word!r} is not among the {len(space)} words{similar(word, space.words)}")
    return [space.index[word] for word in words]
