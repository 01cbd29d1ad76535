"""The commands that use a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from calque.cli.commands.common import Common, File, Output, Run


@dataclass(frozen=True, kw_only=True)
class Translate(Common):
    """Translate words with a run."""

    folder: Run
    """A run folder."""
    words: Annotated[Positional[tuple[str, ...]], arg(metavar="WORD")]
    """Words to translate; '-' reads them from stdin, one a line."""
    k: int = 5
    """How many translations to show."""
    back: bool = False
    """From the target language to the source."""
    retrieval: str = "csls"
    """nn, csls or isf."""
    pair: Annotated[str, arg(metavar="A-B")] = ""
    """Which two languages, of a run that 'calque align-many' made."""
    vectors: File = None
    """A fastText .bin of the language asked, for words that the run has not seen."""

    def run(self) -> int:
        """Look up and print."""
        from calque.cli import using

        return using.translate(self)


@dataclass(frozen=True, kw_only=True)
class MakeLexicon(Common):
    """Write the dictionary that a run implies, with confidences."""

    folder: Run
    """A run folder."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """Where to write 'source<TAB>target<TAB>confidence'; stdout without it."""
    pair: Annotated[str, arg(metavar="A-B")] = ""
    """Which two languages, of a run that 'calque align-many' made."""
    every: bool = False
    """The best translation of every source word, not only of pairs that choose each other."""
    approximate: bool = False
    """Search with an index, for very large runs: faster and nearly exact, with the share it finds measured and told."""
    overwrite: bool = False
    """Replace the file if it is there."""

    def run(self) -> int:
        """Induce and write."""
        from calque.cli import using

        return using.lexicon(self)


@dataclass(frozen=True, kw_only=True)
class Export(Common):
    """Write both languages, or all of a family, as vectors of one shared space."""

    folder: Run
    """A run folder."""
    output: Output
    """The folder to make, with source.* and target.* in it, or a file for each language of a family."""
    format: Literal["vec", "bin", "npz", "safetensors"] = "vec"
    """vec: word2vec text, which everything reads."""
    pair: Annotated[str, arg(metavar="A-B")] = ""
    """Two languages of a family in a space of their own, instead of all in the shared one."""
    overwrite: bool = False
    """Replace an earlier export of that name."""

    def run(self) -> int:
        """Write both files."""
        from calque.cli import using

        return using.export(self)
