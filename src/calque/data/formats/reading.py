"""The table of formats, and reading and writing with it.

A file to read is recognised by its content. The suffix says how to write one.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from calque.data.files import FileIdentity, FileRecord, check_unchanged
from calque.data.formats.block_source import BlockSource
from calque.data.formats.cache import CacheError, cache_entry
from calque.data.formats.fasttext import FASTTEXT, Subwords
from calque.data.formats.format import FileContent, Format, ReadDigest, ReadOptions, check_is_file, open_plain, peek
from calque.data.formats.glove import GLOVE
from calque.data.formats.muse import MUSE
from calque.data.formats.numpy_files import NPY, NPZ
from calque.data.formats.safetensors import SAFETENSORS
from calque.data.formats.text import BLANK, LeftOut, decode, plural, shown
from calque.data.formats.word2vec import WORD2VEC, WORD2VEC_BINARY
from calque.data.space import Space
from calque.errors import CacheWarning, DataWarning, FormatError, SettingsError, SpaceError, file_path, whole_number

_MOST_CERTAIN_FIRST = (FASTTEXT, NPY, NPZ, MUSE, WORD2VEC, SAFETENSORS, WORD2VEC_BINARY, GLOVE)

FORMATS: Mapping[str, Format] = MappingProxyType({format.name: format for format in _MOST_CERTAIN_FIRST})
"""Every format by its name."""

SMALLEST = 8 << 20
"""Smaller files are not cached: they are read fast enough."""
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
    if path.stat().st_size < SMALLEST:
        return _read_file(path, options, format), (), False
    remarks: tuple[str, ...] = ()
    try:
        entry = cache_entry(path, options, format)
    except CacheError as error:
        return _read_file(path, options, format), (str(error),), False
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


def find_format(name: str) -> Format:
    """The format of this name; SettingsError with the choices if there is none."""
    if name not in FORMATS:
        raise SettingsError(f"no format is called {name!r}; choose one of {', '.join(FORMATS)}")
    return FORMATS[name]


def sniff(path: str | os.PathLike[str]) -> str:
    """The name of a file's format, recognised by its content; FormatError if none fits."""
    head = peek(Path(path))
    for format in FORMATS.values():
        if (not format.magic or head.raw.startswith(format.magic)) and format.recognise(head):
            return format.name
    raise FormatError(
        f"{path}: begins with {head.plain[:16]!r}, which is no known format of word vectors; "
        f"expected one of {', '.join(FORMATS)}; where you know which, pass format="
    )


def write(space: Space | BlockSource, path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Write a space, which may come in blocks; without ``format``, the suffix of the path decides.

    The file appears whole or not at all. A name that ends in ``.gz`` is compressed, for text and word2vec binary.
    Only npz and safetensors keep counts.
    """
    path = file_path(path)
    if not isinstance(space, (Space, BlockSource)):
        raise SpaceError(f"found {type(space).__name__}, expected a Space; Space.of makes one of words and vectors")
    chosen = find_format(format) if format else _format_by_suffix(path)
    if chosen.write is None:
        writable = ", ".join(name for name, other in FORMATS.items() if other.write)
        raise FormatError(f"{path}: {chosen.name!r} can only be read; write one of {writable}")
    if path.suffix.lower() == ".gz" and not chosen.gzipped:
        raise FormatError(f"{path}: {chosen.name!r} cannot be compressed with gzip; leave out '.gz'")
    chosen.write(BlockSource.of(space) if isinstance(space, Space) else space, path)


def _format_by_suffix(path: Path) -> Format:
    suffix = (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()
    fitting = [format for format in FORMATS.values() if suffix in format.suffixes]
    if not fitting:
        writable = ", ".join(f"{format.suffixes[0]} ({name})" for name, format in FORMATS.items() if format.write)
        raise FormatError(f"{path}: the suffix {suffix!r} names no format; expected one of {writable}, or pass format=")
    return next((format for format in fitting if format.write), fitting[0])


def bare_name(path: str | os.PathLike[str]) -> str:
    """A file's name without its folder and its format's endings: what to call its language."""
    endings = (".gz", *(suffix for format in FORMATS.values() for suffix in format.suffixes))
    name = Path(path).name
    while name.lower().endswith(endings) and name.rindex(".") > 0:
        name = name[: name.rindex(".")]
    return name


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
