"""From a request to a table: plan, work, and files that are true at any time."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from calque import recipe as recipes
from calque import store
from calque.errors import RunError
from calque.progress import Listen, never, quiet
from calque.reproduce.cells import Grid
from calque.reproduce.digests import Digests
from calque.reproduce.latex import latex
from calque.reproduce.markdown import markdown
from calque.reproduce.news import Note, Tell, nobody
from calque.reproduce.plan import Plan, Request, make_plan, where
from calque.reproduce.record import as_csv, as_json
from calque.reproduce.runs import Keep
from calque.reproduce.shelf import Shelf
from calque.reproduce.working import Bench, Engine, work


def reproduce(
    request: Request,
    engine: Engine | None = None,
    tell: Tell = nobody,
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
) -> Grid:
    """Make every run that a table lacks, and write the table after each of them.

    Nothing is written where the request cannot be met at all; a finished run is never repeated.
    """
    engine = engine or Engine()
    recipes.choose_device(request.device)
    plan = make_plan(request)
    for entrant in plan.entrants:
        engine.recipe(entrant)
    folder = _folder(request.output)
    for line in _notes(plan):
        tell(Note(line))
    keep, digests = Keep(folder / "runs"), Digests(folder / "runs" / "inputs.json")
    bench = Bench(plan, keep, digests, engine, tell, listen, stopped, Shelf(tell))
    bench.take_up()
    bench = _with_finished_rows(bench)
    write_table(bench.grid(), folder)
    for _ in work(bench):
        write_table(bench.grid(), folder)
    return bench.grid()


def _with_finished_rows(bench: Bench) -> Bench:
    """Rows that were not asked for this time, but have finished runs, stay in the table."""
    every = make_plan(replace(bench.plan.request, methods=None))
    asked = {each.name for each in bench.plan.entrants}
    for job in every.jobs:
        found = None if job.entrant.name in asked else bench.finished(job.entrant, job.inputs, job.seed)
        if found is not None:
            bench.runs[job.key] = found
    shown = asked | {key.method for key in bench.runs}
    rows = tuple(each for each in every.entrants if each.name in shown)
    return replace(bench, plan=replace(bench.plan, entrants=rows))


def write_table(grid: Grid, folder: Path) -> None:
    """The table in every format, each file whole."""
    stem = folder / grid.plan.name
    store.write_json(stem.with_name(f"{stem.name}.json"), as_json(grid))
    for suffix, written in (("md", markdown), ("csv", as_csv), ("tex", latex)):
        store.write_text(stem.with_name(f"{stem.name}.{suffix}"), written(grid))


def _notes(plan: Plan) -> list[str]:
    """What is missing, a line a pair."""
    found = {pair: plan.missing(pair) for pair in plan.pairs}
    told = where(plan)
    return [
        f"{pair}: has cells without data, for want of {', '.join(names)}; {told}"
        for pair, names in found.items()
        if names
    ]


def _folder(output: Path) -> Path:
    """The output folder with a place for runs in it, made where it is not there."""
    if output.exists() and not output.is_dir():
        raise RunError(f"{output}: is not a folder; choose another name for the table's folder")
    try:
        (output / "runs").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{output}: cannot be made a folder: {error.strerror}; choose another name") from error
    if not os.access(output, os.W_OK) or not os.access(output / "runs", os.W_OK):
        raise RunError(f"{output}: may not be written to; choose another name")
    return output
