from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from calque.data.space import Space
from calque.errors import SettingsError, SpaceError
from calque.linear.closed_forms import nearest_orthogonal, procrustes
from calque.linear.maps import unit
from calque.methods.baselines import adversary
from calque.methods.baselines.adversary import (
    Network,
    NoiseTable,
    by_inputs,
    deltas,
    descend,
    draw_batches,
    dropout_noise,
    forward,
    gaussian_noise,
    generators,
)
from calque.methods.baselines.conneau2017 import (
    EVENTS_PER_EPOCH,
    AdversarialTraining,
    Conneau2017Settings,
    conneau2017,
    criterion,
    orthogonalised,
    refine,
    train_discriminator,
    trained_map,
)
from calque.methods.recorded import Recorded
from calque.methods.task import Outcome, Task
from calque.progress import Step

WORDS, DIMENSION = 600, 10
SMALL = Conneau2017Settings(hidden=64, batch=32, updates=500, epochs=1, refinements=0)
CPU = torch.device("cpu")


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*size: int, seed: int) -> torch.Tensor:
    return torch.randn(*size, generator=seeded(seed), dtype=torch.float64)


def clustered(seed: int) -> torch.Tensor:
    """Uneven bunches of words around 0, with a decaying spectrum, of mean length 6."""
    generator, scales = seeded(seed), torch.arange(1, DIMENSION + 1) ** -0.5
    centres = torch.randn(40, DIMENSION, generator=generator) * scales
    member = torch.multinomial(torch.arange(1.0, 41.0) ** -1, WORDS, replacement=True, generator=generator)
    vectors = centres[member] + 0.3 * scales * torch.randn(WORDS, DIMENSION, generator=generator)
    vectors = vectors - vectors.mean(dim=0)
    return 6 * vectors / vectors.norm(dim=1).mean()


def rotation(seed: int, angle: float = 1.5) -> torch.Tensor:
    """Turns some plane by this angle (in radians), and all others by less."""
    drawn = torch.randn(DIMENSION, DIMENSION, generator=seeded(seed))
    skew = drawn - drawn.mT
    return torch.matrix_exp(angle * skew / torch.linalg.eigvals(skew).abs().max())


def make_pair(seed: int = 0) -> tuple[Space, Space, torch.Tensor, torch.Tensor]:
    """A space, the same turned and in another order, the rotation, and which source word each target word is."""
    vectors, turn = clustered(seed), rotation(seed + 7)
    order = torch.randperm(WORDS, generator=seeded(seed + 1))
    target = (vectors @ turn)[order]
    names = ([f"{side}{row}" for row in range(WORDS)] for side in "st")
    return Space.of(next(names), vectors, name="s"), Space.of(next(names), target, name="t"), turn, order


def right_share(outcome: Outcome, source: Space, target: Space, order: torch.Tensor) -> float:
    cosines = outcome.source.apply(source.vectors) @ outcome.target.apply(target.vectors).mT
    return float((order[cosines.argmax(dim=1)] == torch.arange(WORDS)).double().mean())


def small_network(leak: float = 0.2) -> Network:
    return Network.drawn((5, 7, 6, 1), leak, seeded(0), torch.zeros(1, dtype=torch.float64))


def torch_scores(network: Network, inputs: torch.Tensor, noises: list[torch.Tensor]) -> torch.Tensor:
    """The same by torch, differentiable."""
    for number, (weight, bias) in enumerate(zip(network.weights[:-1], network.biases[:-1], strict=True)):
        inputs = functional.leaky_relu(inputs @ weight + bias, network.leak) * noises[number]
    return inputs @ network.weights[-1] + network.biases[-1]


