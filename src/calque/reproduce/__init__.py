"""The paper's tables, made again: every method on every pair, beside the published figures."""

from calque.jobs import Began, Broke, Ended, News, Note, Standing
from calque.reproduce.cells import Cell, Grid, Measure
from calque.reproduce.claims import Claim, claims
from calque.reproduce.entrants import METHODS, VARIANTS, Entrant
from calque.reproduce.latex import latex
from calque.reproduce.making import reproduce, write_table
from calque.reproduce.markdown import markdown
from calque.reproduce.plan import Plan, Request, make_plan
from calque.reproduce.record import as_csv, as_json
from calque.reproduce.running import Engine
from calque.reproduce.runs import Keep, Key, Making, Run, Score
from calque.reproduce.split import Halves, split
from calque.reproduce.tables import TABLES, Block, Table, find_table
from calque.reproduce.wording import terminal_rows

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
