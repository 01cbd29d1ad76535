"""The command `calque`: from the words on the command line to an exit code.

Nothing heavy is imported here, so that help is instant; each command imports what it needs when it runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, Union

import tyro
from tyro.conf import subcommand

from calque import __version__
from calque.cli.align import Align
from calque.cli.align_many import AlignMany
from calque.cli.classify import Classify
from calque.cli.common import BUG, DONE, INTERRUPTED, WRONG_INPUT
from calque.cli.convert import Convert, Inspect
from calque.cli.data import Data
from calque.cli.demo import Demo
from calque.cli.evaluate import Evaluate, Sentences, Similarity
from calque.cli.explore import Explore
from calque.cli.export import Export, MakeLexicon
from calque.cli.plot import Plot
from calque.cli.recipes import Recipes
from calque.cli.reproduce import Reproduce
from calque.cli.sweep import Sweep
from calque.cli.translate import Translate
from calque.errors import CalqueError

COMMANDS = Union[  # noqa: UP007  (tyro reads it at run time, on Python 3.10 too)
    Annotated[Demo, subcommand("demo")],
    Annotated[Align, subcommand("align")],
    Annotated[AlignMany, subcommand("align-many")],
    Annotated[Translate, subcommand("translate")],
    Annotated[MakeLexicon, subcommand("lexicon")],
    Annotated[Export, subcommand("export")],
    Annotated[Evaluate, subcommand("evaluate")],
    Annotated[Similarity, subcommand("similarity")],
    Annotated[Classify, subcommand("classify")],
    Annotated[Sentences, subcommand("sentences")],
    Annotated[Plot, subcommand("plot")],
    Annotated[Explore, subcommand("explore")],
    Annotated[Inspect, subcommand("inspect")],
    Annotated[Convert, subcommand("convert")],
    Annotated[Recipes, subcommand("recipes")],
    Annotated[Reproduce, subcommand("reproduce")],
    Annotated[Sweep, subcommand("sweep")],
    Annotated[Data, subcommand("data")],
]
"""What `calque --help` lists. The fields of a command are its arguments; the sentence under a field is its help."""

DESCRIPTION = (
    "calque carries word meaning from one embedding space to another, with no dictionary. "
    "Results go to stdout, all else to stderr. Begin with: calque demo"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # Words that were not UTF-8 in a file are read and printed as their bytes.
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    if arguments in (["--version"], ["-V"]):
        print(f"calque {__version__}")
        return DONE
    try:
        command: Any = tyro.cli(
            COMMANDS,
            prog="calque",
            description=DESCRIPTION,
            args=arguments or ["--help"],
            config=(tyro.conf.FlagCreatePairsOff, tyro.conf.OmitSubcommandPrefixes, tyro.conf.OmitArgPrefixes),
        )
    except SystemExit as stop:
        return int(stop.code or DONE)
    return run(command)


def run(command: Any) -> int:
    """Run a command and turn what goes wrong into a line on stderr and an exit code."""
    try:
        code = int(command.run())
        sys.stdout.flush()
    except CalqueError as error:
        print(f"calque: {error}", file=sys.stderr)
        return WRONG_INPUT
    except KeyboardInterrupt:
        print("calque: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:
        if command.verbose:
            raise
        print(f"calque: this is a bug of ours: {error!r}; run again with -v to see where", file=sys.stderr)
        return BUG
    return code


def entry() -> None:
    """What the installed script calls."""
    sys.exit(main())
