"""Random halves of a lexicon, as the paper made them for LEX-Z (section 4.1.2)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from calque.data.lexicon import Lexicon


@dataclass(frozen=True)
class Halves:
    """What supervised methods learn from, and what all methods are judged by."""

    train: Lexicon
    test: Lexicon


def split(lexicon: Lexicon, seed: int) -> Halves:
    """Halves by query word: a word with all its answers is in one of them only.

    Words are put in the order of a digest of seed and word, so that neither the order of the file nor the version of
    any library changes who is where. Where the number of words is odd, the test half has one more.
    """
    order = sorted(lexicon.answers, key=lambda word: _draw(word, seed))
    middle = len(order) // 2
    return Halves(_part(lexicon, order[:middle], f"train {seed}"), _part(lexicon, order[middle:], f"test {seed}"))


def _draw(word: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}\0{word}".encode("utf-8", "surrogateescape")).digest()


def _part(lexicon: Lexicon, words: list[str], part: str) -> Lexicon:
    return Lexicon({word: lexicon.answers[word] for word in words}, f"{lexicon.name} ({part})")
