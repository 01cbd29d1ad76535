"""Laws of the contrast: its gradient is the loss's, its steps lower the loss, and they help words be found."""

from __future__ import annotations

import math

import pytest
import torch

from calque.errors import SettingsError
from calque.linear.closed_forms import TwoWay, nearest_orthogonal
from calque.linear.maps import LinearMap, unit
from calque.methods.default import contrast as module
from calque.methods.default.contrast import ContrastSettings, contrast
from calque.methods.default.correspondence import lists, trusted
from calque.methods.default.refinement import RefinementSettings, refine
from calque.progress import Step

WORDS, DIMENSION = 1500, 12


def normal(*size: int, seed: int) -> torch.Tensor:
    return torch.randn(*size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


TRUTH = nearest_orthogonal(normal(DIMENSION, DIMENSION, seed=2))
EYE = torch.eye(DIMENSION, dtype=torch.float64)
SETTINGS = ContrastSettings()


def two_spaces(noise: float = 0.1) -> tuple[torch.Tensor, torch.Tensor]:
    """Word i is the translation of word i; the last directions agree on little, and one side is bent."""
    source = unit(normal(WORDS, DIMENSION, seed=0) * torch.linspace(2, 1, DIMENSION))
    blur = noise * torch.linspace(0.3, 2, DIMENSION) * normal(WORDS, DIMENSION, seed=3)
    return source, unit((source + 0.6 * source.abs() + blur) @ TRUTH)


SOURCE, TARGET = two_spaces()
REFINED = refine(SOURCE, TARGET, TwoWay.of(LinearMap(TRUTH), LinearMap(EYE)), RefinementSettings())


def plain_loss(source: torch.Tensor, target: torch.Tensor, settings: ContrastSettings) -> torch.Tensor:
    """The loss as it is written in the module's first lines, over whole matrices, with lists and pairs of REFINED."""
    near = lists(SOURCE, TARGET, REFINED, settings.rivals)
    pairs = trusted(near, settings.temperature)
    cosines = unit(source) @ unit(target).mT
    there, back = cosines.gather(1, near.there.indices), cosines.mT.gather(1, near.back.indices)
    of_source, of_target = there[:, :10].mean(dim=1), back[:, :10].mean(dim=1)
    csls = (2 * cosines - of_source.unsqueeze(1) - of_target) / settings.temperature
    x, y = pairs.source, pairs.target
    forward = torch.logsumexp(csls.gather(1, near.there.indices), 1)[x] - csls[x, y]
    backward = torch.logsumexp(csls.mT.gather(1, near.back.indices), 1)[y] - csls[x, y]
    return (pairs.scores * (forward + backward)).sum() / pairs.scores.sum()


def test_a_step_goes_along_the_gradient_of_the_loss_and_is_as_long_as_asked():
    settings = ContrastSettings(steps=1, step=0.01)
    for before, after in zip(
        (REFINED.there, REFINED.back),
        (lambda maps: (maps.there, maps.back))(contrast(SOURCE, TARGET, REFINED, settings)),
        strict=True,
    ):
        matrices = [each.matrix.clone().requires_grad_() for each in before]
        plain_loss(SOURCE @ matrices[0], TARGET @ matrices[1], settings).backward()
        for matrix, made in zip(matrices, after, strict=True):
            gradient, start = matrix.grad, matrix.detach()
            assert gradient is not None
            stepped = start - 0.01 * start.norm() * gradient / gradient.norm()
            assert torch.allclose(made.matrix, stepped * start.norm() / stepped.norm(), atol=1e-9)


def test_what_it_tells_is_the_loss_and_it_falls():
    told: list[Step] = []
    contrast(SOURCE, TARGET, REFINED, SETTINGS, told.append)
    losses = [float(step.values["loss"]) for step in told]
    both = [
        float(plain_loss(maps[0].apply(SOURCE), maps[1].apply(TARGET), SETTINGS))
        for maps in (REFINED.there, REFINED.back)
    ]
    assert losses[0] == pytest.approx(sum(both) / 2)
    assert losses[-1] < losses[0] - 0.02
    assert [(step.stage, step.number, step.total) for step in told] == [("contrast", n, 10) for n in range(1, 11)]


def right(maps: tuple[LinearMap, LinearMap], back: bool) -> float:
    cosines = unit(maps[0].apply(SOURCE)) @ unit(maps[1].apply(TARGET)).mT
    return float((cosines.argmax(dim=0 if back else 1) == torch.arange(WORDS)).double().mean())


def test_more_words_are_found_than_before():
    made = contrast(SOURCE, TARGET, REFINED, SETTINGS)
    before, after = (right(each.there, False) + right(each.back, True) for each in (REFINED, made))
    assert after > before + 0.05


def test_where_too_few_pairs_are_trusted_the_maps_stay_as_they_are():
    assert contrast(SOURCE[:30], TARGET[:30], REFINED, SETTINGS) is REFINED


def test_no_steps_change_nothing():
    assert contrast(SOURCE, TARGET, REFINED, ContrastSettings(steps=0)) is REFINED


def test_told_to_stop_it_ends_with_what_it_has():
    told: list[Step] = []
    made = contrast(SOURCE, TARGET, REFINED, SETTINGS, told.append, stopped=lambda: len(told) >= 3)
    alone = contrast(SOURCE, TARGET, REFINED, ContrastSettings(steps=3))
    assert len(told) == 3
    assert torch.equal(made.there[0].matrix, alone.there[0].matrix)


def test_words_beyond_the_limit_say_nothing():
    made = contrast(SOURCE, TARGET, REFINED, ContrastSettings(words=300))
    alone = contrast(SOURCE[:300], TARGET[:300], REFINED, SETTINGS)
    assert torch.equal(made.back[1].matrix, alone.back[1].matrix)


def test_unequal_numbers_of_words_and_fewer_words_than_rivals():
    told: list[Step] = []
    made = contrast(SOURCE, TARGET[:80], REFINED, ContrastSettings(rivals=90), told.append)
    assert len(told) == SETTINGS.steps
    assert all(torch.isfinite(each.matrix).all() for each in (*made.there, *made.back))
    assert not torch.equal(made.there[0].matrix, REFINED.there[0].matrix)


def test_the_length_of_a_map_does_not_matter():
    doubled = TwoWay((LinearMap(2 * REFINED.there[0].matrix), REFINED.there[1]), REFINED.back)
    one, other = (contrast(SOURCE, TARGET, maps, SETTINGS).there[0].matrix for maps in (REFINED, doubled))
    assert torch.allclose(2 * one, other, atol=1e-9)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_it_works_where_gradients_are_switched_off(mode):
    with mode():
        made = contrast(SOURCE, TARGET, REFINED, SETTINGS)
    assert torch.equal(made.there[0].matrix, contrast(SOURCE, TARGET, REFINED, SETTINGS).there[0].matrix)


def test_the_same_bits_every_time_in_single_precision_and_on_many_words():
    """Sums in an order that depends on threads would show here."""
    source, target = (
        torch.cat([each + 0.02 * normal(*each.shape, seed=row) for row in range(3)]).float()
        for each in (SOURCE, TARGET)
    )
    single = TwoWay(*(tuple(LinearMap(each.matrix.float()) for each in way) for way in (REFINED.there, REFINED.back)))
    first = contrast(unit(source), unit(target), single, SETTINGS)
    for _ in range(3):
        again = contrast(unit(source), unit(target), single, SETTINGS)
        assert torch.equal(first.there[0].matrix, again.there[0].matrix)
        assert torch.equal(first.back[1].matrix, again.back[1].matrix)


def test_where_no_step_lowers_the_loss_the_maps_stay():
    """In two dimensions there is nothing to gain, and a step of a set length can only lead away."""
    vectors = normal(400, 2, seed=5)
    source, target = unit(vectors), unit(vectors + 0.01 * normal(400, 2, seed=6))
    given = TwoWay.of(LinearMap(torch.eye(2, dtype=torch.float64)), LinearMap(torch.eye(2, dtype=torch.float64)))
    told: list[Step] = []
    made = contrast(source, target, given, ContrastSettings(step=0.5, temperature=0.01), told.append)
    assert len(told) == SETTINGS.steps
    assert all(float(step.values["loss"]) > float(told[0].values["loss"]) for step in told[1:])
    assert torch.equal(made.there[0].matrix, given.there[0].matrix)


def test_many_long_steps_stay_finite():
    told: list[Step] = []
    made = contrast(SOURCE, TARGET, REFINED, ContrastSettings(steps=60, step=0.9), told.append)
    assert all(math.isfinite(float(step.values["loss"])) for step in told)
    for before, after in zip((*REFINED.there, *REFINED.back), (*made.there, *made.back), strict=True):
        assert float(after.matrix.norm()) == pytest.approx(float(before.matrix.norm()))


def test_sampled_cosines_are_the_cosines_of_the_words_in_the_lists():
    near = lists(SOURCE, TARGET, REFINED, 20)
    entries = module.entries_of(near, trusted(near, 0.07))
    cosines = module._sampled(entries, SOURCE, TARGET)
    assert torch.allclose(cosines[entries.there], (SOURCE @ TARGET.mT).gather(1, near.there.indices), atol=1e-12)
    assert torch.allclose(cosines[entries.back], (TARGET @ SOURCE.mT).gather(1, near.back.indices), atol=1e-12)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"steps": -1}, "steps is -1"),
        ({"rivals": 9}, "rivals 9"),
        ({"words": 0}, "words 0"),
        ({"temperature": 0.0}, "temperature is 0.0"),
        ({"step": 1.0}, "step 1.0"),
        ({"step": float("nan")}, "step nan"),
    ],
)
def test_settings_out_of_range_are_refused(wrong, named):
    with pytest.raises(SettingsError, match=named):
        ContrastSettings(**wrong)
