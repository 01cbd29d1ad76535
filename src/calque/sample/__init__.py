"""The two spaces that ship with calque, and a lexicon to score them with; README.md here names their sources."""

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
    source, target = (
        replace(read(HERE / f"{name}.vec.gz", counts=HERE / f"{name}.counts.txt").space, name=name)
        for name in (SOURCE, TARGET)
    )
    return source, target


def lexicon() -> Lexicon:
    """Pairs to score with; no alignment learns from them."""
    return read_lexicon(HERE / f"{SOURCE}-{TARGET}.tsv").lexicon
