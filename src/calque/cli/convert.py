"""`calque inspect` and `calque convert`: what is in a vector file, and the same in another format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from calque.cli.common import DONE, File, Number, Reads, check_files_exist, check_output_file
from calque.cli.terminal import print_json

if TYPE_CHECKING:
    from calque.data.formats import SpaceReading


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
        """Read the file and describe it."""
        check_files_exist(self.file, self.words)
        reading = self.read(self.file, say_notes=False, limit=self.limit, format=self.format, words=self.words)
        description = described(reading)
        if self.json:
            print_json({"file": str(self.file), **description, "notes": list(reading.notes)})
            return DONE
        for name, value in description.items():
            print(f"{name}: {', '.join(value) if isinstance(value, list) else value}")
        for note in reading.notes or ["nothing had to be mended"]:
            print(f"note: {note}")
        return DONE


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
        """Read one format, write another."""
        check_output_file(self.output, self.overwrite)
        check_files_exist(self.file, self.words)
        from calque.data.formats import write

        space = self.read(self.file, limit=self.limit, format=self.format, words=self.words).space
        write(space, self.output)
        if self.json:
            print_json({"file": str(self.output), "words": len(space), "dimension": space.dimension})
        else:
            print(f"{len(space)} words of {space.dimension} dimensions: {self.output}")
        return DONE


def described(reading: SpaceReading) -> dict[str, Any]:
    """What a vector file holds, without the notes on what was mended."""
    import torch

    space = reading.space
    lengths = space.vectors.norm(dim=1, dtype=torch.float64)
    return {
        "format": reading.format,
        "words": len(space),
        "dimension": space.dimension,
        "counts": "yes" if space.counts is not None else "no",
        "subwords": "yes" if space.subwords is not None else "no",
        "shortest vector": round(float(lengths.min()), 4),
        "longest vector": round(float(lengths.max()), 4),
        "length of the mean": round(float(space.vectors.mean(dim=0, dtype=torch.float64).norm()), 4),
        "first words": list(space.words[:8]),
    }
