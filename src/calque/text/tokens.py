"""Texts as known words, without a dependency: words between spaces, and longest match where words have no spaces.

A tokeniser is any function from a text to its words. Words that the vocabulary writes otherwise are looked up in
lower case, then with a capital, then by their longest known beginning and ending.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

Tokenizer = Callable[[str], Iterable[str]]
"""From a text to its words, as the vocabulary writes them or not."""
UNSPACED = re.compile("[぀-ヿ㐀-䶿一-鿿豈-﫿\U00020000-\U0003134f฀-໿က-႟ក-៿々〆]+")
"""Letters of scripts that put no space between words: Chinese, Japanese, Thai, Lao, Burmese, Khmer."""
JOINERS = "‌‍"
"""Signs inside a word that join or part its letters (Persian, Hindi)."""
SHORTEST_BEGINNING, SHORTEST_ENDING, ENDING_SHARE = 4, 5, 0.4
"""A known beginning stands for an unknown word if it has so many letters and more than half of the word's; a known
ending, if it has so many letters and so large a share of the word's."""


@lru_cache(maxsize=1)
def word_pattern() -> re.Pattern[str]:
    """Letters with the marks on them: to ``re`` alone, the vowel signs of Hindi would end a word."""
    marks = [code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith("M")]
    ranges: list[list[int]] = []
    for code in marks:
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    signs = "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)
    return re.compile(rf"[^\W\d_](?:[^\W_]|[{signs}{JOINERS}])*")


def words_of(text: str) -> list[str]:
    """The words of a text: runs of letters and digits that begin with a letter. An apostrophe ends a word."""
    return word_pattern().findall(unicodedata.normalize("NFC", text))


def longest_match(text: str, vocabulary: Mapping[str, int], longest: int) -> list[str]:
    """A text without spaces as the longest known words from left to right; an unknown letter stands alone."""
    words, begin = [], 0
    while begin < len(text):
        lengths = range(min(longest, len(text) - begin), 1, -1)
        length = next((length for length in lengths if text[begin : begin + length] in vocabulary), 1)
        words.append(text[begin : begin + length])
        begin += length
    return words


class VocabularyTokenizer:
    """Words of texts in any script, by what a vocabulary knows.

    Spaced scripts are cut where letters end; runs of unspaced scripts by longest match over the vocabulary.
    """

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self.vocabulary = vocabulary
        self.longest = max((len(word) for word in vocabulary if UNSPACED.search(word)), default=1)

    def __call__(self, text: str) -> list[str]:
        """The words of a text, known or not, in their order."""
        words: list[str] = []
        for word in words_of(text):
            end = 0
            for run in UNSPACED.finditer(word):
                words += [word[end : run.start()]] if run.start() > end else []
                words += longest_match(run.group(), self.vocabulary, self.longest)
                end = run.end()
            words += [word[end:]] if end < len(word) else []
        return words


def row_of(word: str, vocabulary: Mapping[str, int]) -> int | None:
    """The row of a word in any spelling of its case; None where the vocabulary has none of them."""
    lower = word.lower().replace("i̇", "i")  # the lower case of Turkish İ has a dot of its own
    turkish = word.replace("I", "ı").replace("İ", "i").lower()
    for spelling in (word, lower, turkish, lower.capitalize()):
        row = vocabulary.get(spelling)
        if row is not None:
            return row
    return None


def part_rows(word: str, vocabulary: Mapping[str, int]) -> list[int]:
    """The rows of the longest known beginning and of the longest known ending of a word, of those that are long enough.

    The beginning serves languages that add endings, the ending those that write compounds as one word.
    """
    lower = word.lower().replace("i̇", "i")
    length, half = len(lower), len(lower) // 2
    beginnings = (lower[:end] for end in range(length - 1, max(SHORTEST_BEGINNING, half + 1) - 1, -1))
    endings = (lower[begin:] for begin in range(1, length - max(SHORTEST_ENDING, int(ENDING_SHARE * length)) + 1))
    parts = (next((part for part in choices if part in vocabulary), None) for choices in (beginnings, endings))
    return [vocabulary[part] for part in parts if part is not None]
