"""Word counts from a file of their own: a word and its count a line, separated by a space or a tab."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch

from calque.data.formats.files import open_plain
from calque.data.formats.numerals import BLANK
from calque.data.formats.rows import LeftOut, plural
from calque.data.formats.text import decode, shown
from calque.data.space import Space
from calque.errors import FormatError

_LINE = re.compile(rb"(.*?)[ \t]+(\d+(?:\.\d*)?(?:e[+-]?\d+)?)", re.DOTALL | re.IGNORECASE)


def attach_counts(space: Space, path: Path) -> tuple[Space, tuple[str, ...]]:
    """The space with the counts of its words, and notes; a word without a count gets 0.

    Of several counts for one word the first is kept.
    """
    counts: dict[str, float] = {}
    for word, count in _counted_words(path):
        if word in space.index:
            counts.setdefault(word, count)
    if not counts:
        raise FormatError(f"{path}: counts none of the {len(space)} words of {space.name}; is it of another language?")
    ordered = torch.tensor([counts.get(word, 0.0) for word in space.words], dtype=torch.float64)
    return replace(space, counts=ordered), _missing_notes(space, counts, path)


def _counted_words(path: Path) -> Iterator[tuple[str, float]]:
    with open_plain(path) as stream:
        for number, line in enumerate(stream, start=1):
            text = line.rstrip(BLANK)
            if not text:
                continue
            found = _LINE.fullmatch(text)
            if found is None:
                raise FormatError(
                    f"{path}:{number}: expected a word and its count such as 'the 120', found {shown(text)}; "
                    "mend or remove the line"
                )
            yield decode(found[1]), float(found[2])


def _missing_notes(space: Space, counts: dict[str, float], path: Path) -> tuple[str, ...]:
    missing = LeftOut()
    for word in space.words:
        if word not in counts:
            missing.add(word)
    if not missing.many:
        return ()
    return (f"{plural(missing.many, 'word')} of {len(space)} without a count in {path} (0 given): {missing}",)
