"""What a person sees while many runs are made: lines, or bars on a terminal."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from calque.cli.common import Common
from calque.cli.terminal import STAGE_LABELS, open_bars, visible
from calque.experiments.events import ExperimentEvent, Note, Progress, RunBroken, RunEnded, RunStarted
from calque.experiments.render_texts import text_outcome
from calque.experiments.results import ExperimentKey, FinishedRun
from calque.progress import Listen, Step, quiet

LONGEST_ERROR = 200
"""How many characters are shown of an error that we did not word."""


class Watcher:
    """Prints a line for every finished run, with its time and figures and the time that is left."""

    def __init__(self, command: Common, retrieval: str = "nn") -> None:
        self.command, self.retrieval = command, retrieval
        self.listen: Listen = quiet

    def hear(self, event: ExperimentEvent) -> None:
        """Take one event."""
        if isinstance(event, RunBroken):
            self.broken(event)
        elif isinstance(event, Note):
            self.say(event.text)
        elif isinstance(event, RunStarted):
            self.started(event)
        else:
            self.ended(event)

    def say(self, line: str) -> None:
        """Print a line on stderr, unless the command is quiet."""
        self.command.say(line)

    def started(self, event: RunStarted) -> None:
        """Say what is running, if that is wanted."""
        if self.command.verbose:
            self.say(f"running {running(event)}")

    def ended(self, event: RunEnded) -> None:
        """Say what came out."""
        progress, text = event.progress, outcome(event.run, self.retrieval)
        self.say(f"{progress.done} of {progress.total}: {text}{time_left(progress)}")

    def broken(self, event: RunBroken) -> None:
        """Say that a run was lost, and when it is tried again."""
        error = " ".join(f"{type(event.error).__name__}: {event.error}".split())[:LONGEST_ERROR]
        if event.again:
            self.say(f"{event.key} broke off and is tried again, {event.again} times at most ({error})")
            return
        self.say(f"{event.key} broke off and is tried again the next time ({error})")
        if self.command.verbose:
            traceback.print_exception(event.error)


class Board(Watcher):
    """On a terminal: one bar for all runs, one for the newest, and lines above the bars."""

    def __init__(self, command: Common, progress: Any, title: str, retrieval: str = "nn") -> None:
        super().__init__(command, retrieval)
        self.progress, self.listen = progress, self.step
        self.running: set[tuple[str, str, int]] = set()
        self.table = progress.add_task(title, total=None, text="")
        self.run = progress.add_task("", total=None, text="", visible=False)

    def say(self, line: str) -> None:
        """Print a line above the bars."""
        self.progress.console.print(visible(f"calque: {line}"), highlight=False, markup=False, soft_wrap=True)

    def started(self, event: RunStarted) -> None:
        """Show what is running, and how far the work is."""
        self.running |= {(event.method, event.pair, seed) for seed in event.seeds}
        progress, more = event.progress, len(self.running) - len(event.seeds)
        text = f"{progress.done} of {progress.total}{time_left(progress)}"
        self.progress.update(self.table, completed=progress.done, total=progress.total, text=text)
        description = visible(running(event)) + (f" and {more} more" if more else "")
        self.progress.reset(self.run, total=None, description=description, text="", visible=True)

    def ended(self, event: RunEnded) -> None:
        """One run less is running."""
        self._forget(event.run.key)
        super().ended(event)

    def broken(self, event: RunBroken) -> None:
        """One run less is running, for now."""
        self._forget(event.key)
        super().broken(event)

    def step(self, step: Step) -> None:
        """Show a step of the newest run."""
        text = f"{STAGE_LABELS.get(step.stage, step.stage)} {step.number} of {step.total}"
        self.progress.update(self.run, completed=step.number, total=step.total, text=text)

    def _forget(self, key: ExperimentKey) -> None:
        self.running.discard((key.method, key.pair, key.seed))


@contextmanager
def watching(command: Common, title: str, retrieval: str = "nn") -> Iterator[Watcher]:
    """Bars if stderr is a terminal, lines if not, nothing if the command is quiet."""
    with open_bars(not command.quiet) as bars:
        yield Watcher(command, retrieval) if bars is None else Board(command, bars, title, retrieval)


def running(event: RunStarted) -> str:
    """'paper es-en seeds 0, 1'."""
    seeds = "seed" if len(event.seeds) == 1 else "seeds"
    return f"{event.method} {event.pair} {seeds} {', '.join(map(str, event.seeds))}"


def outcome(run: FinishedRun, retrieval: str = "nn") -> str:
    """A finished run in a line: method, pair, seed, what came out, and seconds."""
    scores = run.score.translation.items()
    figures = [f"{direction} {100 * score[retrieval].accuracy(1):.1f} %" for direction, score in scores]
    if run.score.similarity is not None:
        figures.append(f"pearson {run.score.similarity.pearson:.3f}")
    figures += text_outcome(run)
    errors = list(dict.fromkeys(run.score.errors.values()))
    text = ", ".join(figures + errors) or run.provenance.verdict
    return f"{run.key}: {text}, {run.provenance.seconds:.1f} s"


def time_left(progress: Progress) -> str:
    """'; about 3 min left', or nothing if it is not known."""
    seconds = progress.seconds
    if progress.done == progress.total or not seconds:
        return ""
    time = f"{seconds / 3600:.1f} h"
    if seconds < 5400:
        time = f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
    return f"; {'at least' if progress.unknown else 'about'} {time} left"
