"""`calque align-many`, and how the other commands open what it made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from calque.cli import live, show
from calque.data.formats import bare_name, read, write
from calque.data.space import Space
from calque.errors import RunError, SettingsError
from calque.recipes import check_names, find, run_many
from calque.runs import folder as store
from calque.runs.alignment import Alignment
from calque.runs.family import Family, is_family

if TYPE_CHECKING:
    from calque.cli.commands import AlignMany, Export

FAILED, INTERRUPTED = 3, 130


def run(command: AlignMany) -> int:
    """Read all files, align them, write the run folder, print the verdicts."""
    store.check_free(command.output, command.overwrite)
    recipe, files = find(command.recipe), named_files(command.files)
    if command.into and command.into not in files:
        raise SettingsError(f"--into is {command.into!r}, which names no file; there are: {', '.join(files)}")
    spaces = {name: _read(command, name, path) for name, path in files.items()}
    with live.interruptible() as stopped:
        with live.bars(not command.quiet) as listen:
            family = run_many(recipe, spaces, command.seed, command.device, listen, stopped, command.into)
        family.save(command.output, command.overwrite)
    _tell(command, family)
    if family.record.interrupted:
        return INTERRUPTED
    return FAILED if family.verdict.label == "failed" else 0


def named_files(given: tuple[str, ...]) -> dict[str, Path]:
    """Each file by the name that was given to it, or by its own."""
    files: dict[str, Path] = {}
    for each in given:
        name, path = _named(each)
        if name in files:
            raise SettingsError(
                f"{path}: is called {name!r}, and so is {files[name]}; name one of them otherwise, as in {name}2={path}"
            )
        files[name] = path
    check_names(list(files))
    return files


def _named(given: str) -> tuple[str, Path]:
    name, sign, rest = given.partition("=")
    if sign and not Path(given).exists():
        return name, Path(rest)
    return bare_name(given), Path(given)


def _read(command: AlignMany, name: str, path: Path) -> Space:
    reading = read(path, limit=command.limit, cache=not command.no_cache)
    command.say(*(f"{path}: {note}" for note in (*reading.notes, *reading.remarks)))
    if command.verbose:
        command.say(f"{name}: {len(reading.space)} words of {reading.space.dimension} dimensions ({path})")
    return reading.space


def _tell(command: AlignMany, family: Family) -> None:
    pairs = {"-".join(pair): each for pair, each in family.relations.items()}
    if command.json:
        told = {
            name: {"verdict": each.verdict.label, "found": each.found, "reasons": list(each.verdict.reasons)}
            for name, each in pairs.items()
        }
        round_trips = {"-".join(each): share for each, share in family.triangles.items()}
        show.as_json(
            {
                "run": str(command.output),
                "verdict": family.verdict.label,
                "languages": list(family.names),
                "left_out": list(family.left_out),
                "pairs": told,
                "triangles": round_trips,
                "notes": list(family.record.notes),
                "interrupted": family.record.interrupted,
                "seconds": family.record.seconds,
            }
        )
        return
    found = {"direct": "by its own search", "others": "by way of other languages", "alone": "not connected"}
    show.table(
        [["pair", "verdict", "found"], *([name, each.verdict.label, found[each.found]] for name, each in pairs.items())]
    )
    print(f"verdict: {family.verdict.label}")
    for line in (*family.verdict.reasons, *family.record.notes):
        print(f"  {line}")
    print(f"run: {command.output}")


def alignment_in(folder: Path, pair: str) -> Alignment:
    """The alignment of a run folder: the only one, or that of two languages of a family."""
    if not is_family(folder):
        if pair:
            raise RunError(f"{folder}: holds one pair already; leave --pair out")
        return Alignment.load(folder)
    family = Family.load(folder)
    if not pair:
        raise SettingsError(
            f"{folder}: holds {', '.join(family.names)}; name two of them, such as --pair {'-'.join(family.names[:2])}"
        )
    return family.pair(*family.named_pair(pair))


def export(command: Export, name: str, suffix: str) -> int:
    """Every language of a family in the shared space, in a folder that appears whole."""
    family = Family.load(command.folder)
    if family.verdict.label != "aligned":
        command.say(f"the verdict on this run is {family.verdict.label}: {'; '.join(family.verdict.reasons)}")
    languages = [each for each in family.names if each not in family.left_out]
    if not languages:
        raise RunError(f"{command.folder}: no language shares a space with another; there is nothing to export")
    with store.whole_folder(command.output, command.overwrite, mark="export.json") as folder:
        for each in languages:
            write(family.shared(each), folder / f"{each}{suffix}", format=name)
        told = {"run": str(command.folder), "languages": languages, "into": family.into}
        store.write_json(folder / "export.json", told | {"verdict": family.verdict.label})
    files = [str(command.output / f"{each}{suffix}") for each in languages]
    if command.json:
        show.as_json({"files": files, "words": [len(family.spaces[each]) for each in languages]})
    else:
        print("\n".join(files))
    return 0
