from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

from calque.errors import SettingsError
from calque.linear.maps import fit
from calque.methods.default.alternation import Problem, random_rotation
from calque.methods.default.search import (
    Finish,
    Found,
    SearchSettings,
    Standing,
    _clearance,
    agreement,
    best_standing,
    search,
    standing_of,
)
from calque.methods.default.starts import STARTS
from calque.progress import Step
from calque.transport import uniform

DIMENSION = 20
NORMALISED = 1.4826
"""The median absolute deviation of a Gaussian, times this, is its standard deviation."""


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def clustered(count: int, dimension: int = DIMENSION, seed: int = 0) -> torch.Tensor:
    """Words in bunches of different sizes, longer in some directions than in others, as in a language."""
    generator, scales = seeded(seed), torch.linspace(1, 0.25, dimension)
    centres = torch.randn(25, dimension, generator=generator) * scales
    member = torch.multinomial(torch.linspace(1, 8, 25), count, replacement=True, generator=generator)
    return centres[member] + 0.5 * scales * torch.randn(count, dimension, generator=generator)


def posed(source: torch.Tensor, target: torch.Tensor) -> Problem:
    one, other = (fit(each, ("unit", "center", "unit"))[1] for each in (source, target))
    return Problem(one, other, uniform(len(one), one), uniform(len(other), other))


def turned(count: int, dimension: int = DIMENSION, seed: int = 0) -> Problem:
    """A space against itself, rotated and blurred: word i is the translation of word i."""
    source, generator = clustered(count, dimension, seed), seeded(seed + 1)
    blur = 0.05 * torch.randn(source.shape, generator=generator)
    return posed(source, source @ random_rotation(dimension, generator) + blur)


def noise(count: int, dimension: int, seed: int = 0) -> Problem:
    generator = seeded(seed)
    return posed(*(torch.randn(count, dimension, generator=generator) for _ in range(2)))


QUICK = SearchSettings(words=(80, 80), dimensions=(8, 5), starts=(2, 2), rounds=3)


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def found() -> Found:
    return search(turned(600), SearchSettings(words=(300,), dimensions=(30,), starts=(4, 4)), seed=0)


@pytest.fixture(scope="module")
def lost() -> tuple[Found, list[Step]]:
    told: list[Step] = []
    return search(noise(80, 8), QUICK, 0, told.append), told


def test_a_rotated_and_blurred_copy_is_found_and_confirmed(found):
    truth = torch.arange(300)
    assert found.confirmed
    assert found.gave_up == ""
    assert float((found.standing.leader.choices == truth).float().mean()) > 0.9
    mapped = found.arena.problem.source @ found.standing.leader.matrix @ found.arena.problem.target.mT
    assert torch.equal(mapped.argmax(dim=1), found.standing.leader.choices)
    assert found.standing.agreeing >= 1
    assert found.standing.clearance >= SearchSettings().clear


def test_it_ends_with_the_round_that_confirms(found):
    assert len(found.finishes) < SearchSettings().rounds * 8
    assert len(found.finishes) % 8 == 0
    assert not best_standing(found.finishes[:-8]).confirmed(SearchSettings().clear)


def test_the_winner_is_the_cheapest_of_its_arena_and_right_starts_are_cheaper_than_wrong_ones(found):
    assert found.standing.leader.cost == min(each.cost for each in found.finishes)
    right = [float((each.choices == torch.arange(300)).float().mean()) >= 0.5 for each in found.finishes]
    assert max(each.cost for each, is_right in zip(found.finishes, right, strict=True) if is_right) < min(
        each.cost for each in found.standing.crowd
    )
    assert sum(right) == found.standing.agreeing + 1


def test_every_map_is_orthogonal_and_every_cycle_is_what_its_choices_say(found):
    for each in found.finishes:
        assert torch.allclose(each.matrix @ each.matrix.mT, torch.eye(DIMENSION), atol=1e-4)
        similarity = found.arena.problem.source @ each.matrix @ found.arena.problem.target.mT
        there, back = similarity.argmax(dim=1).tolist(), similarity.argmax(dim=0).tolist()
        returned = sum(back[there[row]] == row for row in range(len(there)))
        assert each.cycle == pytest.approx(returned / len(there))


@pytest.mark.parametrize("seed", range(3))
def test_noise_is_not_confirmed(seed):
    got = search(noise(80, 8, seed), QUICK, seed)
    assert not got.confirmed
    assert got.gave_up == "no start was confirmed in 3 rounds"
    assert len(got.finishes) == 3 * 2 * 2


