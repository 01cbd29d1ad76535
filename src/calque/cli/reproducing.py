"""`calque reproduce`."""

from __future__ import annotations

import shlex
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from calque.cli import live, show
from calque.errors import SettingsError
from calque.progress import Listen, Step, quiet
from calque.reproduce import (
    Began,
    Broke,
    Ended,
    Grid,
    News,
    Note,
    Request,
    Run,
    Standing,
    as_json,
    claims,
    reproduce,
    terminal_rows,
)

if TYPE_CHECKING:
    from calque.cli.commands import Reproduce

BUG, INTERRUPTED = 1, 130
COLUMNS = 4
"""So many directions fit beside each other on a terminal."""


def run(command: Reproduce) -> int:
    """Make the runs that are missing, show the table."""
    told = "leaving after this step, with what is finished"
    with live.interruptible(told) as stopped, _watching(command) as watcher:
        grid = reproduce(_request(command), tell=watcher.hear, listen=watcher.listen, stopped=stopped)
    _tell(command, grid)
    if stopped():
        return INTERRUPTED
    return BUG if watcher.broken else 0


def _request(command: Reproduce) -> Request:
    return Request(
        command.table,
        command.data,
        command.output,
        _names(command.pairs, "pairs"),
        _names(command.methods, "methods"),
        command.seeds,
        command.lexicon,
        command.retrieval,
        command.device,
        typed(command),
    )


def _names(text: str, option: str) -> tuple[str, ...] | None:
    """'es-en,it-en' as names; None for all."""
    if not text:
        return None
    names = tuple(each.strip() for each in text.split(",") if each.strip())
    if not names:
        raise SettingsError(f"--{option} is {text!r}; expected names separated by commas, or leave it out for all")
    return names


def typed(command: Reproduce) -> str:
    """The command that makes this table, as one would type it."""
    words = ["calque", "reproduce", command.table, "--data", str(command.data)]
    for option in ("pairs", "methods", "seeds", "lexicon", "retrieval", "device"):
        value = getattr(command, option)
        if value != type(command).__dataclass_fields__[option].default:
            words += [f"--{option}", str(value)]
    return shlex.join([*words, "-o", str(command.output)])


class Watcher:
    """Says what happens in lines: every run with its time and figure, and what is left."""

    def __init__(self, command: Reproduce) -> None:
        self.command = command
        self.broken = 0
        self.listen: Listen = quiet

    def hear(self, news: News) -> None:
        """Take one piece of news."""
        if isinstance(news, Broke):
            self.broken += 1
            self._broke(news)
        elif isinstance(news, Note):
            self.say(news.text)
        elif isinstance(news, Began):
            self.began(news)
        else:
            self.ended(news)

    def say(self, line: str) -> None:
        """A line on stderr, unless it should be quiet."""
        self.command.say(line)

    def began(self, news: Began) -> None:
        """Something is running."""
        if self.command.verbose:
            self.say(f"running {_running(news)}")

    def ended(self, news: Ended) -> None:
        """A run is finished."""
        standing = news.standing
        self.say(f"{standing.done} of {standing.total}: {outcome(news.run)}{time_left(standing)}")

    def _broke(self, news: Broke) -> None:
        key, error = news.key, " ".join(f"{type(news.error).__name__}: {news.error}".split())
        self.say(f"{key.method} {key.pair} seed {key.seed} broke off and is tried again the next time ({error[:200]})")
        if self.command.verbose:
            traceback.print_exception(news.error)


class Board(Watcher):
    """The same on a terminal: one bar for the table, one for the run at hand, and a line only where it matters."""

    def __init__(self, command: Reproduce, progress: Any) -> None:
        super().__init__(command)
        self.progress, self.listen = progress, self.step
        self.table = progress.add_task(command.table, total=None, told="")
        self.run = progress.add_task("", total=None, told="", visible=False)

    def say(self, line: str) -> None:
        """Above the bars."""
        self.progress.console.print(f"calque: {line}", highlight=False, markup=False, soft_wrap=True)

    def began(self, news: Began) -> None:
        """Show what is running, and how far the table is."""
        standing = news.standing
        told = f"{standing.done} of {standing.total}{time_left(standing)}"
        self.progress.update(self.table, completed=standing.done, total=standing.total, told=told)
        self.progress.reset(self.run, total=None, description=_running(news), told="", visible=True)

    def step(self, step: Step) -> None:
        """A step of the run at hand."""
        told = f"{live.STAGES.get(step.stage, step.stage)} {step.number} of {step.total}"
        self.progress.update(self.run, completed=step.number, total=step.total, told=told)


@contextmanager
def _watching(command: Reproduce) -> Iterator[Watcher]:
    """Bars where stderr is a terminal, lines elsewhere, nothing where it should be quiet."""
    if command.quiet or not sys.stderr.isatty():
        yield Watcher(command)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield Board(command, progress)


def _running(news: Began) -> str:
    seeds = "seed" if len(news.seeds) == 1 else "seeds"
    return f"{news.method} {news.pair} {seeds} {', '.join(map(str, news.seeds))}"


def outcome(run: Run) -> str:
    """A finished run in a line: method, pair, seed, seconds, and what came out."""
    key = run.key
    found = [f"{direction} {100 * score['nn'].accuracy(1):.1f} %" for direction, score in run.score.translation.items()]
    if run.score.similarity is not None:
        found.append(f"pearson {run.score.similarity.pearson:.3f}")
    told = ", ".join(found + list(dict.fromkeys(run.score.errors.values())))
    return f"{key.method} {key.pair} seed {key.seed}: {told}, {run.making.seconds:.1f} s"


def time_left(standing: Standing) -> str:
    """'; about 3 min left', or nothing where nobody knows."""
    if standing.done == standing.total or not standing.seconds:
        return ""
    seconds = standing.seconds
    told = (
        f"{seconds:.0f} s"
        if seconds < 90
        else f"{seconds / 60:.0f} min"
        if seconds < 5400
        else f"{seconds / 3600:.1f} h"
    )
    return f"; {'at least' if standing.unknown else 'about'} {told} left"


def _tell(command: Reproduce, grid: Grid) -> None:
    """The table, some columns at a time, and the claims."""
    if command.json:
        show.as_json(as_json(grid))
        return
    for block in grid.blocks():
        print(block.title)
        for directions in _some(block.directions):
            show.table(terminal_rows(grid, directions))
            print()
    for claim in claims(grid):
        print(f"{claim.text}: {claim.answer}")
    names = [f"{grid.plan.name}.{suffix}" for suffix in ("md", "csv", "tex", "json")]
    print(f"tables: {', '.join(str(command.output / name) for name in names)}")


def _some(directions: Sequence[str]) -> Iterator[Sequence[str]]:
    for begin in range(0, len(directions), COLUMNS):
        yield directions[begin : begin + COLUMNS]
