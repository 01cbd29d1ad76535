"""The table of a sweep as rows for a terminal, Markdown, CSV and JSON. What a clock measured stands last in each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from calque.experiments.plan import LanguagePair
from calque.experiments.report import VERDICTS, Cell, Report
from calque.experiments.results import RETRIEVALS
from calque.experiments.wording import csv_text, figure, markdown_row, rounded
from calque.recipes.running import versions

COLUMNS = [
    *["direction", "source", "target", "recipe", "retrieval", "mean", "deviation", "n", "asked", "missing"],
    *VERDICTS,
    *["finished", "seeds", "error", "seconds"],
]


def sweep_rows(report: Report) -> Iterator[list[str]]:
    """The rows in words, with the names of the columns first."""
    accuracy = f"accuracy@1, {report.plan.retrieval}"
    yield ["direction", "recipe", accuracy, "asked", "not asked", "verdicts", "seeds", "seconds"]
    for way, recipe, cell in report.rows():
        accuracy = "…" if cell.pending and not cell.errors else "-"
        asked = ["-", "-"]
        if cell.values:
            accuracy, asked = f"{figure(cell, 1)} %", [f"{cell.asked:,.0f}", f"{cell.missing:,.0f}"]
        verdicts = ", ".join(f"{cell.verdicts[name]} {name}" for name in VERDICTS if cell.verdicts.get(name)) or "-"
        seconds = "-" if cell.seconds is None else f"{cell.seconds:.1f}"
        seeds = f"{cell.finished} of {cell.expected}"
        yield [way.name, recipe, accuracy, *asked, verdicts, seeds, seconds]


def sweep_failures(report: Report) -> list[tuple[str, str]]:
    """What stands in place of figures: direction and recipe, and why."""
    return [(f"{way.name} {recipe}", line) for way, recipe, cell in report.rows() for line in cell.errors]


def sweep_markdown(report: Report) -> str:
    """The table, what it is, and what went wrong."""
    plan, (head, *rows) = report.plan, sweep_rows(report)
    lines = [
        f"# {plan.source.stem}",
        "",
        f"{len(plan.pairs)} pairs, {len(plan.entrants)} recipes, seeds {', '.join(map(str, plan.seeds))}: "
        f"{len(report.runs)} of {len(plan.experiments)} runs. Mean accuracy@1 over seeds ± deviation of the sample; "
        "asked are the words of the lexicon that both vocabularies can answer.",
        "",
        markdown_row(head),
        markdown_row(["---"] * len(head)),
        *map(markdown_row, rows),
    ]
    wrong = [f"- {where}: {why}" for where, why in sweep_failures(report)]
    lines += ["", "What went wrong:", "", *wrong] if wrong else []
    lines += ["", ", ".join(f"{name} {version}" for name, version in versions().items())]
    return "\n".join(lines) + "\n"


def sweep_csv(report: Report) -> str:
    """A line for each direction, recipe and retrieval; empty where there is nothing to say."""
    rows = (_values(name, *row) for name in RETRIEVALS for row in report.rows(name))
    return csv_text(COLUMNS, rows)


def sweep_json(report: Report) -> dict[str, Any]:
    """Everything that is known."""
    rows = [(name, row) for name in RETRIEVALS for row in report.rows(name)]
    return {
        "plan": str(report.plan.source),
        "done": len(report.runs),
        "total": len(report.plan.experiments),
        "retrieval": report.plan.retrieval,
        "seeds": list(report.plan.seeds),
        "versions": versions(),
        "rows": [_values(name, *row) | {"values": [rounded(value) for value in row[2].values]} for name, row in rows],
        "failures": [{"row": where, "error": why} for where, why in sweep_failures(report)],
    }


def _values(retrieval: str, way: LanguagePair, recipe: str, cell: Cell) -> dict[str, Any]:
    return {
        "direction": way.name,
        "source": way.source,
        "target": way.target,
        "recipe": recipe,
        "retrieval": retrieval,
        "mean": rounded(cell.mean),
        "deviation": rounded(cell.deviation),
        "n": len(cell.values),
        "asked": cell.asked if cell.values else None,
        "missing": cell.missing if cell.values else None,
        **{verdict: cell.verdicts.get(verdict, 0) for verdict in VERDICTS},
        "finished": cell.finished,
        "seeds": cell.expected,
        "error": "; ".join(cell.errors) or None,
        "seconds": rounded(cell.seconds, 3),
    }
