"""`calque sweep`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calque.cli import live, show
from calque.cli.watching import watching
from calque.jobs import Options
from calque.sweep import NAMES, Grid, as_json, cells, failures, head, read_plan, sweep

if TYPE_CHECKING:
    from calque.cli.commands import Sweep

BUG, WRONG, INTERRUPTED = 1, 2, 130


def run(command: Sweep) -> int:
    """Make the runs that are missing, show the table."""
    options = Options(command.workers, command.address, command.retries, command.hold)
    plan = read_plan(command.plan)
    if options.here and options.workers is None:
        command.say("one run after the other, for want of Ray: pip install 'calque[sweep]' runs several at once")
    told = "leaving, with what is finished"
    with live.interruptible(told) as stopped, watching(command, plan.retrieval) as watcher:
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
        show.as_json(as_json(grid))
        return
    show.table([head(grid), *(cells(row) for row in grid.rows())])
    for where, why in failures(grid):
        print(f"{where}: {why}")
    print(f"tables: {', '.join(str(command.output / name) for name in NAMES)}")
