"""Errors that a user can cause. Each message says in one line where, what was found, what was expected, what to do."""

from __future__ import annotations


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
        super().__init__(f"{purpose} needs the package {package!r}: pip install 'calque[{extra}]'")


class DataWarning(UserWarning):
    """Something in the data was mended or left out; the work goes on without it."""


class CacheWarning(UserWarning):
    """The cache of read files could not be used; the result is the same, but takes longer."""
