"""`calque data`: what the paper's tables need. Nothing here imports torch: a list of files should not wait for it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from calque.cli.common import DONE, WRONG_INPUT, Common
from calque.cli.terminal import open_bars, print_json, visible
from calque.experiments.sources.catalogue import SHIPPED, Catalogue, DataFile, read_catalogue
from calque.experiments.sources.download import Patience
from calque.experiments.sources.fetch import DownloadResult, FetchOptions, fetch
from calque.experiments.sources.state import FileState, amount, survey
from calque.progress import Listen, Step

PATIENCE = Patience()


@dataclass(frozen=True, kw_only=True)
class Data(Common):
    """List what the paper's tables need, where it is published and what of it is there; fetch what is missing."""

    table: Annotated[Positional[str], arg(metavar="TABLE")] = ""
    """lex-z, lex-c, similarity or ablation; all of them without it."""
    data: Annotated[Path, arg(metavar="DIR")]
    """The folder where the data is or shall be."""
    fetch: bool = False
    """Download what is missing; what an earlier fetch has begun is continued."""
    check: bool = False
    """Compare the SHA-256 sums of what is there, not only sizes."""
    only: Annotated[str, arg(metavar="SUBSTRING")] = ""
    """Only files with this in their path, such as wiki.es or muse."""
    catalogue: Annotated[Path | None, arg(metavar="FILE")] = None
    """A catalogue of your own instead of the shipped one."""

    def run(self) -> int:
        """List what the tables need; with --fetch, bring what is missing first."""
        catalogue = read_catalogue(self.catalogue or SHIPPED)
        files = catalogue.needed(self.table, self.only)
        with _bars(self) as listen:
            states = survey(files, self.data, self.check, listen)
            results = _fetch(self, states, listen) if self.fetch else {}
        if self.fetch:
            return _report_fetched(self, catalogue, states, results)
        if self.json:
            _print_json(self, catalogue, states, {})
        else:
            _print_list(self, catalogue, states)
        return DONE


def _fetch(command: Data, states: Sequence[FileState], listen: Listen) -> dict[str, DownloadResult]:
    """What became of every file that had to be fetched, by path; prints a line for each as it happens."""
    wanted = [state for state in states if state.state != "present" and state.file.url]
    command.say(f"{_size_of_all(wanted)} to fetch" if wanted else "nothing to fetch")
    if not wanted:
        return {}
    results = {}
    options = FetchOptions(command.data, PATIENCE, listen)
    for state, result in zip(wanted, fetch([state.file for state in wanted], options), strict=True):
        results[result.file.path] = result
        if result.error:
            lack = f"is {state.state}"
            if state.state == "substituted":
                lack = f"is missing ({state.present} serves in its place)"
            print(f"calque: {result.file.path} {lack}: {result.error}", file=sys.stderr)
        elif not command.json:
            print(f"fetched {result.file.path}: {amount(result.size)}, SHA-256 {result.sha256}", flush=True)
    return results


def _report_fetched(
    command: Data, catalogue: Catalogue, states: Sequence[FileState], results: dict[str, DownloadResult]
) -> int:
    """Say what is still missing; the exit code says it too."""
    by_hand = [state for state in states if state.by_hand]
    for source in dict.fromkeys(state.file.source for state in by_hand):
        paths = [state.file.path for state in by_hand if state.file.source == source]
        named = ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
        verb = "is" if len(paths) == 1 else "are"
        print(
            f"calque: {named} {verb} missing, and no program can fetch that: {source.by_hand}; see {source.page}",
            file=sys.stderr,
        )
    errors = {path: result.error for path, result in results.items() if result.error}
    if command.json:
        after = []
        for state in states:
            path = state.file.path
            if path in results and path not in errors:
                size = results[path].size
                state = replace(state, state="present", present=path, size=size, begun=0, reason="")
            after.append(state)
        _print_json(command, catalogue, after, errors)
    there = len(states) - len(errors) - len(by_hand)
    command.say(f"{there} of {len(states)} files are there")
    return WRONG_INPUT if errors or by_hand else DONE


