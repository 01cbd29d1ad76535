from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from calque.data.space import Space
from calque.errors import SettingsError, SpaceError
from calque.linear.maps import unit
from calque.methods.baselines.adversary import Adam, generators
from calque.methods.baselines.zhang2017 import (
    MOST_EVENTS,
    AutoencoderTraining,
    Drop,
    Zhang2017Settings,
    reconstruction,
    sampling_weights,
    train,
    zhang2017,
)
from calque.methods.default.alternation import random_rotation
from calque.methods.task import Outcome, Task
from calque.progress import Step

WORDS, DIMENSION = 600, 10
SMALL = Zhang2017Settings(hidden=100, batch=64, rate=2e-3, steps=1200, window=100)
TINY = Zhang2017Settings(hidden=8, batch=4, steps=40, window=4)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*size: int, seed: int) -> torch.Tensor:
    return torch.randn(*size, generator=seeded(seed), dtype=torch.float64)


def clustered(seed: int) -> torch.Tensor:
    """Uneven bunches of words around 0, with a decaying spectrum."""
    generator, scales = seeded(seed), torch.arange(1, DIMENSION + 1) ** -0.5
    centres = torch.randn(40, DIMENSION, generator=generator) * scales
    member = torch.multinomial(torch.arange(1.0, 41.0) ** -1, WORDS, replacement=True, generator=generator)
    vectors = centres[member] + 0.3 * scales * torch.randn(WORDS, DIMENSION, generator=generator)
    return vectors - vectors.mean(dim=0)


def first_map(seed: int) -> torch.Tensor:
    """The random rotation that a game of this seed starts from."""
    return random_rotation(DIMENSION, generators(seed, 3)[1])


def off_by(angle: float, seed: int) -> torch.Tensor:
    """Turns some plane by this angle (in radians), and all others by less."""
    drawn = torch.randn(DIMENSION, DIMENSION, generator=seeded(seed))
    skew = drawn - drawn.mT
    return torch.matrix_exp(angle * skew / torch.linalg.eigvals(skew).abs().max())


def make_pair(seed: int = 0, angle: float = 1.5) -> tuple[Space, Space, torch.Tensor]:
    """A space, the same turned and in another order, and which source word each target word is.

    A game of this seed starts off by the angle.
    """
    vectors = clustered(seed)
    order = torch.randperm(WORDS, generator=seeded(seed + 1))
    target = (vectors @ first_map(seed) @ off_by(angle, seed + 2))[order]
    names = ([f"{side}{row}" for row in range(WORDS)] for side in "st")
    return Space.of(next(names), vectors, name="s"), Space.of(next(names), target, name="t"), order


def right_share(source: torch.Tensor, target: torch.Tensor, order: torch.Tensor) -> float:
    chosen = (unit(source) @ unit(target).mT).argmax(dim=1)
    return float((order[chosen] == torch.arange(WORDS)).double().mean())


def share_of(outcome: Outcome, source: Space, target: Space, order: torch.Tensor) -> float:
    return right_share(outcome.source.apply(source.vectors), outcome.target.apply(target.vectors), order)


def make_game(settings: Zhang2017Settings, seed: int = 0) -> AutoencoderTraining:
    source, target, _ = make_pair(seed)
    spaces = unit(source.vectors), unit(target.vectors)
    return AutoencoderTraining(spaces, [torch.ones(WORDS), torch.ones(WORDS)], seed, settings)


def test_reconstruction_and_its_gradient_are_those_of_autograd():
    source, matrix = unit(normal(30, 6, seed=0)), normal(6, 6, seed=1).requires_grad_()
    reference = -functional.cosine_similarity(source, source @ matrix @ matrix.mT).mean()
    (gradient,) = torch.autograd.grad(reference, matrix)
    with torch.no_grad():
        loss, by_matrix = reconstruction(source, matrix)
    assert float(loss) == pytest.approx(float(reference.detach()), abs=1e-14)
    assert torch.allclose(by_matrix, gradient, atol=1e-14)


def test_orthogonal_maps_reconstruct_everything():
    source, rotation = unit(normal(30, 6, seed=0)), random_rotation(6, seeded(1)).double()
    loss, by_matrix = reconstruction(source, rotation)
    assert float(loss) == pytest.approx(-1, abs=1e-6)
    assert float(by_matrix.norm()) < 1e-5


