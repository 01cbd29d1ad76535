"""What every method takes, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from calque.data.space import Space
from calque.linear.maps import Milestone, Side
from calque.progress import Listen, never, quiet
from calque.verdict import Evidence

FEWEST_WORDS = 100
"""Fewer words than this are too few to tell one rotation from another."""


class Checkpoint:
    """Where a long training saves its state, to go on after it was killed. This class saves nothing."""

    def load(self, stage: str) -> dict[str, Tensor] | None:
        """The state that an earlier run of the same task saved for this stage, if there is one."""

    def save(self, stage: str, tensors: Callable[[], dict[str, Tensor]], finished: bool = False) -> None:
        """Called often. ``tensors`` is called only when the state is saved; a ``finished`` state is always saved."""


@dataclass(frozen=True, eq=False)
class Task:
    """Two spaces to align, and how to go about it. All methods have one signature: (task, settings) -> Outcome."""

    source: Space
    target: Space
    seed: int = 0
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    listen: Listen = quiet
    """Called with every step."""
    stopped: Callable[[], bool] = never
    """Asked between steps; once true, a method returns the best it has."""
    pairs: tuple[Tensor, Tensor] | None = None
    """Row numbers of source and target words that translate each other. Only supervised methods get these."""
    checkpoint: Checkpoint = field(default_factory=Checkpoint)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method returns: the maps of both sides, and what it knows about them."""

    source: Side
    target: Side
    evidence: Evidence | None = None
    """The evidence that the method itself has. Without it, the referee judges the map."""
    notes: tuple[str, ...] = ()
    back: tuple[Side, Side] | None = None
    """The sides for target to source, where the method learned a second map (F of the paper beside G)."""
    earlier: tuple[Milestone, ...] = ()
    """The maps from source to target after each stage but the last."""
    hints: Mapping[str, Any] | None = None
    """What is known of the given pairs without having learned from them: for the record and the verdict."""


Method = Callable[[Task, Any], Outcome]
