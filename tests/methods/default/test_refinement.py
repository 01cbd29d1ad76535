from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from calque.errors import SettingsError
from calque.linear.closed_forms import TwoWay, nearest_orthogonal, procrustes, two_way
from calque.linear.maps import LinearMap, unit
from calque.methods.default.correspondence import correspondence
from calque.methods.default.refinement import FEWEST_PAIRS_A_DIMENSION, RefinementSettings, refine
from calque.progress import Step

WORDS, DIMENSION = 300, 8
Maps = tuple[LinearMap, LinearMap]


def normal(*size: int, seed: int) -> torch.Tensor:
    return torch.randn(*size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def eye(dimension: int) -> torch.Tensor:
    return torch.eye(dimension, dtype=torch.float64)


TRUTH = nearest_orthogonal(normal(DIMENSION, DIMENSION, seed=2))
ORDER = torch.randperm(WORDS, generator=torch.Generator().manual_seed(1))
"""Target word i means source word ORDER[i]."""


def two_spaces(noise: float = 0.0) -> tuple[torch.Tensor, torch.Tensor]:
    """A space, and the same turned by TRUTH, in another ORDER, blurred; the last directions agree on nothing."""
    source = unit(normal(WORDS, DIMENSION, seed=0) * torch.linspace(2, 1, DIMENSION))
    blur = noise * torch.linspace(0.2, 2, DIMENSION) * normal(WORDS, DIMENSION, seed=3)
    return source, unit((source + blur) @ TRUTH)[ORDER]


def rough_maps(by: float = 0.25) -> Maps:
    """TRUTH, but off by some degrees."""
    return LinearMap(nearest_orthogonal(TRUTH + by * normal(DIMENSION, DIMENSION, seed=4))), LinearMap(eye(DIMENSION))


def assert_same(one: TwoWay, other: TwoWay, tolerance: float) -> None:
    for mine, yours in zip((*one.there, *one.back), (*other.there, *other.back), strict=True):
        assert torch.allclose(mine.matrix, yours.matrix, rtol=0.0, atol=tolerance)


def way(maps: TwoWay, back: bool = False) -> Maps:
    """The maps of a direction."""
    return maps.back if back else maps.there


def right_share(maps: Maps, source: torch.Tensor, target: torch.Tensor, back: bool = False) -> float:
    """Of words whose nearest word on the other side, by cosine, is their own translation."""
    cosines = unit(maps[0].apply(source)) @ unit(maps[1].apply(target)).mT
    if back:
        return float((cosines.argmax(dim=0) == ORDER).double().mean())
    return float((ORDER[cosines.argmax(dim=1)] == torch.arange(len(source))).double().mean())


def closeness(maps: Maps, source: torch.Tensor, target: torch.Tensor) -> float:
    """The mean cosine of a word to its own translation."""
    return float((unit(maps[0].apply(source[ORDER])) * unit(maps[1].apply(target))).sum(dim=1).mean())


@pytest.mark.parametrize("back", [False, True])
def test_more_words_are_translated_right_than_before_up_to_what_the_truth_would_give(back):
    source, target = two_spaces(noise=0.1)
    before = right_share(rough_maps(), source, target, back)
    truth = right_share((LinearMap(TRUTH), LinearMap(eye(DIMENSION))), source, target, back)
    after = right_share(
        way(refine(source, target, TwoWay.of(*rough_maps()), RefinementSettings()), back), source, target, back
    )
    assert before < truth - 0.1
    assert after > before + 0.1
    assert after > truth - 0.03


def test_more_rounds_are_no_worse_than_fewer():
    source, target = two_spaces(noise=0.1)
    shares = [
        right_share(
            way(refine(source, target, TwoWay.of(*rough_maps()), RefinementSettings(rounds=rounds))), source, target
        )
        for rounds in range(5)
    ]
    assert all(later >= earlier - 0.02 for earlier, later in pairwise(shares))
    assert shares[4] > shares[1] > shares[0]


def test_words_and_their_translations_come_together():
    source, target = two_spaces(noise=0.1)
    after = closeness(way(refine(source, target, TwoWay.of(*rough_maps()), RefinementSettings())), source, target)
    assert closeness(rough_maps(), source, target) < after - 0.05
    assert after > closeness((LinearMap(TRUTH), LinearMap(eye(DIMENSION))), source, target)


@pytest.mark.parametrize("shrinkage", [0.5, 0.75, 1.0])
def test_a_rotated_copy_is_carried_onto_itself(shrinkage):
    """Nothing disagrees, so nothing is stretched: the way from one side to the other is the rotation itself."""
    source, target = two_spaces()
    settings = RefinementSettings(shrinkage=shrinkage, temperature=1e-4)
    maps = refine(source, target, TwoWay.of(*rough_maps()), settings)
    for way in (maps.there, maps.back):
        assert torch.allclose(way[0].apply(source[ORDER]), way[1].apply(target), atol=1e-8)
        assert torch.allclose(way[0].then(way[1].inverse()).matrix, TRUTH, atol=1e-8)


def test_a_round_makes_the_maps_from_the_dictionary_of_the_maps_before():
    source, target = two_spaces(noise=0.1)
    maps = TwoWay.of(*rough_maps())
    for _ in range(2):
        pairs = correspondence(source, target, maps, 0.1)
        maps = two_way(source[pairs.source], target[pairs.target], pairs.scores, 0.6)
    settings = RefinementSettings(rounds=2, temperature=0.1, shrinkage=0.6)
    assert_same(refine(source, target, TwoWay.of(*rough_maps()), settings), maps, 1e-10)


def test_the_map_of_the_target_side_counts_too():
    """The whole of the rough map may as well stand on the other side."""
    source, target = two_spaces(noise=0.1)
    there, stay = rough_maps()
    other_side = refine(source, target, TwoWay.of(stay, there.inverse()), RefinementSettings())
    assert_same(refine(source, target, TwoWay.of(there, stay), RefinementSettings()), other_side, 1e-8)


@pytest.mark.parametrize("pairs", [1, 5, FEWEST_PAIRS_A_DIMENSION * DIMENSION - 1])
def test_from_few_pairs_it_only_turns(pairs):
    """Orthogonal, with the target left where it is; the rotation is the one Procrustes gives for these words."""
    source = two_spaces(noise=0.1)[0][:pairs]
    target = unit(source @ TRUTH + 0.01 * normal(pairs, DIMENSION, seed=5))
    truth = TwoWay.of(LinearMap(TRUTH), LinearMap(eye(DIMENSION)))
    maps = refine(source, target, truth, RefinementSettings(rounds=1, temperature=1e-4)).there
    assert torch.allclose(maps[0].matrix @ maps[0].matrix.mT, eye(DIMENSION), atol=1e-10)
    assert torch.equal(maps[1].matrix, eye(DIMENSION))
    assert torch.allclose(maps[0].apply(source), procrustes(source, target).apply(source), atol=1e-10)
    assert float((maps[0].apply(source) - target).norm()) <= float((source @ TRUTH - target).norm())


def test_from_enough_pairs_it_also_stretches():
    enough = FEWEST_PAIRS_A_DIMENSION * DIMENSION + 1
    source = two_spaces()[0][:enough]
    target = unit(source @ TRUTH + 0.02 * normal(enough, DIMENSION, seed=5))
    truth = TwoWay.of(LinearMap(TRUTH), LinearMap(eye(DIMENSION)))
    maps = refine(source, target, truth, RefinementSettings(rounds=1, temperature=1e-4))
    stretches = torch.linalg.svdvals(maps.there[0].matrix)
    assert float(stretches.max() - stretches.min()) > 1e-4


def test_candidates_are_shrunk_more_than_queries_either_way():
    source, target = two_spaces(noise=0.2)
    even = refine(source, target, TwoWay.of(*rough_maps()), RefinementSettings(shrinkage=0.5))
    assert all(torch.equal(one.matrix, other.matrix) for one, other in zip(even.there, even.back, strict=True))
    maps = refine(source, target, TwoWay.of(*rough_maps()), RefinementSettings(shrinkage=1.0))
    for query, candidate in ((maps.there[0], maps.back[0]), (maps.back[1], maps.there[1])):
        assert float(candidate.matrix.norm()) < 0.98 * float(query.matrix.norm())


def test_no_rounds_give_back_what_was_given():
    maps = TwoWay.of(*rough_maps())
    assert refine(*two_spaces(), maps, RefinementSettings(rounds=0)) is maps


def test_it_ends_once_the_dictionary_no_longer_grows_surer():
    source, target = two_spaces(noise=0.1)
    told: list[Step] = []
    settings = RefinementSettings(rounds=60, fewest=2, growth=0.01)
    refine(source, target, TwoWay.of(*rough_maps()), settings, told.append)
    sure = [float(step.values["pairs"]) for step in told]
    assert 2 < len(told) < 60
    assert sure[-1] - sure[-2] < 0.01 * sure[-1]
    assert all(later - earlier >= 0.01 * later for earlier, later in pairwise(sure[1:-1]))


def test_words_beyond_the_limit_say_nothing():
    source, target = two_spaces(noise=0.1)
    made = refine(source, target, TwoWay.of(*rough_maps()), RefinementSettings(words=200))
    alone = refine(source[:200], target[:200], TwoWay.of(*rough_maps()), RefinementSettings())
    everyone = refine(source, target, TwoWay.of(*rough_maps()), RefinementSettings())
    assert_same(made, alone, 0.0)
    assert not torch.allclose(made.there[0].matrix, everyone.there[0].matrix, atol=1e-3)


def test_the_two_sides_may_have_different_numbers_of_words():
    source, target = two_spaces()
    maps = refine(source[:120], target, TwoWay.of(*rough_maps(0.1)), RefinementSettings(temperature=1e-4)).there
    assert torch.allclose(maps[0].apply(source[ORDER]), maps[1].apply(target), atol=1e-8)


def test_the_order_of_words_does_not_matter():
    source, target = two_spaces(noise=0.1)
    shuffled = torch.randperm(WORDS, generator=torch.Generator().manual_seed(8))
    plain = refine(source, target, TwoWay.of(*rough_maps()), RefinementSettings()).there
    mixed = refine(source[shuffled], target, TwoWay.of(*rough_maps()), RefinementSettings()).there
    common = plain[0].apply(source) @ plain[1].apply(target).mT
    assert torch.allclose(mixed[0].apply(source) @ mixed[1].apply(target).mT, common, atol=1e-8)


def test_it_tells_of_every_round_and_how_sure_the_dictionary_was():
    source, target = two_spaces()
    told: list[Step] = []
    truth = TwoWay.of(LinearMap(TRUTH), LinearMap(eye(DIMENSION)))
    refine(source, target, truth, RefinementSettings(rounds=3, temperature=1e-4), told.append)
    assert [(step.stage, step.number, step.total) for step in told] == [("refine", number, 3) for number in (1, 2, 3)]
    assert [float(step.values["pairs"]) for step in told] == pytest.approx([WORDS] * 3, abs=1e-6)


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_it_ends_when_told_to_with_what_it_has(rounds):
    source, target = two_spaces(noise=0.1)
    told: list[Step] = []
    maps, settings = TwoWay.of(*rough_maps()), RefinementSettings(rounds=9)
    made = refine(source, target, maps, settings, told.append, stopped=lambda: len(told) >= rounds)
    assert len(told) == rounds
    assert_same(made, refine(source, target, maps, RefinementSettings(rounds=rounds)), 0.0)


def test_what_it_was_given_is_left_alone():
    source, target = two_spaces(noise=0.1)
    maps = rough_maps()
    refine(source, target, TwoWay.of(*maps), RefinementSettings())
    assert all(torch.equal(*each) for each in zip((source, target), two_spaces(noise=0.1), strict=True))
    assert torch.equal(maps[0].matrix, rough_maps()[0].matrix)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"rounds": -1}, "rounds is -1"),
        ({"words": 0}, "words 0"),
        ({"fewest": -1}, "fewest -1"),
        ({"temperature": 0.0}, "temperature is 0.0"),
        ({"growth": float("nan")}, "growth nan"),
        ({"shrinkage": -0.5}, "shrinkage"),
        ({"shrinkage": float("nan")}, "shrinkage"),
    ],
)
def test_settings_out_of_range_are_refused(wrong, named):
    with pytest.raises(SettingsError, match=named):
        RefinementSettings(**wrong)
