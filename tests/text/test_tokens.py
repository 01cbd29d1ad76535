from __future__ import annotations

import pytest

from calque.text.tokens import VocabularyTokenizer, longest_match, part_rows, row_of, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("L'eau, 42 fois; covid19!", ["L", "eau", "fois", "covid19"]),
        ("Türkiye'nin başkenti", ["Türkiye", "nin", "başkenti"]),
        ("हिन्दी की किताबें", ["हिन्दी", "की", "किताबें"]),  # the vowel signs are marks, no letters
        ("می‌خواهم", ["می‌خواهم"]),
        ("cafe\u0301", ["café"]),
        ("", []),
        ("123 --- _", []),
    ],
)
def test_words_end_where_letters_and_their_marks_end(text, words):
    assert words_of(text) == words


def test_texts_without_spaces_are_cut_into_the_longest_known_words():
    vocabulary = {"土耳其": 0, "土耳": 1, "三面": 2, "环海": 3, "海": 4}
    assert longest_match("土耳其三面环海", vocabulary, 3) == ["土耳其", "三面", "环海"]
    assert VocabularyTokenizer(vocabulary)("土耳其三面X环海, ok") == ["土耳其", "三面", "X", "环海", "ok"]


def test_thai_and_japanese_are_cut_by_the_vocabulary_too():
    assert VocabularyTokenizer({"ฉัน": 0, "กิน": 1, "ข้าว": 2})("ฉันกินข้าว") == ["ฉัน", "กิน", "ข้าว"]
    assert VocabularyTokenizer({"私": 0, "は": 1, "食べる": 2})("私は食べる。") == ["私", "は", "食べる"]


def test_case_is_what_the_vocabulary_has():
    vocabulary = {"Paris": 0, "istanbul": 1, "haus": 2, "ışık": 3}
    assert [row_of(word, vocabulary) for word in ("PARIS", "İstanbul", "Haus", "IŞIK", "Rom")] == [0, 1, 2, 3, None]


def test_an_unknown_word_is_read_as_its_longest_known_beginning_and_ending_if_they_are_long_enough():
    vocabulary = {"kitap": 0, "kitaplar": 1, "ki": 2, "physik": 3, "quanten": 4}
    assert part_rows("kitaplarından", vocabulary) == [1]
    assert part_rows("kitapçı", vocabulary) == [0]
    assert part_rows("kitle", vocabulary) == []
    assert part_rows("Quantenphysik", vocabulary) == [4, 3]
    assert part_rows("Teilchenphysik", vocabulary) == [3]
