"""A run as it happens: everything that was told so far, for pages that come at any time."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, Literal

from calque.progress import Step
from calque.web.explorer import Explorer


@dataclass
class Stage:
    """What the page shows: a run under way, or one that is finished. Written by one thread, read by many."""

    explorer: Explorer | None = None
    told: list[dict[str, Any]] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    """Set when the server is about to end, so that no page keeps it waiting."""

    @property
    def state(self) -> Literal["running", "done"]:
        """Whether there is a run to explore."""
        return "running" if self.explorer is None else "done"

    def hear(self, step: Step) -> None:
        """Take a step of the run down."""
        self.told.append({"stage": step.stage, "number": step.number, "total": step.total, **step.values})
