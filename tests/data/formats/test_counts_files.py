from __future__ import annotations

import gzip

import pytest

from calque.data.formats import load, read
from calque.errors import DataWarning, FormatError

SPACE = b"3 2\nel 1 2\nNew York 3 4\npez 5 6\n"


def test_counts_are_attached_by_word(save):
    counts = save(b"pez\t3\nother 99\nel 1200 \r\nNew York 5\n\n", "counts")
    reading = read(save(SPACE), counts=counts)
    assert reading.space.counts.tolist() == [1200, 5, 3]
    assert reading.notes == ()


def test_a_missing_count_is_zero_and_said(save):
    counts = save(b"el 7\n", "counts")
    reading = read(save(SPACE), counts=counts)
    assert reading.space.counts.tolist() == [7, 0, 0]
    assert reading.notes == (f"2 words of 3 without a count in {counts} (0 given): 'New York', 'pez'",)


def test_the_first_of_two_counts_is_kept(save):
    counts = save(b"el 7\nel 8\npez 1\nNew York 1\n", "counts")
    assert read(save(SPACE), counts=counts).space.counts.tolist() == [7, 1, 1]


def test_counts_may_be_compressed_and_odd(save):
    path = save(b"2 2\nna\xefve 1 2\na\xc2\xa0b 3 4\n")
    counts = save(gzip.compress(b"na\xefve 1e3\na\xc2\xa0b\t2.0\n"), "counts.gz")
    assert read(path, counts=counts).space.counts.tolist() == [1000, 2]


@pytest.mark.parametrize("line", [b"word", b"el seven", b"el -7", b"7", b"el nan", b"el\xc2\xa07"])
def test_a_malformed_line_is_named(save, line):
    counts = save(b"el 7\n" + line + b"\n", "counts")
    with pytest.raises(FormatError, match=r"counts:2: expected a word and its count such as 'the 120', found"):
        read(save(SPACE), counts=counts)


def test_counts_of_other_words_are_refused(save):
    with pytest.raises(FormatError, match=r"counts none of the 3 words of .*some\.vec"):
        read(save(SPACE), counts=save(b"the 7\nof 6\n", "counts"))


def test_counts_file_missing(save, tmp_path):
    with pytest.raises(FormatError, match="nowhere: no such file"):
        read(save(SPACE), counts=tmp_path / "nowhere")


def test_load_warns_of_each_note(save):
    path = save(b"3 2\nel 1 2\nel 3 4\n")
    with pytest.warns(DataWarning) as caught:
        space = load(path)
    assert space.words == ("el",)
    assert [str(warning.message) for warning in caught] == [
        f"{path}: the header says 3 words, the file holds 2",
        f"{path}: 1 duplicate word left out (first kept): 'el'",
    ]


def test_load_is_quiet_where_nothing_was_mended(save, recwarn):
    assert load(str(save(SPACE)), limit=1).words == ("el",)
    assert not recwarn.list
