"""What the paper says of its Table 2 (section 4.3), asked of our own figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from calque.experiments.reproduce.cells import Cell, Grid, Measure
from calque.experiments.reproduce.entrants import METHODS
from calque.experiments.reproduce.wording import plain

OURS = "paper"
RIVALS = ("conneau2017", "zhang2017")
SUPERVISED = tuple(each.name for each in METHODS if each.supervised and each.published)


@dataclass(frozen=True)
class Claim:
    """A claim, whether it holds here, and by which numbers."""

    text: str
    holds: bool | None
    """None as long as cells are missing."""
    evidence: tuple[str, ...]
    """A line for each direction."""

    @property
    def answer(self) -> str:
        """yes, no, or that it cannot be told yet."""
        return {True: "yes", False: "no", None: "not known yet"}[self.holds]


Standings = Mapping[str, Cell]
"""By method, its cell in one direction."""


def claims(grid: Grid) -> tuple[Claim, ...]:
    """The claims that the paper makes of the table; none for other tables."""
    if grid.plan.table.name != "lex-z":
        return ()
    return (_above_rivals(grid), _competitive(grid))


def _above_rivals(grid: Grid) -> Claim:
    return _claim(
        grid,
        "its method is above both unsupervised rivals in every direction",
        RIVALS,
        lambda cells: _rank(cells, RIVALS) == 1,
        lambda held: all(held),
    )


def _competitive(grid: Grid) -> Claim:
    return _claim(
        grid,
        "its method is best or second best beside the six supervised ones in at least half of the directions "
        "(in the paper: four of eight)",
        SUPERVISED,
        lambda cells: _rank(cells, SUPERVISED) <= 2,
        lambda held: 2 * sum(held) >= len(held),
    )


def _claim(
    grid: Grid,
    text: str,
    others: Sequence[str],
    holds: Callable[[Standings], bool],
    overall: Callable[[Sequence[bool]], bool],
) -> Claim:
    """A claim that is asked of each direction for which there are files."""
    held: list[bool] = []
    evidence: list[str] = []
    unknown = False
    for direction in _directions(grid):
        cells = _standings(grid, (OURS, *others), direction)
        unknown |= cells is None
        if cells is not None:
            held.append(holds(cells))
            evidence.append(f"{direction}: {'yes' if held[-1] else 'no'}: {_told(cells)}")
    return Claim(text, None if unknown or not held else overall(held), tuple(evidence))


def _directions(grid: Grid) -> list[str]:
    """The columns that have files, for supervised and unsupervised methods alike."""
    columns = [direction for block in grid.blocks() for direction in block.directions]
    absent = {each for pair in grid.plan.pairs if grid.plan.missing(pair) for each in grid.plan.table.directions(pair)}
    return [each for each in columns if each not in absent]


def _standings(grid: Grid, methods: Sequence[str], direction: str) -> Standings | None:
    """The cells of all these methods, or None as long as one of them is not asked for or not finished."""
    rows = {each.name: each for each in grid.plan.entrants}
    if not set(methods) <= set(rows):
        return None
    cells = {name: grid.cell(rows[name], direction, Measure(grid.plan.request.retrieval)) for name in methods}
    return None if any(cell.pending for cell in cells.values()) else cells


def _rank(cells: Standings, others: Sequence[str]) -> int:
    """1 where none of the others is as good; a method that always failed is below all, and last if it is ours."""
    ours, means = cells[OURS].mean, [cells[name].mean for name in others]
    if ours is None:
        return len(others) + 1
    return 1 + sum(mean is not None and mean >= ours for mean in means)


def _told(cells: Standings) -> str:
    return "; ".join(f"{name} {plain(cell, 'translation')}" for name, cell in cells.items())
