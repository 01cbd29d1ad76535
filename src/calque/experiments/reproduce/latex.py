"""A table as LaTeX, for a document that uses booktabs."""

from __future__ import annotations

from collections.abc import Sequence

from calque.experiments.reproduce import facts
from calque.experiments.reproduce.cells import Cell, Grid
from calque.experiments.reproduce.entrants import Entrant
from calque.experiments.reproduce.tables import Block
from calque.experiments.reproduce.wording import beside, groups, measure_of, plain

SPECIAL = {
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
"""What LaTeX would take for something else, or would not know."""


def latex(grid: Grid) -> str:
    """One table environment a block."""
    told = [f"% {name}: {line}" for name, line in facts.head(grid).items() if line]
    head = [*told, r"% in the preamble: \usepackage{booktabs}"]
    return "\n".join(head + [line for block in grid.blocks() for line in _table(grid, block)]) + "\n"


def escape(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(SPECIAL.get(each, each) for each in text)


def _table(grid: Grid, block: Block) -> list[str]:
    columns = "l" + "r" * len(block.directions)
    return [
        r"\begin{table*}[ht]",
        r"\centering\small",
        rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
        r"\toprule",
        _line(["Method", *block.directions]),
        *_groups(grid, block),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{escape(_caption(grid, block))}}}",
        r"\end{table*}",
    ]


def _caption(grid: Grid, block: Block) -> str:
    figures = " Published figures in brackets." if block.figures and measure_of(grid).retrieval == "nn" else ""
    lexicon = "" if grid.plan.table.task == "similarity" else f" Lexicon: {facts.lexicon(grid)}."
    best = " The best of the supervised and of the unsupervised methods in bold."
    return f"Xu et al. 2018, {block.title}.{lexicon} Mean and deviation over seeds.{figures}{best}"


def _groups(grid: Grid, block: Block) -> list[str]:
    lines: list[str] = []
    for heading, members in groups(grid):
        lines.append(r"\midrule")
        if heading:
            lines.append(rf"\multicolumn{{{len(block.directions) + 1}}}{{@{{}}l}}{{\emph{{{escape(heading)}}}}} \\")
        lines += [_row(grid, entrant, block) for entrant in members]
    return lines


def _row(grid: Grid, entrant: Entrant, block: Block) -> str:
    measure = measure_of(grid)
    cells = [
        _cell(grid, grid.cell(entrant, each, measure), entrant.name in grid.best(each, measure))
        for each in block.directions
    ]
    return _line([escape(entrant.label), *cells])


def _cell(grid: Grid, cell: Cell, best: bool) -> str:
    told = escape(plain(cell, grid.plan.table.task))
    return beside(rf"\textbf{{{told}}}" if best else told, cell)


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
