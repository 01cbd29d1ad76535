"""Tables and paragraphs for a terminal."""

from __future__ import annotations

import json
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calque.evaluate import TranslationScore
    from calque.runs.alignment import Alignment
    from calque.runs.lookup import Translation

WIDTH = 100


def as_json(value: Any) -> None:
    """One JSON object on stdout."""
    print(json.dumps(value, ensure_ascii=True))


def as_long_json(told: Mapping[str, Any], name: str, items: Iterable[Any]) -> None:
    """The same, with one more list in it whose items are printed as they come."""
    sys.stdout.write(f'{json.dumps(told)[:-1]}, "{name}": [')
    for number, each in enumerate(items):
        sys.stdout.write((", " if number else "") + json.dumps(each, ensure_ascii=True))
    sys.stdout.write("]}\n")


def verdict(alignment: Alignment) -> None:
    """The verdict, its reasons and the notes."""
    print(f"verdict: {alignment.verdict.label}")
    for line in (*alignment.verdict.reasons, *(f"note: {note}" for note in alignment.record.notes)):
        print(textwrap.fill(line, WIDTH, initial_indent="  - ", subsequent_indent="    "))


def table(rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their widest cell: the first one to the left, the others to the right."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        first, *others = (
            _padded(cell, width, place == 0) for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join([first, *others]).rstrip())


def scores(score: TranslationScore) -> None:
    """accuracy@k in per cent, with the words asked and missing."""
    ks = list(next(iter(score.forward.values())).right)
    rows = [["direction", "retrieval", *(f"acc@{k}" for k in ks), "asked", "not asked"]]
    for direction, by_name in (("forward", score.forward), ("backward", score.backward)):
        for name, each in by_name.items():
            shares = [f"{100 * each.accuracy(k):.1f} %" for k in ks]
            rows.append([direction, name, *shares, str(each.asked), str(each.missing)])
    table(rows)


def translations(found: Iterable[Translation]) -> None:
    """A line a word: the word, then its translations with scores."""
    for each in found:
        told = "  ".join(f"{candidate.word} {candidate.score:.3f}" for candidate in each.candidates)
        print(f"{each.word}\t{told}")


def _padded(cell: str, width: int, left: bool) -> str:
    space = " " * (width - _width(cell))
    return cell + space if left else space + cell


def _width(text: str) -> int:
    """Columns on a terminal: wide characters take two, combining ones none."""
    return sum(0 if unicodedata.combining(each) else 1 + (unicodedata.east_asian_width(each) in "WF") for each in text)
