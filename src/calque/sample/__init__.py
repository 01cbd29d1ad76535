"""The two spaces that ship with calque, and a lexicon to score them with; README.md beside this says whence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from calque.data.formats import read
from calque.data.lexicon import Lexicon, read_lexicon
from calque.data.space import Space

HERE = Path(__file__).parent
SOURCE, TARGET = "pt", "en"


def spaces() -> tuple[Space, Space]:
    """Source and target, with counts."""
    return _space(SOURCE), _space(TARGET)


def lexicon() -> Lexicon:
    """Pairs to score with; no alignment learns from them."""
    return read_lexicon(HERE / f"{SOURCE}-{TARGET}.tsv").lexicon


def _space(language: str) -> Space:
    reading = read(HERE / f"{language}.vec.gz", counts=HERE / f"{language}.counts.txt")
    return replace(reading.space, name=language)
