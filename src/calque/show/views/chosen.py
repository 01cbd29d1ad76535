"""Words that somebody asks to see, and what to call the two languages."""

from __future__ import annotations

from collections.abc import Sequence

from calque.data.formats import bare_name
from calque.data.space import Space
from calque.errors import UnknownWordError
from calque.runs.alignment import Alignment
from calque.runs.lookup import similar


def rows_of(space: Space, words: Sequence[str]) -> list[int]:
    """The row of each word; UnknownWordError, with words of similar spelling, where one has none."""
    for word in words:
        if word not in space:
            where = f"{space.name}: " if space.name else ""
            raise UnknownWordError(f"{where}{word!r} is not among the {len(space)} words{similar(word, space.words)}")
    return [space.index[word] for word in words]


def names_of(alignment: Alignment) -> tuple[str, str]:
    """As their files are called, which is shorter than what led to them; told apart where both are called the same."""
    return told_apart(bare_name(alignment.source.name), bare_name(alignment.target.name))


def told_apart(source: str, target: str) -> tuple[str, str]:
    """Two names that differ, of languages that may have the same one or none."""
    source, target = source or "source", target or "target"
    return (f"{source} (source)", f"{target} (target)") if source == target else (source, target)