def test_a_step_is_adam_on_the_published_losses():
    """One step of both by torch's autograd from the same words and noise."""
    settings = Zhang2017Settings(hidden=12, batch=16, reconstruction=0.7)
    game = make_game(settings)
    rows, columns = next(game.rows), next(game.columns)
    noise, hidden_noise = game.noise.cut(32, DIMENSION), game.noise.cut(32, 12)
    network, matrix = game.network, game.matrix.clone().requires_grad_()
    layers = [each.clone().requires_grad_() for each in (*network.weights, *network.biases)]
    x, y = game.source[rows], game.target[columns]
    inputs = torch.cat([x @ matrix, y]) * noise
    hidden = functional.leaky_relu(inputs @ layers[0] + layers[2], 0.2) * hidden_noise
    belief = torch.sigmoid(hidden @ layers[1] + layers[3])
    deceived = -torch.log(1 - belief[:16]).mean()
    back = functional.cosine_similarity(x, x @ matrix @ matrix.mT).mean()
    seen_through = -torch.log(belief[:16]).mean() - torch.log(1 - belief[16:]).mean()
    losses = deceived - 0.7 * back, seen_through
    gradients = torch.autograd.grad(losses[0], matrix, retain_graph=True) + torch.autograd.grad(losses[1], layers)
    game.step(rows, columns, noise, hidden_noise)
    for gradient, result in zip(gradients, game.adam.gradients, strict=True):
        assert torch.allclose(result, gradient, atol=1e-6)
    expected = matrix.detach() - 1e-3 * gradients[0] / (gradients[0].abs() + 1e-8)
    assert torch.allclose(game.matrix, expected, atol=2e-6)
    assert float(game.total) == pytest.approx(float(losses[0].detach()), abs=1e-5)


def test_adam_by_hand():
    """Algorithm 1 of Kingma and Ba, number by number, on two parameters of different shapes."""
    adam = Adam([torch.tensor([[1.0, -2.0]], dtype=torch.float64), torch.tensor([3.0], dtype=torch.float64)], 0.1)
    values, means, squares = [1.0, -2.0, 3.0], [0.0] * 3, [0.0] * 3
    for step, gradient in enumerate([(0.5, -1.0, 0.0), (2.0, 3.0, 1e-3), (-1.0, 0.1, 5.0)], start=1):
        adam.gradients[0].copy_(torch.tensor([gradient[:2]]))
        adam.gradients[1].copy_(torch.tensor(gradient[2:]))
        adam.step()
        for number, each in enumerate(gradient):
            each = float(torch.tensor(each))
            means[number] = 0.9 * means[number] + 0.1 * each
            squares[number] = 0.999 * squares[number] + 0.001 * each * each
            root = math.sqrt(squares[number] / (1 - 0.999**step))
            values[number] -= 0.1 * means[number] / (1 - 0.9**step) / (root + 1e-8)
    assert adam.parameters[0].tolist()[0] == pytest.approx(values[:2], abs=1e-12)
    assert adam.parameters[1].tolist() == pytest.approx(values[2:], abs=1e-12)


def test_words_are_drawn_as_they_occur_but_the_frequent_ones_less():
    counts = [900_000.0, 90_000.0, 9_990.0, 8.0, 2.0, 0.0]
    space = Space.of([str(row) for row in range(6)], torch.ones(6, 2), counts)
    shares = [count / 1_000_002 for count in (*counts[:5], 2.0)]
    expected = [share * min(1.0, math.sqrt(1e-5 / share)) for share in shares]
    assert sampling_weights(space, 1e-5).tolist() == pytest.approx(expected, rel=1e-9)


def test_without_counts_all_words_are_drawn_alike():
    assert sampling_weights(make_pair()[0], 1e-5).tolist() == [1.0] * WORDS


def test_the_sharpest_drop_is_below_the_highest_before_it():
    """A low beginning is no drop; a rise makes the next low one deep."""
    drop = Drop()
    heard = [drop.sharper(loss) for loss in (-0.2, -0.1, 0.3, 0.25, 0.1, 0.2, 0.05, 0.1)]
    assert heard == [False, False, False, True, True, False, True, False]
    assert drop.depth == pytest.approx(0.25)
    assert drop.highest == pytest.approx(0.3)


def test_the_map_kept_is_the_one_at_the_foot_of_the_drop():
    source, target, _ = make_pair()

    class Scripted:
        """A game that only tells losses, and numbers its maps."""

        def __init__(self, losses: list[float]) -> None:
            self.losses, self.matrix = iter(losses), torch.zeros(1)

        def run(self, steps: int) -> float:
            assert steps == 10
            self.matrix += 1
            return next(self.losses)

    settings = Zhang2017Settings(steps=80, window=10, patience=1000)
    losses = [-0.2, 0.1, 0.3, -0.1, -0.15, 0.0, 0.2, 0.1]
    assert train(Scripted(losses), Task(source, target), settings).tolist() == [5.0]  # type: ignore[arg-type]
    impatient = Zhang2017Settings(steps=80, window=10, patience=20)
    assert train(Scripted([0.1, 0.0, 0.05, 0.05, -1.0]), Task(source, target), impatient).tolist() == [2.0]  # type: ignore[arg-type]


