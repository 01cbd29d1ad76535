"""What a person sees of many runs: lines, or bars on a terminal."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from calque.cli import terminal
from calque.experiments.jobs import Began, Broke, Ended, Named, News, Note, Run, Standing
from calque.progress import Listen, Step, quiet

SHORT = 200
"""So much is shown of an error that is not ours to word."""


class Command(Protocol):
    """What is asked of the command that is being watched."""

    @property
    def title(self) -> str:
        """What is being made."""
        ...

    @property
    def quiet(self) -> bool:
        """Say nothing."""
        ...

    @property
    def verbose(self) -> bool:
        """Say more."""
        ...

    def say(self, *lines: str) -> None:
        """Something for the reader."""
        ...


class Watcher:
    """Says what happens in lines: every run with its time and figure, and what is left."""

    def __init__(self, command: Command, retrieval: str = "nn") -> None:
        self.command, self.retrieval = command, retrieval
        self.broken = 0
        self.listen: Listen = quiet

    def hear(self, news: News) -> None:
        """Take one piece of news."""
        if isinstance(news, Broke):
            self.broke(news)
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
        told = outcome(news.run, self.retrieval)
        self.say(f"{standing.done} of {standing.total}: {told}{time_left(standing)}")

    def broke(self, news: Broke) -> None:
        """A run was lost."""
        error = " ".join(f"{type(news.error).__name__}: {news.error}".split())[:SHORT]
        if news.again:
            self.say(f"{_called(news.key)} broke off and is tried again, {news.again} times at most ({error})")
            return
        self.broken += 1
        self.say(f"{_called(news.key)} broke off and is tried again the next time ({error})")
        if self.command.verbose:
            traceback.print_exception(news.error)


class Board(Watcher):
    """The same on a terminal: one bar for all of it, one for what is at hand, and a line only where it matters."""

    def __init__(self, command: Command, progress: Any, retrieval: str = "nn") -> None:
        super().__init__(command, retrieval)
        self.progress, self.listen = progress, self.step
        self.running: dict[tuple[str, str, int], Began] = {}
        self.table = progress.add_task(command.title, total=None, told="")
        self.run = progress.add_task("", total=None, told="", visible=False)

    def say(self, line: str) -> None:
        """Above the bars."""
        self.progress.console.print(f"calque: {line}", highlight=False, markup=False, soft_wrap=True)

    def began(self, news: Began) -> None:
        """Show what is running, and how far it is."""
        self.running |= {(news.method, news.pair, seed): news for seed in news.seeds}
        standing = news.standing
        told = f"{standing.done} of {standing.total}{time_left(standing)}"
        self.progress.update(self.table, completed=standing.done, total=standing.total, told=told)
        more = len(self.running) - len(news.seeds)
        described = _running(news) + (f" and {more} more" if more else "")
        self.progress.reset(self.run, total=None, description=described, told="", visible=True)

    def ended(self, news: Ended) -> None:
        """One less is running."""
        self._over(news.run.key)
        super().ended(news)

    def broke(self, news: Broke) -> None:
        """One less is running, for now."""
        self._over(news.key)
        super().broke(news)

    def step(self, step: Step) -> None:
        """A step of the run at hand."""
        told = f"{terminal.STAGE_LABELS.get(step.stage, step.stage)} {step.number} of {step.total}"
        self.progress.update(self.run, completed=step.number, total=step.total, told=told)

    def _over(self, key: Named) -> None:
        self.running.pop((key.method, key.pair, key.seed), None)


@contextmanager
def watching(command: Command, retrieval: str = "nn") -> Iterator[Watcher]:
    """Bars where stderr is a terminal, lines elsewhere, nothing where it should be quiet."""
    if command.quiet or not sys.stderr.isatty():
        yield Watcher(command, retrieval)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield Board(command, progress, retrieval)


def _running(news: Began) -> str:
    seeds = "seed" if len(news.seeds) == 1 else "seeds"
    return f"{news.method} {news.pair} {seeds} {', '.join(map(str, news.seeds))}"


def _called(key: Named) -> str:
    return f"{key.method} {key.pair} seed {key.seed}"


def outcome(run: Run[Any], retrieval: str = "nn") -> str:
    """A finished run in a line: method, pair, seed, seconds, and what came out."""
    scores = run.score.translation.items()
    found = [f"{direction} {100 * score[retrieval].accuracy(1):.1f} %" for direction, score in scores]
    if run.score.similarity is not None:
        found.append(f"pearson {run.score.similarity.pearson:.3f}")
    errors = list(dict.fromkeys(run.score.errors.values()))
    told = ", ".join(found + errors) or run.making.verdict
    return f"{_called(run.key)}: {told}, {run.making.seconds:.1f} s"


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
