from __future__ import annotations

import math

import numpy as np
import ot
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from calque.errors import SettingsError
from calque.linear.maps import unit
from calque.transport import CLOSEST, SinkhornSettings, inner, scale, sinkhorn, sqrt_cosine_cost, uniform

DOMAINS = ("kernel", "log")
seeds = st.integers(0, 2**31 - 1)


def directions(count: int, dimension: int, seed: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return unit(torch.randn(count, dimension, generator=generator, dtype=dtype))


def weights(*size: int, seed: int) -> torch.Tensor:
    weights = torch.rand(*size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 0.05
    return weights / weights.sum(dim=-1, keepdim=True)


@pytest.fixture
def problem() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Seven words against five, none of them as frequent as another."""
    return sqrt_cosine_cost(directions(7, 4, 0), directions(5, 4, 1)), weights(7, seed=2), weights(5, seed=3)


@pytest.mark.parametrize("domain", [*DOMAINS, "auto"])
@pytest.mark.parametrize("sharpness", [1.0, 10.0, 40.0])
def test_the_plan_and_its_distance_are_those_of_pot(problem, domain, sharpness):
    cost, rows, columns = problem
    plan = sinkhorn(cost, rows, columns, SinkhornSettings(sharpness, 20_000, 1e-12, domain))
    expected = ot.sinkhorn(rows.numpy(), columns.numpy(), cost.numpy(), 1 / sharpness, numItermax=20_000, stopThr=1e-13)
    assert plan.converged
    assert np.abs(plan.matrix.numpy() - expected).max() < 1e-9
    assert float(plan.distance) == pytest.approx((expected * cost.numpy()).sum(), abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_very_sharp_plan_is_the_best_assignment(seed):
    cost = torch.rand(6, 6, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    plan = sinkhorn(cost, uniform(6, cost), uniform(6, cost), SinkhornSettings(1000.0, 40_000, 1e-9, "log"))
    row, column = linear_sum_assignment(cost.numpy())
    assert plan.matrix.argmax(dim=1).tolist() == column.tolist()
    assert float(plan.distance) == pytest.approx(cost.numpy()[row, column].mean(), abs=1e-5)


def test_a_very_sharp_plan_between_unequal_sets_is_exact_transport(problem):
    cost, rows, columns = problem
    plan = sinkhorn(cost, rows, columns, SinkhornSettings(1000.0, 20_000, 1e-9, "log"))
    assert np.abs(plan.matrix.numpy() - ot.emd(rows.numpy(), columns.numpy(), cost.numpy())).max() < 1e-5


def cost_with_an_outlier() -> torch.Tensor:
    """In float32: every row has something near, and the last column is far from all of them."""
    source = directions(6, 4, 0, torch.float32)
    return torch.cat([sqrt_cosine_cost(source, source), torch.full((6, 1), 2.0)], dim=1)


def test_auto_takes_the_log_domain_where_the_kernel_underflows():
    cost = cost_with_an_outlier()
    rows, columns = uniform(6, cost), uniform(7, cost)
    auto, log, kernel = (
        sinkhorn(cost, rows, columns, SinkhornSettings(1000.0, 50, domain=domain))
        for domain in ("auto", "log", "kernel")
    )
    assert not bool(torch.isfinite(kernel.matrix).all())
    assert bool(torch.isfinite(auto.matrix).all())
    assert torch.equal(auto.matrix, log.matrix)
    assert torch.allclose(auto.matrix.sum(dim=0), columns, rtol=1e-3)


def test_auto_takes_the_kernel_where_it_is_safe():
    cost = sqrt_cosine_cost(directions(30, 5, 0, torch.float32), directions(20, 5, 1, torch.float32))
    rows, columns = uniform(30, cost), uniform(20, cost)
    auto, log, kernel = (
        sinkhorn(cost, rows, columns, SinkhornSettings(10.0, domain=domain)) for domain in ("auto", "log", "kernel")
    )
    assert torch.equal(auto.matrix, kernel.matrix)
    assert not torch.equal(auto.matrix, log.matrix)
    assert torch.allclose(auto.matrix, log.matrix, atol=1e-6)


@pytest.mark.parametrize("sharpness", [1.0, 30.0, 40.0, 41.0, 42.0, 43.0, 44.0, 50.0, 100.0, 300.0])
def test_auto_gives_a_plan_in_float32_at_any_sharpness(sharpness):
    cost = cost_with_an_outlier()
    plan = sinkhorn(cost, uniform(6, cost), uniform(7, cost), SinkhornSettings(sharpness, 20))
    assert bool(torch.isfinite(plan.log_u).all())
    assert bool(torch.isfinite(plan.log_v).all())
    assert torch.allclose(plan.matrix.sum(dim=0), uniform(7, cost), rtol=1e-3)


@settings(deadline=None, max_examples=30)
@given(seeds, st.integers(1, 9), st.integers(1, 9), st.integers(1, 30), st.sampled_from(DOMAINS))
def test_columns_have_their_weights_and_rows_miss_theirs_by_the_error(seed, n, m, iterations, domain):
    cost = sqrt_cosine_cost(directions(n, 3, seed), directions(m, 3, seed + 1))
    rows, columns = weights(n, seed=seed), weights(m, seed=seed + 1)
    plan = sinkhorn(cost, rows, columns, SinkhornSettings(8.0, iterations, domain=domain))
    assert bool((plan.matrix >= 0).all())
    assert torch.allclose(plan.matrix.sum(dim=0), columns, atol=1e-12)
    assert plan.error == pytest.approx(float((plan.matrix.sum(dim=1) - rows).abs().sum()), abs=1e-12)
    assert plan.iterations == iterations


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_plan_is_the_kernel_scaled_by_its_potentials(problem, domain):
    cost, rows, columns = problem
    plan = sinkhorn(cost, rows, columns, SinkhornSettings(10.0, domain=domain))
    expected = torch.diag(plan.log_u.exp()) @ torch.exp(-10.0 * cost) @ torch.diag(plan.log_v.exp())
    assert torch.allclose(plan.matrix, expected, atol=1e-14)
    assert torch.allclose(plan.distance, (plan.matrix * cost).sum(), atol=1e-14)


@pytest.mark.parametrize("domain", DOMAINS)
def test_it_stops_at_the_first_step_within_tolerance(problem, domain):
    stopped = sinkhorn(*problem, SinkhornSettings(10.0, 5000, 1e-4, domain))
    before = sinkhorn(*problem, SinkhornSettings(10.0, stopped.iterations - 1, domain=domain))
    assert 1 < stopped.iterations < 5000
    assert stopped.converged
    assert stopped.error < 1e-4 <= before.error


@pytest.mark.parametrize("domain", DOMAINS)
def test_it_says_when_it_did_not_get_there(problem, domain):
    plan = sinkhorn(*problem, SinkhornSettings(10.0, 2, 1e-9, domain))
    assert not plan.converged
    assert plan.iterations == 2
    assert plan.error > 1e-9


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_batch_is_one_after_another(domain):
    cost = torch.stack([sqrt_cosine_cost(directions(6, 4, seed), directions(5, 4, seed + 9)) for seed in range(3)])
    rows, columns = weights(3, 6, seed=1), weights(3, 5, seed=2)
    given_settings = SinkhornSettings(15.0, 7, domain=domain)
    together = sinkhorn(cost, rows, columns, given_settings)
    alone = [sinkhorn(*problem, given_settings) for problem in zip(cost, rows, columns, strict=True)]
    for field in ("matrix", "distance", "log_u", "log_v"):
        assert torch.allclose(
            getattr(together, field), torch.stack([getattr(plan, field) for plan in alone]), atol=1e-12
        )
    assert together.error == pytest.approx(max(plan.error for plan in alone), abs=1e-12)


@pytest.mark.parametrize("domain", DOMAINS)
def test_one_pair_of_weights_serves_a_whole_batch(domain):
    cost = torch.stack([sqrt_cosine_cost(directions(6, 4, seed), directions(5, 4, seed + 9)) for seed in range(3)])
    rows, columns = weights(6, seed=1), weights(5, seed=2)
    shared = sinkhorn(cost, rows, columns, SinkhornSettings(domain=domain))
    repeated = sinkhorn(cost, rows.expand(3, 6), columns.expand(3, 5), SinkhornSettings(domain=domain))
    assert torch.allclose(shared.matrix, repeated.matrix, atol=1e-14)


@pytest.mark.parametrize("earlier", DOMAINS)
@pytest.mark.parametrize("later", DOMAINS)
def test_a_warm_start_continues_where_the_other_ended(problem, earlier, later):
    first = sinkhorn(*problem, SinkhornSettings(20.0, 4, domain=earlier))
    second = sinkhorn(*problem, SinkhornSettings(20.0, 3, domain=later), start=(first.log_u, first.log_v))
    third = sinkhorn(*problem, SinkhornSettings(20.0, 2, domain=earlier), start=(second.log_u, second.log_v))
    whole = [sinkhorn(*problem, SinkhornSettings(20.0, count)) for count in (7, 9)]
    assert torch.allclose(second.matrix, whole[0].matrix, atol=1e-13)
    assert torch.allclose(third.matrix, whole[1].matrix, atol=1e-13)
    assert not torch.allclose(whole[0].matrix, whole[1].matrix, atol=1e-6)
    assert third.iterations == 2


@pytest.mark.parametrize("domain", [*DOMAINS, "auto"])
def test_what_every_pair_costs_alike_changes_no_plan(problem, domain):
    """Though exp(-λM) is then zero everywhere: only differences of cost may enter the kernel."""
    cost, rows, columns = problem
    plain, dearer = (
        sinkhorn(shifted, rows, columns, SinkhornSettings(10.0, 8, domain=domain)) for shifted in (cost, cost + 100)
    )
    assert torch.allclose(dearer.matrix, plain.matrix, atol=1e-10)
    assert float(dearer.distance) == pytest.approx(float(plain.distance) + 100, abs=1e-9)


@pytest.mark.parametrize("domain", DOMAINS)
def test_words_of_no_weight_move_nothing_even_from_a_warm_start(problem, domain):
    cost, rows, columns = problem
    rows, columns = rows.clone(), columns.clone()
    rows[6] = columns[4] = 0
    rows, columns = rows / rows.sum(), columns / columns.sum()
    first = sinkhorn(cost, rows, columns, SinkhornSettings(10.0, 5, domain=domain))
    thorough = SinkhornSettings(10.0, 5000, 1e-13, domain)
    continued = sinkhorn(cost, rows, columns, thorough, start=(first.log_u, first.log_v))
    without = sinkhorn(cost[:6, :4], rows[:6], columns[:4], thorough)
    assert bool((continued.matrix[6] == 0).all())
    assert bool((continued.matrix[:, 4] == 0).all())
    assert torch.allclose(continued.matrix[:6, :4], without.matrix, atol=1e-11)


def distance_under(matrix: torch.Tensor, source: torch.Tensor, target: torch.Tensor, domain: str) -> torch.Tensor:
    cost = sqrt_cosine_cost(unit(source @ matrix), target)
    chosen = SinkhornSettings(10.0, 6, domain=domain)
    return sinkhorn(cost, weights(len(source), seed=0), weights(len(target), seed=1), chosen).distance


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_gradient_of_the_distance_is_that_of_finite_differences(domain):
    matrix = torch.randn(3, 3, generator=torch.Generator().manual_seed(4), dtype=torch.float64, requires_grad=True)
    source, target = directions(5, 3, 5), directions(4, 3, 6)
    assert torch.autograd.gradcheck(lambda matrix: distance_under(matrix, source, target, domain), (matrix,))


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("angle", [0.0, 1e-4])
def test_the_gradient_holds_where_vectors_coincide(domain, angle):
    turned = torch.eye(3, dtype=torch.float64)
    turned[0, 0] = turned[1, 1] = math.cos(angle)
    turned[0, 1], turned[1, 0] = math.sin(angle), -math.sin(angle)
    source = directions(5, 3, 5)
    assert torch.autograd.gradcheck(
        lambda matrix: distance_under(matrix, source, source, domain), (turned.requires_grad_(),), atol=1e-4
    )


def test_the_gradient_is_finite_where_float32_rounds_a_cosine_above_one():
    source = directions(200, 50, 0, torch.float32).requires_grad_()
    assert float((source @ source.mT).detach().max()) > 1.0
    cost = sqrt_cosine_cost(source, source.detach())
    sinkhorn(cost, uniform(200, cost), uniform(200, cost), SinkhornSettings()).distance.backward()
    assert bool(torch.isfinite(source.grad).all())
    assert float(source.grad.abs().max()) > 0


def test_vectors_a_little_longer_than_one_cost_no_less_than_coinciding_ones():
    source = (directions(5, 3, 0) * (1 + 1e-6)).requires_grad_()
    cost = sqrt_cosine_cost(source, source.detach())
    cost.diagonal().sum().backward()
    assert cost.diagonal().tolist() == pytest.approx([CLOSEST**0.5] * 5, abs=1e-12)
    assert bool(torch.isfinite(source.grad).all())


@settings(deadline=None, max_examples=50)
@given(seeds, st.integers(2, 6), st.floats(1e-9, 1.0))
def test_theorem_1_the_cost_is_a_metric(seed, dimension, spread):
    """Points bunched within ``spread`` of each other: near coincidence is where a metric is broken most easily."""
    generator = torch.Generator().manual_seed(seed)
    middle = torch.randn(1, dimension, generator=generator, dtype=torch.float64)
    points = unit(middle + spread * torch.randn(8, dimension, generator=generator, dtype=torch.float64))
    cost = sqrt_cosine_cost(points, points)
    assert torch.allclose(cost, cost.mT, atol=1e-12)
    assert torch.allclose(cost.diagonal(), torch.full((8,), CLOSEST**0.5, dtype=torch.float64), atol=1e-10)
    detours = cost.unsqueeze(2) + cost.unsqueeze(0)
    assert bool((cost.unsqueeze(1) <= detours + 1e-10).all())


@settings(deadline=None, max_examples=50)
@given(seeds, st.floats(0.0, math.pi))
def test_the_cost_is_the_chord_between_two_directions(seed, angle):
    """2 sin(angle / 2), so zero for the same direction and for no other, and 2 for opposite ones."""
    first, other = torch.linalg.qr(torch.randn(5, 2, generator=torch.Generator().manual_seed(seed)).double()).Q.mT
    second = math.cos(angle) * first + math.sin(angle) * other
    cost = sqrt_cosine_cost(unit(first)[None], unit(second)[None])
    assert float(cost) == pytest.approx(math.hypot(2 * math.sin(angle / 2), CLOSEST**0.5), abs=1e-10)


def test_the_cost_fills_the_buffer_it_is_given():
    source, target = directions(4, 3, 0), directions(5, 3, 1)
    buffer = torch.full((4, 5), torch.nan, dtype=torch.float64)
    cost = sqrt_cosine_cost(source, target, out=buffer)
    assert cost.data_ptr() == buffer.data_ptr()
    assert torch.equal(buffer, sqrt_cosine_cost(source, target))


def test_the_cost_leaves_its_inputs_alone():
    source, target = directions(4, 3, 0), directions(5, 3, 1)
    before = source.clone(), target.clone()
    cost = sqrt_cosine_cost(source, target)
    kept = cost.clone()
    sinkhorn(cost, uniform(4, cost), uniform(5, cost), SinkhornSettings())
    assert torch.equal(source, before[0])
    assert torch.equal(target, before[1])
    assert torch.equal(cost, kept)


def test_scaling_gives_any_positive_matrix_the_sums_asked_for():
    kernel = torch.rand(2, 6, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + 0.1
    rows, columns = weights(2, 6, seed=1), weights(2, 4, seed=2)
    scaled = scale(kernel, rows, columns, 500, 1e-13)
    matrix = scaled.u.unsqueeze(-1) * kernel * scaled.v.unsqueeze(-2)
    assert torch.allclose(matrix.sum(dim=-1), rows, atol=1e-12)
    assert torch.allclose(matrix.sum(dim=-2), columns, atol=1e-12)
    assert scaled.error < 1e-13
    assert scaled.iterations < 500


def test_the_inner_product_is_one_number_for_each_of_a_batch():
    left, right = torch.rand(2, 3, 4, 5, dtype=torch.float64), torch.rand(2, 3, 4, 5, dtype=torch.float64)
    assert torch.allclose(inner(left, right), (left * right).sum(dim=(-2, -1)), atol=1e-12)


def test_uniform_weights_are_equal_and_sum_to_one():
    weights = uniform(8, torch.zeros(1, dtype=torch.float64))
    assert weights.dtype == torch.float64
    assert weights.tolist() == [1 / 8] * 8


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"sharpness": 0.0}, "sharpness is 0.0"),
        ({"sharpness": -1.0}, "sharpness is -1.0"),
        ({"sharpness": float("nan")}, "sharpness is nan"),
        ({"iterations": 0}, "iterations is 0"),
        ({"domain": "logarithm"}, "logarithm.*kernel.*log"),
    ],
)
def test_settings_out_of_range_are_refused(wrong, named):
    with pytest.raises(SettingsError, match=named):
        SinkhornSettings(**wrong)
