"""`calque plot`, and the pictures that `calque demo` leaves."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from calque.cli import show
from calque.cli.families import alignment_in
from calque.cli.judging import gold
from calque.errors import RunError
from calque.runs import folder as store
from calque.show.figures import Drawn, draw

if TYPE_CHECKING:
    from calque.cli.commands import Plot


def run(command: Plot) -> int:
    """Draw all pictures, then write them."""
    alignment = alignment_in(command.folder, command.pair)
    lexicon = None if command.lexicon is None else gold(command, command.lexicon)
    drawn = draw(
        alignment, _named(command.figures), _named(command.format), _named(command.words), lexicon, command.width
    )
    folder = command.output or command.folder / "figures"
    files = write(drawn, folder, replacing=command.output is None or command.overwrite)
    command.say(*drawn.notes, *(f"left out {name}: {why}" for name, why in drawn.left_out.items()))
    if command.json:
        show.as_json(
            {"figures": {name: list(map(str, each)) for name, each in files.items()}, "left_out": drawn.left_out}
        )
    else:
        for each in files.values():
            print("\n".join(map(str, each)))
    return 0


def write(drawn: Drawn, folder: Path, replacing: bool) -> dict[str, list[Path]]:
    """Every picture as a file, none before it is clear that all can be written."""
    files = {name: {form: folder / f"{name}.{form}" for form in each} for name, each in drawn.pictures.items()}
    made = not os.path.lexists(folder)
    try:
        there = [path for each in files.values() for path in each.values() if path.exists()]
        if there and not replacing:
            raise RunError(f"{there[0]}: is already there; choose another folder, or pass --overwrite to replace it")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{folder}: cannot be written: {error.strerror}; choose another folder with -o") from error
    written: list[Path] = []
    try:
        for name, by_format in files.items():
            for form, path in by_format.items():
                store.write_bytes(path, drawn.pictures[name][form])
                written.append(path)
    except RunError:
        _take_back(folder if made else None, [each for each in written if each not in there])
        raise
    return {name: list(each.values()) for name, each in files.items()}


def _take_back(folder: Path | None, files: list[Path]) -> None:
    """What this command has made: some of the pictures are no use."""
    for each in files:
        each.unlink(missing_ok=True)
    if folder is not None:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _named(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]
