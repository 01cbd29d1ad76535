from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from calque.data.lexicon import Lexicon
from calque.experiments.gold import split

texts = st.text(min_size=1, max_size=6)
lexicons = st.dictionaries(texts, st.lists(texts, min_size=1, max_size=3).map(tuple), min_size=1).map(Lexicon)


@given(lexicons, st.integers(0, 9))
def test_every_word_is_in_one_half_with_all_its_answers(lexicon, seed):
    train, test = split(lexicon, seed)
    assert not set(train.answers) & set(test.answers)
    assert {**train.answers, **test.answers} == lexicon.answers
    assert len(test) - len(train) in (0, 1)


@given(lexicons, st.integers(0, 9))
def test_neither_order_nor_company_changes_who_is_drawn_first(lexicon, seed):
    backwards = Lexicon(dict(reversed(lexicon.answers.items())))
    assert split(backwards, seed)[1].answers == split(lexicon, seed)[1].answers


def test_the_seed_decides():
    lexicon = Lexicon({str(number): ("x",) for number in range(1000)})
    tests = [set(split(lexicon, seed)[1].answers) for seed in range(5)]
    assert tests[0] == set(split(lexicon, 0)[1].answers)
    shared = [len(one & other) for place, one in enumerate(tests) for other in tests[:place]]
    # Two random halves of 1,000 share 250 of 500 with a deviation of 8.
    assert all(200 < count < 300 for count in shared)


def test_words_that_were_not_utf8():
    lexicon = Lexicon({"caf\udce9": ("coffee",), "té": ("tea",)})
    assert [len(half) for half in split(lexicon, 0)] == [1, 1]
