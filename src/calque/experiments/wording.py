"""How figures read, in every format alike."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from calque.experiments.paper_tables import Task
from calque.experiments.plan import Entrant
from calque.experiments.report import Cell, Report

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
    parts = [] if cell.mean is None else [figure(cell, 1 if task == "translation" else 3)]
    parts += [f"failed {cell.failed} of {cell.finished}"] if cell.failed else []
    return ", ".join(parts) + (" …" if cell.pending else "")


def figure(cell: Cell, digits: int) -> str:
    """Mean and, of several runs, deviation."""
    deviation = "" if cell.deviation is None else f" ± {cell.deviation:.{digits}f}"
    return f"{cell.mean:.{digits}f}{deviation}"


def published(cell: Cell) -> str:
    """The paper's figure as it is printed there, a dash where it has one, and nothing if it has no such cell."""
    return "".join("-" if value is None else f"{value:.2f}" for value in cell.paper)


def beside(ours: str, cell: Cell) -> str:
    """Our figure, then the paper's in brackets."""
    return f"{ours} ({published(cell)})" if cell.paper else ours


def groups(report: Report) -> Iterator[tuple[str, Sequence[Entrant]]]:
    """The rows of a table of the paper under their headings; methods that the paper does not have stand apart."""
    assert report.plan.paper is not None
    if report.plan.paper.table.name == "ablation":
        yield "", report.entrants
        return
    for category in ("Supervised", "Unsupervised"):
        for in_paper, heading in ((True, category), (False, f"{category}, not in the paper")):
            rows = [row for row in report.entrants if (row.category, row.published) == (category, in_paper)]
            if rows:
                yield heading, rows


def rounded(value: float | None, digits: int = 4) -> float | None:
    """A figure as JSON and CSV have it."""
    return None if value is None else round(value, digits)


def markdown_row(cells: Sequence[str]) -> str:
    """A line of a table in Markdown."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as CSV, with a head."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
