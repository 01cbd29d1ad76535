"""A table as values: one JSON object, and CSV with a line for each method, direction and retrieval."""

from __future__ import annotations

import csv
import io
from typing import Any

from calque.experiments.jobs import versions
from calque.experiments.reproduce import facts
from calque.experiments.reproduce.cells import Cell, Grid, Measure
from calque.experiments.reproduce.claims import claims
from calque.experiments.reproduce.entrants import Entrant
from calque.experiments.reproduce.wording import published

KS = (1, 5, 10)
COLUMNS = (
    "table",
    "vectors",
    "lexicon",
    "category",
    "in_paper",
    "method",
    "direction",
    "retrieval",
    "mean",
    "deviation",
    "n",
    "failed",
    "pending",
    "paper",
    "mean_at_5",
    "mean_at_10",
    "asked",
)


def retrievals(grid: Grid) -> tuple[str, ...]:
    """What every cell is measured by; a correlation retrieves nothing."""
    return ("nn", "csls") if grid.plan.table.task == "translation" else ("nn",)


def as_json(grid: Grid) -> dict[str, Any]:
    """Everything that is known of a table."""
    plan, (wrong, asked) = grid.plan, facts.disagreements(grid)
    return {
        "table": plan.table.name,
        **facts.head(grid),
        "versions": versions(),
        "lexicon": plan.lexicon,
        "seeds": plan.request.seeds,
        "retrieval": plan.request.retrieval,
        "pairs": {pair: plan.inputs[pair].dataset for pair in plan.pairs},
        "missing": {pair: list(names) for pair, names in facts.missing(grid).items()},
        "done": len(grid.runs),
        "total": len(plan.jobs),
        "cells": [told for entrant in plan.entrants for told in _row(grid, entrant)],
        "failures": [{"run": run.key.name, "error": line} for run, line in facts.failures(grid)],
        "verdict": {"disagreed": wrong, "of": asked},
        "claims": [{"claim": each.text, "holds": each.holds, "evidence": list(each.evidence)} for each in claims(grid)],
    }


def _row(grid: Grid, entrant: Entrant) -> list[dict[str, Any]]:
    return [
        {
            "method": entrant.name,
            "label": entrant.label,
            "category": entrant.category,
            "in_paper": entrant.published,
            "direction": direction,
            **(_translation if grid.plan.table.task == "translation" else _similarity)(grid, entrant, direction),
        }
        for block in grid.blocks()
        for direction in block.directions
    ]


def _translation(grid: Grid, entrant: Entrant, direction: str) -> dict[str, Any]:
    cells = {name: grid.cell(entrant, direction, Measure(name)) for name in retrievals(grid)}
    return {
        name: {"accuracy": _at(grid, entrant, direction, name), **_told(cell)} for name, cell in cells.items()
    } | _paper(cells["nn"])


def _similarity(grid: Grid, entrant: Entrant, direction: str) -> dict[str, Any]:
    cell = grid.cell(entrant, direction, Measure())
    return {"pearson": _told(cell)} | _paper(cell)


def _at(grid: Grid, entrant: Entrant, direction: str, retrieval: str) -> dict[str, float | None]:
    """Means in per cent by k."""
    return {str(k): _rounded(grid.cell(entrant, direction, Measure(retrieval, k)).mean) for k in KS}


def _told(cell: Cell) -> dict[str, Any]:
    return {
        "state": "no data" if not cell.expected else "pending" if cell.pending else "done",
        "mean": _rounded(cell.mean),
        "deviation": _rounded(cell.deviation),
        "values": [_rounded(each) for each in cell.values],
        "n": len(cell.values),
        "failed": cell.failed,
        "pending": cell.pending,
        "verdict_disagreed": cell.disagreed,
        "asked": cell.asked,
        "missing": cell.missing,
    }


def _paper(cell: Cell) -> dict[str, Any]:
    """Absent where the paper has no such cell; null where it has a dash."""
    return {"paper": cell.paper[0]} if cell.paper else {}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def as_csv(grid: Grid) -> str:
    """One line for each method, direction and retrieval; empty where there is nothing to say."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for entrant in grid.plan.entrants:
        for block in grid.blocks():
            for direction in block.directions:
                writer.writerows(_line(grid, entrant, direction, name) for name in retrievals(grid))
    return text.getvalue()


def _line(grid: Grid, entrant: Entrant, direction: str, retrieval: str) -> dict[str, Any]:
    cell, plan = grid.cell(entrant, direction, Measure(retrieval)), grid.plan
    at = _at(grid, entrant, direction, retrieval) if plan.table.task == "translation" else {}
    return {
        "table": plan.table.name,
        "vectors": plan.column(entrant, direction).dataset,
        "lexicon": plan.lexicon,
        "category": entrant.category,
        "in_paper": "yes" if entrant.published else "no",
        "method": entrant.name,
        "direction": direction,
        "retrieval": retrieval if plan.table.task == "translation" else "cosine",
        "mean": _rounded(cell.mean),
        "deviation": _rounded(cell.deviation),
        "n": len(cell.values),
        "failed": cell.failed,
        "pending": cell.pending,
        "paper": published(cell),
        "mean_at_5": at.get("5"),
        "mean_at_10": at.get("10"),
        "asked": cell.asked,
    }
