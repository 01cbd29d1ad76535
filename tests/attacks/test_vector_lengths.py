"""Only directions matter: vectors far too long or too short for float32 align as they do at length 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import calque
from calque.data.space import Space
from calque.linear.maps import STEPS, Preprocessing, fit, unit, unit_of_any_length

ROWS = torch.randn(30, 6, generator=torch.Generator().manual_seed(2))


@settings(max_examples=60, deadline=None)
@given(exponents=st.lists(st.integers(-37, 37), min_size=30, max_size=30))
def test_every_row_keeps_its_direction_whatever_its_length(exponents):
    lengths = 10.0 ** torch.tensor(exponents, dtype=torch.float64)
    scaled = (unit(ROWS).double() * lengths[:, None]).float()
    assert torch.allclose(unit_of_any_length(scaled), unit(ROWS), atol=1e-5)


def test_usual_lengths_give_the_same_bits_and_zeros_stay_zeros():
    assert torch.equal(unit_of_any_length(ROWS), unit(ROWS))
    with_zero = ROWS.clone()
    with_zero[3] = 0
    assert torch.equal(unit_of_any_length(with_zero)[3], torch.zeros(6))
    assert torch.allclose(unit_of_any_length(with_zero), unit(with_zero), atol=1e-6)


@pytest.mark.parametrize("steps", [(), *((step,) for step in STEPS), ("center", "unit"), ("standardise", "center")])
@pytest.mark.parametrize("scale", [1e30, 1e-30, 3e37])
def test_a_scale_of_all_vectors_changes_no_direction_and_is_kept_with_the_map(steps, scale):
    fitted, after = fit(ROWS / ROWS.abs().max() * scale, steps)
    _, expected = fit(ROWS, steps)
    assert torch.allclose(unit(after), unit(expected), atol=1e-4)
    again = Preprocessing.from_tensors(fitted.tensors())
    assert torch.equal(again.apply(ROWS / ROWS.abs().max() * scale), after)


def with_lengths(space: Space, lengths: torch.Tensor) -> Space:
    return Space.of(space.words, (unit(space.vectors).double() * lengths[:, None]).numpy(), name=space.name)


@pytest.mark.parametrize("kind", ["1e30", "1e-30", "every length", "one of 1e20"])
def test_an_alignment_does_not_see_lengths(kind: str, problem: Any, files: Any):
    count = len(problem.source)
    lengths = torch.ones(count, dtype=torch.float64)
    if kind == "every length":
        lengths = 10.0 ** torch.linspace(-30, 30, count, dtype=torch.float64)[torch.randperm(count)]
    elif kind == "one of 1e20":
        lengths[7] = 1e20
    else:
        lengths *= float(kind)
    plain = calque.align(problem.source, problem.target, recipe=files.quick)
    scaled = calque.align(with_lengths(problem.source, lengths), problem.target, recipe=files.quick)
    assert scaled.verdict.label == plain.verdict.label
    some = problem.source.words[:100]
    same = [
        one.candidates[0].word == two.candidates[0].word
        for one, two in zip(plain.translate(some), scaled.translate(some), strict=True)
    ]
    assert np.mean(same) > 0.98
    long = with_lengths(problem.source, lengths).vectors
    assert torch.allclose(scaled.map_source(long), scaled.source.vectors, atol=1e-5)
