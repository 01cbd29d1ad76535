"""Numbers read all at once are, to the bit, what a parser makes of each."""

from __future__ import annotations

import numpy as np
import pytest

from calque.data.formats.text import decimals


def one_by_one(text: bytes) -> np.ndarray:
    return np.array([float(number) for number in text.split()], dtype=np.float64).astype(np.float32)


def assert_read(text: bytes) -> None:
    values = decimals(text, len(text.split()))
    assert values is not None
    assert np.array_equal(values.view(np.uint32), one_by_one(text).view(np.uint32))


@pytest.mark.parametrize("form", ["%.1f", "%.4f", "%+.5f", "%.6f", "%.7f"])
@pytest.mark.parametrize("scale", [0.01, 1.0, 12.0])
def test_to_the_bit(form, scale):
    drawn = scale * np.random.default_rng(0).standard_normal(5000)
    assert_read(" ".join(form % number for number in drawn).encode())


@pytest.mark.parametrize(
    "text",
    [b"0.5", b"-0.0 0.0", b"+1.25 -1.25", b"1.0\t2.0\n3.0\r\n4.0", b"  1.5  ", b"12345678.9 0.1", b"00012.50 7.25"],
)
def test_odd_but_of_one_form(text):
    assert_read(text)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"   ",
        b"1.0 2.0",
        b"1.0 2.0 3.0 4.0",
        b"1.0 2.0 x.0",
        b"1.0 2.0 1.2.3",
        b"1.0 2.0 3.25",
        b"1.0 2.0 3",
        b"1 2 3",
        b"1.0 2.0 .5",
        b"1.0 2.0 -.5",
        b"1.0 2.0 5.",
        b"1.0 2.0 --1.0",
        b"1.0 2.0 1-2.0",
        b"1e-5 2.0 3.0",
        b"nan 2.0 3.0",
        b"1.0 2.0 12345678901.0",
        b"1.0 2.0 1_0.0",
        b". . .",
        b"1.0 2.0\x0b3.0",
        b"1.0\x002.0 3.0",
    ],
)
def test_anything_else_is_left_to_another_way(text):
    assert decimals(text, 3) is None
