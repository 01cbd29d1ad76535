"""calque carries word meaning from one embedding space to another, with no dictionary at all.

Names are imported when first used, so that ``calque --help`` does not wait for torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calque.api import Aligner, align, align_arrays, align_many
    from calque.data.formats import load, read, write
    from calque.data.lexicon import Lexicon, read_lexicon
    from calque.data.space import Space
    from calque.runs.alignment import Alignment
    from calque.runs.family import Family
    from calque.runs.lookup import Translation
    from calque.verdict import Verdict

__version__ = "0.2.0"

_HOMES = {
    "Aligner": "calque.api",
    "Alignment": "calque.runs.alignment",
    "Family": "calque.runs.family",
    "Lexicon": "calque.data.lexicon",
    "Space": "calque.data.space",
    "Translation": "calque.runs.lookup",
    "Verdict": "calque.verdict",
    "align": "calque.api",
    "align_arrays": "calque.api",
    "align_many": "calque.api",
    "load": "calque.data.formats",
    "read": "calque.data.formats",
    "read_lexicon": "calque.data.lexicon",
    "write": "calque.data.formats",
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
