"""Errors that a user can cause. Each message says in one line where, what was found, what was expected, what to do.

The checks of plain arguments, which many functions take, stand here too.
"""

from __future__ import annotations

import difflib
import operator
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any


class CalqueError(Exception):
    """Something is wrong with the input. The command prints the message on one line and exits with 2."""


class SpaceError(CalqueError):
    """Words and vectors that make no space."""


class FormatError(CalqueError):
    """A vector file that cannot be read or written."""


class LexiconError(CalqueError):
    """A file of word pairs that cannot be used."""


class SettingsError(CalqueError):
    """A recipe, a setting or a name that does not exist, or a value out of its range."""


class RunError(CalqueError):
    """A run folder that cannot be read or written."""


class UnknownWordError(CalqueError):
    """A word that is not in the vocabulary."""


class MissingExtraError(CalqueError):
    """An optional package that a feature needs and that is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the package {package!r}: {how_to_install(extra)}")
        self.package, self.extra, self.purpose = package, extra, purpose

    def __reduce__(self) -> tuple[Any, ...]:
        """So that a worker process can send it: by default the message would be taken for the first argument."""
        return type(self), (self.package, self.extra, self.purpose)


class DataWarning(UserWarning):
    """Something in the data was mended or left out; the work goes on without it."""


class CacheWarning(UserWarning):
    """The cache of read files could not be used; the result is the same, but takes longer."""


DISTRIBUTION = "calque-embeddings"
"""What calque is called on the package index, where `calque` is the program of somebody else."""


def how_to_install(extra: str) -> str:
    """The command that installs the optional packages of an extra."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def nearest_name(name: str, names: Iterable[str]) -> str:
    """The name that somebody may have meant, as a part of an error; empty where none is near."""
    close = difflib.get_close_matches(name, list(names), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def whole_number(value: Any, name: str, least: int = 1) -> int:
    """A whole number that somebody passed as the argument ``name``; SettingsError where it is none or too small."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < least:
        raise SettingsError(f"{name} is {value!r}; expected a whole number of at least {least}")
    return number


def file_path(value: Any, name: str = "path") -> Path:
    """A path that somebody passed as the argument ``name``; SettingsError where it is none."""
    if not isinstance(value, (str, os.PathLike)):
        raise SettingsError(f"{name} is {value!r}, of type {type(value).__name__}; expected a path"[:300])
    return Path(value)


def listed_words(words: Any) -> list[str]:
    """The words that somebody asks about: one word alone is a list of one. SettingsError where one is no text."""
    asked = [words] if isinstance(words, str) or not isinstance(words, Iterable) else list(words)
    for word in asked:
        if not isinstance(word, str):
            raise SettingsError(f"words has {word!r} in it, of type {type(word).__name__}; expected words as text")
    return asked