def test_arenas_take_turns_and_kinds_stand_side_by_side(lost):
    got, _ = lost
    assert [each.arena for each in got.finishes] == [0] * 4 + [1] * 4 + [0] * 4
    assert [each.kind for each in got.finishes] == ["profiles", "profiles", "random", "random"] * 3
    assert [each.matrix.shape[0] for each in got.finishes] == [8] * 4 + [5] * 4 + [8] * 4
    assert got.arena.dimension == (8, 5)[got.standing.leader.arena]


def test_there_is_one_event_for_every_start(lost):
    got, told = lost
    assert [each.stage for each in told] == ["search"] * 12
    assert [each.number for each in told] == list(range(1, 13))
    assert {each.total for each in told} == {12}
    assert [each.values["cost"] for each in told] == [each.cost for each in got.finishes]
    assert [each.values["kind"] for each in told] == [each.kind for each in got.finishes]
    assert [each.values["dimensions"] for each in told] == [each.matrix.shape[0] for each in got.finishes]


def test_dimensions_beyond_those_of_the_vectors_are_one_arena():
    got = search(noise(60, 6), SearchSettings(words=(60,) * 3, dimensions=(30, 40, 6), starts=(1, 1), rounds=3), 0)
    assert {each.arena for each in got.finishes} == {0}
    assert {tuple(each.matrix.shape) for each in got.finishes} == {(6, 6)}


def same(one: Finish, other: Finish) -> bool:
    return (
        (one.kind, one.arena, one.cost, one.cycle) == (other.kind, other.arena, other.cost, other.cycle)
        and torch.equal(one.matrix, other.matrix)
        and torch.equal(one.choices, other.choices)
    )


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize(("count", "dimension"), [(200, 20), (500, 300)])
def test_neither_runs_nor_threads_change_a_bit(count, dimension):
    """Three hundred dimensions, where what is done outside the starts is shared between threads too."""
    torch.set_num_threads(1)
    problem = turned(count, dimension)
    settings = SearchSettings(words=(100,), dimensions=(10,), starts=(2, 2), rounds=1)
    runs = []
    for number in (1, 2, 1):
        torch.set_num_threads(number)
        runs.append(search(problem, settings, 7).finishes)
    assert len(runs[0]) == 4
    assert all(same(*each) for each in zip(runs[0], runs[2], strict=True))
    assert all(same(*each) for each in zip(runs[0], runs[1], strict=True))


def test_another_seed_takes_other_starts():
    settings = SearchSettings(words=(80,), dimensions=(8,), starts=(2, 2), rounds=1)
    one, other = (search(noise(80, 8), settings, seed).finishes for seed in (0, 1))
    assert not any(torch.allclose(a.matrix, b.matrix, atol=1e-3) for a in one for b in other)


def test_no_start_depends_on_how_many_rounds_may_follow(lost):
    got, _ = lost
    short = search(noise(80, 8), replace(QUICK, rounds=1), 0)
    assert len(short.finishes) == 4
    assert all(same(*each) for each in zip(short.finishes, got.finishes[:4], strict=True))


def test_starts_of_one_round_differ(lost):
    got, _ = lost
    firsts = [each for each in got.finishes if each.arena == 0]
    for row, one in enumerate(firsts):
        assert not any(torch.allclose(one.matrix, other.matrix, atol=1e-3) for other in firsts[:row])


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("number", [1, 2])
def test_the_number_of_threads_is_put_back(number):
    torch.set_num_threads(number)
    search(noise(60, 6), SearchSettings(words=(60,), dimensions=(5,), starts=(1, 1), rounds=1), 0)
    assert torch.get_num_threads() == number


@pytest.mark.usefixtures("threads")
def test_the_number_of_threads_is_put_back_when_a_start_fails(monkeypatch):
    def fail(*_):
        raise ZeroDivisionError

    monkeypatch.setitem(STARTS, "failing", fail)
    torch.set_num_threads(2)
    with pytest.raises(ZeroDivisionError):
        search(noise(60, 6), SearchSettings(words=(60,), dimensions=(5,), starts=(1,), rounds=1, kinds=("failing",)), 0)
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("threads")
def test_within_a_start_torch_has_one_thread(monkeypatch):
    seen = []

    def look(arena, _):
        seen.append(torch.get_num_threads())
        return torch.eye(arena.dimension)

    monkeypatch.setitem(STARTS, "looking", look)
    torch.set_num_threads(2)
    search(noise(60, 6), SearchSettings(words=(60,), dimensions=(5,), starts=(2,), rounds=1, kinds=("looking",)), 0)
    assert seen == [1, 1]


