"""How a cell reads, in every format alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from calque.experiments.reproduce.cells import Cell, Grid, Measure
from calque.experiments.reproduce.entrants import Entrant
from calque.experiments.reproduce.tables import Task

LEGEND = (
    "Mean ± deviation over seeds, the paper's figure in brackets; (-) where the paper says that it did not converge.",
    "A run has failed where it raised, its accuracy@1 stayed under 5 %, or its correlation under 0.1; it is counted as "
    "'failed n of N' and not averaged in.",
    "Bold: the best of the supervised, and of the unsupervised ones. …: runs to come. no data: files are missing.",
)


def plain(cell: Cell, task: Task) -> str:
    """Our figure: '57.1 ± 0.3, failed 1 of 3', 'failed 3 of 3', '…' or 'no data'."""
    if not cell.expected:
        return "no data"
    if not cell.finished:
        return "…"
    told = ([] if cell.mean is None else [figure(cell, task)]) + (
        [f"failed {cell.failed} of {cell.finished}"] if cell.failed else []
    )
    return ", ".join(told) + (" …" if cell.pending else "")


def figure(cell: Cell, task: Task) -> str:
    """Mean and, of several runs, deviation; one digit of per cent, three of a correlation."""
    digits = 1 if task == "translation" else 3
    spread = "" if cell.deviation is None else f" ± {cell.deviation:.{digits}f}"
    return f"{cell.mean:.{digits}f}{spread}"


def published(cell: Cell) -> str:
    """The paper's figure as it is printed there, a dash where it has one, and nothing where it has no such cell."""
    return "".join("-" if each is None else f"{each:.2f}" for each in cell.paper)


def beside(ours: str, cell: Cell) -> str:
    """Ours, then the paper's in brackets."""
    return f"{ours} ({published(cell)})" if cell.paper else ours


def measure_of(grid: Grid) -> Measure:
    """What the printed table shows."""
    return Measure(grid.plan.request.retrieval)


def groups(grid: Grid) -> Iterator[tuple[str, Sequence[Entrant]]]:
    """Rows under their headings: the paper's methods first, those that it does not have set apart."""
    if grid.plan.table.name == "ablation":
        yield "", grid.plan.entrants
        return
    for category in ("Supervised", "Unsupervised"):
        for published_there, heading in ((True, category), (False, f"{category}, not in the paper")):
            rows = [
                each for each in grid.plan.entrants if each.category == category and each.published == published_there
            ]
            if rows:
                yield heading, rows


def terminal_rows(grid: Grid, directions: Sequence[str]) -> list[list[str]]:
    """Some columns of the table, for a terminal."""
    measure, task = measure_of(grid), grid.plan.table.task
    rows = [["method", *directions]]
    for heading, members in groups(grid):
        rows += [[heading, *("" for _ in directions)]] if heading else []
        for entrant in members:
            cells = [grid.cell(entrant, direction, measure) for direction in directions]
            rows.append(
                [
                    f"  {entrant.label}" if heading else entrant.label,
                    *(beside(plain(each, task), each) for each in cells),
                ]
            )
    return rows
