"""Reads a space from a file in any known format, and says what had to be mended."""

from __future__ import annotations

import os
import re
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from calque.data.formats.cache import CacheError, cache_entry
from calque.data.formats.fasttext import Subwords
from calque.data.formats.file_identity import FileIdentity, FileRecord, check_unchanged
from calque.data.formats.format import FileContent, LeftOut, ReadOptions, plural
from calque.data.formats.known_formats import FORMATS, find_format, sniff
from calque.data.formats.streams import ReadDigest, check_is_file, open_plain
from calque.data.formats.text import BLANK, decode, shown
from calque.data.space import Space
from calque.errors import CacheWarning, DataWarning, FormatError, file_path, whole_number

_WORD_AND_COUNT = re.compile(rb"(.*?)[ \t]+(\d+(?:\.\d*)?(?:e[+-]?\d+)?)", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class SpaceReading:
    """What a file held, and what had to be mended."""

    space: Space
    format: str
    """Its name in FORMATS."""
    notes: tuple[str, ...]
    """Plain sentences, one for each thing mended or left out."""
    remarks: tuple[str, ...] = ()
    """What went wrong beside the file: a cache entry that was damaged or cannot be written."""


def load(
    source: Any,
    *,
    limit: int | None = None,
    format: str | None = None,
    words: str | os.PathLike[str] | None = None,
    counts: str | os.PathLike[str] | None = None,
    cache: bool = True,
) -> Space:
    """The space in a file, or of a gensim ``KeyedVectors`` in memory; it warns of each thing that had to be mended."""
    if not hasattr(source, "index_to_key"):
        reading = read(source, limit=limit, format=format, words=words, counts=counts, cache=cache)
        space, notes = reading.space, reading.notes
        for remark in reading.remarks:
            warnings.warn(f"{space.name}: {remark}", CacheWarning, stacklevel=2)
    else:
        if format is not None or words is not None:
            raise FormatError("format= and words= are about files, but a gensim KeyedVectors was given; leave them out")
        _check_limit(limit)
        space, notes = Space.from_gensim(source, "KeyedVectors"), ()
        if hasattr(source, "vectors_ngrams"):
            space = replace(space, subwords=Subwords(source))
        if limit is not None:
            space = space.head(limit)
        if counts is not None:
            space, notes = attach_counts(space, file_path(counts, "counts"))
    for note in notes:
        warnings.warn(f"{space.name}: {note}", DataWarning, stacklevel=2)
    return space


def _check_limit(limit: int | None) -> None:
    if limit is not None:
        whole_number(limit, "limit")


def read(
    path: str | os.PathLike[str],
    *,
    limit: int | None = None,
    format: str | None = None,
    words: str | os.PathLike[str] | None = None,
    counts: str | os.PathLike[str] | None = None,
    cache: bool = True,
) -> SpaceReading:
    """Read a vector file: the first ``limit`` usable words, in the format named or else recognised by content.

    ``words`` is the word list of a bare ``.npy`` array; ``counts`` a file of a word and its count a line.
    With ``cache``, a large text or binary file is kept once it was read, and mapped into memory the next time.
    """
    _check_limit(limit)
    path = file_path(path)
    check_is_file(path)
    options = ReadOptions(limit, None if words is None else file_path(words, "words"))
    remarks: tuple[str, ...] = ()
    from_cache = False
    if cache:
        content, remarks, from_cache = _read_through_cache(path, options, format)
    else:
        content = _read_file(path, options, format)
    # What comes from the cache was checked when it was read from its file.
    make_space = Space.checked_before if from_cache else Space
    own_counts = None if content.counts is None else torch.from_numpy(content.counts)
    vectors = torch.from_numpy(content.vectors)
    space, notes = make_space(tuple(content.words), vectors, own_counts, str(path), content.subwords), content.notes
    if counts is not None:
        space, notes_on_counts = attach_counts(space, file_path(counts, "counts"))
        notes += notes_on_counts
    return SpaceReading(space, content.format, notes, remarks)


def _read_file(path: Path, options: ReadOptions, format: str | None) -> FileContent:
    before = FileIdentity.of(path.stat())
    chosen = find_format(format or sniff(path))
    content = chosen.read(path, options)
    check_unchanged(path, before)
    return replace(content, format=chosen.name)


def _read_through_cache(
    path: Path, options: ReadOptions, format: str | None
) -> tuple[FileContent, tuple[str, ...], bool]:
    """The content from the cache if the file is unchanged; otherwise from the file, and then into the cache.

    Returns the content, remarks, and whether it came from the cache.
    """
    remarks: tuple[str, ...] = ()
    try:
        entry = cache_entry(path, options, format)
    except CacheError as error:
        return _read_file(path, options, format), (str(error),), False
    if entry is None:
        return _read_file(path, options, format), (), False
    try:
        content = entry.read()
    except CacheError as error:
        content, remarks = None, (str(error),)
    if content is not None:
        return content, (), True
    identity, digest = FileIdentity.of(path.stat()), ReadDigest()
    settled = identity.settled
    try:
        content = _read_file(path, replace(options, digest=digest), format)
    finally:
        sha256 = digest.finish()
    if not FORMATS[content.format].cached:
        return content, (), False
    try:
        entry.write(content, FileRecord(identity, settled, sha256, digest.size))
    except CacheError as error:
        remarks = (str(error),)
    return content, remarks, False


def attach_counts(space: Space, path: Path) -> tuple[Space, tuple[str, ...]]:
    """The space with counts from a file of a word and its count a line, and notes. A word without a count gets 0.

    If a word has several counts, the first is kept.
    """
    counts: dict[str, float] = {}
    with open_plain(path) as stream:
        for number, line in enumerate(stream, start=1):
            text = line.rstrip(BLANK)
            if not text:
                continue
            match = _WORD_AND_COUNT.fullmatch(text)
            if match is None:
                raise FormatError(
                    f"{path}:{number}: expected a word and its count such as 'the 120', found {shown(text)}; "
                    "mend or remove the line"
                )
            word = decode(match[1])
            if word in space.index:
                counts.setdefault(word, float(match[2]))
    if not counts:
        raise FormatError(f"{path}: counts none of the {len(space)} words of {space.name}; is it of another language?")
    missing = LeftOut()
    for word in space.words:
        if word not in counts:
            missing.add(word)
    notes: tuple[str, ...] = ()
    if missing.count:
        words = plural(missing.count, "word")
        notes = (f"{words} of {len(space)} without a count in {path} (0 given): {missing}",)
    ordered = torch.tensor([counts.get(word, 0.0) for word in space.words], dtype=torch.float64)
    return replace(space, counts=ordered), notes
