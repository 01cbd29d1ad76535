"""What every method is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from calque.data.space import Space
from calque.linear.side import Milestone, Side
from calque.progress import Listen, never, quiet
from calque.transport import uniform
from calque.verdict import Evidence

FEWEST_WORDS = 100
"""Fewer words than this cannot tell one rotation from another."""
RARE = 1e-3
"""Words rarer than this share of the text are weighed as if they were more frequent than they are."""


class Checkpoint:
    """Where long training leaves its state, to go on after being killed. This one keeps nothing."""

    def load(self, stage: str) -> dict[str, Tensor] | None:
        """What an earlier run of the same task left of this stage."""

    def save(self, stage: str, tensors: Callable[[], dict[str, Tensor]], finished: bool = False) -> None:
        """Called often; the state is asked for only when it is kept. What is ``finished`` is always kept."""


@dataclass(frozen=True, eq=False)
class Task:
    """Two spaces to align, and how to go about it. One signature serves all methods: (task, settings) -> Outcome."""

    source: Space
    target: Space
    seed: int = 0
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    listen: Listen = quiet
    stopped: Callable[[], bool] = never
    """Asked between steps; once true, a method returns the best it has."""
    pairs: tuple[Tensor, Tensor] | None = None
    """Rows of source and target that translate each other: for methods that learn from a dictionary, and no others."""
    checkpoint: Checkpoint = field(default_factory=Checkpoint)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method found."""

    source: Side
    target: Side
    evidence: Evidence | None = None
    """What the method itself knows; without it, the map is put to the test as every other one (witness.py)."""
    notes: tuple[str, ...] = ()
    back: tuple[Side, Side] | None = None
    """The sides to translate back by, where the method learned a second map for that (F of the paper beside G)."""
    earlier: tuple[Milestone, ...] = ()
    """The maps of the way there after the stages before the last."""


Method = Callable[[Task, Any], Outcome]


def word_weights(space: Space, like: Tensor) -> Tensor:
    """R and c of the paper: word frequencies, the rare ones raised; uniform where nobody knows them.
    Words with a count of 0 are taken to be as rare as the rarest seen.

    p ∝ count · max(1, (√(f/t) + 1) · t/f) with f = count / total and t = 1e-3, as in the published training.
    """
    if space.counts is None:
        return uniform(len(space), like)
    counts = space.counts.clamp_min(float(space.counts[space.counts > 0].min()))
    frequency = counts / counts.sum()
    raised = counts * (((frequency / RARE).sqrt() + 1) * RARE / frequency).clamp_min(1.0)
    return (raised / raised.sum()).to(like)
