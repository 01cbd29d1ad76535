"""Which installed fonts have the letters of the words to be drawn, and a word on those that none has."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field

FIRST = "DejaVu Sans"
"""Comes with matplotlib."""
LONGEST = 28
"""A longer word is cut: it would cover the figure."""
PRETENDING = re.compile(r"Last Resort|STIX(Non|Size)|cm[a-z]+10$|.*[Ee]moji")
"""Fonts that have a sign where a letter is asked for, but not the letter."""
JOINED = frozenset(
    {
        *("ARABIC", "SYRIAC", "MONGOLIAN", "NKO", "DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI", "ORIYA", "TAMIL"),
        *("TELUGU", "KANNADA", "MALAYALAM", "SINHALA", "KHMER", "MYANMAR", "TIBETAN"),
    }
)
"""Scripts whose letters change their form beside others."""
HELP = {"CJK": "Noto Sans CJK", "HIRAGANA": "Noto Sans CJK", "KATAKANA": "Noto Sans CJK", "HANGUL": "Noto Sans CJK"}


@dataclass(frozen=True)
class Lettering:
    """How words are written in figures."""

    families: tuple[str, ...] = (FIRST,)
    """Fonts in the order in which a letter is sought in them."""
    missing: frozenset[str] = frozenset()
    """Letters that no installed font has."""
    apart: frozenset[str] = frozenset()
    """Scripts whose letters should be joined, and are not."""
    written: set[str] = field(default_factory=set, compare=False)
    """Letters of all words that were to be drawn so far: what no figure shows needs no note."""

    def plain(self, word: str) -> str:
        """A word as it is drawn; empty where its letters cannot be."""
        text = _readable(word)
        self.written.update(text)
        if self.missing & set(text):
            return ""
        return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"

    @property
    def notes(self) -> tuple[str, ...]:
        """Which of the words so far could not be drawn rightly, and what would help."""
        scripts = sorted({_script(letter) for letter in self.missing & self.written})
        apart = sorted(self.apart & {_script(letter) for letter in self.written - self.missing})
        unjoined = f"matplotlib before 3.11 draws letters of {', '.join(apart)} apart; install a later one"
        return (*((unjoined,) if apart else ()), *self._lacking(scripts))

    @staticmethod
    def _lacking(scripts: Iterable[str]) -> tuple[str, ...]:
        return tuple(
            f"no installed font has letters of the script {each}, so words with them are not named in the figures; "
            f"install one, such as {HELP.get(each, f'Noto Sans {each.title()}')}"
            for each in scripts
        )


def lettering(words: Iterable[str], only: Iterable[str] | None = None) -> Lettering:
    """Fonts that together have the letters of these words, as far as any has; of the fonts ``only`` where given."""
    from matplotlib.font_manager import fontManager
    from matplotlib.ft2font import FT2Font

    letters = {letter for word in words for letter in _readable(word) if not letter.isspace()}
    apart = frozenset() if _joins() else frozenset(map(_script, letters)) & JOINED
    chosen, allowed = [FIRST], None if only is None else set(only)
    fonts = sorted(
        {
            each.name: each.fname for each in fontManager.ttflist if each.style == "normal" and _regular(each.weight)
        }.items(),
        key=lambda each: (each[0] != FIRST, "Noto Sans" not in each[0], each[0]),
    )
    for name, path in fonts:
        if not letters:
            break
        if (allowed is not None and name not in allowed) or PRETENDING.match(name):
            continue
        try:
            charmap = FT2Font(path).get_charmap()
        except (OSError, RuntimeError):  # It was there when matplotlib last looked.
            continue
        had = {letter for letter in letters if ord(letter) in charmap}
        if had:
            chosen += [] if name == FIRST else [name]
            letters -= had
    return Lettering(tuple(chosen), frozenset(letters), apart)


def _joins() -> bool:
    """Whether matplotlib shapes text, which it does by libraqm."""
    from matplotlib import ft2font

    return hasattr(ft2font, "__libraqm_version__")


def _regular(weight: str | int) -> bool:
    return weight in ("normal", "regular", "book", 400)


def _readable(word: str) -> str:
    """Bytes that were no UTF-8, and what has no form at all, as the sign for that."""
    return "".join("\ufffd" if unicodedata.category(each) in ("Cs", "Cc", "Co", "Cn") else each for each in word)


def _script(letter: str) -> str:
    return unicodedata.name(letter, "UNKNOWN").split(" ")[0].split("-")[0]
