"""Every command as a dataclass: its fields are its arguments, the sentence under a field is its help.

Nothing heavy is imported here, so that help is instant; each ``run`` imports what it needs.
"""

from __future__ import annotations

from typing import Annotated, Union

from tyro.conf import subcommand

from calque.cli.commands.common import Common, Reads
from calque.cli.commands.exploring import Explore
from calque.cli.commands.files import Convert, Inspect, Recipes
from calque.cli.commands.judging import Evaluate, Similarity
from calque.cli.commands.making import Align, AlignMany, Demo
from calque.cli.commands.plotting import Plot
from calque.cli.commands.using import Export, MakeLexicon, Translate
from calque.cli.data import Data
from calque.cli.reproduce import Reproduce
from calque.cli.sweep import Sweep

COMMANDS = Union[  # noqa: UP007  (tyro reads it at run time, on Python 3.10 too)
    Annotated[Demo, subcommand("demo")],
    Annotated[Align, subcommand("align")],
    Annotated[AlignMany, subcommand("align-many")],
    Annotated[Translate, subcommand("translate")],
    Annotated[MakeLexicon, subcommand("lexicon")],
    Annotated[Export, subcommand("export")],
    Annotated[Evaluate, subcommand("evaluate")],
    Annotated[Similarity, subcommand("similarity")],
    Annotated[Plot, subcommand("plot")],
    Annotated[Explore, subcommand("explore")],
    Annotated[Inspect, subcommand("inspect")],
    Annotated[Convert, subcommand("convert")],
    Annotated[Recipes, subcommand("recipes")],
    Annotated[Reproduce, subcommand("reproduce")],
    Annotated[Sweep, subcommand("sweep")],
    Annotated[Data, subcommand("data")],
]
"""What `calque --help` lists."""

__all__ = [
    "COMMANDS",
    "Align",
    "AlignMany",
    "Common",
    "Convert",
    "Data",
    "Demo",
    "Evaluate",
    "Explore",
    "Export",
    "Inspect",
    "MakeLexicon",
    "Plot",
    "Reads",
    "Recipes",
    "Reproduce",
    "Similarity",
    "Sweep",
    "Translate",
]
