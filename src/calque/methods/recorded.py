"""What makes training fast on a GPU: steps that are recorded once and replayed, and products on tensor cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

WARM_UP = 3
"""Calls that run as they are before one is recorded."""


class Recorded:
    """A function of tensors of constant shape that changes its parameters in place.

    On a GPU the launch of its hundreds of small kernels takes longer than they run, so it is recorded once and then
    replayed: the same kernels in the same order.
    """

    def __init__(self, function: Callable[..., None], recordable: bool = True) -> None:
        self.function, self.recordable, self.calls = function, recordable, 0
        self.inputs: tuple[Tensor, ...] = ()

    def __call__(self, *inputs: Tensor) -> None:
        """Run it, or replay it."""
        if not self.recordable or inputs[0].device.type != "cuda":
            self.function(*inputs)
            return
        self._hold(inputs)
        if self.calls < WARM_UP:
            self._beside()
        else:
            if self.calls == WARM_UP:
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.function(*self.inputs)
            self.graph.replay()
        self.calls += 1

    def _hold(self, inputs: tuple[Tensor, ...]) -> None:
        """A recording reads its inputs where they were when it was made."""
        if not self.inputs:
            self.inputs = tuple(each.clone() for each in inputs)
        for kept, given in zip(self.inputs, inputs, strict=True):
            kept.copy_(given)

    def _beside(self) -> None:
        """On a stream of its own, as CUDA asks of what is to be recorded."""
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self.function(*self.inputs)
        torch.cuda.current_stream().wait_stream(stream)


@contextmanager
def coarse_products() -> Iterator[None]:
    """Products of a GPU's tensor cores, of ten digits in base 2: finer than the noise that an adversary is given."""
    earlier = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = earlier
