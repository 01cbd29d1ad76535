"""What a second look must do: confirm starts that climb to the same map, and leave alone those that climb nowhere."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from calque.methods.default.confirmation import second_look

from calque.linear.maps import fit
from calque.methods.default.alternation import Problem, random_rotation
from calque.methods.default.search import Found, SearchSettings, finish_of, standing_of
from calque.methods.default.starts import build_arena
from calque.progress import Step
from calque.transport import uniform

WORDS, DIMENSION = 600, 20
SETTINGS = SearchSettings(clear=2.0)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def clustered(seed: int) -> torch.Tensor:
    generator, scales = seeded(seed), torch.linspace(1, 0.25, DIMENSION)
    centres = torch.randn(25, DIMENSION, generator=generator) * scales
    member = torch.multinomial(torch.linspace(1, 8, 25), WORDS, replacement=True, generator=generator)
    return centres[member] + 0.5 * scales * torch.randn(WORDS, DIMENSION, generator=generator)


def posed(source: torch.Tensor, target: torch.Tensor) -> Problem:
    one, other = (fit(each, ("unit", "center", "unit"))[1] for each in (source, target))
    return Problem(one, other, uniform(len(one), one), uniform(len(other), other))


TRUTH = random_rotation(DIMENSION, seeded(3))
TRUE = posed(clustered(0), clustered(0) @ TRUTH)
"""Word i is the translation of word i, by a rotation that is known."""
UNRELATED = posed(clustered(0), clustered(9))


def off(generator: torch.Generator, share: float) -> torch.Tensor:
    """A rotation beside the truth: wrong for more words the larger the share."""
    q, r = torch.linalg.qr(TRUTH + share * torch.randn(DIMENSION, DIMENSION, generator=generator))
    return q * torch.sign(torch.diagonal(r))


def searched(problem: Problem, near: int) -> Found:
    """A search without a confirmed winner: so many starts beside the truth, and nine anywhere."""
    arena, generator = build_arena(problem, DIMENSION, 300), seeded(1)
    source, target = (
        torch.linalg.lstsq(whole[:300], reduced).solution
        for whole, reduced in ((problem.source, arena.problem.source), (problem.target, arena.problem.target))
    )
    maps = [source.mT @ off(generator, 0.25) @ target for _ in range(near)]
    maps += [random_rotation(DIMENSION, generator) for _ in range(9)]
    costs = [0.5 + 0.01 * row for row in range(near)] + [0.9 + 0.001 * row for row in range(9)]
    finishes = tuple(finish_of(arena, 0, "random", matrix, [cost]) for matrix, cost in zip(maps, costs, strict=True))
    return Found(standing_of(finishes), (arena,), finishes, False, "no start was confirmed in 3 rounds")


def assert_unchanged(after: Found, before: Found) -> None:
    """Nothing was confirmed, and the search stands as it stood."""
    assert after.standing is before.standing
    assert (after.confirmed, after.gave_up, after.rotation) == (False, before.gave_up, None)


def right(problem: Problem, rotation: torch.Tensor) -> float:
    choices = (problem.source @ rotation @ problem.target.mT).argmax(dim=1)
    return float((choices == torch.arange(WORDS)).float().mean())


def test_two_that_are_partly_right_climb_to_the_truth_and_confirm_each_other():
    before = searched(TRUE, near=2)
    rough = [float((each.choices == torch.arange(300)).float().mean()) for each in before.finishes[:2]]
    assert all(0.05 < share < 0.95 for share in rough)
    after = second_look(TRUE, before, SETTINGS)
    assert after.confirmed
    assert after.gave_up == ""
    assert after.standing.agreeing == 1
    assert after.standing.leader in before.finishes[:2]
    assert after.rotation is not None
    assert torch.allclose(after.rotation @ after.rotation.mT, torch.eye(DIMENSION), atol=1e-4)
    assert right(TRUE, after.rotation) > 0.99 > max(rough)


def test_one_alone_confirms_nothing():
    before = searched(TRUE, near=1)
    assert_unchanged(second_look(TRUE, before, SETTINGS), before)


@pytest.mark.parametrize("near", [0, 2])
def test_between_unrelated_spaces_nothing_is_climbed_to_in_common(near):
    before = searched(UNRELATED, near)
    assert_unchanged(second_look(UNRELATED, before, SETTINGS), before)


def test_agreement_without_clearance_is_not_enough():
    before = searched(TRUE, near=2)
    after = second_look(TRUE, before, SearchSettings(clear=1e6))
    assert not after.confirmed
    assert after.gave_up == before.gave_up
    assert after.standing.agreeing == 1


def test_interrupted_it_leaves_the_search_as_it_was_and_says_so():
    before = searched(TRUE, near=2)
    after = second_look(TRUE, before, SETTINGS, stopped=lambda: True)
    assert after.standing is before.standing
    assert (after.confirmed, after.gave_up, after.rotation) == (False, "it was interrupted", None)


def test_those_that_agreed_are_not_counted_among_those_that_went_elsewhere():
    after = second_look(TRUE, searched(TRUE, near=2), SETTINGS)
    assert len(after.standing.crowd) == 9


def test_where_all_words_go_to_the_same_few_agreement_means_nothing():
    before = searched(TRUE, near=2)
    collapsed = tuple(replace(each, cycle=0.04) for each in before.finishes)
    before = replace(before, finishes=collapsed, standing=standing_of(collapsed))
    assert_unchanged(second_look(TRUE, before, SETTINGS), before)


def test_the_three_cheapest_of_every_arena_are_looked_at_and_told():
    told: list[Step] = []
    before = searched(TRUE, near=2)
    second_look(TRUE, before.joined(before, 2.0), SETTINGS, told.append)
    cheapest = sorted(each.cost for each in before.finishes)[:3]
    assert [each.values["cost"] for each in told] == cheapest * 2
    assert [(each.stage, each.number, each.total) for each in told] == [("second look", n, 6) for n in range(1, 7)]


def test_no_start_is_carried_twice():
    """What a first look found is used by the next, also after another search has joined."""
    first = second_look(TRUE, searched(TRUE, near=1), SETTINGS)
    both = second_look(TRUE, first.joined(searched(TRUE, near=1), 2.0), SETTINGS)
    assert len(first.carried) == 3
    assert len(both.carried) == 6
    assert all(any(each is other for other in both.carried) for each in first.carried)
    assert both.confirmed


def test_joined_searches_keep_their_arenas_apart():
    one, other = searched(TRUE, near=1), searched(UNRELATED, near=0)
    both = one.joined(replace(other, gave_up="the other"), 6.0)
    assert [each.arena for each in both.finishes] == [0] * 10 + [1] * 9
    assert both.arenas == (*one.arenas, *other.arenas)
    assert both.gave_up == "the other"
    assert both.standing.leader is one.finishes[0]


def test_of_joined_searches_the_confirmed_one_leads():
    """Though the first has a clearer leader that a start agrees with: all words of it go to the same few."""
    first = searched(TRUE, near=2)
    alike = tuple(replace(each, choices=first.finishes[0].choices, cycle=0.04) for each in first.finishes[:2])
    first = replace(first, finishes=(*alike, *first.finishes[2:]))
    second = searched(TRUE, near=2)
    agreeing = replace(second.finishes[1], choices=second.finishes[0].choices, cost=0.51)
    second = replace(second, finishes=(replace(second.finishes[0], cost=0.6), agreeing, *second.finishes[2:]))
    both = first.joined(replace(second, confirmed=True), 2.0)
    assert both.confirmed
    assert both.standing.leader.arena == 1
    assert both.standing.confirmed(2.0)
