from __future__ import annotations

import gzip

import pytest
import torch

from calque.data.formats import read, sniff
from calque.data.formats.format import ReadOptions
from calque.data.formats.reading import FORMATS
from calque.data.formats.text import parse_block
from calque.errors import FormatError


def words_of(path, **options):
    return read(path, **options).space.words


def test_word2vec_text_is_read_with_its_values(save):
    reading = read(save(b"2 3\nperro 0.1 -2 3e-1\ngato 4 5 .5\n"))
    assert reading.format == "word2vec"
    assert reading.space.words == ("perro", "gato")
    assert torch.equal(reading.space.vectors, torch.tensor([[0.1, -2, 0.3], [4, 5, 0.5]]))
    assert reading.space.vectors.dtype == torch.float32
    assert reading.notes == ()


def test_a_file_without_a_header_is_glove(save):
    reading = read(save(b"the 0.1 0.2\nof 0.3 0.4\n", "anything.bin"))
    assert reading.format == "glove"
    assert reading.space.words == ("the", "of")


def test_a_header_asked_for_and_missing_names_the_remedy(save):
    with pytest.raises(FormatError, match=r"some\.vec:1: expected a header such as '200000 300'.*format='glove'"):
        read(save(b"the 0.1 0.2\nof 0.3 0.4\n"), format="word2vec")


@pytest.mark.parametrize("count", [1, 3, 999_999_999_999])
def test_a_wrong_count_in_the_header_is_said_and_not_believed(save, count):
    reading = read(save(b"%d 2\na 1 2\nb 3 4\n" % count))
    assert reading.space.words == ("a", "b")
    assert reading.notes == (f"the header says {count} word{'s' if count > 1 else ''}, the file holds 2",)


def test_a_header_of_no_dimensions_is_refused(save):
    with pytest.raises(FormatError, match=r":1: the header says 0 dimensions"):
        read(save(b"2 0\na\nb\n"), format="word2vec")


@pytest.mark.parametrize("header", [b"", b"3 2\n"])
@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u0085", "\u2028", "\u3000", "\u2009", "\x0b", "\x1c", "\r"])
def test_blanks_inside_a_word_belong_to_it(save, header, blank):
    word = f"New{blank}York"
    path = save(header + b"a 1 2\n" + word.encode() + b" 3 4\nb 5 6\n")
    space = read(path).space
    assert space.words == ("a", word, "b")
    assert space.vectors[1].tolist() == [3, 4]


def test_a_word_of_dots_and_spaces_as_in_glove_840b(save):
    path = save(b"the 0.1 0.2\n. . . 0.3 0.4\nat name@domain.com 0.5 0.6\n")
    assert words_of(path) == ("the", ". . .", "at name@domain.com")


@pytest.mark.parametrize("end", [b" \n", b"\r\n", b" \r\n", b"  \n", b"\t\n", b" \t \r\n"])
def test_blanks_and_returns_at_line_ends_do_not_count(save, end):
    path = save(b"2 2" + end + b"a 1 2" + end + b"b 3 4" + end)
    reading = read(path)
    assert reading.space.words == ("a", "b")
    assert reading.space.vectors.tolist() == [[1, 2], [3, 4]]
    assert reading.notes == ()


@pytest.mark.parametrize("gap", [b"\t", b"  ", b" \t"])
def test_fields_may_be_separated_by_tabs_and_runs(save, gap):
    path = save(b"2 2\n" + gap.join([b"a", b"1", b"2"]) + b"\n" + gap.join([b"b", b"3", b"4"]) + b"\n")
    space = read(path).space
    assert space.words == ("a", "b")
    assert space.vectors.tolist() == [[1, 2], [3, 4]]


def test_blank_lines_are_passed_over(save):
    assert words_of(save(b"2 2\na 1 2\n\nb 3 4\n\n \n")) == ("a", "b")


def test_the_first_of_equal_words_is_kept(save):
    reading = read(save(b"4 2\na 1 2\nb 3 4\na 5 6\na 7 8\n"))
    assert reading.space.words == ("a", "b")
    assert reading.space.vectors[0].tolist() == [1, 2]
    assert reading.notes == ("2 duplicate words left out (first kept): 'a', 'a'",)


