from __future__ import annotations

import pytest

from calque.api import align
from calque.data.lexicon import Lexicon
from calque.evaluate import score_translation
from calque.show.figures.convergence import StageCourse, stage_accuracies, stage_courses

LOG = (
    {"stage": "search", "number": 1, "seconds": 0.5, "cost": 0.7, "path": [1.0, 0.7]},
    {"stage": "second look", "number": 1, "seconds": 1.0, "cost": 0.6},
    {"stage": "alternate", "number": 1, "seconds": 3.0, "cost": 0.4, "path": [0.5, 0.45, 0.4]},
    {"stage": "adversary", "number": 2, "seconds": 3.5, "rate": 0.1},
    {"stage": "adversary", "number": 4, "seconds": 3.5, "rate": 0.1, "criterion": 0.3},
    {"stage": "refine", "number": 1, "seconds": 4.0, "pairs": 30.0, "criterion": 0.2},
    {"stage": "refine", "number": 2, "seconds": 5.0, "pairs": 40.0, "criterion": 0.5},
    {"stage": "rest", "number": 1, "seconds": 5.0},
)


def test_every_stage_shows_what_it_strives_for_and_starts_are_no_steps():
    assert stage_courses(LOG) == (
        StageCourse("alternate", "cost", (1, 2, 3), (0.5, 0.45, 0.4)),
        StageCourse("adversary", "criterion", (4,), (0.3,)),
        StageCourse("refine", "criterion", (1, 2), (0.2, 0.5)),
    )
    assert stage_courses(()) == ()


@pytest.fixture(scope="module")
def made(problem):
    return align(problem.source, problem.target, seed=0)


def test_the_courses_of_a_run_are_those_of_its_stages(made):
    assert [each.stage for each in stage_courses(made.record.log)] == ["alternate", "refine", "contrast"]


def test_the_final_maps_are_worth_what_the_score_says_and_earlier_ones_are_asked_the_same(made, problem):
    gold = Lexicon.of(problem.pairs.items())
    told = stage_accuracies(made, gold, "contrast")
    assert [each.stage for each in told] == ["search", "alternate", "refine", "contrast"]
    score = score_translation(made, gold, ks=[1]).forward["csls"]
    assert (told[-1].right, told[-1].asked) == (score.right[1], score.asked)
    assert {each.asked for each in told} == {score.asked}


def test_a_stage_whose_map_is_wrong_is_worth_little(made, problem):
    from dataclasses import replace

    from calque.linear.maps import LinearMap

    wrong = replace(made.earlier[0], source=LinearMap(made.earlier[0].source.matrix.flip(0)))
    told = stage_accuracies(replace(made, earlier=(wrong,)), Lexicon.of(problem.pairs.items()), "end")
    assert told[0].share < 0.2 < 0.9 < told[1].share
