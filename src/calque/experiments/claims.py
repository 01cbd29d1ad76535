"""What the paper says of its Table 2 (section 4.3), asked of our own figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from calque.experiments.paper_tables import METHODS
from calque.experiments.report import Cell, Report
from calque.experiments.wording import plain

OURS = "paper"
RIVALS = ("conneau2017", "zhang2017")
SUPERVISED = tuple(method.name for method in METHODS if method.supervised and method.published)


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
        """yes, no, or not known yet."""
        return {True: "yes", False: "no", None: "not known yet"}[self.holds]


def claims(report: Report) -> tuple[Claim, ...]:
    """The claims that the paper makes of the table; none for other tables."""
    if report.plan.paper is None or report.plan.paper.table.name != "lex-z":
        return ()
    return (
        _claim(
            report,
            "its method is above both unsupervised rivals in every direction",
            RIVALS,
            lambda cells: _rank(cells, RIVALS) == 1,
            lambda held: all(held),
        ),
        _claim(
            report,
            "its method is best or second best beside the six supervised ones in at least half of the directions "
            "(in the paper: four of eight)",
            SUPERVISED,
            lambda cells: _rank(cells, SUPERVISED) <= 2,
            lambda held: 2 * sum(held) >= len(held),
        ),
    )


def _claim(
    report: Report,
    text: str,
    others: Sequence[str],
    holds: Callable[[Mapping[str, Cell]], bool],
    overall: Callable[[Sequence[bool]], bool],
) -> Claim:
    """A claim that is asked of each direction that has files; unknown while a method is not asked for or not done."""
    assert report.plan.paper is not None
    methods, missing = (OURS, *others), report.missing_files()
    absent = {way for pair in missing for way in report.plan.paper.table.directions(pair)}
    shown = {entrant.name for entrant in report.entrants}
    held: list[bool] = []
    evidence: list[str] = []
    unknown = False
    for direction in (way for block in report.blocks() for way in block.directions if way not in absent):
        cells = {name: report.cell(name, direction, report.measure) for name in methods}
        if not set(methods) <= shown or any(cell.pending for cell in cells.values()):
            unknown = True
            continue
        held.append(holds(cells))
        figures = "; ".join(f"{name} {plain(cell, 'translation')}" for name, cell in cells.items())
        evidence.append(f"{direction}: {'yes' if held[-1] else 'no'}: {figures}")
    return Claim(text, None if unknown or not held else overall(held), tuple(evidence))


def _rank(cells: Mapping[str, Cell], others: Sequence[str]) -> int:
    """1 if none of the others is as good. A method that always failed is below all others, and last if it is ours."""
    ours, means = cells[OURS].mean, [cells[name].mean for name in others]
    if ours is None:
        return len(others) + 1
    return 1 + sum(mean is not None and mean >= ours for mean in means)