def test_broken_utf8_is_kept_byte_for_byte(save):
    path = save(b"2 2\nna\xefve 1 2\n\xff\xfe 3 4\n")
    words = words_of(path)
    assert [word.encode("utf-8", "surrogateescape") for word in words] == [b"na\xefve", b"\xff\xfe"]


@pytest.mark.parametrize("last", [b"c 5", b"c", b"c 5 -", b"c 5 1e-", b"c "])
def test_a_cut_last_line_is_left_out_and_said(save, last):
    reading = read(save(b"3 2\na 1 2\nb 3 4\n" + last))
    assert reading.space.words == ("a", "b")
    assert reading.notes == ("the last line (line 4) is cut: left out", "the header says 3 words, the file holds 2")


def test_a_whole_last_line_needs_no_line_end(save):
    assert words_of(save(b"2 2\na 1 2\nb 3 4")) == ("a", "b")


@pytest.mark.parametrize("value", [b"nan", b"NaN", b"inf", b"-inf", b"1e999", b"1e39"])
def test_rows_that_are_not_finite_are_left_out_by_name(save, value):
    reading = read(save(b"2 2\na 1 2\nbad 1 " + value + b"\n"))
    assert reading.space.words == ("a",)
    assert reading.notes == ("1 word with NaN or infinite values left out: 'bad'",)


def test_all_zero_rows_are_left_out_by_name(save):
    reading = read(save(b"3 2\na 1 2\n<pad> 0 0.0\nb 0 1\n"))
    assert reading.space.words == ("a", "b")
    assert reading.notes == ("1 word with an all-zero vector left out: '<pad>'",)


def test_a_good_row_after_a_bad_one_of_the_same_word_is_kept(save):
    assert read(save(b"2 2\na nan 2\na 3 4\n")).space.vectors.tolist() == [[3, 4]]


def test_a_file_with_no_usable_row_says_why(save):
    with pytest.raises(FormatError, match=r"no usable word in it \(1 word with an all-zero vector left out: 'a'\)"):
        read(save(b"1 2\na 0 0\n"))


@pytest.mark.parametrize(
    ("line", "numbers"), [(b"b 3", 1), (b"b", 0), (b"b 3.5 4.5 5.5", 3), (b"b 0.25 4 5", 3), (b"b 1e-3 4 5", 3)]
)
def test_mixed_dimensions_name_the_line(save, line, numbers):
    expected = rf"some\.vec:3: found {numbers} numbers after 'b', expected 2 as the header says"
    with pytest.raises(FormatError, match=expected):
        read(save(b"3 2\na 1 2\n" + line + b"\nc 5 6\n"))


def test_mixed_dimensions_without_a_header_name_the_line(save):
    with pytest.raises(FormatError, match=r"some\.vec:3: found 1 numbers after 'c', expected 2 as on most"):
        read(save(b"a 1 2\nb 3 4\nc 5\nd 5 6\n"))


@pytest.mark.parametrize("value", [b"four", b"1,5", b"1_0", b"0x10", b"--1", b"1-2", b"1.2.3", b"\xc2\xa01", b"\x00"])
def test_a_value_that_is_no_number_names_the_line(save, value):
    with pytest.raises(FormatError, match=r"some\.vec:3: value 2 of the word 'b' is .*, expected a number") as caught:
        read(save(b"3 2\na 1 2\nb 3 " + value + b"\nc 5 6\n"))
    assert "\n" not in str(caught.value)


def test_the_line_is_right_after_many_blocks(save):
    lines = [b"word%d %d 1 1" % (row, row) for row in range(120_000)]
    lines[110_000] = b"word110000 1 oops 1"
    with pytest.raises(FormatError, match=r"some\.vec:110002: value 2 of the word 'word110000' is 'oops'"):
        read(save(b"120000 3\n" + b"\n".join(lines) + b"\n"))


def test_two_wrongs_in_a_block_do_not_make_a_right(save):
    with pytest.raises(FormatError, match=r"some\.vec:2: found 1 numbers after 'a'"):
        read(save(b"2 2\na  1\nb 1-2 3\n"))


def test_an_empty_word_is_left_out_and_said(save):
    reading = read(save(b"2 2\n 1 2\nb 3 4\n"))
    assert reading.space.words == ("b",)
    assert reading.notes == ("1 row without a word left out",)