def test_where_all_find_the_same_one_round_will_do(monkeypatch):
    """Eight that agree and no crowd: more than six others; seven would not be enough."""
    monkeypatch.setitem(STARTS, "same", lambda arena, _: torch.eye(arena.dimension))
    problem = turned(80, 8)
    for starts, rounds in ((8, 1), (7, 2)):
        got = search(
            problem, SearchSettings(words=(80,), dimensions=(8,), starts=(starts,), rounds=4, kinds=("same",)), 0
        )
        assert got.confirmed
        assert len(got.finishes) == starts * rounds
        assert got.standing.crowd == ()


def test_interrupted_at_once_it_has_one_finish():
    got = search(noise(60, 6), QUICK, 0, stopped=lambda: True)
    assert len(got.finishes) == 1
    assert not got.confirmed
    assert got.gave_up == "it was interrupted"
    assert got.standing.leader is got.finishes[0]


@pytest.mark.usefixtures("threads")
def test_interrupted_later_it_keeps_what_it_has():
    torch.set_num_threads(1)
    asked = iter([False] * 6)
    got = search(noise(80, 8), QUICK, 0, stopped=lambda: next(asked, True))
    assert 4 < len(got.finishes) < 8
    assert got.gave_up == "it was interrupted"
    assert got.standing.leader.cost == min(
        each.cost for each in got.finishes if each.arena == got.standing.leader.arena
    )


def test_arenas_may_differ_in_words_and_a_round_may_have_more_starts_of_one_kind():
    settings = SearchSettings(words=(40, 60), dimensions=(5, 5), starts=(1, 2), rounds=2)
    got = search(noise(60, 6), settings, 0)
    assert [len(each.choices) for each in got.finishes] == [40] * 3 + [60] * 3
    assert [each.kind for each in got.finishes] == ["profiles", "random", "random"] * 2


def test_a_leader_under_whom_all_words_go_to_the_same_few_is_not_confirmed():
    leader = replace(finish(0.1), cycle=0.05)
    crowd = tuple(finish(0.9 + 0.001 * row, 0) for row in range(8))
    same = finish(0.11), finish(0.12)
    assert Standing(leader, same, crowd, 60.0).confirmed(6.0)
    assert not Standing(replace(leader, cycle=0.049), same, crowd, 60.0).confirmed(6.0)


@pytest.mark.parametrize("wrong", [{"words": (9, 0, 9)}, {"pool": 0}, {"starts": (1, 0)}, {"rounds": 0}])
def test_settings_below_one_are_refused(wrong):
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        SearchSettings(**wrong)


@pytest.mark.parametrize("wrong", [{"words": (9, 9)}, {"dimensions": (9, 9)}, {"kinds": ("random",)}, {"starts": (9,)}])
def test_settings_that_go_together_are_as_many(wrong):
    with pytest.raises(SettingsError, match="expected one to each"):
        SearchSettings(**wrong)


@pytest.mark.parametrize("wrong", [{"dimensions": (20, 0, 9)}, {"dimensions": ()}, {"kinds": ()}])
def test_nowhere_to_search_is_refused(wrong):
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        SearchSettings(**wrong)


def test_an_unknown_kind_of_start_is_refused_with_the_choices():
    with pytest.raises(SettingsError, match=r"'magic'.*profiles, random"):
        SearchSettings(kinds=("profiles", "magic"))


RIGHT = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]


def finish(cost: float, alike: int = 10, arena: int = 0) -> Finish:
    """One that translates the first ``alike`` of ten words as RIGHT does, and the others elsewhere."""
    choices = torch.tensor(RIGHT[:alike] + [100 + int(1000 * cost) + row for row in range(10 - alike)])
    return Finish("random", arena, cost, torch.eye(2), choices, 0.5)


@pytest.mark.parametrize("alike", range(11))
def test_agreement_is_the_share_of_words_translated_alike(alike):
    assert agreement(finish(0.5), finish(0.7, alike)) == pytest.approx(alike / 10)
    assert agreement(finish(0.7, alike), finish(0.5)) == pytest.approx(alike / 10)


def test_half_alike_agree_below_a_fifth_went_elsewhere_and_others_count_for_neither():
    others = [finish(0.6 + alike / 100, alike) for alike in range(11)]
    leader = finish(0.5)
    standing = standing_of([*others[:4], leader, *others[4:]])
    assert standing.leader is leader
    assert standing.agreeing == 6
    assert standing.crowd == tuple(others[:2])


