"""The commands about files and recipes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from calque.cli.commands.common import Common, File, Number, Reads


@dataclass(frozen=True, kw_only=True)
class Inspect(Reads):
    """Say what is in a vector file, and what is wrong with it."""

    file: Annotated[Positional[Path], arg(metavar="FILE")]
    """A vector file of any known format."""
    limit: Number = None
    """Read only so many words."""
    format: Annotated[str | None, arg(metavar="NAME")] = None
    """The format, where it is not recognised by content."""
    words: File = None
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
    limit: Number = None
    """Keep only so many words."""
    format: Annotated[str | None, arg(metavar="NAME")] = None
    """The format of IN, where it is not recognised by content."""
    words: File = None
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
