"""The command that shows a run as a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tyro.conf import arg

from calque.cli.commands.common import Common, File, Run


@dataclass(frozen=True, kw_only=True)
class Explore(Common):
    """Open a run as a page in the browser, on this machine alone, until Ctrl-C."""

    folder: Run
    """A run folder."""
    lexicon: File = None
    """Lines of 'source<TAB>target', to see where the run errs. It changes nothing else."""
    pair: Annotated[str, arg(metavar="A-B")] = ""
    """Which two languages, of a run that 'calque align-many' made."""
    port: int = 0
    """Where to serve on 127.0.0.1; 0 takes a free port."""
    words: int = 20_000
    """How many words of each language to put on the map."""
    no_browser: bool = False
    """Only say where the page is; without this the browser opens, on a terminal."""

    def run(self) -> int:
        """Serve until interrupted."""
        from calque.cli import exploring

        return exploring.run(self)
