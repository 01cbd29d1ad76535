from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calque.data.formats import read, write
from calque.data.formats.text import ends_in_number
from calque.data.space import Space

ODD = st.sampled_from(
    ["</s>", "2017", "3.14", "-", "nan", "a\u00a0b", "\u2028", "\u0085", "\u3000", "\ufeff", "1 2 x", "e"]
)
LETTERS = st.binary(min_size=1, max_size=8).map(lambda raw: raw.decode("utf-8", "surrogateescape"))
WORD = st.one_of(st.text(min_size=1, max_size=8), LETTERS, ODD).filter(lambda word: "\n" not in word)
FLOAT = st.floats(width=32, allow_nan=False, allow_infinity=False)
REFUSED = {
    "vec": lambda word: word[-1] in " \t\r" or ends_in_number(word.encode("utf-8", "surrogateescape")),
    "bin": lambda word: " " in word or word[-1] == "\r",
    "npz": lambda word: word[-1] in "\0\r",
    "npy": lambda word: word[-1] == "\r",
    "safetensors": lambda word: word[-1] == "\r",
}
REFUSED["glove"] = lambda word: REFUSED["vec"](word) or word.startswith("\x1f\udc8b")
REFUSED |= {"vec.gz": REFUSED["vec"], "glove.gz": REFUSED["glove"], "bin.gz": REFUSED["bin"]}
NAMES = {"vec": "word2vec", "glove": "glove", "bin": "word2vec-binary"}


@st.composite
def spaces(draw):
    words = draw(st.lists(WORD, min_size=1, max_size=6, unique=True))
    dimension = draw(st.integers(1, 4))
    vectors = draw(arrays(np.float32, (len(words), dimension), elements=FLOAT))
    vectors[~vectors.any(axis=1), 0] = 1
    return Space.of(words, vectors)


@pytest.mark.parametrize("suffix", REFUSED)
@settings(max_examples=80, deadline=None)
@given(space=spaces())
def test_words_and_float32_values_survive_exactly(suffix, space):
    assume(not any(map(REFUSED[suffix], space.words)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x.{suffix}"
        write(space, path)
        reading = read(path, format=NAMES.get(suffix.removesuffix(".gz"), suffix))
        once = path.read_bytes()
        write(reading.space, path)
        twice = path.read_bytes()
    assert reading.space.words == space.words
    assert np.array_equal(reading.space.vectors.numpy(), space.vectors.numpy())
    assert reading.notes == ()
    assert suffix == "npz" or once == twice


@pytest.mark.parametrize("suffix", ["vec", "glove", "bin", "npz", "npy", "safetensors"])
def test_the_format_is_recognised_again(tmp_path, space, suffix):
    write(space, tmp_path / f"x.{suffix}")
    (tmp_path / f"x.{suffix}").rename(tmp_path / "plain")
    words = tmp_path / "x.words" if suffix == "npy" else None
    reading = read(tmp_path / "plain", words=words)
    assert reading.format == NAMES.get(suffix, suffix)
    assert reading.space.words == space.words
    assert np.array_equal(reading.space.vectors.numpy(), space.vectors.numpy())


@pytest.mark.parametrize("suffix", ["vec", "glove", "bin", "npz", "npy", "safetensors"])
def test_broken_utf8_survives_byte_for_byte(tmp_path, suffix):
    raw = [b"na\xefve", b"\xff\xfe", b"caf\xc3\xa9", b"\xc3", b"\xed\xa0\x80"]
    space = Space.of([word.decode("utf-8", "surrogateescape") for word in raw], np.eye(5) + 1)
    write(space, tmp_path / f"x.{suffix}")
    words = read(tmp_path / f"x.{suffix}").space.words
    assert [word.encode("utf-8", "surrogateescape") for word in words] == raw