@pytest.mark.parametrize("leak", [0.0, 0.2, 1.0])
def test_the_gradient_written_out_is_that_of_autograd(leak):
    network, inputs = small_network(leak), normal(9, 5, seed=1).requires_grad_()
    labels, noises = torch.rand(9, 1, dtype=torch.float64), [normal(9, 7, seed=2), normal(9, 6, seed=3)]
    parameters = [each.requires_grad_() for each in (*network.weights, *network.biases)]
    scores = torch_scores(network, inputs, noises)
    loss = functional.binary_cross_entropy_with_logits(scores, labels)
    reference = torch.autograd.grad(loss, [inputs, *parameters])
    with torch.no_grad():
        trace = forward(network, inputs, noises)
        by_score = (torch.sigmoid(trace.scores) - labels) / 9
        assert torch.allclose(trace.scores, scores, atol=1e-14)
        assert torch.allclose(by_inputs(network, trace, by_score), reference[0], atol=1e-14)
        before = [each.clone() for each in parameters]
        descend(network, trace, by_score, 0.7)
    for old, new, gradient in zip(before, parameters, reference[1:], strict=True):
        assert torch.allclose(new, old - 0.7 * gradient, atol=1e-14)


def test_the_head_of_a_trace_is_the_trace_of_the_head():
    network, inputs, noise = small_network(), normal(9, 5, seed=1), normal(9, 7, seed=2)
    head, alone = forward(network, inputs, [noise]).head(4), forward(network, inputs[:4], [noise[:4]])
    assert torch.allclose(head.scores, alone.scores)
    assert all(torch.allclose(*each) for each in zip(head.gates, alone.gates, strict=True))
    ones = torch.ones(4, 1, dtype=torch.float64)
    pairs_of_deltas = zip(deltas(network, head, ones), deltas(network, alone, ones), strict=True)
    assert all(torch.allclose(*each) for each in pairs_of_deltas)


def test_weights_begin_within_their_bounds_and_by_the_seed():
    first, again = (Network.drawn((50, 400, 1), 0.2, seeded(3), torch.zeros(1)) for _ in range(2))
    assert [tuple(each.shape) for each in first.weights] == [(50, 400), (400, 1)]
    assert 0.99 / math.sqrt(50) < float(first.weights[0].abs().max()) <= 1 / math.sqrt(50)
    assert float(first.weights[1].abs().max()) <= 1 / math.sqrt(400)
    assert torch.equal(first.weights[0], again.weights[0])


def test_batches_follow_their_weights_and_never_end(monkeypatch):
    monkeypatch.setattr(adversary, "BATCHES_AT_ONCE", 3)
    weights = torch.tensor([0.0, 1.0, 3.0])
    drawn = draw_batches(weights, 1000, seeded(0), CPU)
    rows = torch.cat([next(drawn) for _ in range(20)])
    assert torch.allclose(torch.bincount(rows, minlength=3) / 20_000, weights / 4, atol=0.015)
    even = draw_batches(torch.ones(4), 1000, seeded(0), CPU)
    rows = torch.cat([next(even) for _ in range(20)])
    assert torch.allclose(torch.bincount(rows, minlength=4) / 20_000, torch.full((4,), 0.25), atol=0.015)


def test_noise_has_the_mean_and_deviation_asked_for():
    like = torch.zeros(1)
    kept = dropout_noise(0.1, seeded(0), like, 10).table
    assert sorted(set(kept.tolist())) == pytest.approx([0.0, 1 / 0.9])
    assert float(kept.mean()) == pytest.approx(1, abs=1e-3)
    factors = gaussian_noise(0.5, seeded(0), like, 10).table
    assert float(factors.mean()) == pytest.approx(1, abs=1e-3)
    assert float(factors.std()) == pytest.approx(0.5, abs=1e-3)
    assert torch.equal(dropout_noise(0.0, seeded(0), like, 10).table, torch.ones(adversary.TABLE_LENGTH))


def test_windows_of_noise_come_from_all_over_the_table(monkeypatch):
    monkeypatch.setattr(adversary, "BATCHES_AT_ONCE", 4)
    noise = NoiseTable(torch.arange(100.0), seeded(0))
    windows = [noise.cut(3, 4) for _ in range(300)]
    assert all(torch.equal(each.flatten().diff(), torch.ones(11)) for each in windows)
    begins = {int(each[0, 0]) for each in windows}
    assert min(begins) < 4
    assert max(begins) > 84
    assert len(begins) > 60


