"""What the two adversarial methods share: a discriminator with its gradient, batches of words, and noise.

Training is a long chain of small steps, so each step has few operations. The gradient is written out by hand: that
halves the operations, and an update is added by the same product that computes it. Words are drawn a thousand batches
at a time, and noise is cut at random places out of one long table. All draws are made on the CPU, so that a seed means
the same on every device. On a GPU a step is recorded once and replayed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from calque.errors import SpaceError
from calque.methods.task import Task

LEAK = 0.2
"""The slope of a discriminator's activation below 0."""
BATCHES_AT_ONCE = 1000
"""How many batches are drawn at once."""
MOMENTUM, SQUARE_MOMENTUM, SMALLEST_ROOT = 0.9, 0.999, 1e-8
"""β₁, β₂ and ε of Adam, as published."""
TABLE_LENGTH = 1 << 22
"""Numbers in a table of noise. Windows cut out of it may overlap, but two windows are hardly ever the same."""


@dataclass(frozen=True, eq=False)
class Network:
    """A perceptron with one output, large for what looks like a mapped source word. Training changes it in place."""

    weights: tuple[Tensor, ...]
    """(from, to) of each layer."""
    biases: tuple[Tensor, ...]
    """(to,) of each layer."""
    leak: float
    """The slope of the activation below 0; above 0 it is 1."""

    @classmethod
    def drawn(cls, sizes: Sequence[int], leak: float, generator: torch.Generator, like: Tensor) -> Network:
        """Weights and biases drawn evenly within ±1/√(inputs of the layer)."""

        def uniform(*size: int, inputs: int) -> Tensor:
            return ((2 * torch.rand(*size, generator=generator) - 1) / math.sqrt(inputs)).to(like)

        layers = list(pairwise(sizes))
        weights = tuple(uniform(inputs, outputs, inputs=inputs) for inputs, outputs in layers)
        return cls(weights, tuple(uniform(outputs, inputs=inputs) for inputs, outputs in layers), leak)


@dataclass(frozen=True, eq=False)
class ForwardPass:
    """The values inside a network for some rows, kept for the gradient."""

    inputs: tuple[Tensor, ...]
    """The input of each layer."""
    gates: tuple[Tensor, ...]
    """The factors on the output of each layer but the last: the slope of its activation, times the noise."""
    scores: Tensor
    """(n, 1): the output of the last layer; its sigmoid is the belief that a row is a mapped source word."""

    def head(self, rows: int) -> ForwardPass:
        """The same for the first rows alone."""
        inputs, gates = (tuple(layer[:rows] for layer in layers) for layers in (self.inputs, self.gates))
        return ForwardPass(inputs, gates, self.scores[:rows])


def forward(network: Network, inputs: Tensor, noises: Sequence[Tensor] = ()) -> ForwardPass:
    """Every row through the network; ``noises`` multiply the outputs of the hidden layers, the first one's first."""
    layer_inputs, gates = [inputs], list[Tensor]()
    for number, (weight, bias) in enumerate(zip(network.weights[:-1], network.biases[:-1], strict=True)):
        output = torch.addmm(bias, layer_inputs[-1], weight)
        # The slope, 1 or the leak, from the sign: several times faster on a CPU than choosing between the two.
        gate = output.sign().mul_((1 - network.leak) / 2).add_((1 + network.leak) / 2)
        gates.append(gate.mul_(noises[number]) if number < len(noises) else gate)
        layer_inputs.append(output.mul_(gate))
    scores = torch.addmm(network.biases[-1], layer_inputs[-1], network.weights[-1])
    return ForwardPass(tuple(layer_inputs), tuple(gates), scores)


def deltas(network: Network, passed: ForwardPass, by_score: Tensor) -> list[Tensor]:
    """The derivative of a loss by the output of each layer, from its derivative by the scores; first layer first."""
    derivatives = [by_score]
    for weight, gate in zip(reversed(network.weights[1:]), reversed(passed.gates), strict=True):
        derivatives.append((derivatives[-1] @ weight.mT).mul_(gate))
    return derivatives[::-1]


def by_inputs(network: Network, passed: ForwardPass, by_score: Tensor) -> Tensor:
    """The derivative of a loss by the inputs of the network."""
    return deltas(network, passed, by_score)[0] @ network.weights[0].mT


def descend(network: Network, passed: ForwardPass, by_score: Tensor, rate: float) -> None:
    """One step of gradient descent, in place."""
    layers = zip(network.weights, network.biases, passed.inputs, deltas(network, passed, by_score), strict=True)
    for weight, bias, layer_input, delta in layers:
        weight.addmm_(layer_input.mT, delta, alpha=-rate)
        bias.sub_(delta.sum(dim=0), alpha=rate)


