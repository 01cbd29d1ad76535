"""Reads a space from a file in any known format, and says what had to be mended."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from calque.data.formats.cache import CacheError, Entry, Kept
from calque.data.formats.cache import entry as find_entry
from calque.data.formats.counts import attach_counts
from calque.data.formats.fasttext import Subwords
from calque.data.formats.file_identity import Digest, Look, Stamp, check_unchanged
from calque.data.formats.files import check_is_file
from calque.data.formats.format import Request
from calque.data.formats.registry import FORMATS, named, sniff
from calque.data.formats.rows import Harvest
from calque.data.space import Space
from calque.errors import CacheWarning, DataWarning, FormatError, SettingsError


@dataclass(frozen=True)
class Reading:
    """What a file held, and what had to be mended."""

    space: Space
    format: str
    """Its name in FORMATS."""
    notes: tuple[str, ...]
    """Plain sentences, one for each thing mended or left out."""
    remarks: tuple[str, ...] = ()
    """What went wrong beside the file: a cache that was damaged or cannot be written."""


def read(
    path: str | os.PathLike[str],
    *,
    limit: int | None = None,
    format: str | None = None,
    words: str | os.PathLike[str] | None = None,
    counts: str | os.PathLike[str] | None = None,
    cache: bool = True,
) -> Reading:
    """Read a vector file: the first ``limit`` usable words, in the format named or else recognised by content.

    ``words`` is the word list of a bare ``.npy`` array; ``counts`` a file of a word and its count a line.
    With ``cache``, a large text or binary file is kept once it was read, and mapped into memory the next time.
    """
    _check_limit(limit)
    check_is_file(Path(path))
    request = Request(limit, None if words is None else Path(words))
    found = _through_cache(Path(path), request, format) if cache else _from_file(Path(path), request, format)
    space, notes = _with_counts(_as_space(found, str(path)), counts)
    return Reading(space, found.format, found.harvest.notes + notes, found.remarks)


def load(
    source: Any,
    *,
    limit: int | None = None,
    format: str | None = None,
    words: str | os.PathLike[str] | None = None,
    counts: str | os.PathLike[str] | None = None,
    cache: bool = True,
) -> Space:
    """The space in a file, or of a gensim ``KeyedVectors`` in memory; what had to be mended is warned about."""
    if hasattr(source, "index_to_key"):
        _refuse_file_options(format, words)
        space, notes = _with_counts(_from_gensim(source, limit), counts)
    else:
        reading = read(source, limit=limit, format=format, words=words, counts=counts, cache=cache)
        space, notes = reading.space, reading.notes
        for remark in reading.remarks:
            warnings.warn(f"{space.name}: {remark}", CacheWarning, stacklevel=2)
    for note in notes:
        warnings.warn(f"{space.name}: {note}", DataWarning, stacklevel=2)
    return space


def _check_limit(limit: int | None) -> None:
    if limit is not None and limit < 1:
        raise SettingsError(f"limit is {limit}, expected at least 1 word; leave it out to read all")


@dataclass(frozen=True)
class _Found:
    """A harvest, and where it came from."""

    harvest: Harvest
    format: str
    remarks: tuple[str, ...] = ()
    checked: bool = False
    """Whether it comes from the cache, and so was a space before."""


def _from_file(path: Path, request: Request, format: str | None) -> _Found:
    before = Look.of(path.stat())
    chosen = named(format) if format else named(sniff(path))
    harvest = chosen.read(path, request)
    check_unchanged(path, before)
    return _Found(harvest, chosen.name)


def _through_cache(path: Path, request: Request, format: str | None) -> _Found:
    """From the cache where the file is as it was; otherwise from the file, which is then put into the cache."""
    try:
        entry = find_entry(path, request, format)
    except CacheError as error:
        return replace(_from_file(path, request, format), remarks=(str(error),))
    if entry is None:
        return _from_file(path, request, format)
    try:
        kept = entry.fetch()
    except CacheError as error:
        return _read_and_kept(entry, request, format, str(error))
    if kept is None:
        return _read_and_kept(entry, request, format)
    return _Found(kept.harvest, kept.format, checked=True)


def _read_and_kept(entry: Entry, request: Request, format: str | None, *remarks: str) -> _Found:
    look, digest = Look.of(entry.source.stat()), Digest()
    settled = look.settled
    try:
        found = _from_file(entry.source, replace(request, digest=digest), format)
    finally:
        made = digest.finish()
    if not FORMATS[found.format].kept:
        return found
    try:
        entry.keep(Kept(found.harvest, found.format), Stamp(look, settled, made, digest.size))
    except CacheError as error:
        remarks = (str(error),)
    return replace(found, remarks=remarks)


def _as_space(found: _Found, name: str) -> Space:
    harvest = found.harvest
    counts = None if harvest.counts is None else torch.from_numpy(harvest.counts)
    make = Space.checked_before if found.checked else Space
    return make(tuple(harvest.words), torch.from_numpy(harvest.vectors), counts, name, harvest.subwords)


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
