"""The command `calque`: from the words on the command line to an exit code.

Nothing heavy is imported here, so that help is instant; each command imports what it needs when it runs.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import Annotated, Any, Union, get_args

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
from calque.cli.terminal import visible_streams
from calque.cli.translate import Translate
from calque.errors import CalqueError, nearest_name

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
    "Results go to stdout, all else to stderr. Begin with: calque demo. "
    "Your shell completes commands and options after: calque --tyro-write-completion bash PATH (or zsh, tcsh)"
)


SIGNS_OF_NO_MEMORY = (
    "MemoryError",
    "OutOfMemory",
    "out of memory",
    "allocate memory",
    "failed to map segment",
    "can't start new thread",
)
"""What errors of Python, numpy, torch and the system's loader say where there is too little memory."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if sys.stderr is None:  # whoever started us has closed it; print would then write errors to stdout
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if sys.stdout is None:
        print("calque: stdout is closed, so no result could be printed; send it to /dev/null instead", file=sys.stderr)
        return WRONG_INPUT
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # Words that were not UTF-8 in a file are read and printed as their bytes.
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    return answered(lambda: _parse_and_run(arguments))


def _parse_and_run(arguments: Sequence[str]) -> int:
    if arguments in (["--version"], ["-V"]):
        print(f"calque {__version__}")
        return DONE
    unknown = _unknown_name(arguments)
    if unknown:
        with visible_streams():
            print(f"calque: {unknown}", file=sys.stderr)
        return WRONG_INPUT
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
    with visible_streams():
        return run(command)


def _unknown_name(arguments: Sequence[str]) -> str:
    """What is wrong with the name of the command or of an option, and which name is nearest; empty if nothing is."""
    commands = {get_args(entry)[1].name: get_args(entry)[0] for entry in get_args(COMMANDS)}
    first = arguments[0] if arguments else "-"
    if first.startswith("-"):
        return ""
    if first not in commands:
        return f"no command is called {first!r}{nearest_name(first, commands)}; there are: {', '.join(commands)}"
    options = ["--help", *(f"--{field.name.rstrip('_').replace('_', '-')}" for field in fields(commands[first]))]
    for argument in itertools.takewhile(lambda argument: argument != "--", arguments):
        name = argument.partition("=")[0]
        if argument.startswith("--") and name.replace("_", "-") not in options:
            return f"calque {first} has no option {name!r}{nearest_name(name, options)}; see calque {first} --help"
    return ""


def answered(work: Callable[[], int]) -> int:
    """The exit code of some work once all that it printed has left this process."""
    try:
        code = work()
        sys.stdout.flush()
    except OSError as error:
        # What is still to be printed would fail again when Python ends.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return DONE
        where = "the result cannot be printed" if error.filename is None else f"{error.filename}: cannot be used"
        print(f"calque: {where}: {error.strerror or error}", file=sys.stderr)
        return WRONG_INPUT
    return code


def run(command: Any) -> int:
    """Run a command and turn what goes wrong into a line on stderr and an exit code."""
    try:
        return int(command.run())
    except CalqueError as error:
        print(f"calque: {error}", file=sys.stderr)
        return WRONG_INPUT
    except KeyboardInterrupt:
        print("calque: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if any(sign in f"{type(error).__name__}: {error}" for sign in SIGNS_OF_NO_MEMORY):
            print("calque: there is not enough memory; read fewer words with --limit, or allow more", file=sys.stderr)
            return WRONG_INPUT
        if isinstance(error, OSError) or command.verbose:
            raise
        print(f"calque: this is a bug of ours: {error!r}; run again with -v to see where", file=sys.stderr)
        return BUG


def entry() -> None:
    """What the installed script calls."""
    sys.exit(main())
