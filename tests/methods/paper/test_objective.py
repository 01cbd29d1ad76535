"""The objective of section 3.2, equation by equation, against loops over words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import ot
import pytest
import torch
from paper_problems import language_pair, named, normal, only, random_batch, random_transfer, rotation

from calque.linear.maps import fit, unit
from calque.methods.paper.objective import Batch, Objective, Transfer, back_translation_loss
from calque.methods.paper.training import TrainingWords
from calque.transport import SinkhornSettings, sinkhorn, sqrt_cosine_cost

KINDS = ["tied", "free", "network"]
PUBLISHED = Objective.of(SinkhornSettings(10.0, 20), "iterations", 0.1, "sqrt-cosine", "both")
CONVERGED = Objective.of(SinkhornSettings(10.0, 500), "iterations", 0.1, "sqrt-cosine", "both")
Metric = Callable[[np.ndarray, np.ndarray], float]


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))


def sqrt_cosine(one: np.ndarray, other: np.ndarray) -> float:
    """Equation 3."""
    return float(np.sqrt(max(0.0, 2 - 2 * cosine(one, other))))


def euclidean(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.linalg.norm(one - other))


def costs(mapped: torch.Tensor, other: torch.Tensor, metric: Metric) -> np.ndarray:
    """M of equation 4, word by word."""
    return np.array([[metric(x, y) for y in other.numpy()] for x in mapped.numpy()])


def algorithm_1(cost: np.ndarray, r: np.ndarray, c: np.ndarray, sharpness: float, iterations: int) -> float:
    """As it is printed."""
    kernel = np.exp(-sharpness * cost)
    v = np.ones(len(c)) / len(c)
    for _ in range(iterations):
        u = r / (kernel @ v)
        v = c / (kernel.T @ u)
    return float(u @ ((kernel * cost) @ v))


def by_loops(transfer: Transfer, batch: Batch, seed: int, metric: Metric, ways: int = 2) -> float:
    """d_sh(G) + d_sh(F) of one seed."""
    x, y, r, c = (each[seed] for each in batch.tensors())
    g, f = transfer.maps(seed)
    result = algorithm_1(costs(g.apply(x), y, metric), r.numpy(), c.numpy(), 10.0, 20)
    if ways == 2:
        result += algorithm_1(costs(f.apply(y), x, metric), c.numpy(), r.numpy(), 10.0, 20)
    return result


def lost_by_loops(transfer: Transfer, batch: Batch, seed: int) -> float:
    """d_bt of one seed, equation 5, every word counted by its weight."""
    x, y, r, c = (each[seed] for each in batch.tensors())
    g, f = transfer.maps(seed)
    there = sum(float(r[i]) * (1 - cosine(x[i].numpy(), f.apply(g.apply(x[i])).numpy())) for i in range(len(x)))
    back = sum(float(c[j]) * (1 - cosine(y[j].numpy(), g.apply(f.apply(y[j])).numpy())) for j in range(len(y)))
    return there + back


def distances(objective: Objective, transfer: Transfer, batch: Batch) -> torch.Tensor:
    return objective.distances(transfer.there(batch.source), transfer.back(batch.target), batch)


def lost(transfer: Transfer, batch: Batch) -> torch.Tensor:
    return back_translation_loss(transfer, (transfer.there(batch.source), transfer.back(batch.target)), batch)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", [5, 7])
def test_both_distances_are_those_of_algorithm_1(kind, target):
    transfer, batch = random_transfer(kind), random_batch(target=target)
    expected = [by_loops(transfer, batch, seed, sqrt_cosine) for seed in range(2)]
    assert distances(PUBLISHED, transfer, batch).tolist() == pytest.approx(expected, abs=1e-5)


def test_both_distances_are_those_of_the_plans():
    transfer, batch = random_transfer("free"), random_batch(target=7)
    x, y = unit(transfer.there(batch.source)), unit(transfer.back(batch.target))
    there = sinkhorn(sqrt_cosine_cost(x, unit(batch.target)), batch.rows, batch.columns, PUBLISHED.sinkhorn)
    back = sinkhorn(sqrt_cosine_cost(y, unit(batch.source)), batch.columns, batch.rows, PUBLISHED.sinkhorn)
    result = distances(PUBLISHED, transfer, batch)
    assert torch.allclose(result, there.distance + back.distance, atol=1e-12)


def test_converged_they_are_those_of_another_solver():
    transfer, batch = random_transfer("free"), random_batch(target=7)
    for seed in range(2):
        x, y, r, c = (each[seed] for each in batch.tensors())
        g, f = transfer.maps(seed)
        ways = ((costs(g.apply(x), y, sqrt_cosine), r, c), (costs(f.apply(y), x, sqrt_cosine), c, r))
        plans = [ot.sinkhorn(p.numpy(), q.numpy(), m, 0.1, numItermax=5000, stopThr=1e-14) for m, p, q in ways]
        expected = sum(float((plan * way[0]).sum()) for plan, way in zip(plans, ways, strict=True))
        assert float(distances(CONVERGED, transfer, batch)[seed]) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", [5, 7])
def test_back_translation_word_by_word(kind, target):
    transfer, batch = random_transfer(kind), random_batch(target=target)
    expected = [lost_by_loops(transfer, batch, seed) for seed in range(2)]
    assert lost(transfer, batch).tolist() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("weight", [0.0, 0.1, 3.0])
def test_the_whole_is_both_distances_and_as_much_of_the_back_translation_as_asked_for(weight):
    transfer, batch = random_transfer("free"), random_batch()
    whole = replace(PUBLISHED, back_translation=weight)(transfer, batch)
    assert torch.allclose(whole, distances(PUBLISHED, transfer, batch) + weight * lost(transfer, batch), atol=1e-14)


def test_a_rotation_that_is_tied_loses_nothing_on_the_way_back():
    turns = torch.stack([rotation(3, 0), rotation(3, 1)])
    assert float(lost(Transfer((turns,), tied=True), random_batch()).abs().max()) < 1e-14


def test_any_map_with_its_inverse_loses_nothing_either_and_with_its_transpose_it_does():
    matrix = normal(2, 3, 3, seed=5)
    inverse = Transfer((matrix, torch.linalg.inv(matrix)), tied=False)
    assert float(lost(inverse, random_batch()).abs().max()) < 1e-12
    assert float(lost(Transfer((matrix,), tied=True), random_batch()).min()) > 0.01


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gradient", ["iterations", "fixed-point"])
@pytest.mark.parametrize("cost", ["sqrt-cosine", "euclidean"])
def test_the_gradient_is_that_of_finite_differences(kind, gradient, cost):
    transfer, batch = random_transfer(kind, dimension=2, seeds=1), random_batch(1, 4, 4, 2)
    objective = Objective.of(SinkhornSettings(3.0, 60), gradient, 0.1, cost, "both")
    parameters = tuple(each.clone().requires_grad_() for each in transfer.parameters)
    result = torch.autograd.gradcheck(
        lambda *tensors: objective(Transfer(tensors, transfer.tied), batch),
        parameters,
        atol=1e-6,
        fast_mode=kind != "tied",
    )
    assert result


def gradients(objective: Objective, transfer: Transfer, batch: Batch) -> tuple[torch.Tensor, ...]:
    parameters = tuple(each.detach().clone().requires_grad_() for each in transfer.parameters)
    loss = objective(Transfer(parameters, transfer.tied), batch)
    return torch.autograd.grad(loss.sum(), parameters)


@pytest.mark.parametrize("kind", KINDS)
def test_both_kinds_of_gradient_agree_once_converged(kind):
    transfer, batch = random_transfer(kind), random_batch()
    other = gradients(replace(CONVERGED, gradient="fixed-point"), transfer, batch)
    for one, two in zip(gradients(CONVERGED, transfer, batch), other, strict=True):
        assert torch.allclose(one, two, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_seeds_share_no_gradient(kind):
    transfer, batch = random_transfer(kind), random_batch()
    parameters = tuple(each.clone().requires_grad_() for each in transfer.parameters)
    result = torch.autograd.grad(PUBLISHED(Transfer(parameters, transfer.tied), batch)[1], parameters)
    assert not any(each[0].any() for each in result)
    alone = Transfer(tuple(each[1:] for each in transfer.parameters), transfer.tied)
    for both, one in zip(result, gradients(PUBLISHED, alone, only(batch, 1)), strict=True):
        assert torch.allclose(both[1:], one, atol=1e-12)


@pytest.mark.parametrize("directions", ["both", "forward"])
def test_the_euclidean_cost_word_by_word(directions):
    transfer, batch = random_transfer("free"), random_batch(target=7)
    objective = Objective.of(SinkhornSettings(10.0, 20), "iterations", 0.1, "euclidean", directions)
    ways = 2 if directions == "both" else 1
    expected = [by_loops(transfer, batch, seed, euclidean, ways) for seed in range(2)]
    assert distances(objective, transfer, batch).tolist() == pytest.approx(expected, abs=1e-5)


def test_only_the_euclidean_cost_sees_how_long_mapped_vectors_are():
    transfer, batch = random_transfer("tied"), random_batch()
    doubled = Transfer((2 * transfer.parameters[0],), tied=True)
    long = replace(PUBLISHED, cost="euclidean", sinkhorn=replace(PUBLISHED.sinkhorn, domain="log"))
    assert torch.allclose(PUBLISHED(transfer, batch), PUBLISHED(doubled, batch), atol=1e-12)
    assert float((long(doubled, batch) - long(transfer, batch)).min()) > 0.1


def test_one_direction_alone_is_the_distance_there():
    transfer, batch = random_transfer("free"), random_batch(target=7)
    forward = replace(PUBLISHED, directions="forward")
    expected = [by_loops(transfer, batch, seed, sqrt_cosine, ways=1) for seed in range(2)]
    assert distances(forward, transfer, batch).tolist() == pytest.approx(expected, abs=1e-5)
    another = Transfer((transfer.parameters[0], normal(2, 3, 3, seed=40)), tied=False)
    assert torch.equal(distances(forward, another, batch), distances(forward, transfer, batch))


def test_it_is_the_same_seen_from_the_other_language():
    transfer, batch = random_transfer("free"), random_batch(target=7)
    turned = Batch(batch.target, batch.source, batch.columns, batch.rows)
    swapped = Transfer(transfer.parameters[::-1], tied=False)
    assert torch.allclose(PUBLISHED(swapped, turned), PUBLISHED(transfer, batch), atol=1e-12)


def standardised() -> tuple[Batch, torch.Tensor]:
    source, target, truth = language_pair(60)
    x, y = (fit(each.vectors, ("standardise",))[1] for each in (source, target))
    even = torch.full((60,), 1 / 60)
    return TrainingWords(x, y, even, even).head(60, 1), truth.unsqueeze(0)


def test_the_true_rotation_costs_less_than_any_other():
    batch, truth = standardised()
    right = float(PUBLISHED(Transfer((truth,), tied=True), batch))
    others = [Transfer((rotation(8, seed).float().unsqueeze(0),), tied=True) for seed in range(30)]
    assert right < 0.9 * min(float(PUBLISHED(each, batch)) for each in others)


def test_the_gradient_leads_back_to_the_true_rotation():
    """A twentieth of the way along it, from a map turned away a little, must cost less and lie nearer."""
    batch, truth = standardised()
    halves = 0.05 * normal(8, 8, seed=9).float()
    start = Transfer((truth @ torch.linalg.matrix_exp(halves - halves.mT),), tied=True)
    (slope,) = gradients(PUBLISHED, start, batch)
    moved = start.parameters[0] - 0.05 * slope / slope.norm()
    assert float(PUBLISHED(Transfer((moved,), tied=True), batch)) < float(PUBLISHED(start, batch))
    assert float((moved - truth).norm()) < float((start.parameters[0] - truth).norm())


@pytest.mark.parametrize("gradient", ["iterations", "fixed-point"])
@pytest.mark.parametrize("cost", ["sqrt-cosine", "euclidean"])
@pytest.mark.parametrize("sharpness", [10.0, 100.0])
def test_words_mapped_exactly_onto_others_leave_no_hole(gradient, cost, sharpness):
    """Where cos is 1 the root has no slope; a vector of zeros has no direction at all."""
    vectors = torch.cat((normal(1, 9, 4, seed=0).float(), torch.zeros(1, 1, 4)), dim=1)
    even = torch.full((1, 10), 0.1)
    batch = Batch(vectors, vectors.flip(1), even, even)
    objective = Objective.of(SinkhornSettings(sharpness, 20), gradient, 0.1, cost, "both")
    same = Transfer((torch.eye(4).unsqueeze(0),), tied=True)
    assert bool(objective(same, batch).isfinite().all())
    assert all(bool(each.isfinite().all()) for each in gradients(objective, same, batch))


@pytest.mark.parametrize(
    ("sharpness", "cost", "domain"),
    [
        (10.0, "sqrt-cosine", "kernel"),
        (41.0, "sqrt-cosine", "kernel"),
        (100.0, "sqrt-cosine", "log"),
        (10.0, "euclidean", "log"),
    ],
)
def test_the_domain_is_the_one_that_cannot_underflow(sharpness, cost, domain):
    """The root of the cosine is at most 2; of a Euclidean distance nothing is known beforehand."""
    objective = Objective.of(SinkhornSettings(sharpness, 20), "iterations", 0.1, cost, "both")
    assert objective.sinkhorn.domain == domain
    assert objective.recordable == (domain == "kernel")


def test_a_sharp_objective_comes_near_to_exact_transport():
    """At λ = 100 the kernel of single precision is zero for words far apart; the cost must be that of the best plan."""
    batch = Batch(*(each.float() for each in random_batch(1, 8, 8, 3).tensors()))
    transfer = Transfer((rotation(3, 1).float().unsqueeze(0), rotation(3, 2).float().unsqueeze(0)), tied=False)
    objective = Objective.of(SinkhornSettings(100.0, 500), "iterations", 0.0, "sqrt-cosine", "forward")
    x, y, r, c = (each[0].double() for each in batch.tensors())
    weight = (r / r.sum()).numpy(), (c / c.sum()).numpy()
    exact = ot.emd2(*weight, costs(transfer.maps(0)[0].apply(x), y, sqrt_cosine))
    assert float(objective(transfer, batch)) == pytest.approx(exact, abs=0.02)


def test_a_word_that_weighs_more_counts_more():
    """All weight on two words: only their transport and their way back are paid for."""
    batch = random_batch(1)
    weight = torch.tensor([[0.4999995, 0.4999995, 1e-6 / 3, 1e-6 / 3, 1e-6 / 3]], dtype=torch.float64)
    heavy, pair = replace(batch, rows=weight, columns=weight), Batch(*(each[:, :2] for each in batch.tensors()))
    pair = replace(pair, rows=torch.full_like(pair.rows, 0.5), columns=torch.full_like(pair.columns, 0.5))
    transfer = random_transfer("tied", seeds=1)
    assert float(CONVERGED(transfer, heavy)) == pytest.approx(float(CONVERGED(transfer, pair)), abs=1e-3)


def test_the_head_of_two_vocabularies_of_other_sizes_can_be_compared():
    source, target = named(normal(30, 3, seed=1), "s").vectors, named(normal(12, 3, seed=2), "t").vectors
    words = TrainingWords(source, target, torch.full((30,), 1 / 30), torch.full((12,), 1 / 12))
    batch = words.head(20, 1)
    transfer = Transfer((rotation(3, 0).float().unsqueeze(0),), tied=True)
    assert float(distances(PUBLISHED, transfer, batch)) == pytest.approx(
        by_loops(transfer, batch, 0, sqrt_cosine), abs=1e-4
    )
