"""What every command understands."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

Run = Annotated[Positional[Path], arg(metavar="RUN")]
File = Annotated[Path | None, arg(metavar="FILE")]
Number = Annotated[int | None, arg(metavar="N")]
Output = Annotated[Path, arg(aliases=["-o"], metavar="PATH")]
Device = Literal["auto", "cpu", "cuda"]


@dataclass(frozen=True, kw_only=True)
class Common:
    """What every command understands."""

    json: bool = False
    """Print one JSON object instead of text."""
    quiet: Annotated[bool, arg(aliases=["-q"])] = False
    """Say nothing on stderr but errors."""
    verbose: Annotated[bool, arg(aliases=["-v"])] = False
    """Say more on stderr, and show where a bug of ours happened."""

    def say(self, *lines: str) -> None:
        """Something for the reader, not for a pipe."""
        if not self.quiet:
            for line in lines:
                print(f"calque: {line}", file=sys.stderr)


@dataclass(frozen=True, kw_only=True)
class Reads(Common):
    """What every command understands that reads vector files."""

    no_cache: bool = False
    """Read every file anew, and keep nothing of it for the next time."""
