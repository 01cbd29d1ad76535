"""The command that draws a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from calque.cli.commands.common import Common, File, Run


@dataclass(frozen=True, kw_only=True)
class Plot(Common):
    """Draw a run: before and after, the search, convergence, hubs, accuracy by frequency, spectra, the plan."""

    folder: Run
    """A run folder."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="DIR")] = None
    """Where to put the pictures; without it RUN/figures, where earlier ones are replaced."""
    figures: str = ""
    """Any of words, search, convergence, hubs, frequency, spectra, plan, separated by commas; all without it."""
    format: str = "png"
    """Any of png, svg, pdf, separated by commas."""
    words: str = ""
    """Source words to show in 'words' and 'plan', separated by commas."""
    lexicon: File = None
    """Lines of 'source<TAB>target', for accuracy. The run has not used it, and does not now."""
    pair: Annotated[str, arg(metavar="A-B")] = ""
    """Which two languages, of a run that 'calque align-many' made."""
    width: float = 3.3
    """Inches; 3.3 is a column of most journals."""
    overwrite: bool = False
    """Replace pictures of the same name in DIR."""

    def run(self) -> int:
        """Draw and write."""
        from calque.cli import plotting

        return plotting.run(self)
