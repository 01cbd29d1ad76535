"""Which words of a run are shown, and what the two languages are called."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from calque.data.formats import bare_name
from calque.data.space import Space
from calque.errors import UnknownWordError
from calque.runs.alignment import Alignment
from calque.runs.lookup import similar

FREQUENT_WORDS = 1000
"""Words to show are looked for among so many."""
FEWEST_LETTERS, FEWEST_WIDE_LETTERS = 4, 2
"""A word of fewer letters is mostly a function word. In scripts of wide letters, such as Chinese, two are enough."""


def rows_of(space: Space, words: Sequence[str]) -> list[int]:
    """The row of each word; UnknownWordError, with words of similar spelling, where a word is unknown."""
    for word in words:
        if word not in space:
            where = f"{space.name}: " if space.name else ""
            raise UnknownWordError(f"{where}{word!r} is not among the {len(space)} words{similar(word, space.words)}")
    return [space.index[word] for word in words]


def language_names(alignment: Alignment) -> tuple[str, str]:
    """What to call the two languages: the names of their files, without folders and endings."""
    return different_names(bare_name(alignment.source.name), bare_name(alignment.target.name))


def different_names(source: str, target: str) -> tuple[str, str]:
    """Two names that differ, for languages that may have the same name or none."""
    source, target = source or "source", target or "target"
    return (f"{source} (source)", f"{target} (target)") if source == target else (source, target)


def mutual_translations(alignment: Alignment, rows: Sequence[int], retrieval: str = "csls") -> dict[int, int]:
    """The best translation of each of these source rows, where it translates back to the same row."""
    if not rows:
        return {}
    there = alignment.neighbours(alignment.spaces()[0].vectors[list(rows)], 1, False, retrieval).indices[:, 0]
    back = alignment.neighbours(alignment.spaces(True)[0].vectors[there], 1, True, retrieval).indices[:, 0]
    pairs = zip(rows, there.tolist(), back.tolist(), strict=True)
    return {row: target for row, target, returned in pairs if returned == row}


def translations_to_show(alignment: Alignment, enough: int) -> dict[int, int]:
    """Frequent words and their mutual translations, most frequent first.

    Only content words that are spelled differently in the two languages; all, where those are fewer than ``enough``.
    """
    pairs = mutual_translations(alignment, range(min(FREQUENT_WORDS, len(alignment.source))))
    sources, targets = alignment.source.words, alignment.target.words
    best = {
        row: target
        for row, target in pairs.items()
        if sources[row].casefold() != targets[target].casefold()
        and _is_content_word(sources[row])
        and _is_content_word(targets[target])
    }
    return best if len(best) >= enough else pairs


def _is_content_word(word: str) -> bool:
    """Whether a word seems to have a meaning of its own, as far as its form tells."""
    wide = any(unicodedata.east_asian_width(letter) == "W" for letter in word)
    letters = all(unicodedata.category(letter)[0] in "LM" for letter in word)
    return letters and len(word) >= (FEWEST_WIDE_LETTERS if wide else FEWEST_LETTERS)
