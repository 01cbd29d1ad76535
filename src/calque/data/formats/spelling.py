"""Words on their way out: what a file can hold and read back, and what it cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from calque.data.formats.block_source import Sheet
from calque.data.formats.numerals import ends_in_number
from calque.errors import FormatError


def encoded_words(sheet: Sheet, path: Path, trouble: Callable[[bytes], str]) -> Iterator[list[bytes]]:
    """Blocks of words as bytes; FormatError for one that this format could not give back, with the trouble named."""
    for block in sheet.words():
        yield [_encoded(word, path, trouble) for word in block]


def _encoded(word: str, path: Path, trouble: Callable[[bytes], str]) -> bytes:
    try:
        letters = word.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise FormatError(f"{path}: the word {word!r} is not valid Unicode; rename or remove it") from error
    reason = trouble(letters)
    if reason:
        raise FormatError(f"{path}: the word {word!r} {reason}; rename or remove it, or choose another format")
    return letters


def trouble_in_lists(word: bytes) -> str:
    """What keeps a word out of a list of one word a line."""
    if not word:
        return "is empty"
    if b"\n" in word:
        return "holds a line end"
    return "ends in a carriage return, which would be lost" if word.endswith(b"\r") else ""


def trouble_in_text(word: bytes) -> str:
    """What keeps a word out of a line of word and numbers."""
    if word and b"\n" not in word and word[-1:] in (b" ", b"\t", b"\r"):
        return "ends in a blank, which would be lost"
    if ends_in_number(word):
        return "ends in a number after a space, which would be read as part of its vector"
    return trouble_in_lists(word)


def trouble_in_binary(word: bytes) -> str:
    """What keeps a word out of a word2vec binary file, where the first space ends the word."""
    return "holds a space" if b" " in word else trouble_in_lists(word)


def trouble_in_arrays(word: bytes) -> str:
    """What keeps a word out of a numpy array of fixed-length strings."""
    return "ends in a NUL character, which would be lost" if word.endswith(b"\0") else trouble_in_lists(word)
