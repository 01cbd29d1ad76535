from __future__ import annotations

import pytest
import torch

from calque.methods.recorded import WARM_UP, Recorded


@pytest.mark.parametrize("recordable", [True, False])
def test_on_a_cpu_it_just_calls(recordable):
    received: list[tuple[torch.Tensor, ...]] = []
    recorded = Recorded(lambda *inputs: received.append(inputs), recordable)
    inputs = [(torch.tensor(float(number)), torch.zeros(2)) for number in range(WARM_UP + 3)]
    for tensors in inputs:
        recorded(*tensors)
    assert len(received) == len(inputs)
    assert all(got[0] is sent[0] and got[1] is sent[1] for got, sent in zip(received, inputs, strict=True))


def test_on_a_cpu_an_error_comes_through():
    def broken(tensor: torch.Tensor) -> None:
        raise ValueError(f"no more than {len(tensor)}")

    with pytest.raises(ValueError, match="no more than 3"):
        Recorded(broken, True)(torch.zeros(3))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="replays on a GPU alone, and torch sees none here")
class TestOnAGpu:
    def trained(self, recordable: bool) -> torch.Tensor:
        """Steps down a slope whose place differs from call to call."""
        parameter = torch.zeros(4, device="cuda", requires_grad=True)

        def step(goal: torch.Tensor, rate: torch.Tensor) -> None:
            (slope,) = torch.autograd.grad((parameter - goal).square().sum(), (parameter,))
            with torch.no_grad():
                parameter.sub_(rate * slope)

        recorded = Recorded(step, recordable)
        for number in range(WARM_UP + 9):
            goal = torch.randn(4, generator=torch.Generator().manual_seed(number)).cuda()
            recorded(goal, torch.tensor(0.1 / (number + 1), device="cuda"))
        return parameter.detach().cpu()

    def test_replayed_it_does_what_it_did(self):
        assert torch.equal(self.trained(recordable=True), self.trained(recordable=False))

    def test_after_the_warm_up_the_function_is_not_called_again_but_once(self):
        calls, total = [], torch.zeros(1, device="cuda")

        def add(number: torch.Tensor) -> None:
            calls.append(1)
            total.add_(number)

        recorded = Recorded(add, True)
        for number in range(WARM_UP + 5):
            recorded(torch.full((1,), float(number), device="cuda"))
        assert len(calls) == WARM_UP + 1
        assert float(total) == sum(range(WARM_UP + 5))
