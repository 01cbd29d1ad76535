"""The second search: what is found twice and stands clear is confirmed, what means nothing is not."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from calque.errors import SettingsError
from calque.linear.maps import unit
from calque.methods.default.alternation import Problem, random_rotation
from calque.methods.default.climb import ClimbSettings
from calque.methods.default.deep_search import Attempt, DeepSearchSettings, Leading, deep_search, judged, random_crowd
from calque.progress import Step
from calque.transport import uniform

WORDS, DIMENSION = 1200, 16
SETTINGS = DeepSearchSettings(rounds=4, climb=ClimbSettings(rounds=40))


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def clustered(seed: int) -> torch.Tensor:
    generator, scales = seeded(seed), torch.linspace(1, 0.2, DIMENSION)
    centres = torch.randn(30, DIMENSION, generator=generator) * scales
    member = torch.multinomial(torch.linspace(1, 9, 30), WORDS, replacement=True, generator=generator)
    return unit(centres[member] + 0.5 * scales * torch.randn(WORDS, DIMENSION, generator=generator))


def leading_of(source: torch.Tensor, target: torch.Tensor) -> Leading:
    return Leading.of(Problem(source, target, uniform(len(source), source), uniform(len(target), target)), 100)


SOURCE = clustered(0)
TARGET = unit(
    (SOURCE + 0.03 * torch.randn(WORDS, DIMENSION, generator=seeded(2))) @ random_rotation(DIMENSION, seeded(1))
)
PAIR = leading_of(SOURCE, TARGET)


@pytest.fixture(scope="module")
def steps() -> list[Step]:
    return []


@pytest.fixture(scope="module")
def found(steps):
    return deep_search(PAIR, SETTINGS, 0, listen=steps.append)


def test_a_rotated_copy_is_found_twice_and_confirmed(found):
    assert found.evidence.confirmed
    assert found.evidence.agreeing >= 1
    assert found.evidence.clearance >= SETTINGS.clear
    right = found.leader.choices == torch.arange(len(found.leader.choices))
    assert float(right.float().mean()) > 0.8


def test_every_start_is_heard_and_has_a_role(found, steps):
    assert [step.stage for step in steps] == ["deep search"] * len(found.attempts)
    assert [step.number for step in steps] == list(range(1, len(found.attempts) + 1))
    assert found.evidence.starts == len(found.evidence.roles) == len(found.attempts)
    assert found.evidence.roles.count("winner") == 1


def test_the_same_seed_finds_the_same(found):
    again = deep_search(PAIR, SETTINGS, 0)
    assert torch.equal(again.leader.gram, found.leader.gram)
    assert again.evidence == found.evidence


@pytest.mark.parametrize("seed", range(3))
def test_two_languages_with_nothing_in_common_are_not_confirmed(seed):
    result = deep_search(leading_of(clustered(10 + seed), clustered(20 + seed)), replace(SETTINGS, rounds=2), seed)
    assert not result.evidence.confirmed
    assert result.evidence.gave_up


def test_without_rounds_the_hints_alone_are_judged():
    assert deep_search(PAIR, replace(SETTINGS, rounds=0), 0) is None


def test_a_lone_winner_is_not_confirmed_however_clear_it_is(found):
    crowd = random_crowd(PAIR, 0)
    alone = judged([found.leader], crowd, SETTINGS.clear, PAIR)
    assert alone.evidence.clearance >= SETTINGS.clear
    assert not alone.evidence.confirmed
    copied = replace(found.leader)
    both = judged([found.leader, copied], crowd, SETTINGS.clear, PAIR)
    assert both.evidence.confirmed


def test_a_map_that_sends_all_words_to_the_same_few_is_not_confirmed(found):
    crowd = random_crowd(PAIR, 0)
    collapsed = replace(found.leader, cycle=0.01)
    assert not judged([collapsed, replace(collapsed)], crowd, SETTINGS.clear, PAIR).evidence.confirmed


def test_agreement_is_the_share_of_words_translated_alike():
    choices = torch.arange(100)
    one = Attempt("fused", torch.eye(2), 0.1, choices, 0.5)
    other = replace(one, choices=torch.cat([choices[:30], torch.zeros(70, dtype=torch.long)]))
    assert one.agreement(other) == pytest.approx(0.3)


def test_asked_to_stop_it_ends_soon():
    assert deep_search(PAIR, SETTINGS, 0, stopped=lambda: True) is None


@pytest.mark.parametrize(
    "wrong", [{"kinds": ()}, {"kinds": ("psychic",)}, {"rounds": -1}, {"starts": 0}, {"dimensions": 1}]
)
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(SettingsError, match="expected"):
        DeepSearchSettings(**wrong)
