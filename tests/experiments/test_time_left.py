from __future__ import annotations

import pytest

from calque.experiments.events import TimeLeft
from calque.experiments.results import ExperimentKey, FinishedRun, Provenance, Score


def key(method: str, seed: int) -> ExperimentKey:
    return ExperimentKey("es-en", method, seed)


def took(method: str, seconds: float, scoring: float = 0.0) -> FinishedRun:
    return FinishedRun(key(method, 0), Score(), Provenance("", {}, seconds=seconds, scoring=scoring))


def test_what_is_left_takes_as_long_as_others_of_its_method_did():
    left = TimeLeft([*(key("fast", seed) for seed in range(3)), *(key("slow", seed) for seed in range(2))])
    assert (left.progress().done, left.progress().total, left.progress().unknown) == (0, 5, 5)
    left.finish(took("fast", 1.0, 1.0))
    left.finish(took("fast", 4.0))
    progress = left.progress()
    assert (progress.done, progress.unknown) == (2, 2)
    assert progress.seconds == pytest.approx(3.0)
    left.finish(took("slow", 10.0))
    assert left.progress().seconds == pytest.approx(13.0)
    left.at_once = 2
    assert left.progress().seconds == pytest.approx(6.5)


def test_a_run_that_was_not_asked_for_teaches_and_counts_for_nothing():
    left = TimeLeft([key("slow", 0)])
    left.learn(took("slow", 7.0))
    assert (left.progress().done, left.progress().seconds) == (0, 7.0)