def test_the_leader_is_the_cheapest_even_where_all_others_agree_on_something_else():
    many = [finish(0.7) for _ in range(8)]
    alone = finish(0.6, 0)
    standing = standing_of([*many, alone])
    assert standing.leader is alone
    assert standing.agreeing == 0
    assert len(standing.crowd) == 8


def test_clearance_by_hand():
    """Median 0.83, deviations 0.03 0.02 0.01 0 0.01 0.03 0.05, of which the median is 0.02."""
    crowd = [0.80, 0.81, 0.82, 0.83, 0.84, 0.86, 0.88]
    assert _clearance(0.70, crowd) == pytest.approx(0.13 / (NORMALISED * 0.02))
    assert _clearance(0.83, crowd) == pytest.approx(0, abs=1e-9)
    assert _clearance(0.90, crowd) == pytest.approx(-0.07 / (NORMALISED * 0.02))


def test_clearance_of_an_even_crowd_is_from_the_median_that_the_verdict_reports():
    """Half-way between the middle two, as `statistics.median` has it for `crowd_cost`: 0.83 and 0.025 here."""
    crowd = [0.80, 0.81, 0.82, 0.84, 0.86, 0.90]
    middle = statistics.median(crowd)
    deviation = statistics.median(abs(each - middle) for each in crowd)
    assert (middle, deviation) == (pytest.approx(0.83), pytest.approx(0.025))
    assert _clearance(0.70, crowd) == pytest.approx((middle - 0.70) / (NORMALISED * deviation))


def test_clearance_does_not_change_when_all_costs_are_shifted_or_stretched():
    crowd = [0.80, 0.81, 0.82, 0.83, 0.84, 0.86, 0.88]
    moved = [3 * each + 1 for each in crowd]
    assert _clearance(3 * 0.70 + 1, moved) == pytest.approx(_clearance(0.70, crowd))


def test_a_crowd_of_five_is_too_small_to_say_and_one_of_equal_costs_divides_by_no_zero():
    assert _clearance(0.1, [0.8, 0.82, 0.84, 0.86, 0.88]) == 0.0
    assert _clearance(0.1, []) == 0.0
    assert _clearance(0.7, [0.8] * 6) == pytest.approx(0.1 / (NORMALISED * 1e-6))


def test_found_again_comes_before_clear_of_the_crowd():
    alone = [finish(0.3, 10, arena=0), *(finish(0.80 + row / 100, 0, arena=0) for row in range(7))]
    again = [
        finish(0.7, 10, arena=1),
        finish(0.7, 9, arena=1),
        *(finish(0.80 + row / 100, 0, arena=1) for row in range(7)),
    ]
    assert standing_of(alone).clearance > standing_of(again).clearance
    assert best_standing(alone + again).leader is again[0]
    assert best_standing(again + alone).leader is again[0]


def test_of_two_found_again_the_clearer_one_leads_though_its_cost_is_higher():
    def arena(number: int, cost: float) -> list[Finish]:
        crowd = [finish(0.80 + row / 100, 0, arena=number) for row in range(7)]
        return [finish(cost, 10, arena=number), finish(cost, 8, arena=number), *crowd]

    near, far = arena(0, 0.75), arena(1, 0.60)
    dear = [Finish(each.kind, 2, each.cost + 1, each.matrix, each.choices, each.cycle) for each in arena(2, 0.50)]
    assert best_standing(near + far).leader is far[0]
    assert best_standing(near + far + dear).leader is dear[0]


def standing(agreeing: int, crowd: int, clearance: float) -> Standing:
    return Standing(finish(0.5), (finish(0.51),) * agreeing, tuple(finish(0.8, 0) for _ in range(crowd)), clearance)


@pytest.mark.parametrize(
    ("agreeing", "crowd", "clearance", "confirmed"),
    [
        (1, 6, 6.0, True),
        (1, 6, 5.99, False),
        (0, 6, 60.0, False),
        (0, 47, 6.0, False),
        (7, 0, 0.0, True),
        (6, 0, 0.0, False),
        (11, 5, 0.0, False),
        (12, 5, 0.0, True),
        (12, 6, 0.0, False),
    ],
)
def test_confirmed_means_clear_and_found_twice_or_nearly_all_alike(agreeing, crowd, clearance, confirmed):
    assert standing(agreeing, crowd, clearance).confirmed(6.0) is confirmed
