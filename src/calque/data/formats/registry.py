"""The table of formats, how the right one is found (by content to read, by suffix to write), and writing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from calque.data.formats.block_source import Sheet, sheet_of
from calque.data.formats.fasttext import FASTTEXT
from calque.data.formats.files import peek
from calque.data.formats.format import Format
from calque.data.formats.glove import GLOVE
from calque.data.formats.muse import MUSE
from calque.data.formats.npy import NPY
from calque.data.formats.npz import NPZ
from calque.data.formats.safetensors import SAFETENSORS
from calque.data.formats.word2vec import WORD2VEC
from calque.data.formats.word2vec_binary import WORD2VEC_BINARY
from calque.data.space import Space
from calque.errors import FormatError, SettingsError

_IN_ORDER_OF_CERTAINTY = (FASTTEXT, NPY, NPZ, MUSE, SAFETENSORS, WORD2VEC, WORD2VEC_BINARY, GLOVE)

FORMATS: Mapping[str, Format] = MappingProxyType({each.name: each for each in _IN_ORDER_OF_CERTAINTY})
"""Every format by its name."""


def named(name: str) -> Format:
    """The format of this name; SettingsError with the choices where there is none."""
    if name not in FORMATS:
        raise SettingsError(f"no format is called {name!r}; choose one of {', '.join(FORMATS)}")
    return FORMATS[name]


def sniff(path: str | os.PathLike[str]) -> str:
    """The name of the format a file is in, by its content; FormatError where none fits."""
    head = peek(Path(path))
    found = next((each.name for each in FORMATS.values() if each.recognise(head)), None)
    if found is None:
        raise FormatError(
            f"{path}: begins with {head.plain[:16]!r}, which is no known format of word vectors; "
            f"expected one of {', '.join(FORMATS)}; where you know which, pass format="
        )
    return found


def write(space: Space | Sheet, path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Write a space, which may come in blocks; the format is that of the suffix where none is named.

    The file appears whole or not at all. A name that ends in ``.gz`` is compressed, for text and word2vec binary.
    Only npz and safetensors keep counts.
    """
    _writer(Path(path), format)(sheet_of(space) if isinstance(space, Space) else space, Path(path))


def bare_name(path: str | os.PathLike[str]) -> str:
    """A file's name without its folder and without the endings that formats have: what to call its language."""
    endings = (".gz", *(suffix for each in FORMATS.values() for suffix in each.suffixes))
    name = Path(path).name
    while name.lower().endswith(endings) and name.rindex(".") > 0:
        name = name[: name.rindex(".")]
    return name


def _writer(path: Path, name: str | None) -> Callable[[Sheet, Path], None]:
    chosen = named(name) if name else _by_suffix(path)
    if chosen.write is None:
        raise FormatError(f"{path}: {chosen.name!r} can only be read; write one of {', '.join(_writable())}")
    if path.suffix.lower() == ".gz" and not chosen.gzipped:
        raise FormatError(f"{path}: {chosen.name!r} cannot be compressed with gzip; leave out '.gz'")
    return chosen.write


def _by_suffix(path: Path) -> Format:
    suffix = (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()
    fitting = sorted(
        (each for each in FORMATS.values() if suffix in each.suffixes), key=lambda each: each.write is None
    )
    if not fitting:
        known = ", ".join(f"{each.suffixes[0]} ({name})" for name, each in _writable().items())
        raise FormatError(f"{path}: the suffix {suffix!r} names no format; expected one of {known}, or pass format=")
    return fitting[0]


def _writable() -> dict[str, Format]:
    return {name: each for name, each in FORMATS.items() if each.write}
