"""The commands that judge a run by what it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import arg

from calque.cli.commands.common import Common, File, Run


@dataclass(frozen=True, kw_only=True)
class Evaluate(Common):
    """Score a run against a lexicon: accuracy@k in both directions, with coverage."""

    folder: Run
    """A run folder."""
    lexicon: Path
    """Lines of 'source<TAB>target'; several right answers a word are allowed."""
    lexicon_back: File = None
    """Lines of 'target<TAB>source' for the reverse direction; without it, the lexicon reversed."""
    retrieval: str = "nn,csls"
    """Any of nn, csls, isf, separated by commas."""
    k: str = "1,5,10"
    """How many candidates may hold the right answer."""
    pair: Annotated[str, arg(metavar="A-B")] = ""
    """Which two languages, of a run that 'calque align-many' made."""
    strict: bool = False
    """Refuse a lexicon with a malformed line instead of leaving the line out."""

    def run(self) -> int:
        """Score and print."""
        from calque.cli import judging

        return judging.evaluate(self)


@dataclass(frozen=True, kw_only=True)
class Similarity(Common):
    """Compare a run with human judgements of similarity: Pearson and Spearman, with coverage."""

    folder: Run
    """A run folder."""
    pairs: Path
    """Lines of 'source word<TAB>target word<TAB>score'."""
    phrases: Literal["average", "skip"] = "average"
    """Average the words of a phrase, or leave pairs with phrases out."""
    pair: Annotated[str, arg(metavar="A-B")] = ""
    """Which two languages, of a run that 'calque align-many' made."""
    swap: bool = False
    """The file has the target word first."""

    def run(self) -> int:
        """Score and print."""
        from calque.cli import judging

        return judging.similarity(self)
