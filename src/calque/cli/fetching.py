"""`calque data`. Nothing heavy is imported here: a list of files should not wait for torch."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calque.experiments.sources import (
    SHIPPED,
    Catalogue,
    Errand,
    File,
    Outcome,
    Patience,
    Standing,
    amount,
    fetch,
    read_catalogue,
    survey,
)
from calque.progress import Listen, Step

if TYPE_CHECKING:
    from calque.cli.commands.many import Data

WRONG = 2
PATIENCE = Patience()


def run(command: Data) -> int:
    """List what the tables need; with --fetch, bring what is missing first."""
    catalogue = read_catalogue(command.catalogue or SHIPPED)
    files = catalogue.needed(command.table, command.only)
    with _bars(command) as listen:
        standings = survey(files, command.data, command.check, listen)
        outcomes = _fetched(command, standings, listen) if command.fetch else {}
    if command.fetch:
        return _tell_fetched(command, catalogue, standings, outcomes)
    _tell(command, catalogue, standings)
    return 0


def _fetched(command: Data, standings: Sequence[Standing], listen: Listen) -> dict[str, Outcome]:
    """What became of every file that had to be fetched, by path; a line each, as it happens."""
    wanted = [each for each in standings if each.state != "present" and each.file.url]
    command.say(f"{_files(wanted)} to fetch" if wanted else "nothing to fetch")
    if not wanted:
        return {}
    outcomes = {}
    fetched = fetch([each.file for each in wanted], Errand(command.data, PATIENCE, listen))
    for standing, outcome in zip(wanted, fetched, strict=True):
        outcomes[outcome.file.path] = outcome
        if outcome.error:
            print(f"calque: {outcome.file.path} {_lack(standing)}: {outcome.error}", file=sys.stderr)
        elif not command.json:
            print(f"fetched {outcome.file.path}: {amount(outcome.size)}, SHA-256 {outcome.sha256}", flush=True)
    return outcomes


def _lack(standing: Standing) -> str:
    if standing.state == "substituted":
        return f"is missing ({standing.found} serves in its place)"
    return f"is {standing.state}"


def _tell_fetched(
    command: Data, catalogue: Catalogue, standings: Sequence[Standing], outcomes: dict[str, Outcome]
) -> int:
    """What is still missing, and the exit code that says so."""
    by_hand = [each for each in standings if each.by_hand]
    for line in _by_hand(by_hand):
        print(f"calque: {line}", file=sys.stderr)
    errors = {path: each.error for path, each in outcomes.items() if each.error}
    if command.json:
        after = [_after(each, outcomes.get(each.file.path)) for each in standings]
        _print_json(command, catalogue, after, errors)
    there = len(standings) - len(errors) - len(by_hand)
    command.say(f"{there} of {len(standings)} files are there")
    return WRONG if errors or by_hand else 0


def _after(standing: Standing, outcome: Outcome | None) -> Standing:
    if outcome is None or outcome.error:
        return standing
    return replace(standing, state="present", found=standing.file.path, size=outcome.size, begun=0, reason="")


def _by_hand(missing: Sequence[Standing]) -> Iterator[str]:
    """One line for all files that take the same work."""
    for source in dict.fromkeys(each.file.source for each in missing):
        paths = [each.file.path for each in missing if each.file.source == source]
        named = ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
        verb = "is" if len(paths) == 1 else "are"
        yield f"{named} {verb} missing, and no program can fetch that: {source.by_hand}; see {source.page}"


def _tell(command: Data, catalogue: Catalogue, standings: Sequence[Standing]) -> None:
    if command.json:
        _print_json(command, catalogue, standings, {})
        return
    _print_tables(command, catalogue, standings)
    for source in dict.fromkeys(each.file.source for each in standings):
        print(f"\n{source.title}\n  licence: {source.licence}; {source.page}")
        _print_rows([_row(each) for each in standings if each.file.source == source])
        if any(each.by_hand for each in standings if each.file.source == source):
            print(f"  by hand: {source.by_hand}")
    for absent in catalogue.never(command.table) if not command.only else ():
        print(f"\nnot to be had: {absent.name}\n  {absent.reason}")
    _hint(command, standings)


def _print_tables(command: Data, catalogue: Catalogue, standings: Sequence[Standing]) -> None:
    rows = []
    for table in catalogue.chosen(command.table):
        needed = [each for each in standings if table in each.file.tables]
        there = sum(each.state in ("present", "substituted") for each in needed)
        rows.append([table, f"{there} of {len(needed)} files", catalogue.tables[table]])
    _print_rows(rows, "")


def _row(standing: Standing) -> list[str]:
    """State, size, path, and what else there is to say."""
    file = standing.file
    words = {"missing": file.url, "damaged": standing.reason, "substituted": f"by {standing.found}; {file.url}"}
    extra = words.get(standing.state, "" if standing.found == file.path else f"as {standing.found}")
    begun = f"({amount(standing.begun)} of it begun)" if standing.begun else ""
    licence = f"[{file.licence}]" if file.licence != file.source.licence else ""
    state = "by hand" if standing.by_hand and standing.state == "missing" else standing.state
    return [state, _size(standing), file.path, " ".join(each for each in (extra, begun, licence) if each)]


def _size(standing: Standing) -> str:
    """Of what is there; of what is missing, as far as it is known."""
    if standing.state in ("present", "damaged") and standing.size is not None:
        return amount(standing.size)
    file = standing.file
    return f"{'' if file.size is not None else 'about '}{amount(_expected(file))}" if _expected(file) else "?"


def _expected(file: File) -> int:
    return file.size or file.about or 0


def _print_rows(rows: Sequence[Sequence[str]], indent: str = "  ") -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print((indent + "  ".join(cells)).rstrip())


def _hint(command: Data, standings: Sequence[Standing]) -> None:
    wanted = [each for each in standings if each.state != "present" and each.file.url]
    if wanted:
        words = ["calque", "data", *([command.table] if command.table else []), "--data", str(command.data), "--fetch"]
        words += ["--only", command.only] if command.only else []
        words += ["--catalogue", str(command.catalogue)] if command.catalogue else []
        command.say(f"{_files(wanted)} can be fetched: {shlex.join(words)}")


def _files(wanted: Sequence[Standing]) -> str:
    """How many files, and how much of them is still to come as far as that is known."""
    left = sum(max(0, _expected(each.file) - each.begun) for each in wanted)
    number = "1 file" if len(wanted) == 1 else f"{len(wanted)} files"
    return f"{number} (about {amount(left)})" if left else number


def _print_json(command: Data, catalogue: Catalogue, standings: Sequence[Standing], errors: dict[str, str]) -> None:
    tables = {each: catalogue.tables[each] for each in catalogue.chosen(command.table)}
    told: dict[str, Any] = {"data": str(command.data), "tables": tables}
    told["files"] = [_as_json(each, errors.get(each.file.path, "")) for each in standings]
    absent = catalogue.never(command.table)
    told["not to be had"] = [{"name": each.name, "tables": each.tables, "reason": each.reason} for each in absent]
    print(json.dumps(told, ensure_ascii=True))


def _as_json(standing: Standing, error: str) -> dict[str, Any]:
    file = standing.file
    return {
        "path": file.path,
        "tables": file.tables,
        "state": standing.state,
        "found": standing.found or None,
        "bytes": standing.size,
        "begun": standing.begun,
        "reason": standing.reason or None,
        "error": error or None,
        "size": file.size,
        "about": file.about,
        "sha256": file.sha256 or None,
        "licence": file.licence,
        "source": file.source.title,
        "page": file.source.page,
        "url": file.url or None,
        "by hand": file.source.by_hand or None,
    }


@contextmanager
def _bars(command: Data) -> Iterator[Listen]:
    """A listener that draws a bar for each file on a terminal, and tells of trouble in a line anywhere."""
    if command.quiet or not sys.stderr.isatty():
        yield _Plain(command).hear
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(
        *(*columns, TransferSpeedColumn(), TimeRemainingColumn()),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=sys.stdout.isatty(),  # results that go to a file must not end on the terminal
    ) as progress:
        yield _Drawing(progress).hear


class _Plain:
    def __init__(self, command: Data) -> None:
        self.command = command
        self.begun = set[str]()

    def hear(self, step: Step) -> None:
        if "trouble" in step.values:
            self.command.say(f"{step.stage}: {step.values['trouble']}")
        elif step.stage not in self.begun and step.values.get("doing") == "fetching":
            self.begun.add(step.stage)
            self.command.say(f"fetching {step.stage}" + (f", {amount(step.total)}" if step.total else ""))


class _Drawing:
    def __init__(self, progress: Any) -> None:
        self.progress, self.tasks = progress, dict[tuple[str, str], Any]()

    def hear(self, step: Step) -> None:
        if "trouble" in step.values:
            self.progress.console.print(
                f"calque: {step.stage}: {step.values['trouble']}", markup=False, highlight=False
            )
            return
        doing = str(step.values.get("doing", "fetching"))
        if (step.stage, doing) not in self.tasks:
            for task in self.tasks.values():
                self.progress.update(task, visible=False)
            told = f"{doing} {step.stage}"
            self.tasks[step.stage, doing] = self.progress.add_task(told, completed=step.number, total=None)
        self.progress.update(self.tasks[step.stage, doing], completed=step.number, total=step.total or None)
