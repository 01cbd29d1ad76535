"""Many runs by one plan: every pair, every recipe, every seed, and one table of what came out."""

from calque.sweep.making import NAMES, sweep, write_table
from calque.sweep.plan import Key, Pair, Plan, Wish, WordPairs, in_tiles
from calque.sweep.reading import read_plan
from calque.sweep.record import as_csv, as_json, cells, failures, head, markdown
from calque.sweep.table import Grid, Row
from calque.sweep.working import Lost

__all__ = [
    "NAMES",
    "Grid",
    "Key",
    "Lost",
    "Pair",
    "Plan",
    "Row",
    "Wish",
    "WordPairs",
    "as_csv",
    "as_json",
    "cells",
    "failures",
    "head",
    "in_tiles",
    "markdown",
    "read_plan",
    "sweep",
    "write_table",
]
