from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from calque.data.lexicon import Lexicon
from calque.experiments.reproduce import split

texts = st.text(min_size=1, max_size=6)
lexicons = st.dictionaries(texts, st.lists(texts, min_size=1, max_size=3).map(tuple), min_size=1).map(Lexicon)


@given(lexicons, st.integers(0, 9))
def test_every_word_is_in_one_half_with_all_its_answers(lexicon, seed):
    halves = split(lexicon, seed)
    assert not set(halves.train.answers) & set(halves.test.answers)
    assert {**halves.train.answers, **halves.test.answers} == lexicon.answers
    assert len(halves.test) - len(halves.train) in (0, 1)


@given(lexicons, st.integers(0, 9))
def test_neither_order_nor_company_changes_who_is_drawn_first(lexicon, seed):
    backwards = Lexicon(dict(reversed(lexicon.answers.items())))
    assert split(backwards, seed).test.answers == split(lexicon, seed).test.answers


def test_the_seed_decides():
    lexicon = Lexicon({str(number): ("x",) for number in range(1000)})
    tests = [set(split(lexicon, seed).test.answers) for seed in range(5)]
    assert tests[0] == set(split(lexicon, 0).test.answers)
    shared = [len(one & other) for place, one in enumerate(tests) for other in tests[:place]]
    # Two random halves of 1,000 share 250 of 500 with a deviation of 8.
    assert all(200 < each < 300 for each in shared)


def test_words_that_were_not_utf8():
    lexicon = Lexicon({"caf\udce9": ("coffee",), "té": ("tea",)})
    assert len(split(lexicon, 0).train) == len(split(lexicon, 0).test) == 1
