from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from paper_problems import normal, random_batch, random_transfer, seeded

from calque.errors import SettingsError
from calque.linear.maps import unit
from calque.methods.paper.gan import CriticNoise, Critics, GanSettings, critic_loss, draw_noise, first_critics, map_loss
from calque.methods.paper.objective import Batch, Transfer, back_translation_loss
from calque.methods.paper.training import RmsProp

SETTINGS = GanSettings(hidden=6)
DIMENSION = 3


@pytest.fixture
def critics() -> Critics:
    return Critics((normal(2, 2, DIMENSION, 6, seed=20), normal(2, 2, 6, seed=21), normal(2, 2, 6, seed=22)))


@pytest.fixture
def batch() -> Batch:
    return random_batch()


@pytest.fixture
def noise(batch) -> CriticNoise:
    return draw_noise(batch.source, SETTINGS, [seeded(30), seeded(31)])


def critic(critics: Critics, seed: int, way: int, z: np.ndarray, outer: np.ndarray, inner: np.ndarray) -> float:
    """D(z) = w · (tanh((z ∘ noise) A + b) ∘ noise) of one direction, one word."""
    a, b, w = (each[seed, way].numpy() for each in critics.parameters)
    return float(w @ (np.tanh((z * outer) @ a + b) * inner))


def equally_long(vector: np.ndarray) -> np.ndarray:
    """As long as a standardised vector is on average."""
    return vector / np.linalg.norm(vector) * math.sqrt(len(vector))


