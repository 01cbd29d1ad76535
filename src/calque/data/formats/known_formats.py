"""The table of formats. A file to read is recognised by its content; the suffix says how to write one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from calque.data.formats.block_source import BlockSource
from calque.data.formats.fasttext import FASTTEXT
from calque.data.formats.format import Format
from calque.data.formats.glove import GLOVE
from calque.data.formats.muse import MUSE
from calque.data.formats.numpy_files import NPY, NPZ
from calque.data.formats.safetensors import SAFETENSORS
from calque.data.formats.streams import peek
from calque.data.formats.word2vec import WORD2VEC, WORD2VEC_BINARY
from calque.data.space import Space
from calque.errors import FormatError, SettingsError, SpaceError, file_path

_MOST_CERTAIN_FIRST = (FASTTEXT, NPY, NPZ, MUSE, SAFETENSORS, WORD2VEC, WORD2VEC_BINARY, GLOVE)

FORMATS: Mapping[str, Format] = MappingProxyType({format.name: format for format in _MOST_CERTAIN_FIRST})
"""Every format by its name."""


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
