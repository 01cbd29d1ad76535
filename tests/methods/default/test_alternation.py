from __future__ import annotations

import pytest
import torch

from calque.errors import SettingsError
from calque.linear.closed_forms import nearest_orthogonal
from calque.linear.maps import unit
from calque.methods.default.alternation import AlternationSettings, Problem, alternate, random_rotation
from calque.transport import SinkhornSettings, sinkhorn, sqrt_cosine_cost, uniform

DIMENSION = 6
WORDS = 80
SHORT = AlternationSettings((10.0, 20.0), (3, 2))


def normal(*size: int, seed: int) -> torch.Tensor:
    return torch.randn(*size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def weights(count: int, seed: int) -> torch.Tensor:
    made = torch.rand(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 0.2
    return made / made.sum()


def permutation(count: int, seed: int) -> torch.Tensor:
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed))


def rotation(seed: int) -> torch.Tensor:
    return random_rotation(DIMENSION, torch.Generator().manual_seed(seed)).double()


def near(matrix: torch.Tensor, seed: int = 9, by: float = 0.15) -> torch.Tensor:
    return nearest_orthogonal(matrix + by * normal(*matrix.shape, seed=seed))


ORDER = permutation(WORDS, 1)
TRUTH = nearest_orthogonal(rotation(2))


@pytest.fixture
def rotated() -> Problem:
    """A space, and the same space turned by TRUTH with its words in another ORDER."""
    source = unit(normal(WORDS, DIMENSION, seed=0) * torch.linspace(1, 2, DIMENSION))
    frequencies = weights(WORDS, 3)
    return Problem(source, (source @ TRUTH)[ORDER], frequencies, frequencies[ORDER])


@pytest.fixture
def unrelated() -> Problem:
    return Problem(unit(normal(30, 6, seed=0)), unit(normal(20, 6, seed=1)), weights(30, 2), weights(20, 3))


def test_it_recovers_a_rotation_from_a_nearby_start(rotated):
    first = near(TRUTH)
    ended = alternate(rotated, first, AlternationSettings())
    assert float((first - TRUTH).norm()) > 0.3
    assert float((ended.matrix - TRUTH).norm()) < 0.01
    choices = (rotated.source @ ended.matrix @ rotated.target.mT).argmax(dim=1)
    assert torch.equal(ORDER[choices], torch.arange(WORDS))


def test_the_map_is_orthogonal_wherever_it_ends(unrelated):
    matrix = alternate(unrelated, rotation(5), SHORT).matrix
    assert torch.allclose(matrix @ matrix.mT, torch.eye(6, dtype=torch.float64), atol=1e-12)


def test_the_cost_is_lowest_at_the_truth(rotated):
    """Of the maps themselves, before anything is done to improve them."""
    elsewhere = [near(TRUTH, seed=seed, by=by) for seed in range(5) for by in (0.02, 0.1, 0.5)]
    maps = torch.stack([TRUTH, *elsewhere, *(rotation(seed) for seed in range(20, 30)), -TRUTH])
    for sharpness in (10.0, 40.0):
        costs = alternate(rotated, maps, AlternationSettings((sharpness,), (1,), 50)).cost
        assert float(costs[0]) < 0.99 * float(costs[1:].min())


def test_the_cost_falls(rotated):
    costs = [float(alternate(rotated, near(TRUTH), AlternationSettings((20.0,), (n,), 20)).cost) for n in (1, 2, 4, 8)]
    at_truth = float(alternate(rotated, TRUTH, AlternationSettings((20.0,), (1,), 20)).cost)
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < 0.1 * costs[0]
    assert costs[-1] == pytest.approx(at_truth, rel=0.1)


def test_one_turn_is_the_sinkhorn_plan_and_the_map_that_follows_it(unrelated):
    """Procrustes on Xᵀ (P ∘ 1/M) Y, the weight 1/M being the derivative of the square root."""
    first = rotation(5)
    cost = sqrt_cosine_cost(unrelated.source @ first, unrelated.target)
    plan = sinkhorn(cost, unrelated.rows, unrelated.columns, SinkhornSettings(10.0, 6))
    ended = alternate(unrelated, first, AlternationSettings((10.0,), (1,)))
    known = nearest_orthogonal(unrelated.source.mT @ (plan.matrix / cost) @ unrelated.target)
    assert torch.allclose(ended.cost, plan.distance, atol=1e-12)
    assert torch.allclose(ended.matrix, known, atol=1e-10)


def test_the_map_of_a_turn_follows_the_gradient_of_the_cost(unrelated):
    """At a fixed plan, <P, M> falls fastest along Xᵀ (P ∘ 1/M) Y: the map must be the nearest to just that."""
    first = rotation(5).requires_grad_()
    cost = sqrt_cosine_cost(unrelated.source @ first, unrelated.target)
    plan = sinkhorn(cost.detach(), unrelated.rows, unrelated.columns, SinkhornSettings(10.0, 6)).matrix
    (plan * cost).sum().backward()
    ended = alternate(unrelated, first.detach(), AlternationSettings((10.0,), (1,)))
    assert torch.allclose(ended.matrix, nearest_orthogonal(-first.grad), atol=1e-10)


