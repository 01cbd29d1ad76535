"""`calque sweep`."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from calque.cli import terminal
from calque.cli.watching import watching
from calque.experiments.jobs import Options
from calque.experiments.sweep import NAMES, Grid, as_json, cells, failures, head, read_plan, sweep

if TYPE_CHECKING:
    from calque.cli.commands.many import Sweep

BUG, WRONG, INTERRUPTED = 1, 2, 130
MOST = 100
"""So many rows are shown on a terminal; the files have all."""


def run(command: Sweep) -> int:
    """Make the runs that are missing, show the table."""
    options = Options(command.workers, command.address, command.retries, command.hold)
    plan = read_plan(command.plan, cache=not command.no_cache)
    if options.here and options.workers is None:
        command.say("one run after the other, for want of Ray: pip install 'calque[sweep]' runs several at once")
    told = "leaving, with what is finished"
    with terminal.interruptible(told) as stopped, watching(command, plan.retrieval) as watcher:
        grid = sweep(plan, command.output, options, watcher.hear, watcher.listen, stopped)
    _tell(command, grid)
    if stopped():
        return INTERRUPTED
    return _exit_code(grid)


def _exit_code(grid: Grid) -> int:
    """A method that fails is a result; a file that cannot be read is wrong, and anything else is a bug of ours."""
    if any(each.unreadable for each in grid.lost.values()):
        return WRONG
    return BUG if grid.lost else 0


def _tell(command: Sweep, grid: Grid) -> None:
    if command.json:
        terminal.print_json(as_json(grid))
        return
    shown = [cells(row) for row in islice(grid.rows(), MOST)]
    wrong = [f"{where}: {why}" for where, why in failures(grid)]
    terminal.print_table([head(grid), *shown])
    rest = 2 * len(grid.plan.pairs) * len(grid.plan.recipes) - len(shown)
    if rest:
        print(f"and {rest:,} more rows")
    for line in wrong[:MOST]:
        print(line)
    if wrong[MOST:]:
        print(f"and {len(wrong) - MOST:,} more that went wrong")
    print(f"tables: {', '.join(str(command.output / name) for name in NAMES)}")
