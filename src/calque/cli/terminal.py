"""What a person sees in a terminal: JSON, tables, progress bars, and what Ctrl-C does."""

from __future__ import annotations

import json
import signal
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from calque.progress import Listen, Step, quiet

if TYPE_CHECKING:
    from rich.progress import Progress

WIDTH = 100
"""Columns after which a paragraph is wrapped."""
STAGE_LABELS = {
    "search": "searching",
    "deep search": "searching deeper",
    "alternate": "aligning",
    "refine": "refining",
    "contrast": "contrasting",
    "adversary": "adversary",
    "transport": "transport",
    "judge": "judging",
    "pairs": "pairs",
    "reconcile": "reconciling",
    "shared space": "sharing",
}
"""What the bar of a stage is called."""
SEARCH_STAGES = ("search", "wider search", "deep search", "judge")
"""Stages whose steps are independent starts. Their bar shows the lowest cost so far, not the last one."""


_CONTROL = [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_SHOWN = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _CONTROL if chr(code) not in "\n\t"}
# A byte that was no UTF-8 in a file is printed as it was, and some terminals take these for control characters.
_SHOWN |= {0xDC00 + byte: f"\\x{byte:02x}" for byte in range(0x80, 0xA0)}


def visible(text: str) -> str:
    r"""The text with its control characters written out, such as ESC as ``\x1b``: a terminal would obey them."""
    return text.translate(_SHOWN)


class VisibleStream:
    """A stream to a terminal. Words, file names and messages of others cannot move its cursor or set its title."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write the text as it can be seen."""
        self.stream.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write the lines as they can be seen."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def visible_streams() -> Iterator[None]:
    """Show control characters on stdout and stderr, where these are a terminal. Elsewhere every byte stays."""
    earlier = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (VisibleStream(stream) if stream.isatty() else stream for stream in earlier)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = earlier


def print_json(value: Any) -> None:
    """Print one JSON object."""
    print(json.dumps(value, ensure_ascii=True))


def print_long_json(fields: Mapping[str, Any], list_name: str, items: Iterable[Any]) -> None:
    """Print one JSON object with a long list in it, one item at a time, so that the list is never held as a whole."""
    sys.stdout.write(f'{json.dumps(fields)[:-1]}, "{list_name}": [')
    for number, item in enumerate(items):
        sys.stdout.write((", " if number else "") + json.dumps(item, ensure_ascii=True))
    sys.stdout.write("]}\n")


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print columns as wide as their widest cell: the first one to the left, the others to the right."""
    widths = [max(map(_columns, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        blanks = [" " * (width - _columns(cell)) for cell, width in zip(row, widths, strict=True)]
        others = (blank + cell for blank, cell in zip(blanks[1:], row[1:], strict=True))
        print("  ".join([row[0] + blanks[0], *others]).rstrip())


def _columns(text: str) -> int:
    """How many columns a text takes: wide characters take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text
    )


@contextmanager
def open_bars(shown: bool, *columns: Any, **options: Any) -> Iterator[Progress | None]:
    """Progress bars on stderr; None where stderr is no terminal, or nothing is to be ``shown``.

    Without ``columns`` a bar has a description, its length, the field ``text``, and the time it took so far.
    """
    if not shown or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    usual = (TextColumn("{task.description:<10}"), BarColumn(), TextColumn("{task.fields[text]}"), TimeElapsedColumn())
    console = Console(file=getattr(sys.stderr, "stream", sys.stderr))  # bars are drawn with control characters
    with Progress(*(columns or usual), console=console, transient=True, **options) as progress, visible_streams():
        yield progress


@contextmanager
def stage_bars(shown: bool) -> Iterator[Listen]:
    """A listener that draws a bar for each stage of an alignment."""
    with open_bars(shown) as progress:
        yield quiet if progress is None else StageBars(progress).hear


class StageBars:
    """One bar for each stage, with what its last step measured beside it."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.bars = progress, dict[str, Any]()
        self.lowest = dict.fromkeys(SEARCH_STAGES, float("inf"))

    def hear(self, step: Step) -> None:
        """Move the bar of the step's stage."""
        if step.stage not in self.bars:
            self.bars[step.stage] = self.progress.add_task(STAGE_LABELS.get(step.stage, step.stage), text="")
        self.progress.update(self.bars[step.stage], completed=step.number, total=step.total, text=self.text(step))

    def text(self, step: Step) -> str:
        """What the step measured: its pair and verdict, or its cost, or all its numbers."""
        if "pair" in step.values:
            return visible(" ".join(str(step.values[name]) for name in ("pair", "verdict") if name in step.values))
        cost = step.values.get("cost")
        if not isinstance(cost, (int, float)):
            numbers = {name: value for name, value in step.values.items() if isinstance(value, (int, float))}
            return ", ".join(f"{value:g} {name}" for name, value in numbers.items())
        if step.stage not in SEARCH_STAGES:
            return f"cost {cost:.3f}"
        self.lowest[step.stage] = min(self.lowest[step.stage], float(cost))
        return f"{step.number} starts, best cost {self.lowest[step.stage]:.3f}"


@contextmanager
def interruptible(message: str = "finishing with the best so far") -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a request to finish, and print ``message``; the second one stops at once.

    Gives a function that says whether to finish.
    """
    asked = threading.Event()

    def hear(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            signal.default_int_handler(number, frame)
        asked.set()
        print(f"calque: {message}; Ctrl-C again to stop at once", file=sys.stderr)

    earlier = signal.signal(signal.SIGINT, hear)
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, earlier)