def test_generators_are_decided_by_the_seed_and_apart_from_each_other():
    first, again, other = ([float(torch.rand(1, generator=each)) for each in generators(seed, 3)] for seed in (5, 5, 6))
    assert first == again
    assert len({*first, *other}) == 6


def test_a_repeated_step_is_the_step():
    total = torch.zeros(2)
    step = Recorded(lambda one, other: total.add_(one * other))
    for number in range(4):
        step(torch.full((2,), float(number)), torch.tensor([1.0, 10.0]))
    assert total.tolist() == [6, 60]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_step_recorded_on_a_gpu_is_the_step():
    source, target, _, _ = make_pair()
    matrices = []
    for device in (CPU, torch.device("cuda")):
        game = AdversarialTraining(source.vectors.to(device), target.vectors.to(device), 0, SMALL)
        game.run(20, Recorded(lambda *drawn, game=game: game.update(*drawn, rate=0.1)))
        matrices.append(game.matrix.cpu())
    assert torch.allclose(*matrices, atol=1e-3)


def test_the_discriminator_descends_the_cross_entropy_of_its_labels():
    network, inputs = small_network(), normal(8, 5, seed=1)
    labels = torch.tensor([0.8] * 4 + [0.2] * 4, dtype=torch.float64).unsqueeze(1)
    losses = []
    for _ in range(300):
        losses.append(float(functional.binary_cross_entropy_with_logits(forward(network, inputs).scores, labels)))
        train_discriminator(network, inputs, labels, 0.5)
    assert losses[-1] < losses[0] - 0.1
    assert torch.sigmoid(forward(network, inputs).scores)[:4].mean() > 0.5


def test_the_map_descends_the_cross_entropy_of_the_opposite_labels():
    """Equation 4 by autograd: the target's half has no gradient, but counts in the mean."""
    network, source, target = small_network(), normal(6, 5, seed=1), normal(6, 5, seed=2)
    matrix = normal(5, 5, seed=3).requires_grad_()
    scores = torch_scores(network, torch.cat([source @ matrix, target]), [torch.tensor(1.0), torch.tensor(1.0)])
    opposite = torch.tensor([0.2] * 6 + [0.8] * 6, dtype=torch.float64).unsqueeze(1)
    (gradient,) = torch.autograd.grad(functional.binary_cross_entropy_with_logits(scores, opposite), matrix)
    with torch.no_grad():
        stepped = trained_map(network, source, matrix, 0.2, 0.3)
    assert torch.allclose(stepped, matrix - 0.3 * gradient, atol=1e-14)


def test_orthogonal_matrices_stay_and_others_come_nearer():
    orthogonal = nearest_orthogonal(normal(6, 6, seed=0))
    assert torch.allclose(orthogonalised(orthogonal, 0.01), orthogonal, atol=1e-14)
    matrix = orthogonal + 0.1 * normal(6, 6, seed=1)
    near = nearest_orthogonal(matrix)
    distances = []
    for _ in range(3):
        distances.append(float((matrix - near).norm()))
        matrix = orthogonalised(matrix, 0.1)
    assert distances[0] > distances[1] > distances[2]
    for _ in range(300):
        matrix = orthogonalised(matrix, 0.1)
    assert torch.allclose(matrix, near, atol=1e-9)


def test_orthogonalising_works_on_the_singular_values_alone():
    matrix, beta = 0.5 * normal(6, 6, seed=1), 0.05
    singular = torch.linalg.svdvals(matrix)
    expected = (singular + beta * singular * (1 - singular**2)).sort(descending=True).values
    assert torch.allclose(torch.linalg.svdvals(orthogonalised(matrix, beta)), expected, atol=1e-12)


