"""`calque sweep`: every run of a plan, and one table of them all."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from calque.cli.common import BUG, DONE, INTERRUPTED, WRONG_INPUT, Number, Reads
from calque.cli.terminal import interruptible, print_json, print_table
from calque.errors import how_to_install

if TYPE_CHECKING:
    from calque.experiments.report import Report

MOST_ROWS = 100
"""How many rows are shown on a terminal; the files have all."""


@dataclass(frozen=True, kw_only=True)
class Sweep(Reads):
    """Make every run of a plan, many at once where Ray is installed, and one table of them all; finished runs are
    never repeated.
    """

    plan: Annotated[Positional[Path], arg(metavar="PLAN")]
    """A TOML file with spaces, pairs, recipes, seeds and lexicons; docs/sweep.md says how to write one."""
    output: Annotated[Path, arg(aliases=["-o"], metavar="DIR")]
    """Where the table and finished runs go; a sweep that was begun there goes on."""
    workers: Number = None
    """So many runs at once; as many as fit without it. 0: one after the other, in this process, without Ray."""
    address: Annotated[str, arg(metavar="HOST:PORT")] = ""
    """A Ray cluster to run on instead of this machine; 'auto' for the one that this machine belongs to."""
    retries: int = 2
    """How often a run is tried again that broke off by no fault of its method."""
    hold: int = 32
    """How many spaces may be in memory at once, whoever wants them later."""

    def run(self) -> int:
        """Run what is missing, print the table."""
        from calque.cli.watching import watching
        from calque.experiments.backends import BackendOptions
        from calque.experiments.driver import run_plan
        from calque.experiments.plan_file import read_plan

        options = BackendOptions(self.workers, self.address, self.retries, self.hold)
        plan = read_plan(self.plan, cache=not self.no_cache)
        if options.local and options.workers is None:
            self.say(f"one run after the other, for want of Ray: {how_to_install('sweep')} runs several at once")
        message = "leaving, with what is finished"
        with interruptible(message) as stopped, watching(self, self.plan.name, plan.retrieval) as watcher:
            report = run_plan(plan, self.output, options, watcher.hear, watcher.listen, stopped)
        self._print(report)
        if stopped():
            return INTERRUPTED
        # A method that fails is a result; a file that cannot be read is wrong, and anything else is a bug of ours.
        if any(lost.unreadable for lost in report.lost.values()):
            return WRONG_INPUT
        return BUG if report.lost else DONE

    def _print(self, report: Report) -> None:
        """The first rows of the table, and what went wrong."""
        from calque.experiments.render import as_json, file_names
        from calque.experiments.render_sweep import sweep_failures, sweep_rows

        if self.json:
            print_json(as_json(report))
            return
        rows = list(islice(sweep_rows(report), 1 + MOST_ROWS))
        print_table(rows)
        more_rows = 2 * len(report.plan.pairs) * len(report.plan.entrants) - (len(rows) - 1)
        if more_rows:
            print(f"and {more_rows:,} more rows")
        failures = [f"{where}: {why}" for where, why in sweep_failures(report)]
        for line in failures[:MOST_ROWS]:
            print(line)
        if failures[MOST_ROWS:]:
            print(f"and {len(failures) - MOST_ROWS:,} more that went wrong")
        print(f"tables: {', '.join(str(self.output / name) for name in file_names(report))}")
