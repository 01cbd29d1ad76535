from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from paper_problems import Kept, KilledError, equal, normal, seeded
from torch.optim.rmsprop import rmsprop

from calque.data.space import Space
from calque.methods.paper.training import Best, RmsProp, TrainingStage
from calque.methods.task import Task
from calque.progress import Step

SPACE = Space.of(["a"], [[1.0]])
TASK = Task(SPACE, SPACE)


def test_rmsprop_is_that_of_torch():
    """Up to where each keeps from dividing by zero."""
    goals, start = normal(2, 3, 4, seed=0), normal(2, 3, 4, seed=1)
    ours, theirs = start.clone().requires_grad_(), start.clone()
    mine, square, count = RmsProp(0.05), torch.zeros_like(start), torch.tensor(0.0)
    options = {"weight_decay": 0.0, "momentum": 0.0, "centered": False, "foreach": False}
    for _ in range(30):
        mine.step((ours,), (ours * goals).exp().sum(dim=(1, 2)))
        slope = goals * (theirs * goals).exp()
        rmsprop([theirs], [slope], [square], [], [], [count], lr=0.05, alpha=0.9, eps=1e-12, **options)
    assert torch.allclose(ours, theirs, atol=1e-5)
    assert not torch.allclose(theirs, start, atol=0.1)


def test_the_first_step_of_rmsprop_by_hand():
    """g / √(0.1 g²) = √10 in the direction of the gradient, whatever its length."""
    parameter = torch.tensor([[3.0, -200.0]], dtype=torch.float64).requires_grad_()
    RmsProp(0.1).step((parameter,), parameter.square().sum(dim=1))
    assert parameter.tolist()[0] == pytest.approx([3 - 0.1 * 10**0.5, -200 + 0.1 * 10**0.5], abs=1e-8)


def test_a_parameter_without_slope_stays():
    parameter = torch.zeros(1, 3).requires_grad_()
    RmsProp(0.1).step((parameter,), parameter.square().sum(dim=1))
    assert not parameter.any()


def seen(patience: int, *losses: list[float]) -> Best:
    """Parameters of look t are t for every seed; two steps a look."""
    best = Best.none((torch.zeros(len(losses[0]), 2), torch.zeros(len(losses[0]))), patience)
    for number, loss in enumerate(losses, 1):
        parameters = torch.full((len(loss), 2), float(number)), torch.full((len(loss),), float(number))
        best.see(torch.tensor(loss), parameters, 2)
    return best


def test_every_seed_keeps_its_own_lowest():
    best = seen(100, [3.0, 1.0], [2.0, 5.0], [4.0, 0.5])
    assert best.loss.tolist() == [2.0, 0.5]
    assert best.parameters[0].tolist() == [[2.0, 2.0], [3.0, 3.0]]
    assert best.parameters[1].tolist() == [2.0, 3.0]
    assert best.since.tolist() == [2, 0]


def test_an_equal_loss_is_no_better():
    assert seen(100, [3.0], [3.0]).parameters[1].tolist() == [1.0]


def test_after_its_patience_a_seed_is_done_and_keeps_what_it_has():
    """The first is done after two looks of two steps without a lower loss, though a lower one comes later."""
    best = seen(4, [3.0, 9.0], [4.0, 8.0], [5.0, 7.0], [1.0, 6.0])
    assert best.done().tolist() == [True, False]
    assert best.loss.tolist() == [3.0, 6.0]
    assert best.parameters[1].tolist() == [1.0, 4.0]


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
def test_a_loss_that_is_no_number_is_done_for_good(wrong):
    """Less than anything though minus infinity be, it is no better."""
    best = seen(100, [3.0, 3.0], [wrong, 2.0], [1.0, 1.0])
    assert best.done().tolist() == [True, False]
    assert best.loss.tolist() == [3.0, 1.0]
    assert best.parameters[1].tolist() == [1.0, 3.0]


def test_what_is_kept_does_not_follow_the_training():
    parameters = (torch.zeros(1, 2),)
    best = Best.none(parameters, 5)
    best.see(torch.tensor([1.0]), parameters, 1)
    parameters[0].fill_(9.0)
    assert not best.parameters[0].any()


def stage_of(
    losses: Callable[[int], list[float]], steps: int = 20, look: int = 2, patience: int = 6, seeds: int = 2
) -> TrainingStage:
    """A stage whose parameter is the number of steps made, and whose loss after so many steps is known."""
    parameter = torch.zeros(seeds)

    def update(step: int) -> None:
        assert int(parameter[0]) == step
        parameter.add_(1)

    best = Best.none((parameter,), patience)
    return TrainingStage(
        "walk", steps, look, update, lambda: torch.tensor(losses(int(parameter[0]))), (parameter,), best, ()
    )


def test_it_stops_when_no_seed_has_improved_for_its_patience():
    """The lowest are at 4 and at 8; at 8 + 6 both have waited long enough."""
    stage = stage_of(lambda step: [abs(step - 4.0), abs(step - 8.0)])
    stage.run(TASK)
    assert stage.step == 14
    assert stage.best.parameters[0].tolist() == [4.0, 8.0]


def test_it_stops_at_its_last_step_and_looks_there():
    stage = stage_of(lambda step: [-step, -step], steps=7, look=3)
    stage.run(TASK)
    assert stage.step == 7
    assert stage.best.parameters[0].tolist() == [7.0, 7.0]