class Adam:
    """Gradient descent with momentum, each step of about the same length (Kingma, Ba 2015, algorithm 1).

    All parameters are parts of one vector, and so are their gradients: a step is a dozen operations, however many
    parameters there are. The powers of β₁ and β₂ stay on the device, where a recorded step can update them.
    """

    def __init__(self, parameters: Sequence[Tensor], rate: float) -> None:
        self.rate, self._vector = rate, torch.cat([parameter.flatten() for parameter in parameters])
        self._gradient, self._mean, self._square = (torch.zeros_like(self._vector) for _ in range(3))
        self._betas = torch.tensor([MOMENTUM, SQUARE_MOMENTUM], dtype=torch.float64).to(self._vector)
        self._powers = torch.ones_like(self._betas)
        self.parameters = _parts(self._vector, parameters)
        """The parameters, as parts of the vector that is trained."""
        self.gradients = _parts(self._gradient, parameters)
        """Where to put their gradients before a step."""

    def step(self) -> None:
        """One step against the gradients, in place."""
        gradient = self._gradient
        mean_share, square_share = 1 - self._powers.mul_(self._betas)
        self._mean.lerp_(gradient, 1 - MOMENTUM)
        self._square.mul_(SQUARE_MOMENTUM).addcmul_(gradient, gradient, value=1 - SQUARE_MOMENTUM)
        root = (self._square / square_share).sqrt_().add_(SMALLEST_ROOT)
        self._vector.addcdiv_(self._mean / mean_share, root, value=-self.rate)


def _parts(vector: Tensor, like: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of consecutive parts of the vector, in the shapes of these tensors."""
    pieces = torch.split(vector, [tensor.numel() for tensor in like])
    return tuple(piece.view(tensor.shape) for piece, tensor in zip(pieces, like, strict=True))


def generators(seed: int, count: int) -> list[torch.Generator]:
    """``count`` generators, all decided by the seed."""
    seeds = torch.randint(2**62, (count,), generator=torch.Generator().manual_seed(seed)).tolist()
    return [torch.Generator().manual_seed(number) for number in seeds]


def draw_batches(weights: Tensor, size: int, generator: torch.Generator, device: torch.device) -> Iterator[Tensor]:
    """Row numbers drawn by these weights, with replacement, ``size`` at a time, without end."""
    even = bool((weights == weights[0]).all())
    while True:
        count = BATCHES_AT_ONCE * size
        if even:
            rows = torch.randint(len(weights), (count,), generator=generator)
        else:
            rows = torch.multinomial(weights, count, replacement=True, generator=generator)
        yield from torch.split(rows.to(device), size)


class NoiseTable:
    """A long table of random factors, out of which windows are cut at random places."""

    def __init__(self, table: Tensor, generator: torch.Generator) -> None:
        self.table, self._generator = table, generator
        self._places = iter(list[float]())

    def cut(self, rows: int, columns: int) -> Tensor:
        """A (rows, columns) window."""
        place = next(self._places, None)
        if place is None:
            self._places = iter(torch.rand(BATCHES_AT_ONCE, generator=self._generator, dtype=torch.float64).tolist())
            place = next(self._places)
        begin = int(place * (len(self.table) - rows * columns + 1))
        return self.table[begin : begin + rows * columns].view(rows, columns)


def dropout_noise(rate: float, generator: torch.Generator, like: Tensor, window: int) -> NoiseTable:
    """Factors that are 0 with probability ``rate``, and otherwise so large that their mean is 1."""
    kept = torch.rand(max(TABLE_LENGTH, 4 * window), generator=generator) >= rate
    return NoiseTable((kept / (1.0 - rate)).to(like), generator)


def gaussian_noise(deviation: float, generator: torch.Generator, like: Tensor, window: int) -> NoiseTable:
    """Factors of mean 1 and this deviation."""
    normal = torch.randn(max(TABLE_LENGTH, 4 * window), generator=generator)
    return NoiseTable((1.0 + deviation * normal).to(like), generator)


def check_dimensions(task: Task) -> None:
    """Raise SpaceError where the two sides have different dimensions."""
    if task.source.dimension != task.target.dimension:
        raise SpaceError(
            f"{task.source.name or 'source'} has {task.source.dimension} dimensions and "
            f"{task.target.name or 'target'} {task.target.dimension}; expected as many, since a discriminator would "
            "tell them apart at once: reduce the larger one, or use artetxe2018"
        )
