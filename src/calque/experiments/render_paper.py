"""A table of the paper as rows for a terminal, Markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque.experiments.claims import claims
from calque.experiments.paper_tables import Block
from calque.experiments.plan import Entrant
from calque.experiments.report import Cell, Measure, Report
from calque.experiments.results import RETRIEVALS
from calque.experiments.wording import LEGEND, beside, csv_text, groups, markdown_row, plain, published, rounded
from calque.recipes.running import versions

KS = (1, 5, 10)
NAMES = ["table", "vectors", "lexicon", "category", "in_paper", "method", "direction", "retrieval"]
FIGURES = ["mean", "deviation", "n", "failed", "pending", "paper", "mean_at_5", "mean_at_10", "asked"]
LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "√": r"$\surd$",
    "…": r"\dots",
}
"""Characters that LaTeX would take for something else, or would not know."""


def terminal_rows(report: Report, directions: Sequence[str]) -> list[list[str]]:
    """Some columns of the table, for a terminal."""
    rows = [["method", *directions]]
    for heading, entrants in groups(report):
        rows += [[heading, *("" for _ in directions)]] if heading else []
        for entrant in entrants:
            cells = [report.cell(entrant.name, direction, report.measure) for direction in directions]
            label = f"  {entrant.label}" if heading else entrant.label
            rows.append([label, *(beside(plain(cell, report.task), cell) for cell in cells)])
    return rows


def paper_markdown(report: Report) -> str:
    """How the table was made, the figures, and what there is to say about them."""
    assert report.plan.paper is not None
    legend = [*LEGEND]
    if report.measure.retrieval != "nn":
        legend.append(f"Retrieved by {report.plan.retrieval}; the paper has figures by nearest neighbour only.")
    elif report.task == "translation":
        legend.append("Retrieved by nearest neighbour, as in the paper.")
    head = [f"- {name}: {f'`{text}`' if name == 'command' else text}" for name, text in report.head().items() if text]
    missing = [f"- {pair}: {', '.join(f'`{x}`' for x in names)}" for pair, names in report.missing_files().items()]
    failures = [f"- {run.key}: {line}" for run, line in report.failures()]
    answers = [
        line
        for claim in claims(report)
        for line in (f"- {claim.text}: **{claim.answer}**", *(f"  - {evidence}" for evidence in claim.evidence))
    ]
    parts = [
        [f"# {report.plan.name}", "", *head],
        *([f"## {block.title}", "", *_markdown_block(report, block)] for block in report.blocks()),
        [f"- {line}" for line in legend],
        _coverage(report),
        [f"Files that are not there ({report.plan.paper.hint}):", "", *missing] if missing else [],
        ["Runs that did not come through:", "", *failures] if failures else [],
        _timings(report),
        ["## What the paper claims, asked of these figures", "", *answers] if answers else [],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _markdown_block(report: Report, block: Block) -> list[str]:
    ways = block.directions
    lines = [markdown_row(["", "method", *ways]), markdown_row(["---", "---", *("---:" for _ in ways)])]
    for heading, entrants in groups(report):
        for place, entrant in enumerate(entrants):
            cells = []
            for way in ways:
                cell = report.cell(entrant.name, way, report.measure)
                text = plain(cell, report.task)
                cells.append(beside(f"**{text}**" if entrant.name in report.best(way) else text, cell))
            lines.append(markdown_row([heading if place == 0 else "", entrant.label, *cells]))
    return lines


def _coverage(report: Report) -> list[str]:
    """How many words were asked: without it an accuracy says nothing."""
    what = "judged pairs" if report.task == "similarity" else "query words"
    directions = [direction for block in report.blocks() for direction in block.directions]
    coverage = [(direction, *report.coverage(direction)) for direction in directions]
    parts = [f"{direction} {asked:,.0f} ({absent:,.0f} not)" for direction, asked, absent in coverage if asked]
    return [f"Of the {what} of the test part could be asked, on average over seeds: {', '.join(parts)}."] * bool(parts)


def _timings(report: Report) -> list[str]:
    timings = report.timings()
    if not timings:
        return []
    rows = [[method, f"{seconds:.1f}", str(runs), devices] for method, seconds, runs, devices in timings]
    wrong, asked = report.disagreements()
    verdict = (
        "Seconds are those of both directions at once for unsupervised methods, their verdict included. That verdict, "
        f"which sees no lexicon, disagreed with the figures in {wrong} of {asked} runs and directions."
    )
    head = [["method", "seconds a run", "runs", "on"], ["---", "---:", "---:", "---"]]
    return ["## Time", "", *map(markdown_row, [*head, *rows]), "", verdict]


def paper_latex(report: Report) -> str:
    """The table for a document that uses booktabs: one table environment for each block."""
    head = [f"% {name}: {line}" for name, line in report.head().items() if line]
    head.append(r"% in the preamble: \usepackage{booktabs}")
    return "\n".join(head + [line for block in report.blocks() for line in _latex_block(report, block)]) + "\n"


def escape(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(LATEX_SPECIAL.get(letter, letter) for letter in text)


def _latex_block(report: Report, block: Block) -> list[str]:
    figures = " Published figures in brackets." if block.figures and report.measure.retrieval == "nn" else ""
    lexicon = "" if report.task == "similarity" else f" Lexicon: {report.head()['lexicon']}."
    best = " The best of the supervised and of the unsupervised methods in bold."
    caption = f"Xu et al. 2018, {block.title}.{lexicon} Mean and deviation over seeds.{figures}{best}"
    lines = [
        r"\begin{table*}[ht]",
        r"\centering\small",
        rf"\begin{{tabular}}{{@{{}}l{'r' * len(block.directions)}@{{}}}}",
        r"\toprule",
        " & ".join(["Method", *block.directions]) + r" \\",
    ]
    for heading, entrants in groups(report):
        lines.append(r"\midrule")
        if heading:
            lines.append(rf"\multicolumn{{{len(block.directions) + 1}}}{{@{{}}l}}{{\emph{{{escape(heading)}}}}} \\")
        for entrant in entrants:
            cells = []
            for way in block.directions:
                cell = report.cell(entrant.name, way, report.measure)
                text = escape(plain(cell, report.task))
                cells.append(beside(rf"\textbf{{{text}}}" if entrant.name in report.best(way) else text, cell))
            lines.append(" & ".join([escape(entrant.label), *cells]) + r" \\")
    return [*lines, r"\bottomrule", r"\end{tabular}", rf"\caption{{{escape(caption)}}}", r"\end{table*}"]


def paper_csv(report: Report) -> str:
    """One line for each method, direction and retrieval; empty where there is nothing to say."""
    rows = (
        _csv_row(report, entrant, direction, retrieval)
        for entrant in report.entrants
        for block in report.blocks()
        for direction in block.directions
        for retrieval in (RETRIEVALS if report.task == "translation" else ("nn",))
    )
    return csv_text(NAMES + FIGURES, rows)


def _csv_row(report: Report, entrant: Entrant, direction: str, retrieval: str) -> dict[str, Any]:
    paper, translation = report.plan.paper, report.task == "translation"
    assert paper is not None
    cell = report.cell(entrant.name, direction, Measure(retrieval))
    at = _means_at(report, entrant, direction, retrieval) if translation else {}
    return {
        "table": paper.table.name,
        "vectors": paper.column(entrant.supervised, direction).dataset,
        "lexicon": paper.request.lexicon,
        "category": entrant.category,
        "in_paper": "yes" if entrant.published else "no",
        "method": entrant.name,
        "direction": direction,
        "retrieval": retrieval if translation else "cosine",
        "mean": rounded(cell.mean),
        "deviation": rounded(cell.deviation),
        "n": len(cell.values),
        "failed": cell.failed,
        "pending": cell.pending,
        "paper": published(cell),
        "mean_at_5": at.get("5"),
        "mean_at_10": at.get("10"),
        "asked": cell.asked,
    }


def paper_json(report: Report) -> dict[str, Any]:
    """Everything that is known of a table."""
    plan, paper, (wrong, asked) = report.plan, report.plan.paper, report.disagreements()
    assert paper is not None
    return {
        "table": paper.table.name,
        **report.head(),
        "versions": versions(),
        "lexicon": paper.request.lexicon,
        "seeds": len(plan.seeds),
        "retrieval": plan.retrieval,
        "pairs": {pair.name: paper.files[pair.name].dataset for pair in plan.pairs},
        "missing": {pair: list(names) for pair, names in report.missing_files().items()},
        "done": len(report.runs),
        "total": len(plan.experiments),
        "cells": [
            _json_cell(report, entrant, direction)
            for entrant in report.entrants
            for block in report.blocks()
            for direction in block.directions
        ],
        "failures": [{"run": run.key.name, "error": line} for run, line in report.failures()],
        "verdict": {"disagreed": wrong, "of": asked},
        "claims": [
            {"claim": claim.text, "holds": claim.holds, "evidence": list(claim.evidence)} for claim in claims(report)
        ],
    }


def _json_cell(report: Report, entrant: Entrant, direction: str) -> dict[str, Any]:
    values: dict[str, Any] = {
        "method": entrant.name,
        "label": entrant.label,
        "category": entrant.category,
        "in_paper": entrant.published,
        "direction": direction,
    }
    cell = report.cell(entrant.name, direction, Measure())
    if report.task == "translation":
        for name in RETRIEVALS:
            figures = _json_figures(report.cell(entrant.name, direction, Measure(name)))
            values[name] = {"accuracy": _means_at(report, entrant, direction, name), **figures}
    else:
        values["pearson"] = _json_figures(cell)
    # Absent if the paper has no such cell, null where it has a dash.
    return values | ({"paper": cell.paper[0]} if cell.paper else {})


def _json_figures(cell: Cell) -> dict[str, Any]:
    return {
        "state": "no data" if not cell.expected else "pending" if cell.pending else "done",
        "mean": rounded(cell.mean),
        "deviation": rounded(cell.deviation),
        "values": [rounded(value) for value in cell.values],
        "n": len(cell.values),
        "failed": cell.failed,
        "pending": cell.pending,
        "verdict_disagreed": cell.disagreed,
        "asked": cell.asked,
        "missing": cell.missing,
    }


def _means_at(report: Report, entrant: Entrant, direction: str, retrieval: str) -> dict[str, float | None]:
    """Means in per cent by k."""
    return {str(k): rounded(report.cell(entrant.name, direction, Measure(retrieval, k)).mean) for k in KS}
