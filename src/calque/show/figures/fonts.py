"""Which installed fonts have the letters of the words to be drawn, and a note on letters that none has."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field

DEFAULT_FONT = "DejaVu Sans"
"""Comes with matplotlib."""
LONGEST_WORD = 28
"""A longer word is cut: it would cover the figure."""
PLACEHOLDER_FONTS = re.compile(r"Last Resort|STIX(Non|Size)|cm[a-z]+10$|.*[Ee]moji")
"""Fonts that have a sign where a letter is asked for, but not the letter."""
JOINED_SCRIPTS = frozenset(
    {
        *("ARABIC", "SYRIAC", "MONGOLIAN", "NKO", "DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI", "ORIYA", "TAMIL"),
        *("TELUGU", "KANNADA", "MALAYALAM", "SINHALA", "KHMER", "MYANMAR", "TIBETAN"),
    }
)
"""Scripts whose letters change their form beside others."""
FONTS_TO_INSTALL = dict.fromkeys(("CJK", "HIRAGANA", "KATAKANA", "HANGUL"), "Noto Sans CJK")
"""For scripts whose font is not called after them."""


@dataclass(frozen=True)
class Fonts:
    """How words are written in figures."""

    families: tuple[str, ...] = (DEFAULT_FONT,)
    """Fonts in the order in which a letter is looked for in them."""
    missing: frozenset[str] = frozenset()
    """Letters that no installed font has."""
    unjoined: frozenset[str] = frozenset()
    """Scripts whose letters should be joined, and are not."""
    drawn: set[str] = field(default_factory=set, compare=False)
    """Letters of all words that were to be drawn so far: letters in no figure need no note."""

    def printable(self, word: str) -> str:
        """A word as it is drawn; empty where a letter of it cannot be."""
        text = _readable(word)
        self.drawn.update(text)
        if self.missing & set(text):
            return ""
        return text if len(text) <= LONGEST_WORD else f"{text[: LONGEST_WORD - 1]}…"

    @property
    def notes(self) -> tuple[str, ...]:
        """Which letters so far could not be drawn rightly, and what would help."""
        notes = []
        unjoined = sorted(self.unjoined & {_script(letter) for letter in self.drawn - self.missing})
        if unjoined:
            notes.append(f"matplotlib before 3.11 draws letters of {', '.join(unjoined)} apart; install a later one")
        for script in sorted({_script(letter) for letter in self.missing & self.drawn}):
            font = FONTS_TO_INSTALL.get(script, f"Noto Sans {script.title()}")
            notes.append(
                f"no installed font has letters of the script {script}, so words with them are not named in the "
                f"figures; install one, such as {font}"
            )
        return tuple(notes)


def fonts_for(words: Iterable[str], only: Iterable[str] | None = None) -> Fonts:
    """Fonts that together have the letters of these words, as far as any has; of the fonts ``only`` where given."""
    from matplotlib import ft2font
    from matplotlib.font_manager import fontManager

    letters = {letter for word in words for letter in _readable(word) if not letter.isspace()}
    shapes_text = hasattr(ft2font, "__libraqm_version__")  # Only then does matplotlib join letters.
    unjoined = frozenset() if shapes_text else frozenset(map(_script, letters)) & JOINED_SCRIPTS
    families, allowed = [DEFAULT_FONT], None if only is None else set(only)
    upright = {
        font.name: font.fname
        for font in fontManager.ttflist
        if font.style == "normal" and font.weight in ("normal", "regular", "book", 400)
    }
    for name, path in sorted(
        upright.items(), key=lambda item: (item[0] != DEFAULT_FONT, "Noto Sans" not in item[0], item[0])
    ):
        if not letters:
            break
        if (allowed is not None and name not in allowed) or PLACEHOLDER_FONTS.match(name):
            continue
        try:
            charmap = ft2font.FT2Font(path).get_charmap()
        except (OSError, RuntimeError):  # It was there when matplotlib last looked.
            continue
        present = {letter for letter in letters if ord(letter) in charmap}
        if present and name != DEFAULT_FONT:
            families.append(name)
        letters -= present
    return Fonts(tuple(families), frozenset(letters), unjoined)


def _readable(word: str) -> str:
    """The word with a replacement sign for bytes that were no UTF-8, and for what has no form at all."""
    return "".join("\ufffd" if unicodedata.category(letter) in ("Cs", "Cc", "Co", "Cn") else letter for letter in word)


def _script(letter: str) -> str:
    return unicodedata.name(letter, "UNKNOWN").split(" ")[0].split("-")[0]