def test_each_turn_continues_from_the_plan_of_the_last(unrelated):
    """Also where λ rises: potentials are λ times prices, and prices carry over."""
    matrix, start, last = rotation(5), None, 0.0
    for sharpness in SHORT.schedule():
        cost = sqrt_cosine_cost(unrelated.source @ matrix, unrelated.target)
        start = start and tuple(each * sharpness / last for each in start)
        plan = sinkhorn(cost, unrelated.rows, unrelated.columns, SinkhornSettings(sharpness, 2, domain="log"), start)
        matrix = nearest_orthogonal(unrelated.source.mT @ (plan.matrix / cost) @ unrelated.target)
        start, last = (plan.log_u, plan.log_v), sharpness
    ended = alternate(unrelated, rotation(5), AlternationSettings(SHORT.sharpness, SHORT.steps, scalings=2))
    assert torch.allclose(ended.cost, plan.distance, atol=1e-10)
    assert torch.allclose(ended.matrix, matrix, atol=1e-8)


def test_a_batch_of_starts_is_one_after_another(unrelated):
    firsts = torch.stack([rotation(seed) for seed in range(3)])
    together = alternate(unrelated, firsts, SHORT)
    alone = [alternate(unrelated, first, SHORT) for first in firsts]
    assert torch.allclose(together.matrix, torch.stack([each.matrix for each in alone]), atol=1e-9)
    assert torch.allclose(together.cost, torch.stack([each.cost for each in alone]), atol=1e-10)
    assert float(together.cost.std()) > 1e-4


def test_the_order_of_words_does_not_matter(unrelated):
    one, other = permutation(30, 0), permutation(20, 1)
    shuffled = Problem(unrelated.source[one], unrelated.target[other], unrelated.rows[one], unrelated.columns[other])
    plain, mixed = alternate(unrelated, rotation(5), SHORT), alternate(shuffled, rotation(5), SHORT)
    assert torch.allclose(plain.matrix, mixed.matrix, atol=1e-9)
    assert torch.allclose(plain.cost, mixed.cost, atol=1e-10)


def test_turning_a_side_turns_the_map_with_it(unrelated):
    turn = nearest_orthogonal(rotation(7))
    turned = Problem(unrelated.source, unrelated.target @ turn, unrelated.rows, unrelated.columns)
    plain, after = alternate(unrelated, rotation(5), SHORT), alternate(turned, rotation(5) @ turn, SHORT)
    assert torch.allclose(plain.matrix @ turn, after.matrix, atol=1e-8)


def test_frequent_words_count_for_more(unrelated):
    even = Problem(unrelated.source, unrelated.target, uniform(30, unrelated.rows), uniform(20, unrelated.rows))
    plain, weighted = alternate(even, rotation(5), SHORT), alternate(unrelated, rotation(5), SHORT)
    assert not torch.allclose(plain.matrix, weighted.matrix, atol=1e-3)


