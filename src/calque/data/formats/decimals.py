"""Numbers of a text that all have as many decimals, as vector files have: read digit by digit over all of them at once.

Each is a whole number of at most nine digits divided by a power of ten, both exact in double precision, so that one
division rounds it as a parser would. Where a number is of another form, the caller has a slower way.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float32]
Places = npt.NDArray[np.intp]
MOST_DIGITS = 9
"""More would not fit 32 bits."""
_BLANK, _PLUS, _MINUS, _POINT, _ZERO = b" +-.0"
_CONTROL = bytes(set(range(ord(" "))) - set(b"\t\n\r"))
"""Bytes that separate nothing, though they stand below the blank."""


def decimals(text: bytes, expected: int) -> Values | None:
    """The numbers of a text, separated by blanks; None unless there are as many as expected, all of the one form."""
    if len(text.translate(None, _CONTROL)) != len(text):
        return None
    letters = np.frombuffer(text, np.uint8)
    begins, ends = _numbers_at(letters)
    if len(begins) != expected or expected == 0:
        return None
    places = text[begins[0] : ends[0]][::-1].find(_POINT)
    points = ends - 1 - places
    first = letters[begins]
    negative = first == _MINUS
    before = points - begins - (negative | (first == _PLUS))
    if places < 1 or int(before.min()) < 1 or places + int(before.max()) > MOST_DIGITS:
        return None
    if not (letters[points] == _POINT).all():
        return None
    whole = _whole(letters, ends, points, places, before)
    if whole is None:
        return None
    values = whole / 10.0**places
    np.negative(values, out=values, where=negative)
    return values.astype(np.float32)


def _numbers_at(letters: npt.NDArray[np.uint8]) -> tuple[Places, Places]:
    """Where each begins, and where the blank after it stands."""
    blank = np.ones(len(letters) + 2, np.bool_)
    np.less_equal(letters, _BLANK, out=blank[1:-1])
    borders = np.flatnonzero(blank[1:] != blank[:-1])
    return borders[::2], borders[1::2]


def _whole(
    letters: npt.NDArray[np.uint8], ends: Places, points: Places, places: int, before: Places
) -> npt.NDArray[np.int32] | None:
    """The digits of each as one whole number, last digit first; None where one of them is no digit."""
    whole, largest = np.zeros(len(ends), np.int32), np.zeros(len(ends), np.uint8)
    for place in range(places):
        digit = letters[ends - 1 - place] - np.uint8(_ZERO)
        np.maximum(largest, digit, out=largest)
        whole += digit * np.int32(10**place)
    shortest = int(before.min())
    for place in range(int(before.max())):
        there = None if place < shortest else before > place
        digit = letters[np.maximum(points - 1 - place, 0)] - np.uint8(_ZERO)
        digit = digit if there is None else digit * there
        np.maximum(largest, digit, out=largest)
        whole += digit * np.int32(10 ** (places + place))
    return whole if int(largest.max()) <= 9 else None
