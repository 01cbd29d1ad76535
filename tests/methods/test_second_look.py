"""What a second look must do: confirm starts that climb to the same map, and leave alone those that climb nowhere."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from calque.methods.alternation import Problem, random_rotation
from calque.methods.search import Finish, Found, SearchSettings, finish_of, standing_of
from calque.methods.second_look import second_look
from calque.methods.starts import build_arena
from calque.preprocess import fit
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
    bases = [torch.linalg.lstsq(problem.source[:300], arena.problem.source).solution for _ in range(1)]
    target = torch.linalg.lstsq(problem.target[:300], arena.problem.target).solution
    maps = [bases[0].mT @ off(generator, 0.25) @ target for _ in range(near)]
    maps += [random_rotation(DIMENSION, generator) for _ in range(9)]
    costs = [0.5 + 0.01 * row for row in range(near)] + [0.9 + 0.001 * row for row in range(9)]
    finishes = tuple(finish_of(arena, 0, "random", *each) for each in zip(maps, costs, strict=True))
    return Found(standing_of(finishes), (arena,), finishes, False, "no start was confirmed in 3 rounds")


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
    assert second_look(TRUE, before, SETTINGS) is before


@pytest.mark.parametrize("near", [0, 2])
def test_between_unrelated_spaces_nothing_is_climbed_to_in_common(near):
    before = searched(UNRELATED, near)
    assert second_look(UNRELATED, before, SETTINGS) is before


def test_agreement_without_clearance_is_not_enough():
    before = searched(TRUE, near=2)
    after = second_look(TRUE, before, SearchSettings(clear=1e6))
    assert not after.confirmed
    assert after.gave_up == before.gave_up
    assert after.standing.agreeing == 1


def test_interrupted_it_leaves_the_search_as_it_was():
    before = searched(TRUE, near=2)
    assert second_look(TRUE, before, SETTINGS, stopped=lambda: True) is before


def test_the_three_cheapest_of_every_arena_are_looked_at_and_told():
    told: list[Step] = []
    before = searched(TRUE, near=2)
    second_look(TRUE, before.joined(before), SETTINGS, told.append)
    cheapest = sorted(each.cost for each in before.finishes)[:3]
    assert [each.values["cost"] for each in told] == cheapest * 2
    assert [(each.stage, each.number, each.total) for each in told] == [("second look", n, 6) for n in range(1, 7)]


def test_joined_searches_keep_their_arenas_apart():
    one, other = searched(TRUE, near=1), searched(UNRELATED, near=0)
    both = one.joined(replace(other, gave_up="the other"))
    assert [each.arena for each in both.finishes] == [0] * 10 + [1] * 9
    assert both.arenas == (*one.arenas, *other.arenas)
    assert both.gave_up == "the other"
    assert isinstance(both.standing.leader, Finish)
