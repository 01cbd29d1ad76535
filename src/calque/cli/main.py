"""From the words on the command line to an exit code.

0 done; 2 wrong usage or unreadable input; 3 finished, but the verdict is failed; 130 interrupted; 1 our bug.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import tyro

from calque import __version__
from calque.cli.commands import COMMANDS
from calque.errors import CalqueError

BUG, WRONG, INTERRUPTED = 1, 2, 130

DESCRIPTION = (
    "calque carries word meaning from one embedding space to another, with no dictionary. "
    "Results go to stdout, all else to stderr. Begin with: calque demo"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _survive_broken_utf8()
    if given in (["--version"], ["-V"]):
        print(f"calque {__version__}")
        return 0
    try:
        command: Any = tyro.cli(
            COMMANDS,
            prog="calque",
            description=DESCRIPTION,
            args=given or ["--help"],
            config=(tyro.conf.FlagCreatePairsOff, tyro.conf.OmitSubcommandPrefixes, tyro.conf.OmitArgPrefixes),
        )
    except SystemExit as stop:
        return int(stop.code or 0)
    return _run(command)


def _run(command: Any) -> int:
    try:
        code = int(command.run())
        sys.stdout.flush()
    except CalqueError as error:
        print(f"calque: {error}", file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        print("calque: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if command.verbose:
            raise
        print(f"calque: this is a bug of ours: {error!r}; run again with -v to see where", file=sys.stderr)
        return BUG
    return code


def _survive_broken_utf8() -> None:
    """Words that were not UTF-8 in a file are read and printed as the bytes they were."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")


def entry() -> None:
    """What the installed script calls."""
    sys.exit(main())
