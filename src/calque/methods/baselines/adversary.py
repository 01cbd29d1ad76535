"""What the two adversarial methods share: a discriminator with its gradient, batches of words, and noise.

Training is a very long chain of very small steps, so each is kept to few operations. The gradient is written out: that
halves them, and an update can be added by the very product that computes it. Words are drawn a thousand batches at a
time, and noise is cut at random places out of one long table. All draws are made on the CPU, so that a seed means the
same on every device; on a GPU a step is recorded once and replayed.
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

BATCHES_AT_ONCE = 1000
"""How many batches are drawn in one go."""
MOMENTUM, SQUARE_MOMENTUM, SMALLEST_ROOT = 0.9, 0.999, 1e-8
"""β₁, β₂ and ε of Adam, as published."""
TABLE_LENGTH = 1 << 22
"""Numbers in a table of noise. The windows cut out of it overlap now and then, but hardly ever place for place."""


@dataclass(frozen=True, eq=False)
class Network:
    """A perceptron with one output, large for what looks like a mapped source word. Training changes it in place."""

    weights: tuple[Tensor, ...]
    """(from, to) of each layer."""
    biases: tuple[Tensor, ...]
    """(to,) of each layer."""
    leak: float
    """The slope of the activation below 0; it is 1 above."""

    @classmethod
    def drawn(cls, sizes: Sequence[int], leak: float, generator: torch.Generator, like: Tensor) -> Network:
        """Weights and biases evenly within ±1/√(inputs of the layer)."""

        def uniform(*size: int, inputs: int) -> Tensor:
            return ((2 * torch.rand(*size, generator=generator) - 1) / math.sqrt(inputs)).to(like)

        layers = list(pairwise(sizes))
        weights = tuple(uniform(inputs, outputs, inputs=inputs) for inputs, outputs in layers)
        return cls(weights, tuple(uniform(outputs, inputs=inputs) for inputs, outputs in layers), leak)


@dataclass(frozen=True, eq=False)
class Trace:
    """What passed through a network, kept for its gradient."""

    inputs: tuple[Tensor, ...]
    """What each layer was given."""
    gates: tuple[Tensor, ...]
    """What each layer but the last was multiplied by on its way out: the slope of its activation, and noise."""
    scores: Tensor
    """(n, 1): what the last layer put out; its sigmoid is the belief that a row is a mapped source word."""

    def head(self, rows: int) -> Trace:
        """The same of the first rows alone."""
        inputs, gates = (tuple(each[:rows] for each in many) for many in (self.inputs, self.gates))
        return Trace(inputs, gates, self.scores[:rows])


def look(network: Network, inputs: Tensor, noises: Sequence[Tensor] = ()) -> Trace:
    """Every row through the network; ``noises`` multiply what the hidden layers put out, the first one's first."""
    given, gates = [inputs], list[Tensor]()
    for number, (weight, bias) in enumerate(zip(network.weights[:-1], network.biases[:-1], strict=True)):
        before = torch.addmm(bias, given[-1], weight)
        # The slope, 1 or the leak, from the sign: several times faster on a CPU than choosing between the two.
        gate = before.sign().mul_((1 - network.leak) / 2).add_((1 + network.leak) / 2)
        gates.append(gate.mul_(noises[number]) if number < len(noises) else gate)
        given.append(before.mul_(gate))
    scores = torch.addmm(network.biases[-1], given[-1], network.weights[-1])
    return Trace(tuple(given), tuple(gates), scores)


def deltas(network: Network, trace: Trace, by_score: Tensor) -> list[Tensor]:
    """The derivative of a loss by what each layer puts out, from its derivative by the scores; first layer first."""
    found = [by_score]
    for weight, gate in zip(reversed(network.weights[1:]), reversed(trace.gates), strict=True):
        found.append((found[-1] @ weight.mT).mul_(gate))
    return found[::-1]


def by_inputs(network: Network, trace: Trace, by_score: Tensor) -> Tensor:
    """The derivative of a loss by what the network was given."""
    return deltas(network, trace, by_score)[0] @ network.weights[0].mT


def descend(network: Network, trace: Trace, by_score: Tensor, rate: float) -> None:
    """One step of gradient descent, in place."""
    found = deltas(network, trace, by_score)
    for weight, bias, given, delta in zip(network.weights, network.biases, trace.inputs, found, strict=True):
        weight.addmm_(given.mT, delta, alpha=-rate)
        bias.sub_(delta.sum(dim=0), alpha=rate)


class Adam:
    """Gradient descent with momentum, each step of about the same length (Kingma, Ba 2015, algorithm 1).

    All parameters are parts of one vector, and so are their gradients: a step is a dozen operations however many they
    are. The powers of β₁ and β₂ are kept on the device, where a recorded step can go on with them.
    """

    def __init__(self, parameters: Sequence[Tensor], rate: float) -> None:
        self.rate, self._vector = rate, torch.cat([each.flatten() for each in parameters])
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
    pieces = torch.split(vector, [each.numel() for each in like])
    return tuple(piece.view(each.shape) for piece, each in zip(pieces, like, strict=True))


def generators(seed: int, count: int) -> list[torch.Generator]:
    """So many generators of their own, all decided by the seed."""
    seeds = torch.randint(2**62, (count,), generator=torch.Generator().manual_seed(seed)).tolist()
    return [torch.Generator().manual_seed(each) for each in seeds]


def batches(weights: Tensor, size: int, generator: torch.Generator, device: torch.device) -> Iterator[Tensor]:
    """Rows drawn by these weights, with replacement, ``size`` at a time, for ever."""
    even = bool((weights == weights[0]).all())
    while True:
        count = BATCHES_AT_ONCE * size
        if even:
            drawn = torch.randint(len(weights), (count,), generator=generator)
        else:
            drawn = torch.multinomial(weights, count, replacement=True, generator=generator)
        yield from torch.split(drawn.to(device), size)


class Noise:
    """Windows of a table of random factors, cut at random places."""

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


def dropout_noise(rate: float, generator: torch.Generator, like: Tensor, window: int) -> Noise:
    """Factors that are 0 with probability ``rate``, and otherwise such that their mean is 1."""
    kept = torch.rand(max(TABLE_LENGTH, 4 * window), generator=generator) >= rate
    return Noise((kept / (1.0 - rate)).to(like), generator)


def gaussian_noise(deviation: float, generator: torch.Generator, like: Tensor, window: int) -> Noise:
    """Factors of mean 1 and this deviation."""
    drawn = torch.randn(max(TABLE_LENGTH, 4 * window), generator=generator)
    return Noise((1.0 + deviation * drawn).to(like), generator)


def check_dimensions(task: Task) -> None:
    """Raise SpaceError where the two sides cannot be made to look alike."""
    if task.source.dimension != task.target.dimension:
        raise SpaceError(
            f"{task.source.name or 'source'} has {task.source.dimension} dimensions and "
            f"{task.target.name or 'target'} {task.target.dimension}; expected as many, since a discriminator would "
            "tell them apart at once: reduce the larger one, or use artetxe2018"
        )
