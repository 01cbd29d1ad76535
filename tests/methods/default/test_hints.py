"""Hints: what few pairs lead to, that wrong ones are found out, and that the estimate of accuracy is honest."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from calque.data.space import Space
from calque.linear.closed_forms import TwoWay
from calque.linear.maps import LinearMap, unit
from calque.methods.default.alternation import Problem, random_rotation
from calque.methods.default.climb import ClimbSettings
from calque.methods.default.coarse_to_fine import CoarseToFineSettings, coarse_to_fine
from calque.methods.default.deep_search import DeepSearchSettings, Leading
from calque.methods.default.hints import Hints, attempts_by, belief, cross_validated, halves, spelled_alike, wilson
from calque.methods.default.refinement import RefinementSettings
from calque.methods.default.search import SearchSettings
from calque.methods.task import Task
from calque.transport import uniform

WORDS, DIMENSION = 1500, 20


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


TRUTH = random_rotation(DIMENSION, seeded(1))
SOURCE = unit(torch.randn(WORDS, DIMENSION, generator=seeded(0)) * torch.linspace(2, 1, DIMENSION))
TARGET = unit(SOURCE @ TRUTH + 0.06 * torch.randn(WORDS, DIMENSION, generator=seeded(2)))
PROBLEM = Problem(SOURCE, TARGET, uniform(WORDS, SOURCE), uniform(WORDS, TARGET))
CLIMB = ClimbSettings(rounds=40, temperature=0.1)
BLIND = CoarseToFineSettings(
    identical="no",
    search=SearchSettings(words=(100,), dimensions=(4,), starts=(1, 1), rounds=1),
    deep=DeepSearchSettings(rounds=0, climb=CLIMB),
)
"""Settings whose search is too short to find anything by itself."""


def pairs(count: int, wrong: float = 0.0) -> Hints:
    """Known pairs at even steps; a share of them with shuffled targets."""
    rows = torch.arange(0, WORDS, WORDS // count)[:count]
    targets = rows.clone()
    many = int(wrong * count)
    targets[:many] = targets[:many].roll(1)
    return Hints(rows, targets, "pairs")


def spaces() -> tuple[Space, Space]:
    return (
        Space.of([f"s{row}" for row in range(WORDS)], SOURCE),
        Space.of([f"t{row}" for row in range(WORDS)], TARGET),
    )


def right(outcome) -> float:
    there = outcome.source.apply(SOURCE) @ outcome.target.apply(TARGET).mT
    return float((there.argmax(dim=1) == torch.arange(WORDS)).float().mean())


def test_words_spelled_alike_are_numbers_and_words_of_four_letters_or_more():
    shared = spelled_alike(
        ["a", "radio", "12", "de", "taxi", "x-1!", "...."], ["taxi", "radio", "de", "12", "....", "a"]
    )
    assert list(zip(*(rows.tolist() for rows in shared.rows()), strict=True)) == [(1, 1), (2, 3), (4, 0)]


def test_nothing_is_spelled_alike():
    assert len(spelled_alike(["gato"], ["cat"])) == 0


def test_rows_that_are_only_numbered_are_no_words():
    numbers = [str(row) for row in range(60)]
    assert len(spelled_alike(numbers, numbers)) == 0
    assert len(spelled_alike(["x", *numbers], ["y", *numbers])) == 60


def test_halves_share_no_word_and_are_all():
    rows = torch.tensor([0, 0, 1, 1, 2, 3, 4, 5])
    one, other = halves(Hints(rows, torch.arange(8), "pairs"), seeded(0))
    assert not set(one.source.tolist()) & set(other.source.tolist())
    assert sorted([*one.target.tolist(), *other.target.tolist()]) == list(range(8))


def test_attempts_by_halves_of_the_pairs_end_alike():
    one, other = attempts_by(Leading.of(PROBLEM, 100), pairs(40), CLIMB, 0)
    assert one.agreement(other) > 0.9
    assert one.kind == other.kind == "pairs"


def test_few_pairs_make_four_attempts_that_differ():
    attempts = attempts_by(Leading.of(PROBLEM, 100), pairs(8), CLIMB, 0)
    assert len(attempts) == 4
    assert len({float(attempt.gram.sum()) for attempt in attempts}) == 4


def test_pairs_of_words_that_nobody_looks_at_are_no_start():
    beyond = Hints(torch.tensor([WORDS + 5]), torch.tensor([0]), "pairs")
    assert attempts_by(Leading.of(PROBLEM, 100), beyond, CLIMB, 0) == []


@pytest.mark.parametrize("count", [25, 100])
def test_where_the_search_finds_nothing_a_few_pairs_lead_to_the_truth(count):
    without = coarse_to_fine(Task(*spaces()), BLIND)
    hints = pairs(count)
    outcome = coarse_to_fine(Task(*spaces(), pairs=hints.rows()), BLIND)
    assert not without.evidence.confirmed
    assert outcome.evidence.confirmed
    assert right(outcome) > 0.9


def test_with_pairs_no_search_is_run():
    stages: list[str] = []
    coarse_to_fine(Task(*spaces(), pairs=pairs(100).rows(), listen=lambda step: stages.append(step.stage)), BLIND)
    assert "search" not in stages


def test_wrong_pairs_cost_little_and_are_named():
    clean, dirty = (coarse_to_fine(Task(*spaces(), pairs=pairs(200, wrong).rows()), BLIND) for wrong in (0.0, 0.3))
    assert right(dirty) > right(clean) - 0.01
    doubted = {(row, column) for row, column, _ in dirty.hints["rows"]}
    truly_wrong = {
        (row, column)
        for row, column in zip(*(c.tolist() for c in pairs(200, 0.3).rows()), strict=True)
        if row != column
    }
    assert len(doubted & truly_wrong) > 0.9 * len(truly_wrong)
    assert len(doubted - truly_wrong) < 0.1 * 200
    assert clean.hints["disagree"] < 0.1 * 200


def test_the_suggestion_for_a_wrong_pair_is_the_right_word():
    outcome = coarse_to_fine(Task(*spaces(), pairs=pairs(200, 0.3).rows()), BLIND)
    right_suggestions = sum(row == suggestion for row, _, suggestion in outcome.hints["rows"])
    assert right_suggestions > 0.8 * len(outcome.hints["rows"])


def test_the_estimate_of_accuracy_holds_the_accuracy_on_words_that_were_not_told():
    hints = pairs(150)
    maps = TwoWay.of(LinearMap(TRUTH), LinearMap.identity(DIMENSION, TARGET))
    report = cross_validated(SOURCE, TARGET, maps, hints, RefinementSettings(), 0)
    others = torch.ones(WORDS, dtype=torch.bool)
    others[hints.source] = False
    truth = float(((SOURCE @ TRUTH @ TARGET.mT).argmax(dim=1) == torch.arange(WORDS))[others].float().mean())
    share, low, high = report.accuracy
    assert low <= share <= high
    assert low - 0.05 <= truth <= high + 0.05
    assert report.asked == 150


def test_belief_tells_right_pairs_from_wrong_ones():
    generator = seeded(3)
    near, anywhere = 0.001 * torch.rand(70, generator=generator), torch.rand(30, generator=generator)
    probability = belief(torch.cat([near, anywhere]))
    assert float(probability[:70].min()) > 0.8
    assert float((probability[70:] < 0.5).float().mean()) > 0.9
    assert float(belief(near).min()) > 0.8


def test_belief_in_no_pairs_is_none():
    assert len(belief(torch.zeros(0))) == 0


@pytest.mark.parametrize(("right_ones", "asked"), [(0, 10), (5, 10), (10, 10), (63, 100)])
def test_wilson_is_the_interval_of_the_textbook(right_ones, asked):
    share, low, high = wilson(right_ones, asked)
    assert 0 <= low <= share <= high <= 1
    for bound in (low, high):
        if 0 < bound < 1:  # the ends of the interval are where the score statistic is 1.96
            assert abs(share - bound) / (bound * (1 - bound) / asked) ** 0.5 == pytest.approx(1.96, abs=1e-6)


def test_words_spelled_alike_start_the_search_and_the_run_says_so():
    names = [[f"name{row}" if row % 10 == 0 else f"{side}{row}" for row in range(WORDS)] for side in "st"]
    task = Task(Space.of(names[0], SOURCE), Space.of(names[1], TARGET))
    auto, without = coarse_to_fine(task, replace(BLIND, identical="auto")), coarse_to_fine(task, BLIND)
    assert auto.evidence.confirmed
    assert right(auto) > 0.9
    assert any("spell alike" in note for note in auto.notes)
    assert not without.evidence.confirmed
    assert not any("spell alike" in note for note in without.notes)
