"""From a request to a table: plan, work, and files that are true at any time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from calque import recipes
from calque.experiments.jobs import Digests, Note, Options, Tell, Watch, choose_crew, make_folder, nobody, take_share
from calque.experiments.reproduce.cells import Grid
from calque.experiments.reproduce.latex import latex
from calque.experiments.reproduce.markdown import markdown
from calque.experiments.reproduce.plan import Plan, Request, make_plan, where
from calque.experiments.reproduce.record import as_csv, as_json
from calque.experiments.reproduce.running import Engine
from calque.experiments.reproduce.runs import Keep
from calque.experiments.reproduce.shelf import Shelf
from calque.experiments.reproduce.working import Bench, work
from calque.progress import Listen, never, quiet
from calque.runs import folder as store

ALONE = Options(workers=0)
"""In this process, one run after the other."""


def reproduce(
    request: Request,
    engine: Engine | None = None,
    tell: Tell = nobody,
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
    options: Options = ALONE,
) -> Grid:
    """Make every run that a table lacks, and write the table after each of them.

    Nothing is written where the request cannot be met at all; a finished run is never repeated.
    """
    engine = engine or Engine()
    if options.here:
        recipes.choose_device(request.device)
    plan = make_plan(request)
    for entrant in plan.entrants:
        engine.recipe(entrant)
    with choose_crew(options, 1, Watch(listen, stopped)) as (crew, gpus):
        device, share = (request.device, None) if options.here else take_share(request.device, 1, None, gpus)
        folder = make_folder(request.output)
        keep, digests = Keep(folder / "runs"), Digests(folder / "runs" / "inputs.json")
        return _made(Bench(plan, keep, digests, engine, crew, device, share, tell, Shelf(tell)), folder)


def _made(bench: Bench, folder: Path) -> Grid:
    """The table, with every run that it lacked."""
    for line in _notes(bench.plan):
        bench.tell(Note(line))
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
