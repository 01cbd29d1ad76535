"""`calque reproduce`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from calque.cli import terminal
from calque.cli.watching import watching
from calque.errors import SettingsError
from calque.experiments.jobs import Options
from calque.experiments.reproduce import Grid, Request, as_json, claims, reproduce, terminal_rows

if TYPE_CHECKING:
    from calque.cli.commands.many import Reproduce

BUG, INTERRUPTED = 1, 130
COLUMNS = 4
"""So many directions fit beside each other on a terminal."""


def run(command: Reproduce) -> int:
    """Make the runs that are missing, show the table."""
    told = "leaving after this step, with what is finished"
    with terminal.interruptible(told) as stopped, watching(command) as watcher:
        workers = None if command.address else 0
        options = Options(command.workers if command.workers is not None else workers, command.address, command.retries)
        grid = reproduce(_request(command), tell=watcher.hear, listen=watcher.listen, stopped=stopped, options=options)
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
        not command.no_cache,
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


def _tell(command: Reproduce, grid: Grid) -> None:
    """The table, some columns at a time, and the claims."""
    if command.json:
        terminal.print_json(as_json(grid))
        return
    for block in grid.blocks():
        print(block.title)
        for directions in _some(block.directions):
            terminal.print_table(terminal_rows(grid, directions))
            print()
    for claim in claims(grid):
        print(f"{claim.text}: {claim.answer}")
    names = [f"{grid.plan.name}.{suffix}" for suffix in ("md", "csv", "tex", "json")]
    print(f"tables: {', '.join(str(command.output / name) for name in names)}")


def _some(directions: Sequence[str]) -> Iterator[Sequence[str]]:
    for begin in range(0, len(directions), COLUMNS):
        yield directions[begin : begin + COLUMNS]
