"""What both stages share: steps, the choice of the best, when to stop, and going on after being killed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from calque.methods.task import Task
from calque.progress import Step

DECAY = 0.9
"""How slowly RMSProp forgets earlier gradients."""
SMALLEST = 1e-10
"""Keeps RMSProp from dividing by zero."""


@dataclass
class RmsProp:
    """Each step divided by the root of a running mean of the squared gradients (Tieleman and Hinton 2012)."""

    rate: float
    squares: tuple[Tensor, ...] = ()

    def step(self, parameters: Sequence[Tensor], loss: Tensor) -> None:
        """Move the parameters down the gradient of the summed losses: seeds share no parameter, and so no gradient."""
        gradients = torch.autograd.grad(loss.sum(), parameters, allow_unused=True, materialize_grads=True)
        self.squares = self.squares or tuple(torch.zeros_like(each) for each in parameters)
        with torch.no_grad():
            for parameter, square, gradient in zip(parameters, self.squares, gradients, strict=True):
                square.mul_(DECAY).addcmul_(gradient, gradient, value=1 - DECAY)
                parameter.addcdiv_(gradient, square.add(SMALLEST).sqrt_(), value=-self.rate)


@dataclass
class Best:
    """The parameters of the lowest loss seen, seed by seed."""

    loss: Tensor
    """(seeds,)."""
    parameters: tuple[Tensor, ...]
    since: Tensor
    """(seeds,): steps without a lower loss."""
    patience: int

    @classmethod
    def none(cls, parameters: Sequence[Tensor], patience: int) -> Best:
        """Nothing seen yet: any loss is better than none."""
        seeds = torch.full((len(parameters[0]),), torch.inf, device=parameters[0].device)
        kept = tuple(each.detach().clone() for each in parameters)
        return cls(seeds, kept, torch.zeros_like(seeds, dtype=torch.long), patience)

    def see(self, loss: Tensor, parameters: Sequence[Tensor], steps: int) -> None:
        """Keep what is better; a seed that is done keeps what it has. A loss that is no number is done for good."""
        better = loss.isfinite() & (loss < self.loss) & ~self.done()
        self.loss = torch.where(better, loss, self.loss)
        self.since = torch.where(better, 0, self.since + steps)
        self.since = torch.where(loss.isfinite(), self.since, self.since.clamp_min(self.patience))
        self.parameters = tuple(
            torch.where(better.view(-1, *[1] * (new.ndim - 1)), new.detach(), old)
            for new, old in zip(parameters, self.parameters, strict=True)
        )

    def done(self) -> Tensor:
        """(seeds,): which have gone without a lower loss for too long."""
        return self.since >= self.patience


@dataclass
class Stage:
    """One stage of the training: what a step does, what is compared, and all that must survive being killed."""

    name: str
    steps: int
    look: int
    """Models are compared every so many steps."""
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

        What was asked to stop is not kept: a later stage that began from it would go on from what no whole run has.
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
                self._look(task)
                if task.stopped():
                    return
                task.checkpoint.save(self.name, self._tensors)
        task.checkpoint.save(self.name, self._tensors, finished=True)

    def _compare(self, steps: int) -> None:
        """The present parameters with the best so far; the first ones count: no stage ends worse than it began."""
        with torch.no_grad():
            loss = self.loss()
        self.diverged |= set((~loss.isfinite()).nonzero().flatten().tolist())
        self.best.see(loss, self.parameters, steps)

    def _look(self, task: Task) -> None:
        self._compare(self.look)
        known = self.best.loss[self.best.loss.isfinite()]
        task.listen(Step(self.name, self.step, self.steps, {"cost": float(known.mean())} if len(known) else {}))

    def _tensors(self) -> dict[str, Tensor]:
        kept = {"step": torch.tensor(self.step), "best.loss": self.best.loss, "best.since": self.best.since}
        kept["diverged"] = torch.tensor(sorted(self.diverged), dtype=torch.long)
        kept |= {f"best.{number}": each for number, each in enumerate(self.best.parameters)}
        for which, (optimiser, parameters) in enumerate(self.learned):
            kept |= {f"{which}.parameter.{number}": each.detach() for number, each in enumerate(parameters)}
            kept |= {f"{which}.square.{number}": each for number, each in enumerate(optimiser.squares)}
        return kept

    def _resume(self, kept: dict[str, Tensor] | None) -> None:
        """Go on where an earlier run of the same task was killed."""
        if kept is None:
            return
        kept = {name: each.to(self.parameters[0].device) for name, each in kept.items()}
        self.step, self.diverged = int(kept["step"]), set(kept["diverged"].tolist())
        self.best.loss, self.best.since = kept["best.loss"], kept["best.since"]
        self.best.parameters = tuple(kept[f"best.{number}"] for number in range(len(self.best.parameters)))
        for which, (optimiser, parameters) in enumerate(self.learned):
            squares = [f"{which}.square.{number}" for number in range(len(parameters))]
            optimiser.squares = tuple(kept[name] for name in squares if name in kept)
            with torch.no_grad():
                for number, parameter in enumerate(parameters):
                    parameter.copy_(kept[f"{which}.parameter.{number}"])
