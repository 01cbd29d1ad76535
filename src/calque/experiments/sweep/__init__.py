"""Many runs by one plan: every pair, every recipe, every seed, and one table of what came out."""

from calque.experiments.sweep.making import NAMES, sweep, write_table
from calque.experiments.sweep.plan import Key, Pair, Plan, Wish, WordPairs, in_tiles
from calque.experiments.sweep.reading import read_plan
from calque.experiments.sweep.record import as_csv, as_json, cells, failures, head, markdown
from calque.experiments.sweep.table import Grid, Row
from calque.experiments.sweep.working import Lost

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
