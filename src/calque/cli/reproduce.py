"""`calque reproduce`: a table of the paper made again, or the table of texts carried across."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from calque.cli.common import BUG, DONE, INTERRUPTED, Device, Number, Reads, check_texts_extra
from calque.cli.terminal import interruptible, print_json, print_table
from calque.errors import SettingsError

if TYPE_CHECKING:
    from calque.experiments.plan import ExperimentPlan
    from calque.experiments.report import Report

COLUMNS = 4
"""How many directions fit beside each other on a terminal."""


@dataclass(frozen=True, kw_only=True)
class Reproduce(Reads):
    """Make a table again, our figures beside the published ones; finished runs are never repeated."""

    table: Annotated[Positional[str], arg(metavar="TABLE")]
    """lex-z, lex-c, similarity or ablation of the paper; sib: texts classified across languages."""
    data: Annotated[Path, arg(metavar="DIR")]
    """Vectors and lexicons; 'calque data' lists what belongs there."""
    output: Annotated[Path, arg(aliases=["-o"], metavar="DIR")]
    """Where tables and finished runs go; one that was begun there goes on."""
    pairs: Annotated[str, arg(metavar="PAIR,…")] = ""
    """Language pairs, such as es-en,it-en; all of the table without it."""
    methods: Annotated[str, arg(metavar="METHOD,…")] = ""
    """Methods, such as paper,default; all of the table without it."""
    seeds: Number = None
    """How many runs a method has, 3 without it, of sib 5; each seed also splits the lexicon anew, where it is split."""
    lexicon: Literal["muse", "omw"] = "muse"
    """What lex-z and ablation are judged by; the other tables have muse alone."""
    retrieval: Literal["nn", "csls"] = "nn"
    """What the table shows; both are measured, and the paper used nn."""
    device: Device = "auto"
    """auto takes the GPU where there is one."""
    workers: Number = None
    """So many runs at once, by Ray; 0, or nothing: one after the other in this process."""
    address: Annotated[str, arg(metavar="HOST:PORT")] = ""
    """A Ray cluster to run on instead of this machine; 'auto' for the one that this machine belongs to."""
    retries: int = 2
    """How often a run whose worker died is tried again, where there are workers."""

    def run(self) -> int:
        """Run what is missing, print the table."""
        from calque.cli.watching import watching
        from calque.experiments.backends import BackendOptions
        from calque.experiments.driver import run_plan

        workers = 0 if self.workers is None and not self.address else self.workers
        options = BackendOptions(workers, self.address, self.retries)
        plan = self.plan()
        message = "leaving after this step, with what is finished"
        with interruptible(message) as stopped, watching(self, self.table) as watcher:
            report = run_plan(plan, self.output, options, watcher.hear, watcher.listen, stopped)
        for lost in report.lost.values():
            if lost.unreadable:
                raise lost.error
        self._print(report)
        if stopped():
            return INTERRUPTED
        return BUG if report.lost else DONE

    def plan(self) -> ExperimentPlan:
        """The runs of the table."""
        from calque.experiments.paper_plan import PaperRequest, paper_plan
        from calque.experiments.text_plan import NAME, SEEDS, TextRequest, text_plan

        pairs, methods, cache = self._names("pairs"), self._names("methods"), not self.no_cache
        if self.table == NAME:
            check_texts_extra()
            seeds = SEEDS if self.seeds is None else self.seeds
            return text_plan(TextRequest(self.data, pairs, methods, seeds, self.device, self.as_typed(), cache))
        seeds = PaperRequest.seeds if self.seeds is None else self.seeds
        named = self.lexicon, self.retrieval, self.device, self.as_typed(), cache
        return paper_plan(PaperRequest(self.table, self.data, pairs, methods, seeds, *named))

    def _names(self, option: str) -> tuple[str, ...] | None:
        """'es-en,it-en' as names; None for all."""
        text = getattr(self, option)
        names = tuple(name.strip() for name in text.split(",") if name.strip())
        if text and not names:
            raise SettingsError(f"--{option} is {text!r}; expected names separated by commas, or leave it out for all")
        return names or None

    def as_typed(self) -> str:
        """The command that makes this table, as one would type it."""
        words = ["calque", "reproduce", self.table, "--data", str(self.data)]
        for option in ("pairs", "methods", "seeds", "lexicon", "retrieval", "device"):
            value = getattr(self, option)
            if value != type(self).__dataclass_fields__[option].default:
                words += [f"--{option}", str(value)]
        return shlex.join([*words, "-o", str(self.output)])

    def _print(self, report: Report) -> None:
        """The table, some columns at a time, and the claims."""
        from calque.experiments.claims import claims
        from calque.experiments.render import as_json, file_names, is_of_texts
        from calque.experiments.render_paper import terminal_rows
        from calque.experiments.render_texts import text_rows

        if self.json:
            print_json(as_json(report))
            return
        if is_of_texts(report):
            print_table(text_rows(report))
        for block in () if is_of_texts(report) else report.blocks():
            print(block.title)
            for first in range(0, len(block.directions), COLUMNS):
                print_table(terminal_rows(report, block.directions[first : first + COLUMNS]))
                print()
        for claim in claims(report):
            print(f"{claim.text}: {claim.answer}")
        print(f"tables: {', '.join(str(self.output / name) for name in file_names(report))}")
