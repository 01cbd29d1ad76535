"""Every command as a dataclass: its fields are its arguments, the sentence under a field is its help.

Nothing heavy is imported here, so that help is instant; each ``run`` imports what it needs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Union

from tyro.conf import Positional, arg, subcommand

from calque.errors import SettingsError

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


@dataclass(frozen=True, kw_only=True)
class Demo(Common):
    """Align the two spaces shipped in the package, without looking at their lexicon, and show what came out."""

    output: Output = Path("calque-demo")
    """Where to write the run folder; an earlier demo there is replaced."""
    seed: int = 0
    """The same seed on the same device gives the same maps."""
    device: Device = "auto"
    """auto takes the GPU where there is one."""

    def run(self) -> int:
        """Align, score, show."""
        from calque.cli import demo

        return demo.run(self)


@dataclass(frozen=True, kw_only=True)
class Align(Reads):
    """Find maps between two files of word vectors, in both directions, and judge whether they can be trusted."""

    source: Positional[Path]
    """Vectors of the language to translate from, most frequent word first."""
    target: Positional[Path]
    """Vectors of the language to translate to."""
    output: Output
    """Where to write the run folder."""
    recipe: str = "default"
    """A name from 'calque recipes', or the path of a .toml file."""
    lexicon: Path | None = None
    """Word pairs, for recipes that learn from them. The default recipe does not."""
    seed: int = 0
    """The same seed on the same device gives the same maps."""
    limit: int | None = None
    """Read only so many words of each file."""
    device: Device = "auto"
    """auto takes the GPU where there is one."""
    source_counts: Path | None = None
    """Lines of 'word count' for the source: frequencies help where the two texts are alike."""
    target_counts: Path | None = None
    """The same for the target."""
    overwrite: bool = False
    """Replace an earlier run of that name."""

    def run(self) -> int:
        """Read, align, save, tell."""
        from calque.cli import aligning

        return aligning.run(self)


@dataclass(frozen=True, kw_only=True)
class AlignMany(Reads):
    """Align three or more files of word vectors: every pair, each helped by the others, and all in one shared space."""

    files: Annotated[Positional[tuple[str, ...]], arg(metavar="FILE")]
    """Vectors of a language each, most frequent word first; es=wiki.vec names it, else its name is the file's."""
    output: Output
    """Where to write the run folder."""
    into: Annotated[str, arg(metavar="NAME")] = ""
    """The language in whose own space all shall be; its vectors then stay where they are."""
    recipe: str = "default"
    """How pairs are aligned: a name from 'calque recipes', or the path of a .toml file."""
    seed: int = 0
    """The same seed on the same device gives the same maps."""
    limit: int | None = None
    """Read only so many words of each file."""
    device: Device = "auto"
    """auto takes the GPU where there is one."""
    overwrite: bool = False
    """Replace an earlier run of that name."""

    def run(self) -> int:
        """Read, align, save, tell."""
        from calque.cli import families

        return families.run(self)


@dataclass(frozen=True, kw_only=True)
class Evaluate(Common):
    """Score a run against a lexicon: accuracy@k in both directions, with coverage."""

    folder: Annotated[Positional[Path], arg(metavar="RUN")]
    """A run folder."""
    lexicon: Path
    """Lines of 'source<TAB>target'; several right answers a word are allowed."""
    lexicon_back: Path | None = None
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

    folder: Annotated[Positional[Path], arg(metavar="RUN")]
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


@dataclass(frozen=True, kw_only=True)
class Translate(Common):
    """Translate words with a run."""

    folder: Annotated[Positional[Path], arg(metavar="RUN")]
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
    vectors: Path | None = None
    """A fastText .bin of the language asked, for words that the run has not seen."""

    def run(self) -> int:
        """Look up and print."""
        from calque.cli import using

        return using.translate(self)


@dataclass(frozen=True, kw_only=True)
class MakeLexicon(Common):
    """Write the dictionary that a run implies, with confidences."""

    folder: Annotated[Positional[Path], arg(metavar="RUN")]
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

    folder: Annotated[Positional[Path], arg(metavar="RUN")]
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


@dataclass(frozen=True, kw_only=True)
class Inspect(Reads):
    """Say what is in a vector file, and what is wrong with it."""

    file: Positional[Path]
    """A vector file of any known format."""
    limit: int | None = None
    """Read only so many words."""
    format: str | None = None
    """The format, where it is not recognised by content."""
    words: Path | None = None
    """The word list of a bare .npy array."""

    def run(self) -> int:
        """Read and describe."""
        from calque.cli import files

        return files.inspect(self)


@dataclass(frozen=True, kw_only=True)
class Convert(Reads):
    """Change the format of a vector file."""

    file: Annotated[Positional[Path], arg(metavar="IN")]
    """A vector file of any known format."""
    output: Annotated[Positional[Path], arg(metavar="OUT")]
    """The file to write; its suffix tells the format: .vec .bin .glove .npz .npy .safetensors, with .gz for text."""
    limit: int | None = None
    """Keep only so many words."""
    format: str | None = None
    """The format of IN, where it is not recognised by content."""
    words: Path | None = None
    """The word list of a bare .npy array."""
    overwrite: bool = False
    """Replace OUT if it is there."""

    def run(self) -> int:
        """Read and write."""
        from calque.cli import files

        return files.convert(self)


@dataclass(frozen=True, kw_only=True)
class Recipes(Common):
    """List the recipes, or print one with all its settings as TOML to start your own from."""

    name: Annotated[Positional[str], arg(metavar="NAME")] = ""
    """Print this one as TOML."""

    def run(self) -> int:
        """List or print."""
        from calque.cli import files

        return files.recipes(self)


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
    workers: int | None = None
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
    workers: int | None = None
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


COMMANDS = Union[  # noqa: UP007  (tyro reads it at run time, on Python 3.10 too)
    Annotated[Demo, subcommand("demo")],
    Annotated[Align, subcommand("align")],
    Annotated[AlignMany, subcommand("align-many")],
    Annotated[Translate, subcommand("translate")],
    Annotated[MakeLexicon, subcommand("lexicon")],
    Annotated[Export, subcommand("export")],
    Annotated[Evaluate, subcommand("evaluate")],
    Annotated[Similarity, subcommand("similarity")],
    Annotated[Inspect, subcommand("inspect")],
    Annotated[Convert, subcommand("convert")],
    Annotated[Recipes, subcommand("recipes")],
    Annotated[Reproduce, subcommand("reproduce")],
    Annotated[Sweep, subcommand("sweep")],
    Annotated[Data, subcommand("data")],
]
"""What `calque --help` lists."""


def numbers(text: str, name: str) -> list[int]:
    """'1,5,10' as numbers."""
    try:
        return [int(each) for each in text.split(",")]
    except ValueError:
        raise SettingsError(
            f"--{name} is {text!r}; expected whole numbers separated by commas, such as 1,5,10"
        ) from None
