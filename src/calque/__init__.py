"""calque carries word meaning from one embedding space to another, with no dictionary at all.

Names are imported when first used, so that ``calque --help`` does not wait for torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calque.alignment import Alignment
    from calque.api import Aligner, align, align_arrays, align_many
    from calque.family import Family
    from calque.formats import load, read, write
    from calque.lexicon import Lexicon, read_lexicon
    from calque.lookup import Translation
    from calque.space import Space
    from calque.verdict import Verdict

__version__ = "0.1.0"

_HOMES = {
    "Aligner": "calque.api",
    "Alignment": "calque.alignment",
    "Family": "calque.family",
    "Lexicon": "calque.lexicon",
    "Space": "calque.space",
    "Translation": "calque.lookup",
    "Verdict": "calque.verdict",
    "align": "calque.api",
    "align_arrays": "calque.api",
    "align_many": "calque.api",
    "load": "calque.formats",
    "read": "calque.formats",
    "read_lexicon": "calque.lexicon",
    "write": "calque.formats",
}

__all__ = [
    "Aligner",
    "Alignment",
    "Family",
    "Lexicon",
    "Space",
    "Translation",
    "Verdict",
    "align",
    "align_arrays",
    "align_many",
    "load",
    "read",
    "read_lexicon",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'calque' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