def _print_list(command: Data, catalogue: Catalogue, states: Sequence[FileState]) -> None:
    rows = []
    for table in catalogue.chosen(command.table):
        needed = [state for state in states if table in state.file.tables]
        there = sum(state.state in ("present", "substituted") for state in needed)
        rows.append([table, f"{there} of {len(needed)} files", catalogue.tables[table]])
    _print_rows(rows, "")
    for source in dict.fromkeys(state.file.source for state in states):
        members = [state for state in states if state.file.source == source]
        print(f"\n{source.title}\n  licence: {source.licence}; {source.page}")
        _print_rows([_row(state) for state in members])
        if any(state.by_hand for state in members):
            print(f"  by hand: {source.by_hand}")
    for absent in catalogue.never(command.table) if not command.only else ():
        print(f"\nnot to be had: {absent.name}\n  {absent.reason}")
    wanted = [state for state in states if state.state != "present" and state.file.url]
    if wanted:
        words = ["calque", "data", *([command.table] if command.table else []), "--data", str(command.data), "--fetch"]
        words += ["--only", command.only] if command.only else []
        words += ["--catalogue", str(command.catalogue)] if command.catalogue else []
        command.say(f"{_size_of_all(wanted)} can be fetched: {shlex.join(words)}")


def _row(state: FileState) -> list[str]:
    """State, size, path, and what else there is to say."""
    file = state.file
    extras = {"missing": file.url, "damaged": state.reason, "substituted": f"by {state.present}; {file.url}"}
    extra = extras.get(state.state, "" if state.present == file.path else f"as {state.present}")
    begun = f"({amount(state.begun)} of it begun)" if state.begun else ""
    licence = f"[{file.licence}]" if file.licence != file.source.licence else ""
    name = "by hand" if state.by_hand and state.state == "missing" else state.state
    # The size of what is there; of what is missing, as far as it is known.
    size = "?"
    if state.state in ("present", "damaged") and state.size is not None:
        size = amount(state.size)
    elif _expected(file):
        size = f"{'' if file.size is not None else 'about '}{amount(_expected(file))}"
    return [name, size, file.path, " ".join(text for text in (extra, begun, licence) if text)]


def _expected(file: DataFile) -> int:
    return file.size or file.about or 0


def _print_rows(rows: Sequence[Sequence[str]], indent: str = "  ") -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print((indent + "  ".join(cells)).rstrip())


def _size_of_all(wanted: Sequence[FileState]) -> str:
    """How many files, and how much of them is still to come as far as that is known."""
    left = sum(max(0, _expected(state.file) - state.begun) for state in wanted)
    number = "1 file" if len(wanted) == 1 else f"{len(wanted)} files"
    return f"{number} (about {amount(left)})" if left else number


def _print_json(command: Data, catalogue: Catalogue, states: Sequence[FileState], errors: dict[str, str]) -> None:
    absent = catalogue.never(command.table)
    value: dict[str, Any] = {
        "data": str(command.data),
        "tables": {name: catalogue.tables[name] for name in catalogue.chosen(command.table)},
        "files": [_as_json(state, errors.get(state.file.path, "")) for state in states],
        "not to be had": [{"name": file.name, "tables": file.tables, "reason": file.reason} for file in absent],
    }
    print_json(value)


def _as_json(state: FileState, error: str) -> dict[str, Any]:
    file = state.file
    return {
        "path": file.path,
        "tables": file.tables,
        "state": state.state,
        "found": state.present or None,
        "bytes": state.size,
        "begun": state.begun,
        "reason": state.reason or None,
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
    """Hears steps: draws a bar for each file on a terminal; elsewhere, prints lines about begins and trouble."""
    begun = set[str]()
    tasks: dict[tuple[str, str], Any] = {}

    def say(step: Step) -> None:
        if "trouble" in step.values:
            command.say(f"{step.stage}: {step.values['trouble']}")
        elif step.stage not in begun and step.values.get("doing") == "fetching":
            begun.add(step.stage)
            command.say(f"fetching {step.stage}" + (f", {amount(step.total)}" if step.total else ""))

    # Results that go to a file must not end on the terminal.
    with open_bars(not command.quiet, *_bar_columns(), redirect_stdout=sys.stdout.isatty()) as bars:
        if bars is None:
            yield say
            return

        def draw(step: Step) -> None:
            if "trouble" in step.values:
                bars.console.print(
                    visible(f"calque: {step.stage}: {step.values['trouble']}"), markup=False, highlight=False
                )
                return
            doing = str(step.values.get("doing", "fetching"))
            if (step.stage, doing) not in tasks:
                for task in tasks.values():
                    bars.update(task, visible=False)
                tasks[step.stage, doing] = bars.add_task(f"{doing} {step.stage}", completed=step.number, total=None)
            bars.update(tasks[step.stage, doing], completed=step.number, total=step.total or None)

        yield draw


def _bar_columns() -> tuple[Any, ...]:
    if not sys.stderr.isatty():
        return ()
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    text = TextColumn("{task.description}")
    return text, BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()
