from __future__ import annotations

import pytest

from calque.api import align
from calque.data.lexicon import Lexicon
from calque.errors import SettingsError
from calque.evaluate import score_translation
from calque.show.views import JudgedWord, accuracy_by_frequency, judge_words
from calque.show.views.accuracy import Band


@pytest.fixture(scope="module")
def made(problem):
    return align(problem.source, problem.target, seed=0)


@pytest.mark.parametrize("back", [False, True])
def test_the_answers_add_up_to_the_score(made, problem, back):
    gold = Lexicon.of(problem.pairs.items())
    score = score_translation(made, gold, retrievals=["nn", "csls"], ks=[1, 10])
    for retrieval, counted in (score.backward if back else score.forward).items():
        given = judge_words(made, gold.reversed() if back else gold, back, retrieval)
        assert len(given) == counted.asked
        assert sum(each.place == 1 for each in given) == counted.right[1]
        assert sum(each.place is not None for each in given) == counted.right[10]


def test_an_answer_names_what_is_right_and_what_came_in_its_place(made, problem):
    word, right = list(problem.pairs.items())[30]
    best = made.translate([word], k=10)[0].candidates
    wrong = next(each.word for each in reversed(best))
    (given,) = judge_words(made, Lexicon.of([(word, wrong), (word, "nowhere")]))
    assert (given.word, given.right, given.place) == (word, (wrong,), 10)
    assert given.found == tuple(each.word for each in best)
    assert given.rank == made.source.index[word] + 1
    (lost,) = (
        judge_words(made, Lexicon.of([(word, made.target.words[-1])])) if right != made.target.words[-1] else (given,)
    )
    assert lost.place is None or lost.found[lost.place - 1] == made.target.words[-1]


def told(*places: int | None) -> list[JudgedWord]:
    return [JudgedWord(f"w{rank}", rank, ("r",), ("f",), place) for rank, place in enumerate(places, start=1)]


def test_bands_hold_all_words_once_in_order_of_rank():
    given = told(1, 2, 1, None, 1, 1, None)
    bands = accuracy_by_frequency(list(reversed(given)), 3)
    assert [(each.first, each.last, each.asked, each.right) for each in bands] == [
        (1, 2, 2, 1),
        (3, 4, 2, 1),
        (5, 7, 3, 2),
    ]
    assert bands[2].share == 2 / 3


def test_there_are_no_more_bands_than_words_and_at_least_one_is_asked_for():
    assert [each.asked for each in accuracy_by_frequency(told(1, 1), 10)] == [1, 1]
    assert accuracy_by_frequency([], 10) == ()
    with pytest.raises(SettingsError, match="0 bands"):
        accuracy_by_frequency(told(1), 0)


@pytest.mark.parametrize(
    ("right", "asked", "low", "high"), [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (95, 100, 0.8882, 0.9785)]
)
def test_intervals_are_those_of_wilson(right, asked, low, high):
    """Known answers: Newcombe 1998 and any table of the score interval."""
    assert Band(1, asked, asked, right).interval == pytest.approx((low, high), abs=1e-4)
