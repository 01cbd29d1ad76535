from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from calque.data.formats import FORMATS, read, write
from calque.data.formats.text import Layout, parse_block, parse_lines
from calque.data.space import Space
from calque.errors import CalqueError

WORDS = [f"word{row}" for row in range(9)]
# A damaged fastText file may make gensim ask for any amount of memory, so it stays out of this.
NAMES = [name for name in FORMATS if name != "fasttext"]


@cache
def whole(name: str) -> bytes:
    """A file of this format as it should be."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        if name == "muse":
            torch.save({"words": WORDS, "vectors": torch.eye(9, 4) + 1}, path)
        else:
            write(Space.of(WORDS, np.eye(9, 4) + 1), path, format=name)
        return path.read_bytes()


def outcome(content: bytes, name: str | None) -> str:
    """How reading ends: nothing but a space or an error in one line is allowed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(content)
        (Path(folder) / "list").write_text("\n".join(WORDS))
        try:
            return f"{len(read(path, format=name, words=Path(folder) / 'list').space)} words"
        except CalqueError as error:
            return str(error)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_damage_is_mended_or_an_error_in_one_line(name, data):
    content = whole(name)
    start = data.draw(st.integers(0, len(content)))
    stop = data.draw(st.integers(start, min(len(content), start + 20)))
    damaged = content[:start] + data.draw(st.binary(max_size=20)) + content[stop:]
    for forced in (name, None):
        said = outcome(damaged, forced)
        assert "\n" not in said
        assert said


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30, deadline=None)
@given(content=st.binary(max_size=200))
def test_noise_is_an_error_in_one_line(name, content):
    assert "\n" not in outcome(content, name)


LINE = st.tuples(
    st.text("ab.\u00a0é", min_size=1, max_size=5),
    st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
    st.sampled_from(["\n", " \n", "\r\n", " \r\n"]),
)


@settings(max_examples=100, deadline=None)
@given(lines=st.lists(LINE, min_size=1, max_size=8))
def test_a_block_parsed_at_once_is_the_same_as_line_by_line(lines):
    text = "".join(f"{word} {' '.join(map(repr, values))}{end}" for word, values, end in lines).encode()
    at_once = parse_block(text, 3)
    one_by_one = parse_lines(text, Layout(Path("x"), 3, ""), 0)
    assert at_once is not None
    assert at_once[0] == one_by_one[0] == [word for word, _, _ in lines]
    assert np.array_equal(at_once[1], one_by_one[1])
    assert np.array_equal(at_once[1], np.array([values for _, values, _ in lines], np.float32))
