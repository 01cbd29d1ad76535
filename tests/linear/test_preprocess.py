from __future__ import annotations

import numpy as np
import pytest
import torch

from calque.errors import SettingsError
from calque.linear.maps import STEPS, Preprocessing, fit, unit

CHAINS = [(), *((step,) for step in STEPS), ("unit", "center", "unit"), ("iterative", "standardise", "unit")]


def draw(count: int = 40, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Vectors far from centred, and with a scale of its own for every dimension."""
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(count, 5, generator=generator, dtype=torch.float64)
    return (vectors * torch.tensor([1.0, 5.0, 0.1, 2.0, 3.0]) + torch.tensor([0.5, -3.0, 1.0, 0.0, 2.0])).to(dtype)


@pytest.mark.parametrize("names", CHAINS)
def test_applied_to_what_it_was_fitted_on_it_gives_the_same(names):
    fitted, after = fit(draw(), names)
    assert torch.equal(fitted.apply(draw()), after)


@pytest.mark.parametrize("names", CHAINS)
def test_a_row_alone_is_treated_as_among_the_others(names):
    """With what was measured when fitting: a mean taken over the new row alone would leave nothing of it."""
    fitted, after = fit(draw(), names)
    assert torch.allclose(fitted.apply(draw()[7:8]), after[7:8], atol=1e-12)


@pytest.mark.parametrize("names", CHAINS)
def test_what_is_saved_gives_the_same_preprocessing_back(names):
    fitted, _ = fit(draw(dtype=torch.float32), names)
    unsorted = dict(reversed(fitted.tensors().items()))
    again = Preprocessing.from_tensors(unsorted)
    new = draw(seed=1, dtype=torch.float32)
    assert torch.equal(again.apply(new), fitted.apply(new))
    assert len(again.steps) == len(fitted.steps)


def test_more_than_ten_steps_come_back_in_order():
    """By number and not by letter: "10" sorts before "2"."""
    names = ["unit", "center"] * 5 + ["standardise", "unit"]
    fitted, after = fit(draw(), names)
    again = Preprocessing.from_tensors(fitted.tensors())
    assert [step is None for step in again.steps] == [name == "unit" for name in names]
    assert torch.equal(again.apply(draw()), after)


def test_unit_keeps_directions_and_makes_lengths_one():
    vectors = draw()
    unit_vectors = unit(vectors)
    assert torch.allclose(unit_vectors.norm(dim=1), torch.ones(40, dtype=torch.float64), atol=1e-14)
    assert torch.allclose((unit_vectors * vectors).sum(dim=1), vectors.norm(dim=1), atol=1e-12)


def test_a_row_of_zeros_stays_a_row_of_zeros():
    vectors = draw()
    vectors[3] = 0
    unit_vectors = unit(vectors)
    assert unit_vectors[3].tolist() == [0.0] * 5
    assert torch.equal(unit_vectors[4:], unit(vectors[4:]))


def test_unit_follows_the_last_dimension_of_a_batch():
    batch = torch.stack([draw(), draw(seed=1)])
    assert torch.allclose(unit(batch), torch.stack([unit(draw()), unit(draw(seed=1))]), atol=1e-15)


def test_center_takes_the_mean_away_and_nothing_else():
    _, after = fit(draw(), ["center"])
    assert np.allclose(after.numpy(), draw().numpy() - draw().numpy().mean(axis=0), atol=1e-12)


def test_standardise_is_mean_and_deviation_of_every_dimension():
    _, after = fit(draw(), ["standardise"])
    vectors = draw().numpy()
    assert np.allclose(after.numpy(), (vectors - vectors.mean(axis=0)) / vectors.std(axis=0), atol=1e-12)


def test_standardise_leaves_a_constant_dimension_without_weight():
    """It says nothing about any word, so its rounding errors must not be blown up into values."""
    vectors = draw(count=1000, dtype=torch.float32)
    vectors[:, 2] = 0.1
    _, after = fit(vectors, ["standardise"])
    assert float(after[:, 2].abs().max()) < 1e-3


def test_iterative_makes_unit_and_centred_at_once():
    raw = draw(200) + 1.0
    _, once = fit(raw, ["unit", "center"])
    _, after = fit(raw, ["iterative"])
    off = (after.norm(dim=1) - 1).abs().max()
    assert float(after.mean(dim=0).norm()) < 1e-12
    assert float(off) < 0.02
    assert float(off) < 0.1 * float((once.norm(dim=1) - 1).abs().max())


def test_steps_are_done_in_the_order_named():
    _, unit_last = fit(draw(), ["center", "unit"])
    _, centred_last = fit(draw(), ["unit", "center"])
    assert torch.allclose(unit_last.norm(dim=1), torch.ones(40, dtype=torch.float64))
    assert float(unit_last.mean(dim=0).norm()) > 0.01
    assert float(centred_last.mean(dim=0).norm()) < 1e-12
    assert float((centred_last.norm(dim=1) - 1).abs().max()) > 0.01


def test_the_vectors_given_are_left_alone():
    vectors = draw()
    fit(vectors, ["iterative", "standardise"])
    assert torch.equal(vectors, draw())


def test_new_vectors_keep_their_own_type():
    fitted, _ = fit(draw(dtype=torch.float32), ["center", "unit"])
    assert fitted.apply(draw(dtype=torch.float64)).dtype == torch.float64


def test_an_unknown_step_lists_the_choices():
    with pytest.raises(SettingsError, match=r"'whiten'; there are: unit, center, standardise, iterative"):
        fit(draw(), ["unit", "whiten"])
