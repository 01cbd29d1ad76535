"""The table in every form: for a terminal, Markdown, CSV and JSON. What a clock measured stands last in each."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from calque.experiments.jobs import RETRIEVALS, versions
from calque.experiments.sweep.table import VERDICTS, Grid, Row

COLUMNS = (
    "direction",
    "source",
    "target",
    "recipe",
    "retrieval",
    "mean",
    "deviation",
    "n",
    "asked",
    "missing",
    *VERDICTS,
    "finished",
    "seeds",
    "error",
    "seconds",
)


def head(grid: Grid) -> list[str]:
    """What the columns of the table are called."""
    accuracy = f"accuracy@1, {grid.plan.retrieval}"
    return ["direction", "recipe", accuracy, "asked", "not asked", "verdicts", "seeds", "seconds"]


def cells(row: Row) -> list[str]:
    """A row in words."""
    told = f"{row.mean:.1f} %" if row.mean is not None else "…" if row.pending and not row.errors else "-"
    if row.deviation is not None:
        told = f"{row.mean:.1f} ± {row.deviation:.1f} %"
    seeds = f"{row.finished} of {row.seeds}"
    asked = [f"{row.asked:,.0f}", f"{row.missing:,.0f}"] if row.values else ["-", "-"]
    seconds = "-" if row.seconds is None else f"{row.seconds:.1f}"
    return [row.direction, row.recipe, told, *asked, verdicts(row), seeds, seconds]


def verdicts(row: Row) -> str:
    """'2 aligned, 1 failed'."""
    return ", ".join(f"{row.verdicts[each]} {each}" for each in VERDICTS if row.verdicts.get(each)) or "-"


def failures(grid: Grid) -> list[tuple[str, str]]:
    """What stands in place of figures: direction and recipe, and why."""
    return [(f"{row.direction} {row.recipe}", line) for row in grid.rows() for line in row.errors]


def markdown(grid: Grid) -> str:
    """The table, what it is, and what went wrong."""
    plan = grid.plan
    lines = [
        f"# {plan.path.stem}",
        "",
        f"{len(plan.pairs)} pairs, {len(plan.recipes)} recipes, seeds {', '.join(map(str, plan.seeds))}: "
        f"{len(grid.runs)} of {plan.total} runs. Mean accuracy@1 over seeds ± deviation of the sample; asked are "
        "the words of the lexicon that both vocabularies can answer.",
        "",
        _line(head(grid)),
        _line(["---"] * len(head(grid))),
        *(_line(cells(row)) for row in grid.rows()),
    ]
    wrong = [f"- {where}: {why}" for where, why in failures(grid)]
    made = ", ".join(f"{name} {version}" for name, version in versions().items())
    return "\n".join([*lines, *(["", "What went wrong:", "", *wrong] if wrong else []), "", made]) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def as_csv(grid: Grid) -> str:
    """A line for each direction, recipe and retrieval; empty where there is nothing to say."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for name in RETRIEVALS:
        writer.writerows(_told(row) for row in grid.rows(name))
    return text.getvalue()


def as_json(grid: Grid) -> dict[str, Any]:
    """Everything that is known."""
    return {
        "plan": str(grid.plan.path),
        "done": len(grid.runs),
        "total": grid.plan.total,
        "retrieval": grid.plan.retrieval,
        "seeds": list(grid.plan.seeds),
        "versions": versions(),
        "rows": [_told(row) | {"values": _all(row)} for name in RETRIEVALS for row in grid.rows(name)],
        "failures": [{"row": where, "error": why} for where, why in failures(grid)],
    }


def _all(row: Row) -> list[float]:
    return [round(each, 4) for each in row.values]


def _told(row: Row) -> dict[str, Any]:
    return {
        "direction": row.direction,
        "source": row.source,
        "target": row.target,
        "recipe": row.recipe,
        "retrieval": row.retrieval,
        "mean": _rounded(row.mean),
        "deviation": _rounded(row.deviation),
        "n": len(row.values),
        "asked": row.asked if row.values else None,
        "missing": row.missing if row.values else None,
        **{each: row.verdicts.get(each, 0) for each in VERDICTS},
        "finished": row.finished,
        "seeds": row.seeds,
        "error": "; ".join(row.errors) or None,
        "seconds": None if row.seconds is None else round(row.seconds, 3),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