def test_the_criterion_by_hand():
    """CSLS by its definition, and the plain cosine of what it chooses, over the first words alone."""
    source, target, matrix = normal(40, 5, seed=0), normal(30, 5, seed=1), normal(5, 5, seed=2)
    cosines = (unit(source @ matrix) @ unit(target).mT).numpy()
    hubness = np.sort(cosines, axis=0)[-10:].mean(axis=0)
    chosen = (2 * cosines - hubness)[:25].argmax(axis=1)
    expected = cosines[np.arange(25), chosen].mean()
    assert criterion(source, target, matrix, 25) == pytest.approx(expected, abs=1e-12)


def test_the_criterion_of_the_truth_is_one():
    source, target, turn, _ = make_pair()
    assert criterion(source.vectors, target.vectors, turn, 10_000) == pytest.approx(1, abs=1e-5)
    assert criterion(source.vectors, target.vectors, torch.eye(DIMENSION), 10_000) < 0.95


@pytest.mark.parametrize("seed", [0, 1])
def test_the_game_recovers_a_rotation(seed):
    """Far from it at first: of the words few are translated by the map that the game starts from."""
    source, target, turn, order = make_pair(seed)
    still = (unit(source.vectors) @ unit(target.vectors).mT).argmax(dim=1)
    assert float((order[still] == torch.arange(WORDS)).double().mean()) < 0.3
    outcome = conneau2017(Task(source, target, seed), SMALL)
    assert right_share(outcome, source, target, order) > 0.95
    assert float((outcome.source.map.matrix - turn).norm()) < 0.3 * float((torch.eye(DIMENSION) - turn).norm())
    assert torch.equal(outcome.target.map.matrix, torch.eye(DIMENSION))


def test_refinement_makes_it_exact():
    source, target, turn, _ = make_pair()
    start = nearest_orthogonal(turn + 0.1 * torch.randn(DIMENSION, DIMENSION, generator=seeded(1)))
    events: list[Step] = []
    refined = refine(
        source.vectors, target.vectors, start, Task(source, target, listen=events.append), Conneau2017Settings()
    )
    assert torch.allclose(refined, turn, atol=1e-4)
    assert [(step.stage, step.number, step.total) for step in events] == [("refine", n, 5) for n in range(1, 6)]
    assert events[-1].values["pairs"] == WORDS


def test_refinement_keeps_the_map_that_the_criterion_likes_best():
    """The truth cannot be bettered: a map of pairs that are all wrong must not replace it."""
    source, target, turn, order = make_pair()
    settings = Conneau2017Settings(refinement_words=5, refinements=2)
    refined = refine(source.vectors, target.vectors, turn, Task(source, target), settings)
    other = procrustes(source.vectors[:5], target.vectors[:5]).matrix
    assert set(order[:5].tolist()).isdisjoint(range(5))
    assert criterion(source.vectors, target.vectors, other, 600) < criterion(
        source.vectors, target.vectors, refined, 600
    )
    assert torch.equal(refined, turn)


def test_a_game_is_held_near_the_orthogonal_maps():
    source, target, _, _ = make_pair()
    eye, distances = torch.eye(DIMENSION), []
    for beta in (0.0, 0.01, 0.1):
        game = AdversarialTraining(source.vectors, target.vectors, 0, replace(SMALL, beta=beta))
        game.run(60, Recorded(lambda *drawn, game=game: game.update(*drawn, rate=0.1)))
        distances.append(float((game.matrix.mT @ game.matrix - eye).norm()))
        assert float((game.matrix - eye).norm()) > 0.5
    assert distances[0] > distances[1] > 2 * distances[2]


def test_a_seed_decides_the_result():
    source, target, _, _ = make_pair()
    settings = Conneau2017Settings(hidden=16, batch=8, updates=20, epochs=2, refinements=0)
    first, again, other = (conneau2017(Task(source, target, seed), settings) for seed in (3, 3, 4))
    assert torch.equal(first.source.map.matrix, again.source.map.matrix)
    assert not torch.allclose(first.source.map.matrix, other.source.map.matrix, atol=1e-4)


