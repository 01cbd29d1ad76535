"""Two ways to train faster on a GPU: record a step once and replay it, and multiply on tensor cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

WARM_UP = 3
"""Calls that run normally before one is recorded."""


class Recorded:
    """A function of tensors of constant shape that changes its parameters in place.

    On a GPU, launching the hundreds of small kernels of a step takes longer than running them. So the step is recorded
    once and then replayed: the same kernels in the same order.
    """

    def __init__(self, function: Callable[..., None], recordable: bool = True) -> None:
        self.function, self.recordable, self.calls = function, recordable, 0
        self.inputs: tuple[Tensor, ...] = ()

    def __call__(self, *inputs: Tensor) -> None:
        """Run it, or replay it."""
        if not self.recordable or inputs[0].device.type != "cuda":
            self.function(*inputs)
            return
        # A recording reads its inputs from the tensors that it was made with.
        self.inputs = self.inputs or tuple(tensor.clone() for tensor in inputs)
        for buffer, tensor in zip(self.inputs, inputs, strict=True):
            buffer.copy_(tensor)
        if self.calls < WARM_UP:
            # CUDA asks for the warm-up to run on a stream of its own.
            stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                self.function(*self.inputs)
            torch.cuda.current_stream().wait_stream(stream)
        else:
            if self.calls == WARM_UP:
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.function(*self.inputs)
            self.graph.replay()
        self.calls += 1


@contextmanager
def coarse_products() -> Iterator[None]:
    """Let a GPU multiply with ten binary digits on its tensor cores: finer than the noise that an adversary gets."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