def test_without_steps_it_leaves_everything_as_it_was():
    stage = stage_of(lambda _: [1.0, 1.0], steps=0)
    stage.run(TASK)
    assert stage.step == 0
    assert not stage.best.parameters[0].any()


def test_it_tells_every_look_and_the_mean_of_the_best():
    events: list[Step] = []
    stage_of(lambda step: [10.0 - step, 4.0 + step], steps=4).run(replace(TASK, listen=events.append))
    assert events == [Step("walk", 2, 4, {"cost": 6.0}), Step("walk", 4, 4, {"cost": 5.0})]


def test_a_seed_that_diverges_is_noted_and_the_others_go_on():
    stage = stage_of(lambda step: [abs(step - 2) - 9.0 if step < 5 else float("nan"), -step], steps=10)
    stage.run(TASK)
    assert stage.diverged == {0}
    assert stage.best.parameters[0].tolist() == [2.0, 10.0]


def test_it_never_ends_worse_than_it_began():
    stage = stage_of(lambda step: [step, -step], steps=4)
    stage.run(TASK)
    assert stage.best.parameters[0].tolist() == [0.0, 4.0]


def test_a_seed_that_was_never_a_number_keeps_its_first_map_and_no_cost_is_told_of_it():
    events: list[Step] = []
    stage = stage_of(lambda _: [float("nan"), float("nan")])
    stage.run(replace(TASK, listen=events.append))
    assert (stage.step, stage.diverged) == (0, {0, 1})
    assert not stage.best.parameters[0].any()
    assert events == []


def test_asked_to_stop_it_ends_with_the_best_so_far_and_leaves_nothing_to_go_on_from():
    """A second stage begins from what the first was stopped at; to go on from there would mix two runs."""
    kept, stage = Kept(), stage_of(lambda step: [-step, -step])
    stage.run(replace(TASK, stopped=lambda: stage.step >= 1, checkpoint=kept))
    assert (stage.step, stage.best.parameters[0].tolist()) == (1, [1.0, 1.0])
    assert kept.saves == 0


def test_asked_to_stop_before_it_began_it_takes_no_step():
    stage = stage_of(lambda step: [-step, -step])
    stage.run(replace(TASK, stopped=lambda: True))
    assert (stage.step, stage.best.parameters[0].tolist()) == (0, [0.0, 0.0])


def trained(kept: Kept, steps: int = 12, events: list[Step] | None = None) -> TrainingStage:
    """Two parameters, each with an optimiser, pulled about by noise of every step; the second seed's best is early."""
    generator = seeded(0)
    maps, judges = (torch.randn(2, 3, generator=generator).requires_grad_() for _ in range(2))
    learned = (RmsProp(0.3), (maps,)), (RmsProp(0.1), (judges,))

    def update(step: int) -> None:
        noise = torch.randn(2, 3, generator=seeded(100 + step))
        learned[0][0].step((maps,), (maps - judges.detach() - noise).square().sum(dim=1))
        learned[1][0].step((judges,), (judges + maps.detach() * noise).square().sum(dim=1))

    def loss() -> torch.Tensor:
        return maps.square().sum(dim=1) + torch.tensor([0.0, float(stage.step)])

    stage = TrainingStage("train", steps, 2, update, loss, (maps,), Best.none((maps,), 9), learned)
    stage.run(replace(TASK, checkpoint=kept, listen=(events if events is not None else []).append))
    return stage


def result(stage: TrainingStage) -> tuple[torch.Tensor, ...]:
    return (*stage.best.parameters, stage.best.loss, stage.best.since, *stage.parameters, torch.tensor(stage.step))


@pytest.mark.parametrize("killed_at", range(1, 8))
def test_killed_at_any_look_it_goes_on_to_the_same_result_to_the_bit(killed_at):
    whole, kept, events = trained(Kept()), Kept(killed_at=killed_at), list[Step]()
    with pytest.raises(KilledError):
        trained(kept)
    again = trained(Kept(kept.states), events=events)
    assert equal(result(again), result(whole))
    assert [each.number for each in events] == list(range(2 * killed_at + 2, 13, 2))


def test_killed_again_and_again_it_still_arrives():
    kept = Kept()
    for _ in range(6):
        kept = Kept(kept.states, killed_at=1)
        with pytest.raises(KilledError):
            trained(kept)
    assert equal(result(trained(Kept(kept.states))), result(trained(Kept())))


def test_a_stage_that_has_ended_is_not_run_again():
    kept, events = Kept(), list[Step]()
    whole = trained(kept)
    assert kept.finished == ["train"]
    assert equal(result(trained(Kept(kept.states), events=events)), result(whole))
    assert events == []


def test_a_stage_of_no_steps_can_be_gone_on_from():
    kept = Kept()
    trained(kept, steps=0)
    again = trained(Kept(kept.states), steps=0)
    assert again.step == 0
    assert [each[0].squares for each in again.learned] == [(), ()]


def test_what_diverged_before_it_was_killed_is_still_known_after():
    kept = Kept(killed_at=3)
    with pytest.raises(KilledError):
        stage_of(lambda step: [float("nan"), -step]).run(replace(TASK, checkpoint=kept))
    again = stage_of(lambda step: [-step, -step])
    again.parameters[0].fill_(6.0)
    again.run(replace(TASK, checkpoint=Kept(kept.states)))
    assert again.diverged == {0}
    assert again.best.parameters[0].tolist() == [0.0, 20.0]
