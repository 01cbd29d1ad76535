"""The commands that make many runs, and fetch what those need."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from calque.cli.common import Common, Device, Number, Reads


@dataclass(frozen=True, kw_only=True)
class Reproduce(Reads):
    """Make a table of the paper again, our figures beside the published ones; finished runs are never repeated."""

    table: Annotated[Positional[str], arg(metavar="TABLE")]
    """lex-z, lex-c, similarity or ablation."""
    data: Annotated[Path, arg(metavar="DIR")]
    """Vectors and lexicons; 'calque data' lists what belongs there."""
    output: Annotated[Path, arg(aliases=["-o"], metavar="DIR")]
    """Where tables and finished runs go; one that was begun there goes on."""
    pairs: Annotated[str, arg(metavar="PAIR,…")] = ""
    """Language pairs, such as es-en,it-en; all of the table without it."""
    methods: Annotated[str, arg(metavar="METHOD,…")] = ""
    """Methods, such as paper,default; all of the table without it."""
    seeds: int = 3
    """How many runs a method has; each seed also splits the lexicon anew, where it is split."""
    lexicon: Literal["muse", "omw"] = "muse"
    """What lex-z and ablation are judged by; the other tables have muse alone."""
    retrieval: Literal["nn", "csls"] = "nn"
    """What the table shows; both are measured, and the paper used nn."""
    device: Device = "auto"
    """auto takes the GPU where there is one."""
    workers: Number = None
    """So many runs at once, by Ray; 0, or nothing: one after the other in this process."""
    address: Annotated[str, arg(metavar="HOST:PORT")] = ""
    """A Ray cluster to run on instead of this machine; 'auto' for the one that this machine belongs to."""
    retries: int = 2
    """How often a run whose worker died is tried again, where there are workers."""

    @property
    def title(self) -> str:
        """What is being made."""
        return self.table

    def run(self) -> int:
        """Run what is missing, print the table."""
        from calque.cli import reproducing

        return reproducing.run(self)


@dataclass(frozen=True, kw_only=True)
class Sweep(Reads):
    """Make every run of a plan, many at once where Ray is installed, and one table of them all; finished runs are
    never repeated.
    """

    plan: Annotated[Positional[Path], arg(metavar="PLAN")]
    """A TOML file with spaces, pairs, recipes, seeds and lexicons; docs/sweep.md says how to write one."""
    output: Annotated[Path, arg(aliases=["-o"], metavar="DIR")]
    """Where the table and finished runs go; a sweep that was begun there goes on."""
    workers: Number = None
    """So many runs at once; as many as fit without it. 0: one after the other, in this process, without Ray."""
    address: Annotated[str, arg(metavar="HOST:PORT")] = ""
    """A Ray cluster to run on instead of this machine; 'auto' for the one that this machine belongs to."""
    retries: int = 2
    """How often a run is tried again that broke off by no fault of its method."""
    hold: int = 32
    """How many spaces may be in memory at once, whoever wants them later."""

    @property
    def title(self) -> str:
        """What is being made."""
        return self.plan.name

    def run(self) -> int:
        """Run what is missing, print the table."""
        from calque.cli import sweeping

        return sweeping.run(self)


@dataclass(frozen=True, kw_only=True)
class Data(Common):
    """List what the paper's tables need, where it is published and what of it is there; fetch what is missing."""

    table: Annotated[Positional[str], arg(metavar="TABLE")] = ""
    """lex-z, lex-c, similarity or ablation; all of them without it."""
    data: Annotated[Path, arg(metavar="DIR")]
    """The folder where the data is or shall be."""
    fetch: bool = False
    """Download what is missing; what an earlier fetch has begun is continued."""
    check: bool = False
    """Compare the SHA-256 sums of what is there, not only sizes."""
    only: Annotated[str, arg(metavar="SUBSTRING")] = ""
    """Only files with this in their path, such as wiki.es or muse."""
    catalogue: Annotated[Path | None, arg(metavar="FILE")] = None
    """A catalogue of your own instead of the shipped one."""

    def run(self) -> int:
        """List or fetch."""
        from calque.cli import fetching

        return fetching.run(self)
