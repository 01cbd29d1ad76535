from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calque.data.lexicon import Lexicon, read_lexicon
from calque.errors import LexiconError

PAIRS = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("wxyz")))


@pytest.fixture
def write(tmp_path):
    def written(data: bytes | str) -> Path:
        path = tmp_path / "es-en.txt"
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return written


def test_several_answers_a_word_in_the_order_given_each_once():
    got = Lexicon.of([("banco", "bank"), ("gato", "cat"), ("banco", "bench"), ("banco", "bank")])
    assert got.answers == {"banco": ("bank", "bench"), "gato": ("cat",)}
    assert len(got) == 2


@given(PAIRS)
def test_reversed_has_the_same_pairs_the_other_way_round_and_twice_is_once(pairs):
    def flat(lexicon: Lexicon) -> set[tuple[str, str]]:
        return {(word, right) for word, many in lexicon.answers.items() for right in many}

    lexicon = Lexicon.of(pairs, "name")
    assert flat(lexicon) == set(pairs)
    assert flat(lexicon.reversed()) == {(right, word) for word, right in pairs}
    assert flat(lexicon.reversed().reversed()) == flat(lexicon)
    assert lexicon.reversed().name == "name"


def test_reversed_by_hand():
    lexicon = Lexicon.of([("banco", "bank"), ("orilla", "bank"), ("banco", "bench")])
    assert lexicon.reversed().answers == {"bank": ("banco", "orilla"), "bench": ("banco",)}


@pytest.mark.parametrize(
    "data",
    [
        "gato cat\nperro dog\n",
        "gato\tcat\nperro\tdog\n",
        "gato cat\nperro dog",
        "\n gato   cat \n\n\nperro dog\n\n",
        "gato\tcat\r\nperro\tdog\r\n",
        "gato cat\r\nperro dog\r\n",
        b"\xef\xbb\xbfgato cat\nperro dog\n",
        b"\xef\xbb\xbfgato\tcat\r\nperro\tdog\r\n",
        "gato \t cat\nperro\tdog \n",
        "gato\tcat\t0.9876\nperro\tdog\t1.0000\n",
        "gato\tcat\t0.9876\nperro\tdog\n",
    ],
)
def test_the_same_two_pairs_however_they_are_written(write, data):
    got = read_lexicon(write(data))
    assert got.lexicon.answers == {"gato": ("cat",), "perro": ("dog",)}
    assert got.notes == ()


def test_a_file_with_a_confidence_on_every_line_is_known_as_induced(write):
    assert read_lexicon(write("gato\tcat\t0.9876\nperro\tdog\t1.0000\n")).induced
    for data in ("gato\tcat\t0.9876\nperro\tdog\n", "gato\tcat\nperro\tdog\n", "gato cat\n"):
        assert not read_lexicon(write(data)).induced


def test_the_digest_is_that_of_the_pairs(write):
    one, other, third = (
        read_lexicon(write(data)).lexicon.digest for data in ("a\tb\nc\td\n", "a b\nc d\n", "a b\nc e\n")
    )
    assert one == other != third


def test_with_tabs_words_may_hold_spaces(write):
    got = read_lexicon(write("Nueva York\tNew York\ngato\tcat\n"), strict=True)
    assert got.lexicon.answers == {"Nueva York": ("New York",), "gato": ("cat",)}


def test_a_no_break_space_is_part_of_a_word(write):
    """As in vector files, where only spaces and tabs end a word."""
    got = read_lexicon(write("dix\u00a0mille ten-thousand\nchat cat\n"))
    assert got.lexicon.answers == {"dix\u00a0mille": ("ten-thousand",), "chat": ("cat",)}


def test_bytes_that_are_not_utf8_are_kept_as_vector_files_keep_them(write):
    got = read_lexicon(write(b"ni\xf1o\tchild\n"))
    assert got.lexicon.answers == {"ni\udcf1o": ("child",)}


def test_only_a_line_feed_ends_a_line(write):
    got = read_lexicon(write("a\u2028b\tx\nc\ty\n"))
    assert got.lexicon.answers == {"a\u2028b": ("x",), "c": ("y",)}


def test_an_old_fashioned_word_that_looks_like_a_number_is_no_confidence(write):
    assert read_lexicon(write("dos\t2.0\nuno\t1.0\n")).lexicon.answers == {"dos": ("2.0",), "uno": ("1.0",)}


@pytest.mark.parametrize(
    ("data", "number", "separator"),
    [
        ("gato cat\nperro\n", 2, "a space"),
        ("gato cat\n\nbuenos días good day\n", 3, "a space"),
        ("gato\tcat\nperro dog\n", 2, "a tab"),
        ("gato\tcat\nperro\t\n", 2, "a tab"),
        ("\tcat\ngato\tcat\n", 1, "a tab"),
        ("gato\tcat\nperro\tdog\tnoun\n", 2, "a tab"),
        ("gato\tcat\nperro\tdog\t7.5\n", 2, "a tab"),
        ("gato\tcat\nperro\tdog\t0.5\t0.5\n", 2, "a tab"),
        ("gato cat\nperro dog 0.5\n", 2, "a space"),
    ],
)
def test_a_line_that_is_no_pair_is_left_out_and_named(write, data, number, separator):
    path = write(data)
    got = read_lexicon(path)
    assert got.lexicon.answers == {"gato": ("cat",)}
    (note,) = got.notes
    assert note.startswith(f"{path}:{number}: ")
    assert repr(data.split("\n")[number - 1]) in note
    assert separator in note
    with pytest.raises(LexiconError) as caught:
        read_lexicon(path, strict=True)
    assert str(caught.value) == note


def test_every_malformed_line_has_its_note(write):
    path = write("one\na b\ntwo\nthree\n")
    assert [note.split(": ")[0] for note in read_lexicon(path).notes] == [f"{path}:{number}" for number in (1, 3, 4)]


def test_a_long_malformed_line_is_cut(write):
    (note,) = read_lexicon(write("a b\n" + "x" * 5000 + "\n")).notes
    assert len(note) < 400


@pytest.mark.parametrize("data", ["", "\n\n  \n", "lonely\n", b"\xef\xbb\xbf"])
def test_no_pairs_at_all_are_an_error(write, data):
    with pytest.raises(LexiconError, match="no word pairs"):
        read_lexicon(write(data))


@pytest.mark.parametrize("data", [b"\x93NUMPY\x01\x00 a b", "gato cat\n".encode("utf-16")])
def test_a_binary_file_is_said_to_be_one(write, data):
    with pytest.raises(LexiconError, match=r"es-en\.txt: is not a text file"):
        read_lexicon(write(data))


def test_a_folder_and_a_missing_file_are_named(tmp_path):
    with pytest.raises(LexiconError, match="cannot be read: Is a directory"):
        read_lexicon(tmp_path)
    with pytest.raises(LexiconError, match=r"nowhere\.txt: cannot be read: No such file"):
        read_lexicon(tmp_path / "nowhere.txt")


def test_the_name_is_the_path(write):
    path = write("a b\n")
    assert read_lexicon(str(path)).lexicon.name == read_lexicon(path).lexicon.name == str(path)


def test_a_file_of_something_else_is_told_in_a_few_lines(tmp_path):
    path = tmp_path / "vectors.vec"
    path.write_text("600 20\n" + "word 0.1 0.2 0.3\n" * 600)
    notes = read_lexicon(path).notes
    assert len(notes) == 11
    assert notes[-1] == f"{path}: left out 590 more lines that are no pair of words"