def words(transfer: Transfer, batch: Batch, seed: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Of each direction: mapped words, real words, the weights of both."""
    x, y, r, c = (each[seed] for each in batch.tensors())
    g, f = transfer.maps(seed)
    ways = ((g.apply(x), y, r, c), (f.apply(y), x, c, r))
    return [
        (
            np.array(list(map(equally_long, m.numpy()))),
            np.array(list(map(equally_long, o.numpy()))),
            p.numpy(),
            q.numpy(),
        )
        for m, o, p, q in ways
    ]


def slope(critics: Critics, seed: int, way: int, z: np.ndarray) -> float:
    """||∇D|| without noise, by differences."""
    ones, step = (np.ones(DIMENSION), np.ones(6)), 1e-6
    moves = step * np.eye(DIMENSION)
    result = [
        (critic(critics, seed, way, z + move, *ones) - critic(critics, seed, way, z - move, *ones)) / (2 * step)
        for move in moves
    ]
    return float(np.linalg.norm(result))


def critic_loss_by_loops(critics: Critics, transfer: Transfer, batch: Batch, noise: CriticNoise, seed: int) -> float:
    total = 0.0
    for way, (mapped, real, of_mapped, of_real) in enumerate(words(transfer, batch, seed)):
        outer, inner, between = (each[seed, way].numpy() for each in noise.tensors())
        for i in range(len(mapped)):
            total += of_mapped[i] * critic(critics, seed, way, mapped[i], outer[i], inner[i])
            total -= of_real[i] * critic(critics, seed, way, real[i], outer[i], inner[i])
            middle = mapped[i] + between[i] * (real[i] - mapped[i])
            total += 10.0 * (slope(critics, seed, way, middle) - 1) ** 2 / len(mapped)
    return total


def map_loss_by_loops(critics: Critics, transfer: Transfer, batch: Batch, noise: CriticNoise, seed: int) -> float:
    total = 0.0
    for way, (mapped, _, of_mapped, _) in enumerate(words(transfer, batch, seed)):
        outer, inner, _ = (each[seed, way].numpy() for each in noise.tensors())
        values = (critic(critics, seed, way, *each) for each in zip(mapped, outer, inner, strict=True))
        total -= sum(weight * each for weight, each in zip(of_mapped, values, strict=True))
    return total


def test_what_the_critics_say_word_by_word(critics, noise):
    vectors = normal(2, 2, 5, DIMENSION, seed=23)
    result = critics.values(vectors, noise)
    for seed, way, word in np.ndindex(2, 2, 5):
        parts = (each[seed, way, word].numpy() for each in (vectors, noise.outer, noise.inner))
        assert float(result[seed, way, word]) == pytest.approx(critic(critics, seed, way, *parts), abs=1e-12)


def test_slopes_are_the_lengths_of_the_gradients(critics):
    vectors = normal(2, 2, 5, DIMENSION, seed=23).requires_grad_()
    even = CriticNoise(
        torch.ones(2, 2, 5, DIMENSION).double(), torch.ones(2, 2, 5, 6).double(), torch.zeros(2, 2, 5, 1)
    )
    (gradient,) = torch.autograd.grad(critics.values(vectors, even).sum(), vectors)
    assert torch.allclose(critics.slopes(vectors), gradient.norm(dim=-1), atol=1e-12)


@pytest.mark.parametrize("kind", ["tied", "free", "network"])
def test_the_loss_of_the_critics_word_by_word(kind, critics, batch, noise):
    transfer = random_transfer(kind)
    result = critic_loss(critics, transfer, batch, noise, 10.0)
    expected = [critic_loss_by_loops(critics, transfer, batch, noise, seed) for seed in range(2)]
    assert result.tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("kind", ["tied", "free", "network"])
@pytest.mark.parametrize("weight", [0.0, 0.7])
def test_the_loss_of_the_maps_word_by_word(kind, weight, critics, batch, noise):
    transfer = random_transfer(kind)
    lost = back_translation_loss(transfer, (transfer.there(batch.source), transfer.back(batch.target)), batch)
    expected = [
        map_loss_by_loops(critics, transfer, batch, noise, seed) + weight * float(lost[seed]) for seed in (0, 1)
    ]
    assert map_loss(critics, transfer, batch, noise, weight).tolist() == pytest.approx(expected, abs=1e-10)


def nothing_to_tell() -> tuple[Transfer, Batch]:
    """The same words on both sides under the identity: both expectations are equal, whatever a critic says."""
    vectors, even = normal(2, 5, DIMENSION, seed=24), torch.full((2, 5), 0.2).double()
    return Transfer((torch.eye(DIMENSION).double().repeat(2, 1, 1),), tied=True), Batch(vectors, vectors, even, even)


def test_a_critic_that_cannot_tell_mapped_from_real_pays_the_penalty_alone(critics, noise):
    same, batch = nothing_to_tell()
    assert float(critic_loss(critics, same, batch, noise, 0.0).abs().max()) < 1e-12
    assert float(critic_loss(critics, same, batch, noise, 10.0).min()) > 0


def test_the_penalty_pulls_slopes_to_one(critics, noise):
    same, batch = nothing_to_tell()
    critics, _ = learning(critics, same)
    middle = torch.stack((unit(batch.source),) * 2, dim=1) * math.sqrt(DIMENSION)
    judges = RmsProp(0.02)
    for _ in range(300):
        judges.step(critics.parameters, critic_loss(critics, same, batch, noise, 10.0))
    with torch.no_grad():
        assert float((critics.slopes(middle) - 1).abs().mean()) < 0.1


def learning(critics: Critics, transfer: Transfer) -> tuple[Critics, Transfer]:
    a, b, w = (each.clone().requires_grad_() for each in critics.parameters)
    return Critics((a, b, w)), Transfer(tuple(each.clone().requires_grad_() for each in transfer.parameters), True)


def test_the_critics_learn_without_the_maps_and_the_maps_without_the_critics(critics, batch, noise):
    critics, transfer = learning(critics, random_transfer("tied"))
    before = [each.detach().clone() for each in (*critics.parameters, *transfer.parameters)]
    loss = critic_loss(critics, transfer, batch, noise, 10.0)
    assert torch.autograd.grad(loss.sum(), transfer.parameters, allow_unused=True) == (None,)
    RmsProp(0.1).step(critics.parameters, critic_loss(critics, transfer, batch, noise, 10.0))
    assert torch.equal(transfer.parameters[0], before[3])
    moved = [each.detach().clone() for each in critics.parameters]
    assert not any(torch.equal(*each) for each in zip(moved, before[:3], strict=True))
    RmsProp(0.1).step(transfer.parameters, map_loss(critics, transfer, batch, noise, 1.0))
    assert all(torch.equal(*each) for each in zip(critics.parameters, moved, strict=True))
    assert not torch.equal(transfer.parameters[0], before[3])


def test_critics_learn_to_tell_and_maps_to_please_them(critics, batch, noise):
    critics, transfer = learning(critics, random_transfer("tied"))
    judges, maps = RmsProp(0.02), RmsProp(0.02)

    def difference() -> float:
        """What they say of mapped words, less what they say of real ones."""
        return critic_loss(critics, transfer, batch, noise, 0.0).sum().item()

    differences = [difference()]
    for _ in range(20):
        judges.step(critics.parameters, critic_loss(critics, transfer, batch, noise, 1.0))
    differences.append(difference())
    for _ in range(20):
        maps.step(transfer.parameters, map_loss(critics, transfer, batch, noise, 0.0))
    differences.append(difference())
    assert differences[1] < min(differences[0], differences[2])


@pytest.mark.parametrize("part", ["critic", "map"])
def test_seeds_share_nothing(part, critics, batch, noise):
    critics, transfer = learning(critics, random_transfer("tied"))
    if part == "critic":
        result = torch.autograd.grad(critic_loss(critics, transfer, batch, noise, 10.0)[0], critics.parameters)
    else:
        result = torch.autograd.grad(map_loss(critics, transfer, batch, noise, 1.0)[0], transfer.parameters)
    assert all(bool(each[0].any()) and not each[1].any() for each in result)


def test_a_slope_of_zero_leaves_no_hole_in_the_gradient(batch, noise):
    flat = Critics(tuple(torch.zeros(size).double().requires_grad_() for size in ((2, 2, 3, 6), (2, 2, 6), (2, 2, 6))))
    loss = critic_loss(flat, random_transfer("tied"), batch, noise, 10.0)
    assert all(bool(each.isfinite().all()) for each in torch.autograd.grad(loss.sum(), flat.parameters))


def test_noise_has_mean_one_and_the_deviation_asked_for():
    settings = GanSettings(hidden=40, noise=0.5)
    drawn = draw_noise(torch.zeros(1, 500, 50), settings, [seeded(0)])
    for each, size in ((drawn.outer, 50), (drawn.inner, 40)):
        assert each.shape == (1, 2, 500, size)
        assert float(each.mean()) == pytest.approx(1, abs=0.02)
        assert float(each.std()) == pytest.approx(0.5, abs=0.02)
    assert abs(float(torch.corrcoef(drawn.outer[0].flatten(1))[0, 1])) < 0.03


def test_between_is_uniform():
    between = draw_noise(torch.zeros(1, 5000, 1), SETTINGS, [seeded(0)]).between
    assert between.shape == (1, 2, 5000, 1)
    assert float(between.min()) >= 0
    assert float(between.max()) <= 1
    assert torch.histc(between, 4, 0, 1).tolist() == pytest.approx([2500] * 4, abs=200)


def test_without_noise_all_is_multiplied_by_one():
    drawn = draw_noise(torch.zeros(2, 5, 3), GanSettings(hidden=6, noise=0.0), [seeded(0), seeded(1)])
    assert bool((drawn.outer == 1).all())
    assert bool((drawn.inner == 1).all())


def test_the_noise_of_a_seed_does_not_depend_on_the_others():
    together = draw_noise(torch.zeros(3, 5, 3), SETTINGS, [seeded(each) for each in (7, 8, 9)])
    alone = draw_noise(torch.zeros(1, 5, 3), SETTINGS, [seeded(8)])
    for both, one in zip(together.tensors(), alone.tensors(), strict=True):
        assert torch.equal(both[1], one[0])
        assert not torch.equal(both[0], both[1])


def test_first_critics_stay_within_the_bounds_of_glorot_and_fill_them():
    a, b, w = first_critics(50, 200, [seeded(0), seeded(1)]).parameters
    for each, bound in ((a, math.sqrt(6 / 250)), (w, math.sqrt(6 / 201))):
        assert float(each.abs().max()) <= bound
        assert float(each.std()) == pytest.approx(bound / math.sqrt(3), rel=0.1)
    assert not b.any()
    assert not torch.equal(a[0], a[1])
    assert not torch.equal(a[0, 0], a[0, 1])
    assert torch.equal(first_critics(50, 200, [seeded(1)]).parameters[0][0], a[1])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"steps": -1}, "steps"),
        ({"starts": 0}, "starts"),
        ({"words": 0}, "words"),
        ({"batch": 0}, "batch"),
        ({"patience": 0}, "patience"),
        ({"critic_steps": 0}, "critic_steps"),
        ({"hidden": 0}, "hidden"),
        ({"noise": -0.1}, "noise"),
        ({"penalty": -1.0}, "penalty"),
        ({"back_translation": -1.0}, "back_translation"),
        ({"rate": 0.0}, "rates above 0"),
        ({"critic_rate": -1e-3}, "rates above 0"),
        ({"rate": math.nan}, "rates above 0"),
        ({"noise": math.nan}, "noise"),
    ],
)
def test_settings_out_of_range_are_refused(wrong, message):
    with pytest.raises(SettingsError, match=message):
        GanSettings(**wrong)
