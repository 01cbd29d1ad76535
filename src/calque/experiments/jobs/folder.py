"""Where tables and finished runs go, and tables that are written often enough and no oftener."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from calque.errors import RunError

PATIENCE = 50.0
"""Between two writings of a table lie so many times the seconds that one takes."""


def make_folder(output: Path) -> Path:
    """The output folder with a place for runs in it, made where it is not there."""
    if output.exists() and not output.is_dir():
        raise RunError(f"{output}: is not a folder; choose another name for the table's folder")
    try:
        (output / "runs").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{output}: cannot be made a folder: {error.strerror}; choose another name") from error
    if not os.access(output, os.W_OK) or not os.access(output / "runs", os.W_OK):
        raise RunError(f"{output}: may not be written to; choose another name")
    return output


class Paced:
    """Does something again and again, but spends little time on it however long it takes."""

    def __init__(self, does: Callable[[], None]) -> None:
        self.does = does
        self.next = 0.0

    def __call__(self) -> None:
        """Now, unless it was done a short while ago."""
        if time.monotonic() >= self.next:
            self.surely()

    def surely(self) -> None:
        """Now."""
        began = time.monotonic()
        self.does()
        ended = time.monotonic()
        self.next = ended + PATIENCE * (ended - began)
