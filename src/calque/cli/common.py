"""What commands share: their common options, the exit codes, and how a run, a vector file or a lexicon is opened."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

from calque.errors import FormatError, MissingExtraError

if TYPE_CHECKING:
    from calque.data.formats import SpaceReading
    from calque.data.lexicon import Lexicon
    from calque.runs.alignment import Alignment
    from calque.runs.family import Family

DONE, BUG, WRONG_INPUT, FAILED, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit codes: done; a bug of ours; wrong usage or unreadable input; the verdict is failed; ended by Ctrl-C."""

Run = Annotated[Positional[Path], arg(metavar="RUN")]
File = Annotated[Path | None, arg(metavar="FILE")]
Number = Annotated[int | None, arg(metavar="N")]
Output = Annotated[Path, arg(aliases=["-o"], metavar="PATH")]
Pair = Annotated[str, arg(metavar="A-B")]
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
        """Print lines for the reader on stderr, so that they never end in a pipe."""
        if not self.quiet:
            for line in lines:
                print(f"calque: {line}", file=sys.stderr)


@dataclass(frozen=True, kw_only=True)
class Reads(Common):
    """What every command understands that reads vector files."""

    no_cache: bool = False
    """Read every file anew, and keep nothing of it for the next time."""

    def read(self, path: Path, say_notes: bool = True, **options: Any) -> SpaceReading:
        """Read a vector file, and say what was mended in it."""
        from calque.data.formats import read

        reading = read(path, cache=not self.no_cache, **options)
        self.say(*(f"{path}: {note}" for note in (*(reading.notes if say_notes else ()), *reading.remarks)))
        return reading


def split_name(text: str) -> tuple[str, Path]:
    """'es=wiki.vec' as a name and a path; the name is empty where there is none, or where the whole is a path."""
    name, sign, path = text.partition("=")
    return (name, Path(path)) if sign and not Path(text).exists() else ("", Path(text))


def check_files_exist(*paths: Path | None) -> None:
    """Refuse a missing file at once; the code that reads vectors takes seconds to import."""
    for path in paths:
        if path is not None and not path.exists():
            raise FormatError(f"{path}: no such file; check the path")


def check_texts_extra() -> None:
    """Refuse before anything is read where scikit-learn is missing."""
    from importlib.util import find_spec

    if find_spec("sklearn") is None:
        raise MissingExtraError("scikit-learn", "sklearn", "making vectors of texts")


def check_output_file(path: Path, overwrite: bool) -> None:
    """Refuse to replace a file unless that was asked for."""
    if path.exists() and not overwrite:
        raise FormatError(f"{path}: is already there; choose another name, or pass --overwrite to replace it")


def open_alignment(folder: Path, pair: str) -> Alignment:
    """The alignment in a run folder: the only one, or that of two languages of a family."""
    from calque.runs.folder import MARK, read_json

    read_json(folder / MARK)  # refuses what is no run folder before torch is imported
    from calque.runs.family import open_pair

    return open_pair(folder, pair)


def read_gold(command: Common, path: Path) -> Lexicon:
    """Read the word pairs that a run is judged by, and say what is odd about them."""
    from calque.evaluate import TranslationTask

    gold = TranslationTask().load(path)
    command.say(*gold.notes)
    return gold.data[0]


def warn_unless_aligned(command: Common, verdict: str) -> None:
    """Say that a run is not to be trusted."""
    if verdict != "aligned":
        command.say(f"the verdict on this run is {verdict}: its translations should not be trusted")


def exit_code(result: Alignment | Family) -> int:
    """The exit code of a command that made this."""
    if result.record.interrupted:
        return INTERRUPTED
    return FAILED if result.verdict.label == "failed" else DONE
