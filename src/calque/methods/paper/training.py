"""What both stages of the training share: batches, steps, the choice of the best maps, when to stop, checkpoints.

Batches and random numbers are functions of seed and step alone, so a run that was killed can go on from its checkpoint
to the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from calque.methods.paper.objective import Batch
from calque.methods.task import Task
from calque.progress import Step

DECAY = 0.9
"""How slowly RMSProp forgets earlier gradients."""
SMALLEST = 1e-10
"""Keeps RMSProp from dividing by zero."""


@dataclass(frozen=True, eq=False)
class TrainingWords:
    """The words of both sides that are trained on."""

    source: Tensor
    """(n, d) standardised."""
    target: Tensor
    rows: Tensor
    """(n,): the weights of the source words."""
    columns: Tensor

    def frequent(self, count: int) -> TrainingWords:
        """The most frequent of them alone."""
        rows, columns = self.rows[:count], self.columns[:count]
        return TrainingWords(self.source[:count], self.target[:count], rows / rows.sum(), columns / columns.sum())

    def head(self, count: int, seeds: int) -> Batch:
        """A batch of the most frequent words, the same for every seed, on which models are compared."""
        few = self.frequent(count)
        tensors = few.source, few.target, few.rows, few.columns
        return Batch(*(tensor.expand(seeds, *tensor.shape) for tensor in tensors))


@dataclass(frozen=True)
class Batches:
    """Mini-batches from shuffled epochs. Every seed has its own shuffles, and a batch depends on the step alone."""

    words: TrainingWords
    size: int
    seeds: tuple[int, ...]
    stage: int
    shuffled: dict[int, tuple[int, Tensor]] = field(default_factory=dict)
    """The present epoch of each side: its number, and the order of its words."""

    def __call__(self, step: int) -> Batch:
        """The batch of this step."""
        size = min(self.size, len(self.words.source), len(self.words.target))
        rows = self._word_numbers(len(self.words.source), size, step, 0)
        columns = self._word_numbers(len(self.words.target), size, step, 1)
        weights = self.words.rows[rows], self.words.columns[columns]
        return Batch(
            self.words.source[rows],
            self.words.target[columns],
            weights[0] / weights[0].sum(dim=-1, keepdim=True),
            weights[1] / weights[1].sum(dim=-1, keepdim=True),
        )

    def _word_numbers(self, count: int, size: int, step: int, side: int) -> Tensor:
        """(seeds, size): which of the ``count`` words of a side are in the batch of this step."""
        epoch, place = divmod(step, count // size)
        if side not in self.shuffled or self.shuffled[side][0] != epoch:
            generators = [generator_of(seed, self.stage, 2 * epoch + side) for seed in self.seeds]
            orders = torch.stack([torch.randperm(count, generator=generator) for generator in generators])
            self.shuffled[side] = epoch, orders.to(self.words.source.device)
        return self.shuffled[side][1][:, place * size : (place + 1) * size]


def generator_of(seed: int, stage: int, number: int, device: torch.device | None = None) -> torch.Generator:
    """A generator of its own for every seed, stage and number, so that any step can be taken again."""
    mixed = ((seed * 1_000_003 + stage) * 1_000_003 + number + 1) % 2**63
    return torch.Generator(device or "cpu").manual_seed(mixed)


@dataclass
class RmsProp:
    """Each step is divided by the root of a running mean of the squared gradients (Tieleman and Hinton 2012)."""

    rate: float
    squares: tuple[Tensor, ...] = ()

    def step(self, parameters: Sequence[Tensor], loss: Tensor) -> None:
        """Move the parameters down the gradient of the summed losses. Seeds share no parameter, so no gradient."""
        gradients = torch.autograd.grad(loss.sum(), parameters, allow_unused=True, materialize_grads=True)
        self.squares = self.squares or tuple(torch.zeros_like(parameter) for parameter in parameters)
        with torch.no_grad():
            for parameter, square, gradient in zip(parameters, self.squares, gradients, strict=True):
                square.mul_(DECAY).addcmul_(gradient, gradient, value=1 - DECAY)
                parameter.addcdiv_(gradient, square.add(SMALLEST).sqrt_(), value=-self.rate)


@dataclass
class Best:
    """The parameters with the lowest loss so far, seed by seed."""

    loss: Tensor
    """(seeds,)."""
    parameters: tuple[Tensor, ...]
    since: Tensor
    """(seeds,): steps without a lower loss."""
    patience: int

    @classmethod
    def none(cls, parameters: Sequence[Tensor], patience: int) -> Best:
        """Before the first comparison: any loss is better."""
        loss = torch.full((len(parameters[0]),), torch.inf, device=parameters[0].device)
        kept = tuple(parameter.detach().clone() for parameter in parameters)
        return cls(loss, kept, torch.zeros_like(loss, dtype=torch.long), patience)

    def see(self, loss: Tensor, parameters: Sequence[Tensor], steps: int) -> None:
        """Keep what is better. A seed that is done keeps what it has; a seed whose loss is no number is done."""
        better = loss.isfinite() & (loss < self.loss) & ~self.done()
        self.loss = torch.where(better, loss, self.loss)
        self.since = torch.where(better, 0, self.since + steps)
        self.since = torch.where(loss.isfinite(), self.since, self.since.clamp_min(self.patience))
        self.parameters = tuple(
            torch.where(better.view(-1, *[1] * (new.ndim - 1)), new.detach(), old)
            for new, old in zip(parameters, self.parameters, strict=True)
        )

    def done(self) -> Tensor:
        """(seeds,): true where there was no lower loss for ``patience`` steps."""
        return self.since >= self.patience


@dataclass
class TrainingStage:
    """One stage of the training: what a step does, what is compared, and all that a checkpoint must hold."""

    name: str
    steps: int
    look: int
    """Models are compared every ``look`` steps."""
    update: Callable[[int], None]
    loss: Callable[[], Tensor]
    """(seeds,): of the present parameters."""
    parameters: tuple[Tensor, ...]
    best: Best
    learned: tuple[tuple[RmsProp, tuple[Tensor, ...]], ...]
    """Every optimiser with the parameters that it moves."""
    diverged: set[int] = field(default_factory=set)
    """Positions of seeds whose loss was no number."""
    step: int = 0

    def run(self, task: Task) -> None:
        """Steps until no seed improves any more.

        The first parameters are compared too, so no stage ends worse than it began. A run that was asked to stop leaves
        no checkpoint: a later stage would begin from what it left, and go on to another result than a whole run's.
        """
        self._resume(task.checkpoint.load(self.name))
        if self.step == 0 and self.steps > 0:
            self._compare(0)
        while self.step < self.steps and not bool(self.best.done().all()):
            if task.stopped():
                return
            self.update(self.step)
            self.step += 1
            if self.step % self.look == 0 or self.step == self.steps or task.stopped():
                self._compare(self.look)
                finite = self.best.loss[self.best.loss.isfinite()]
                values = {"cost": float(finite.mean())} if len(finite) else {}
                task.listen(Step(self.name, self.step, self.steps, values))
                if task.stopped():
                    return
                task.checkpoint.save(self.name, self._tensors)
        task.checkpoint.save(self.name, self._tensors, finished=True)

    def _compare(self, steps: int) -> None:
        """Compare the present parameters with the best so far."""
        with torch.no_grad():
            loss = self.loss()
        self.diverged |= set((~loss.isfinite()).nonzero().flatten().tolist())
        self.best.see(loss, self.parameters, steps)

    def _tensors(self) -> dict[str, Tensor]:
        """All that the rest of the stage depends on."""
        tensors = {"step": torch.tensor(self.step), "best.loss": self.best.loss, "best.since": self.best.since}
        tensors["diverged"] = torch.tensor(sorted(self.diverged), dtype=torch.long)
        tensors |= {f"best.{number}": parameter for number, parameter in enumerate(self.best.parameters)}
        for place, (optimiser, parameters) in enumerate(self.learned):
            tensors |= {f"{place}.parameter.{number}": tensor.detach() for number, tensor in enumerate(parameters)}
            tensors |= {f"{place}.square.{number}": tensor for number, tensor in enumerate(optimiser.squares)}
        return tensors

    def _resume(self, saved: dict[str, Tensor] | None) -> None:
        """Go on where an earlier run of the same task was killed."""
        if saved is None:
            return
        saved = {name: tensor.to(self.parameters[0].device) for name, tensor in saved.items()}
        self.step, self.diverged = int(saved["step"]), set(saved["diverged"].tolist())
        self.best.loss, self.best.since = saved["best.loss"], saved["best.since"]
        self.best.parameters = tuple(saved[f"best.{number}"] for number in range(len(self.best.parameters)))
        for place, (optimiser, parameters) in enumerate(self.learned):
            squares = [f"{place}.square.{number}" for number in range(len(parameters))]
            optimiser.squares = tuple(saved[name] for name in squares if name in saved)
            with torch.no_grad():
                for number, parameter in enumerate(parameters):
                    parameter.copy_(saved[f"{place}.parameter.{number}"])
