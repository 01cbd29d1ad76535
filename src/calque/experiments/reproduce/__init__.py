"""The paper's tables, made again: every method on every pair, beside the published figures."""

from calque.experiments.jobs import Began, Broke, Ended, News, Note, Standing
from calque.experiments.reproduce.cells import Cell, Grid, Measure
from calque.experiments.reproduce.claims import Claim, claims
from calque.experiments.reproduce.entrants import METHODS, VARIANTS, Entrant
from calque.experiments.reproduce.latex import latex
from calque.experiments.reproduce.making import reproduce, write_table
from calque.experiments.reproduce.markdown import markdown
from calque.experiments.reproduce.plan import Plan, Request, make_plan
from calque.experiments.reproduce.record import as_csv, as_json
from calque.experiments.reproduce.running import Engine
from calque.experiments.reproduce.runs import Keep, Key, Making, Run, Score
from calque.experiments.reproduce.split import Halves, split
from calque.experiments.reproduce.tables import TABLES, Block, Table, find_table
from calque.experiments.reproduce.wording import terminal_rows

__all__ = [
    "METHODS",
    "TABLES",
    "VARIANTS",
    "Began",
    "Block",
    "Broke",
    "Cell",
    "Claim",
    "Ended",
    "Engine",
    "Entrant",
    "Grid",
    "Halves",
    "Keep",
    "Key",
    "Making",
    "Measure",
    "News",
    "Note",
    "Plan",
    "Request",
    "Run",
    "Score",
    "Standing",
    "Table",
    "as_csv",
    "as_json",
    "claims",
    "find_table",
    "latex",
    "make_plan",
    "markdown",
    "reproduce",
    "split",
    "terminal_rows",
    "write_table",
]
