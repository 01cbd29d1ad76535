"""The commands that make runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from calque.cli.commands.common import Common, Device, File, Number, Output, Reads


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

    source: Annotated[Positional[Path], arg(metavar="SRC")]
    """Vectors of the language to translate from, most frequent word first."""
    target: Annotated[Positional[Path], arg(metavar="TGT")]
    """Vectors of the language to translate to."""
    output: Output
    """Where to write the run folder."""
    recipe: str = "default"
    """A name from 'calque recipes', or the path of a .toml file."""
    lexicon: File = None
    """Word pairs, for recipes that learn from them. The default recipe does not."""
    seed: int = 0
    """The same seed on the same device gives the same maps."""
    limit: Number = None
    """Read only so many words of each file."""
    device: Device = "auto"
    """auto takes the GPU where there is one."""
    source_counts: File = None
    """Lines of 'word count' for the source: frequencies help where the two texts are alike."""
    target_counts: File = None
    """The same for the target."""
    watch: bool = False
    """Follow the search on a page in the browser while it happens; the page then stays until Ctrl-C (extra 'web')."""
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
    limit: Number = None
    """Read only so many words of each file."""
    device: Device = "auto"
    """auto takes the GPU where there is one."""
    overwrite: bool = False
    """Replace an earlier run of that name."""

    def run(self) -> int:
        """Read, align, save, tell."""
        from calque.cli import families

        return families.run(self)
