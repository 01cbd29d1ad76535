"""Texts and labels in files: columns of a table with a head, read line by line, so that a file may have any length."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from calque.errors import FormatError

NO_LABEL = ""
"""The label of a text that has none."""


@dataclass(frozen=True)
class TextTable:
    """A file of texts. Columns are named as in its head, or counted from 1."""

    path: Path
    text: str = "text"
    label: str = "category"

    def check(self, labelled: bool) -> bool:
        """Whether the file has labels; FormatError where it has no text column, or no labels and must have some."""
        with self.path_open() as rows:
            head = next(rows, None)
            if head is None:
                raise FormatError(f"{self.path}: is empty; expected a head, then a text on every line")
            column(self.path, head, self.text, "--text")
            if not labelled and (self.label not in head and not self.label.isdigit()):
                return False
            column(self.path, head, self.label, "--label")
            return True

    def rows(self, *columns: str) -> Iterator[tuple[str, ...]]:
        """The values in these columns, line by line; FormatError, with the number of the line, where one is missing."""
        with self.path_open() as rows:
            places = [
                column(self.path, head, name, "--text or --label") for head in [next(rows, [])] for name in columns
            ]
            for row in rows:
                if not row:
                    continue
                if max(places) >= len(row):
                    raise FormatError(
                        f"{self.path}:{rows.line}: has {len(row)} columns, expected {max(places) + 1} or more; "
                        "mend the line, or remove it"
                    )
                yield tuple(row[place] for place in places)

    def labelled(self) -> Iterator[tuple[str, str]]:
        """Texts with their labels, blanks round a label removed."""
        for text, label in self.rows(self.text, self.label):
            yield text, label.strip()

    def unlabelled(self) -> Iterator[tuple[str, str]]:
        """Texts with no label."""
        for (text,) in self.rows(self.text):
            yield text, NO_LABEL

    def path_open(self) -> _Rows:
        """The lines of the file as lists of values."""
        return _Rows(self.path)


class _Rows:
    """Lines of a comma- or tab-separated file. In tab-separated files quotes are letters like others."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.stream = path.open(encoding="utf-8-sig", errors="surrogateescape", newline="")
        except OSError as error:
            raise FormatError(f"{path}: cannot be read: {error.strerror}; expected a table of texts") from error
        csv.field_size_limit(sys.maxsize)
        if path.suffix.lower() == ".csv":
            self.reader = csv.reader(self.stream)
        else:
            self.reader = csv.reader(self.stream, delimiter="\t", quoting=csv.QUOTE_NONE)

    def __enter__(self) -> _Rows:
        return self

    def __exit__(self, *error: object) -> None:
        self.stream.close()

    def __iter__(self) -> _Rows:
        return self

    def __next__(self) -> list[str]:
        try:
            return next(self.reader)
        except (csv.Error, OSError) as error:
            raise FormatError(f"{self.path}:{self.line}: {error}; expected a table of texts") from error

    @property
    def line(self) -> int:
        """The number of the line that was read last."""
        return self.reader.line_num


def column(path: Path, head: list[str], name: str, option: str) -> int:
    """The place of a column, by its name or its number from 1; FormatError, with the names there are, for any other."""
    if name in head:
        return head.index(name)
    if name.isdigit() and 1 <= int(name) <= len(head):
        return int(name) - 1
    names = ", ".join(head)[:200]
    raise FormatError(
        f"{path}: no column {name!r}; the head has {names}; name one of them with {option}, or its number"
    )