def test_it_tells_of_every_epoch_in_parts_and_the_rate_decays():
    source, target, _, _ = make_pair()
    events: list[Step] = []
    settings = Conneau2017Settings(hidden=8, batch=4, updates=EVENTS_PER_EPOCH, epochs=3, refinements=1, shrink=1.0)
    conneau2017(Task(source, target, listen=events.append), settings)
    assert [step.number for step in events[:-1]] == list(range(1, 3 * EVENTS_PER_EPOCH + 1))
    assert sum("criterion" in step.values for step in events[:-1]) == 3
    rates = [events[part].values["rate"] for part in (0, EVENTS_PER_EPOCH, 2 * EVENTS_PER_EPOCH)]
    assert rates == pytest.approx([0.1, 0.1 * 0.95, 0.1 * 0.95**2])


def test_the_rate_is_halved_where_the_criterion_fell(monkeypatch):
    source, target, _, _ = make_pair()
    values = iter([0.5, 0.4, 0.6, 0.6])
    monkeypatch.setattr("calque.methods.baselines.conneau2017.criterion", lambda *_: next(values))
    events: list[Step] = []
    settings = Conneau2017Settings(hidden=8, batch=4, updates=1, epochs=3, refinements=0, decay=1.0)
    conneau2017(Task(source, target, listen=events.append), settings)
    assert [step.values["rate"] for step in events if "criterion" in step.values] == pytest.approx([0.1, 0.1, 0.05])


def test_it_stops_when_asked_with_what_it_has():
    source, target, _, _ = make_pair()
    events: list[Step] = []
    task = Task(source, target, listen=events.append, stopped=lambda: len(events) >= 2)
    outcome = conneau2017(task, Conneau2017Settings(hidden=8, batch=4, updates=200))
    assert len(events) == 3
    assert outcome.notes == ("it was interrupted",)
    assert outcome.source.map.matrix.shape == (DIMENSION, DIMENSION)


def test_preprocessing_is_kept_with_the_map():
    source, target, _, _ = make_pair()
    settings = Conneau2017Settings(("center", "unit"), hidden=8, batch=4, updates=2, epochs=1, refinements=0)
    outcome = conneau2017(Task(source, target), settings)
    moved = source.vectors - source.vectors.mean(dim=0)
    expected = unit(unit(moved) @ outcome.source.map.matrix)
    assert torch.allclose(outcome.source.apply(source.vectors), expected, atol=1e-6)


def test_unequal_dimensions_are_refused():
    source, target, _, _ = make_pair()
    narrow = Space.of(target.words, target.vectors[:, :7], name="narrow")
    with pytest.raises(SpaceError, match="s has 10 dimensions and narrow 7; expected as many"):
        conneau2017(Task(source, narrow), SMALL)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"preprocessing": ("centre",)}, "'centre'; there are"),
        ({"hidden": 0}, "hidden is 0"),
        ({"layers": 0}, "layers is 0"),
        ({"batch": 0}, "batch is 0"),
        ({"updates": 0}, "updates is 0"),
        ({"epochs": 0}, "epochs is 0"),
        ({"discriminator_steps": 0}, "discriminator_steps is 0"),
        ({"frequent": 0}, "frequent is 0"),
        ({"criterion_words": 0}, "criterion_words is 0"),
        ({"refinement_words": 0}, "refinement_words is 0"),
        ({"refinements": -1}, "refinements is -1"),
        ({"dropout": 1.0}, "dropout is 1"),
        ({"smoothing": 0.5}, "smoothing 0.5"),
        ({"rate": 0.0}, "rate is 0"),
        ({"decay": 1.1}, "decay 1.1"),
        ({"shrink": 0.0}, "shrink 0"),
        ({"beta": -0.1}, "beta is -0.1"),
        ({"beta": float("nan")}, "beta is nan"),
    ],
)
def test_settings_out_of_range_are_refused(wrong, named):
    with pytest.raises(SettingsError, match=named):
        Conneau2017Settings(**wrong)