def test_a_word_of_double_weight_is_the_same_word_twice(unrelated):
    def split(vectors: torch.Tensor, shares: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.cat([vectors, vectors[:3]]), torch.cat([shares[:3] / 2, shares[3:], shares[:3] / 2])

    source, rows = split(unrelated.source, unrelated.rows)
    target, columns = split(unrelated.target, unrelated.columns)
    plain = alternate(unrelated, rotation(5), AlternationSettings((10.0, 20.0), (3, 2), 300))
    twice = alternate(
        Problem(source, target, rows, columns), rotation(5), AlternationSettings((10.0, 20.0), (3, 2), 300)
    )
    assert torch.allclose(plain.matrix, twice.matrix, atol=1e-7)
    assert torch.allclose(plain.cost, twice.cost, atol=1e-8)


def test_words_of_no_weight_change_nothing(unrelated):
    """A word that was counted zero times is as good as absent."""
    none = torch.zeros(4, dtype=torch.float64)
    wider = Problem(
        torch.cat([unrelated.source, unit(normal(4, 6, seed=8))]),
        torch.cat([unrelated.target, unit(normal(4, 6, seed=9))]),
        torch.cat([unrelated.rows, none]),
        torch.cat([unrelated.columns, none]),
    )
    thorough = AlternationSettings(SHORT.sharpness, SHORT.steps, scalings=400)
    plain, ended = alternate(unrelated, rotation(5), thorough), alternate(wider, rotation(5), thorough)
    assert torch.allclose(ended.matrix, plain.matrix, atol=1e-7)
    assert torch.allclose(ended.cost, plain.cost, atol=1e-8)


@pytest.mark.parametrize("sharpness", [(2.0, 40.0), (1.0, 41.0), (40.0, 1.0)])
def test_a_great_step_in_sharpness_is_survived_in_float32(sharpness):
    """Any λ the settings accept: the potentials of the last phase must not underflow the kernel of the next."""
    source = unit(normal(300, 10, seed=0)).float()
    problem = Problem(source, source, uniform(300, source), uniform(300, source))
    ended = alternate(problem, near(torch.eye(10, dtype=torch.float64)).float(), AlternationSettings(sharpness, (3, 3)))
    assert torch.allclose(ended.matrix @ ended.matrix.mT, torch.eye(10), atol=1e-4)
    assert bool(torch.isfinite(ended.cost))


def test_it_survives_its_sharpest_in_float32():
    """A source word opposite to every target word but one: M is near 2 all along its row."""
    generator = torch.Generator().manual_seed(0)
    bunch = unit(torch.randn(50, 4, generator=generator) * 0.01 + torch.tensor([1.0, 0, 0, 0]))
    source = torch.cat([bunch, -bunch[:1]])
    problem = Problem(source, bunch, uniform(51, source), uniform(50, source))
    ended = alternate(problem, torch.eye(4), AlternationSettings((41.0,), (5,)))
    assert torch.allclose(ended.matrix @ ended.matrix.mT, torch.eye(4), atol=1e-4)
    assert 0 < float(ended.cost) < 0.2


@pytest.mark.parametrize("turns", [1, 3])
def test_it_ends_after_the_turn_in_which_it_is_told_to(unrelated, turns):
    asked: list[int] = []

    def stopped() -> bool:
        asked.append(1)
        return len(asked) == turns

    ended = alternate(unrelated, rotation(5), AlternationSettings((10.0,), (9,)), stopped)
    known = alternate(unrelated, rotation(5), AlternationSettings((10.0,), (turns,)))
    assert len(asked) == turns
    assert torch.equal(ended.matrix, known.matrix)
    assert torch.equal(ended.cost, known.cost)


def test_what_it_was_given_is_left_alone(unrelated):
    first = rotation(5)
    before = [each.clone() for each in (first, unrelated.source, unrelated.target, unrelated.rows, unrelated.columns)]
    alternate(unrelated, first, SHORT)
    after = (first, unrelated.source, unrelated.target, unrelated.rows, unrelated.columns)
    assert all(torch.equal(*each) for each in zip(before, after, strict=True))


def test_the_schedule_repeats_each_sharpness():
    assert AlternationSettings((1.0, 2.5), (2, 3)).schedule() == [1.0, 1.0, 2.5, 2.5, 2.5]


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"sharpness": (10.0,), "steps": (1, 2)}, "1 values of sharpness but 2 of steps"),
        ({"sharpness": (), "steps": ()}, "0 values"),
        ({"sharpness": (0.0,), "steps": (1,)}, "out of range"),
        ({"sharpness": (-5.0,), "steps": (1,)}, "out of range"),
        ({"sharpness": (10.0, 41.5), "steps": (1, 1)}, "out of range"),
        ({"sharpness": (float("nan"),), "steps": (1,)}, "out of range"),
        ({"sharpness": (10.0,), "steps": (0,)}, "steps"),
        ({"sharpness": (10.0,), "steps": (-1,)}, "steps"),
        ({"scalings": 0}, "scalings"),
    ],
)
def test_settings_out_of_range_are_refused(wrong, named):
    with pytest.raises(SettingsError, match=named):
        AlternationSettings(**wrong)


def test_the_head_of_a_problem_is_its_frequent_words_with_weights_that_sum_to_one(unrelated):
    head = unrelated.head(8)
    assert torch.equal(head.source, unrelated.source[:8])
    assert torch.equal(head.target, unrelated.target[:8])
    assert torch.allclose(head.rows, unrelated.rows[:8] / unrelated.rows[:8].sum(), atol=1e-15)
    assert float(head.columns.sum()) == pytest.approx(1, abs=1e-12)


def test_random_rotations_are_orthogonal_and_follow_their_generator():
    generator = torch.Generator().manual_seed(0)
    first, second = random_rotation(7, generator), random_rotation(7, generator)
    assert torch.allclose(first @ first.mT, torch.eye(7), atol=1e-5)
    assert not torch.allclose(first, second, atol=0.1)
    assert torch.equal(first, random_rotation(7, torch.Generator().manual_seed(0)))


def test_random_rotations_prefer_no_direction():
    """Haar: the mean of every entry is 0 and of its square 1/d; without the signs QR leans to one side."""
    generator = torch.Generator().manual_seed(0)
    drawn = torch.stack([random_rotation(3, generator) for _ in range(2000)])
    assert float(drawn.mean(dim=0).abs().max()) < 0.06
    assert float((drawn.square().mean(dim=0) - 1 / 3).abs().max()) < 0.04
    assert 0.4 < float((torch.linalg.det(drawn) > 0).float().mean()) < 0.6


def test_the_path_has_the_cost_of_every_turn_and_ends_at_that_of_the_last(unrelated):
    firsts = torch.stack([rotation(5), rotation(6)])
    ended = alternate(unrelated, firsts, SHORT)
    assert ended.path.shape == (2, len(SHORT.schedule()))
    assert torch.equal(ended.path[:, -1], ended.cost)
    one_turn = alternate(unrelated, firsts, AlternationSettings(SHORT.sharpness[:1], (1,), SHORT.scalings))
    assert torch.allclose(ended.path[:, 0], one_turn.cost)
