"""A run as it happens: everything that was told so far, for pages that come at any time."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, Literal

from calque.progress import Step
from calque.show.explorer.explorer import SIDES, Explorer


@dataclass
class Stage:
    """What the page shows: a run under way, or one that is finished. Written by one thread, read by many."""

    explorer: Explorer | None = None
    told: list[dict[str, Any]] = field(default_factory=list)
    names: tuple[str, str] = ("source", "target")
    """What to call the two languages while the run is under way."""
    closing: threading.Event = field(default_factory=threading.Event)
    """Set when the server is about to end, so that no page keeps it waiting."""

    @property
    def state(self) -> Literal["running", "done"]:
        """Whether there is a run to explore."""
        return "running" if self.explorer is None else "done"

    def summary(self) -> dict[str, Any]:
        """How far it is, and what was aligned; of a run under way only what the languages are called."""
        if self.explorer is None:
            return {"state": self.state, "names": dict(zip(SIDES, self.names, strict=True))}
        return {"state": self.state, **self.explorer.summary()}

    def hear(self, step: Step) -> None:
        """Take a step of the run down."""
        self.told.append({"stage": step.stage, "number": step.number, "total": step.total, **step.values})
