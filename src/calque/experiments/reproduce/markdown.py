"""A table as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from calque.experiments.reproduce import facts
from calque.experiments.reproduce.cells import Cell, Grid
from calque.experiments.reproduce.claims import claims
from calque.experiments.reproduce.plan import where
from calque.experiments.reproduce.tables import Block
from calque.experiments.reproduce.wording import LEGEND, beside, groups, measure_of, plain


def markdown(grid: Grid) -> str:
    """How it was made, the figures, and what there is to say about them."""
    parts = [[f"# {grid.plan.name}", "", *_head(grid)]]
    parts += [[f"## {block.title}", "", *_block(grid, block)] for block in grid.blocks()]
    parts += [
        [f"- {line}" for line in (*LEGEND, *_retrieval(grid))],
        _coverage(grid),
        _missing(grid),
        _failures(grid),
        _timings(grid),
        _claims(grid),
    ]
    return "\n\n".join("\n".join(each) for each in parts if each) + "\n"


def _head(grid: Grid) -> list[str]:
    return [
        f"- {name}: {f'`{told}`' if name == 'command' else told}" for name, told in facts.head(grid).items() if told
    ]


def _block(grid: Grid, block: Block) -> list[str]:
    lines = [_line(["", "method", *block.directions]), _line(["---", "---", *("---:" for _ in block.directions)])]
    for heading, members in groups(grid):
        for place, entrant in enumerate(members):
            cells = [
                _cell(grid, entrant.name, grid.cell(entrant, each, measure_of(grid)), each) for each in block.directions
            ]
            lines.append(_line([heading if place == 0 else "", entrant.label, *cells]))
    return lines


def _cell(grid: Grid, method: str, cell: Cell, direction: str) -> str:
    told = plain(cell, grid.plan.table.task)
    return beside(f"**{told}**" if method in grid.best(direction, measure_of(grid)) else told, cell)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(each.replace("|", "\\|") for each in cells) + " |"


def _retrieval(grid: Grid) -> list[str]:
    if grid.plan.table.task == "similarity":
        return []
    if grid.plan.request.retrieval == "nn":
        return ["Retrieved by nearest neighbour, as in the paper."]
    return [f"Retrieved by {grid.plan.request.retrieval}; the paper has figures by nearest neighbour only."]


def _coverage(grid: Grid) -> list[str]:
    """Without it an accuracy says nothing."""
    what = "judged pairs" if grid.plan.table.task == "similarity" else "query words"
    told = [
        f"{direction} {asked:,.0f} ({absent:,.0f} not)"
        for block in grid.blocks()
        for direction in block.directions
        for asked, absent in (facts.coverage(grid, direction),)
        if asked
    ]
    return [f"Of the {what} of the test part could be asked, on average over seeds: {', '.join(told)}."] if told else []


def _missing(grid: Grid) -> list[str]:
    found = facts.missing(grid)
    if not found:
        return []
    lines = [f"- {pair}: {', '.join(f'`{name}`' for name in names)}" for pair, names in found.items()]
    return [f"Files that are not there ({where(grid.plan)}):", "", *lines]


def _failures(grid: Grid) -> list[str]:
    lines = [f"- {run.key.method} {run.key.pair} seed {run.key.seed}: {line}" for run, line in facts.failures(grid)]
    return ["Runs that did not come through:", "", *lines] if lines else []


def _timings(grid: Grid) -> list[str]:
    found = facts.timings(grid)
    if not found:
        return []
    lines = [_line(["method", "seconds a run", "runs", "on"]), _line(["---", "---:", "---:", "---"])]
    lines += [_line([each.method, f"{each.seconds:.1f}", str(each.runs), "; ".join(each.devices)]) for each in found]
    wrong, asked = facts.disagreements(grid)
    verdict = (
        "Seconds are those of both directions at once for unsupervised methods, their verdict included. That verdict, "
        f"which sees no lexicon, disagreed with the figures in {wrong} of {asked} runs and directions."
    )
    return ["## Time", "", *lines, "", verdict]


def _claims(grid: Grid) -> list[str]:
    found = claims(grid)
    if not found:
        return []
    lines = [
        line
        for claim in found
        for line in (f"- {claim.text}: **{claim.answer}**", *(f"  - {each}" for each in claim.evidence))
    ]
    return ["## What the paper claims, asked of these figures", "", *lines]
