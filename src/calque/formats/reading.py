"""Reads a space from a file in any known format, and says what had to be mended."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from calque.errors import DataWarning, FormatError, SettingsError
from calque.formats.counts import attach_counts
from calque.formats.fasttext import Subwords
from calque.formats.files import check_is_file
from calque.formats.format import Request
from calque.formats.registry import named, sniff
from calque.formats.rows import Harvest
from calque.space import Space


@dataclass(frozen=True)
class Reading:
    """What a file held, and what had to be mended."""

    space: Space
    format: str
    """Its name in FORMATS."""
    notes: tuple[str, ...]
    """Plain sentences, one for each thing mended or left out."""


def read(
    path: str | os.PathLike[str],
    *,
    limit: int | None = None,
    format: str | None = None,
    words: str | os.PathLike[str] | None = None,
    counts: str | os.PathLike[str] | None = None,
) -> Reading:
    """Read a vector file: the first ``limit`` usable words, in the format named or else recognised by content.

    ``words`` is the word list of a bare ``.npy`` array; ``counts`` a file of a word and its count a line.
    """
    _check_limit(limit)
    place = Path(path)
    chosen = named(format) if format else named(sniff(place))
    check_is_file(place)
    harvest = chosen.read(place, Request(limit, None if words is None else Path(words)))
    space, notes = _with_counts(_as_space(harvest, str(path)), counts)
    return Reading(space, chosen.name, harvest.notes + notes)


def load(
    source: Any,
    *,
    limit: int | None = None,
    format: str | None = None,
    words: str | os.PathLike[str] | None = None,
    counts: str | os.PathLike[str] | None = None,
) -> Space:
    """The space in a file, or of a gensim ``KeyedVectors`` in memory; what had to be mended is warned about."""
    if hasattr(source, "index_to_key"):
        _refuse_file_options(format, words)
        space, notes = _with_counts(_from_gensim(source, limit), counts)
    else:
        reading = read(source, limit=limit, format=format, words=words, counts=counts)
        space, notes = reading.space, reading.notes
    for note in notes:
        warnings.warn(f"{space.name}: {note}", DataWarning, stacklevel=2)
    return space


def _check_limit(limit: int | None) -> None:
    if limit is not None and limit < 1:
        raise SettingsError(f"limit is {limit}, expected at least 1 word; leave it out to read all")


def _as_space(harvest: Harvest, name: str) -> Space:
    counts = None if harvest.counts is None else torch.from_numpy(harvest.counts)
    return Space(tuple(harvest.words), torch.from_numpy(harvest.vectors), counts, name, harvest.subwords)


def _with_counts(space: Space, counts: str | os.PathLike[str] | None) -> tuple[Space, tuple[str, ...]]:
    return (space, ()) if counts is None else attach_counts(space, Path(counts))


def _from_gensim(keyed_vectors: Any, limit: int | None) -> Space:
    _check_limit(limit)
    space = Space.from_gensim(keyed_vectors, "KeyedVectors")
    if hasattr(keyed_vectors, "vectors_ngrams"):
        space = replace(space, subwords=Subwords(keyed_vectors))
    return space if limit is None else space.head(limit)


def _refuse_file_options(format: str | None, words: str | os.PathLike[str] | None) -> None:
    if format is not None or words is not None:
        raise FormatError("format= and words= are about files, but a gensim KeyedVectors was given; leave them out")