def test_a_game_that_diverges_ends_with_the_map_before_and_says_so():
    source, target, _ = make_pair()
    wild = replace(SMALL, rate=1e30, steps=20 * SMALL.window)
    outcome = zhang2017(Task(source, target), wild)
    assert outcome.source.map.matrix.isfinite().all()
    assert len(outcome.notes) == 1
    assert "diverged" in outcome.notes[0]


@pytest.mark.parametrize("seed", [0, 1])
def test_the_game_finds_a_turned_space(seed):
    source, target, order = make_pair(seed)
    assert right_share(source.vectors @ first_map(seed), target.vectors, order) < 0.3
    outcome = zhang2017(Task(source, target, seed), SMALL)
    assert share_of(outcome, source, target, order) > 0.6
    matrix = outcome.source.map.matrix
    assert float((matrix.mT @ matrix - torch.eye(DIMENSION)).norm()) < 1.5
    assert torch.equal(outcome.target.map.matrix, torch.eye(DIMENSION))


def test_reconstruction_holds_the_map_near_the_orthogonal_ones():
    distances = []
    for weight in (0.0, 1.0, 10.0):
        game = make_game(Zhang2017Settings(hidden=50, batch=32, rate=5e-3, reconstruction=weight))
        game.run(150)
        distances.append(float((game.matrix.mT @ game.matrix - torch.eye(DIMENSION)).norm()))
    assert distances[0] > distances[1] > distances[2]


def test_a_seed_decides_the_result():
    source, target, _ = make_pair()
    first, again, other = (zhang2017(Task(source, target, seed), TINY) for seed in (3, 3, 4))
    assert torch.equal(first.source.map.matrix, again.source.map.matrix)
    assert not torch.allclose(first.source.map.matrix, other.source.map.matrix, atol=1e-4)


def test_it_tells_some_hundred_times_at_most():
    source, target, _ = make_pair()
    events: list[Step] = []
    settings = Zhang2017Settings(hidden=2, batch=1, steps=600, window=1, patience=600)
    zhang2017(Task(source, target, listen=events.append), settings)
    assert len(events) <= MOST_EVENTS
    assert events[-1].number == events[-1].total == 600
    assert set(events[0].values) == {"loss", "drop"}


def test_fewer_steps_than_a_window_are_all_it_takes():
    source, target, _ = make_pair()
    events: list[Step] = []
    zhang2017(Task(source, target, listen=events.append), Zhang2017Settings(hidden=2, batch=1, steps=3))
    assert [(step.number, step.total) for step in events] == [(1, 1)]


def test_it_stops_when_asked_with_what_it_has():
    source, target, _ = make_pair()
    events: list[Step] = []
    outcome = zhang2017(Task(source, target, listen=events.append, stopped=lambda: len(events) >= 2), TINY)
    assert len(events) == 2
    assert outcome.notes == ("it was interrupted",)
    assert outcome.source.map.matrix.shape == (DIMENSION, DIMENSION)


def test_unequal_dimensions_are_refused():
    source, target, _ = make_pair()
    narrow = Space.of(target.words, target.vectors[:, :7], name="narrow")
    with pytest.raises(SpaceError, match="s has 10 dimensions and narrow 7; expected as many"):
        zhang2017(Task(source, narrow), TINY)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_game_recorded_on_a_gpu_is_the_game():
    losses = []
    for device in ("cpu", "cuda"):
        source, target, _ = make_pair()
        spaces = unit(source.vectors).to(device), unit(target.vectors).to(device)
        losses.append(AutoencoderTraining(spaces, [torch.ones(WORDS), torch.ones(WORDS)], 0, SMALL).run(50))
    assert losses[0] == pytest.approx(losses[1], abs=1e-3)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"hidden": 0}, "hidden is 0"),
        ({"batch": 0}, "batch is 0"),
        ({"steps": 0}, "steps is 0"),
        ({"window": 0}, "window is 0"),
        ({"patience": 0}, "patience is 0"),
        ({"rate": 0.0}, "rate is 0"),
        ({"subsampling": 0.0}, "subsampling is 0"),
        ({"noise": -0.1}, "noise is -0.1"),
        ({"reconstruction": float("nan")}, "reconstruction is nan"),
    ],
)
def test_settings_out_of_range_are_refused(wrong, named):
    with pytest.raises(SettingsError, match=named):
        Zhang2017Settings(**wrong)
