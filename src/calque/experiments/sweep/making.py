"""From a plan to one table: check, work, and files that are true at any time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from calque.experiments.jobs import (
    Digests,
    Keep,
    Note,
    Options,
    Paced,
    Tell,
    Watch,
    choose_crew,
    make_folder,
    nobody,
    take_share,
)
from calque.experiments.sweep.plan import Key, Plan
from calque.experiments.sweep.record import as_csv, as_json, markdown
from calque.experiments.sweep.table import Grid
from calque.experiments.sweep.working import Bench, work
from calque.progress import Listen, never, quiet
from calque.runs import folder as store

NAMES = "table.md", "table.csv", "table.json"


def sweep(
    plan: Plan,
    output: Path,
    options: Options | None = None,
    tell: Tell = nobody,
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
) -> Grid:
    """Make every run of a plan that is not there yet, and keep the table in ``output`` true.

    A finished run is never repeated; nothing is written where the plan cannot be met at all.
    """
    options = options or Options()
    with choose_crew(options, plan.most_cpus, Watch(listen, stopped)) as (crew, gpus):
        take_share(plan.device, 1, None, gpus)
        folder = make_folder(output)
        for line in plan.notes:
            tell(Note(line))
        digests = Digests(folder / "runs" / "inputs.json")
        return _made(Bench(plan, Keep(folder / "runs", Key), digests, crew, gpus, options.hold, tell), folder)


def _made(bench: Bench, folder: Path) -> Grid:
    grid = Grid(bench.plan, bench.runs, bench.lost)
    write = Paced(lambda: write_table(grid, folder))
    try:
        for _ in work(bench):
            write()
    finally:
        write.surely()
    return grid


def write_table(grid: Grid, folder: Path) -> None:
    """The table in every format, each file whole."""
    store.write_json(folder / "table.json", as_json(grid))
    store.write_text(folder / "table.csv", as_csv(grid))
    store.write_text(folder / "table.md", markdown(grid))