@pytest.mark.parametrize("header", [b"", b"3 3\n"])
def test_a_number_is_a_word_like_any_other(save, header):
    space = read(save(header + b"2017 0.1 0.2 0.3\n3.14 0.4 0.5 0.6\n-1 1 2 3\n")).space
    assert space.words == ("2017", "3.14", "-1")
    assert space.dimension == 3


def test_end_of_sentence_is_a_word_like_any_other(save):
    assert words_of(save(b"2 2\n</s> 1 2\nb 3 4\n")) == ("</s>", "b")


def test_two_whole_numbers_on_the_first_line_are_a_header_unless_told_otherwise(save):
    path = save(b"2017 1\n2018 5\n2019 7\n")
    assert read(path).space.words == ("2018", "2019")
    assert read(path, format="glove").space.words == ("2017", "2018", "2019")


def test_a_byte_order_mark_before_the_header_is_passed_over(save):
    assert words_of(save(b"\xef\xbb\xbf2 2\na 1 2\nb 3 4\n")) == ("a", "b")


def test_one_odd_word_does_not_decide_the_dimension(save):
    space = read(save(b"iphone 6 0.1 0.2\nthe 0.3 0.4\nof 0.5 0.6\n")).space
    assert space.words == ("iphone 6", "the", "of")
    assert space.dimension == 2


def test_the_limit_counts_words_kept(save):
    reading = read(save(b"5 2\na 1 2\na 1 2\nb 0 0\nc 3 4\nd 5 6\n"), limit=2)
    assert reading.space.words == ("a", "c")
    assert len(reading.notes) == 2


@pytest.mark.parametrize("header", [b"", b"9 2\n"])
def test_nothing_after_the_limit_is_touched(save, header):
    path = save(header + b"a 1 2\nb 3 4\nc 5 six\nd\n\xff\x00" + b"\x00" * 5000)
    assert words_of(path, limit=2, format="word2vec" if header else "glove") == ("a", "b")


def test_gzip_is_seen_by_its_bytes(save):
    path = save(gzip.compress(b"2 2\na 1 2\nb 3 4\n"), "no-suffix")
    assert sniff(path) == "word2vec"
    assert words_of(path) == ("a", "b")


def test_a_truncated_gzip_is_refused(save):
    whole = gzip.compress(b"2 2\n" + b"".join(b"w%d %d 1\n" % (row, row * 7919) for row in range(5000)))
    with pytest.raises(FormatError, match=r"some\.vec: the gzip stream is cut or damaged .*download it again"):
        read(save(whole[: len(whole) // 2]))


def test_a_damaged_gzip_is_refused(save):
    whole = bytearray(gzip.compress(b"2 2\na 1 2\nb 3 4\n"))
    whole[-6] ^= 0xFF
    with pytest.raises(FormatError, match="the gzip stream is cut or damaged"):
        read(save(bytes(whole)))


@pytest.mark.parametrize("size", [1, 7, 64, 1 << 20])
def test_the_block_size_cannot_change_the_answer(save, monkeypatch, size):
    text = b"".join(b"w\xc3\xa9 %d %d.5 -1e-%d\n" % (row, row, row % 9) for row in range(50))
    path = save(b"50 2\n" + text)
    whole = read(path)
    monkeypatch.setattr("calque.data.formats.text.BLOCK_SIZE", size)
    parts = read(path)
    assert parts.space.words == whole.space.words
    assert torch.equal(parts.space.vectors, whole.space.vectors)
    assert parts.notes == whole.notes


def test_a_clean_block_takes_the_fast_path():
    words, vectors = parse_block(b"a 1 2\r\nNew York 3 4 \nc\t5\t6\n", 2)
    assert words == ["a", "New York", "c"]
    assert vectors.tolist() == [[1, 2], [3, 4], [5, 6]]


def test_a_line_that_never_ends_is_refused(save, monkeypatch):
    monkeypatch.setattr("calque.data.formats.text.LONGEST_LINE", 100)
    monkeypatch.setattr("calque.data.formats.text.BLOCK_SIZE", 50)
    with pytest.raises(FormatError, match="no line end in 100 bytes"):
        FORMATS["word2vec"].read(save(b"2 2\n" + b"x" * 1000), ReadOptions())
