"""The Sinkhorn distance as something to differentiate."""

from __future__ import annotations

import pytest
import torch

from calque.errors import SettingsError
from calque.linear.maps import unit
from calque.transport import SinkhornSettings, euclidean_cost, sinkhorn, sinkhorn_distance, sqrt_cosine_cost, uniform

SETTINGS = SinkhornSettings(10.0, 20)
CONVERGED = SinkhornSettings(10.0, 2000)


@pytest.fixture
def problem() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A batch of two costs, and uneven weights, in double precision."""
    generator = torch.Generator().manual_seed(0)
    cost = 2 * torch.rand(2, 17, 23, generator=generator, dtype=torch.float64)
    rows, columns = (torch.rand(size, generator=generator, dtype=torch.float64) + 0.1 for size in (17, 23))
    return cost.requires_grad_(), rows / rows.sum(), columns / columns.sum()


def gradient_of(distance: torch.Tensor, cost: torch.Tensor) -> torch.Tensor:
    return torch.autograd.grad(distance.sum(), cost)[0]


@pytest.mark.parametrize("gradient", ["iterations", "fixed-point"])
def test_it_is_the_distance_of_the_plan(problem, gradient):
    cost, rows, columns = problem
    distance = sinkhorn_distance(cost, rows, columns, SETTINGS, gradient)
    assert torch.allclose(distance, sinkhorn(cost, rows, columns, SETTINGS).distance, atol=1e-12)


@pytest.mark.parametrize("iterations", [1, 2, 20])
def test_the_gradient_through_the_iterations_is_that_of_finite_differences(problem, iterations):
    cost, rows, columns = problem
    settings = SinkhornSettings(10.0, iterations)
    assert torch.autograd.gradcheck(lambda cost: sinkhorn_distance(cost, rows, columns, settings), (cost,), atol=1e-6)


def test_the_gradient_through_the_iterations_is_that_of_automatic_differentiation(problem):
    cost, rows, columns = problem
    by_graph = gradient_of(sinkhorn(cost, rows, columns, SinkhornSettings(10.0, 20, domain="log")).distance, cost)
    by_hand = gradient_of(sinkhorn_distance(cost, rows, columns, SETTINGS), cost)
    assert torch.allclose(by_hand, by_graph, atol=1e-12)


def test_both_gradients_agree_once_converged(problem):
    cost, rows, columns = problem
    by_iterations = gradient_of(sinkhorn_distance(cost, rows, columns, CONVERGED), cost)
    by_fixed_point = gradient_of(sinkhorn_distance(cost, rows, columns, CONVERGED, "fixed-point"), cost)
    assert torch.allclose(by_fixed_point, by_iterations, atol=1e-9)


def test_both_gradients_agree_to_four_digits_in_single_precision():
    generator = torch.Generator().manual_seed(1)
    source, target = (unit(torch.randn(200, 10, generator=generator)) for _ in range(2))
    cost = sqrt_cosine_cost(source, target).requires_grad_()
    weights = uniform(200, cost)
    settings = SinkhornSettings(10.0, 300)
    one, other = (
        gradient_of(sinkhorn_distance(cost, weights, weights, settings, gradient), cost)
        for gradient in ("iterations", "fixed-point")
    )
    assert float((one - other).norm() / one.norm()) < 1e-4


@pytest.mark.parametrize("gradient", ["iterations", "fixed-point"])
def test_a_batch_is_its_members(problem, gradient):
    cost, rows, columns = problem
    together = gradient_of(sinkhorn_distance(cost, rows, columns, SETTINGS, gradient), cost)
    alone = gradient_of(sinkhorn_distance(cost[1], rows, columns, SETTINGS, gradient), cost)
    assert torch.allclose(together[1], alone[1], atol=1e-14)
    assert not alone[0].any()


@pytest.mark.parametrize("gradient", ["iterations", "fixed-point"])
def test_adding_to_all_costs_moves_the_distance_as_much(problem, gradient):
    """The plan does not change, and its mass is one: the entries of the gradient sum to one."""
    cost, rows, columns = problem
    slopes = gradient_of(sinkhorn_distance(cost, rows, columns, CONVERGED, gradient), cost)
    assert torch.allclose(slopes.sum(dim=(1, 2)), torch.ones(2, dtype=torch.float64), atol=1e-9)


@pytest.mark.parametrize("gradient", ["iterations", "fixed-point"])
@pytest.mark.parametrize("sharpness", [10.0, 500.0])
def test_vectors_that_coincide_leave_no_hole_in_the_gradient(gradient, sharpness):
    """Where cos is 1 the root has no slope, and at such a sharpness the kernel underflows: neither may show."""
    source = unit(torch.randn(30, 5, generator=torch.Generator().manual_seed(2))).requires_grad_()
    cost = sqrt_cosine_cost(source, source.detach().flip(0))
    distance = sinkhorn_distance(cost, uniform(30, cost), uniform(30, cost), SinkhornSettings(sharpness, 50), gradient)
    (slopes,) = torch.autograd.grad(distance, source)
    assert bool(distance.isfinite())
    assert bool(slopes.isfinite().all())


@pytest.mark.parametrize("gradient", ["iterations", "fixed-point"])
def test_a_word_of_no_weight_has_no_part_in_it(gradient):
    generator = torch.Generator().manual_seed(3)
    cost = torch.rand(6, 7, generator=generator, dtype=torch.float64).requires_grad_()
    rows = torch.tensor([0.0, 0.2, 0.2, 0.2, 0.2, 0.2], dtype=torch.float64)
    columns = torch.full((7,), 1 / 7, dtype=torch.float64)
    slopes = gradient_of(sinkhorn_distance(cost, rows, columns, CONVERGED, gradient), cost)
    without = cost.detach()[1:].requires_grad_()
    expected = gradient_of(sinkhorn_distance(without, rows[1:], columns, CONVERGED, gradient), without)
    assert not slopes[0].any()
    assert torch.allclose(slopes[1:], expected, atol=1e-9)


def test_descending_the_gradient_carries_one_cloud_onto_the_other():
    generator = torch.Generator().manual_seed(4)
    target = torch.randn(40, 3, generator=generator, dtype=torch.float64)
    source = (target[torch.randperm(40, generator=generator)] + 0.1).requires_grad_()
    weights = uniform(40, target)
    before = None
    for _ in range(200):
        distance = sinkhorn_distance(euclidean_cost(source, target), weights, weights, SinkhornSettings(20.0, 30))
        before = before or distance.item()
        (slope,) = torch.autograd.grad(distance, source)
        with torch.no_grad():
            source -= 0.5 * slope
    assert distance.item() < 0.5 * before


def test_an_unknown_gradient_is_refused(problem):
    cost, rows, columns = problem
    with pytest.raises(SettingsError, match="'magic'; expected one of iterations, fixed-point"):
        sinkhorn_distance(cost, rows, columns, SETTINGS, "magic")


def test_the_euclidean_cost_is_the_distance():
    generator = torch.Generator().manual_seed(5)
    source, target = (torch.randn(size, 4, generator=generator, dtype=torch.float64) for size in (6, 8))
    assert torch.allclose(euclidean_cost(source, target), torch.cdist(source, target), atol=1e-5)
