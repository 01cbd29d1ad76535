from __future__ import annotations

from dataclasses import dataclass

import pytest

from calque.experiments.jobs import Making, Run, Score, Tally


@dataclass(frozen=True)
class Key:
    method: str
    seed: int
    pair: str = "es-en"
    name: str = ""


def took(method: str, seconds: float, scoring: float = 0.0) -> Run[Key]:
    return Run(Key(method, 0), Score(), Making("", {}, seconds=seconds, scoring=scoring))


def test_what_is_left_takes_as_long_as_others_of_its_method_did():
    tally = Tally([*(Key("fast", seed) for seed in range(3)), *(Key("slow", seed) for seed in range(2))])
    assert (tally.standing().done, tally.standing().total, tally.standing().unknown) == (0, 5, 5)
    tally.finished(took("fast", 1.0, 1.0))
    tally.finished(took("fast", 4.0))
    standing = tally.standing()
    assert (standing.done, standing.unknown) == (2, 2)
    assert standing.seconds == pytest.approx(3.0)
    tally.finished(took("slow", 10.0))
    assert tally.standing().seconds == pytest.approx(13.0)
    tally.at_once = 2
    assert tally.standing().seconds == pytest.approx(6.5)


def test_a_run_that_was_not_asked_for_teaches_and_counts_for_nothing():
    tally = Tally([Key("slow", 0)])
    tally.known(took("slow", 7.0))
    assert (tally.standing().done, tally.standing().seconds) == (0, 7.0)
