"""`calque align`."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

from calque.cli import exploring, live, show
from calque.data.formats import read
from calque.data.lexicon import Lexicon, read_lexicon
from calque.data.space import Space
from calque.errors import RunError, SettingsError
from calque.recipes import Recipe, find, forget
from calque.recipes import run as run_recipe
from calque.runs import folder as store
from calque.runs.alignment import Alignment

if TYPE_CHECKING:
    from calque.cli.commands import Align, Common

FAILED, INTERRUPTED = 3, 130


def run(command: Align) -> int:
    """Read both files, align them, write the run folder, print the verdict."""
    store.check_free(command.output, command.overwrite)
    recipe = find(command.recipe)
    lexicon = _lexicon(command, recipe)
    began = time.monotonic()
    source = _read(command, command.source, command.source_counts)
    target = _read(command, command.target, command.target_counts)
    reading = time.monotonic() - began
    checkpoint = _checkpoint(command) if recipe.resumes else None
    with exploring.watched(command) as stage:
        with live.interruptible() as stopped:
            with live.bars(not command.quiet) as bars:
                listen = exploring.both(bars, stage)
                alignment = run_recipe(
                    recipe, source, target, command.seed, command.device, listen, stopped, lexicon, checkpoint
                )
            alignment.save(command.output, command.overwrite)
        if checkpoint is not None and alignment.record.interrupted:
            command.say(f"interrupted: {checkpoint} stays; the same command with --overwrite goes on from it")
        elif checkpoint is not None:
            forget(checkpoint)
        tell(command, alignment, command.output, reading)
        exploring.stay(command, stage, command.output)
    return exit_code(alignment)


def tell(command: Common, alignment: Alignment, output: Path, reading: float) -> None:
    """The verdict and where the run is."""
    if command.json:
        show.as_json(
            {
                "run": str(output),
                "verdict": alignment.verdict.label,
                "evidence": dict(alignment.verdict.evidence),
                "reasons": list(alignment.verdict.reasons),
                "notes": list(alignment.record.notes),
                "seconds": {"read": round(reading, 3), **alignment.record.seconds},
            }
        )
        return
    show.verdict(alignment)
    print(f"run: {output}")
    if alignment.verdict.label != "failed":
        word = alignment.source.words[min(99, len(alignment.source) - 1)]
        command.say(f"now try: calque translate {shlex.quote(str(output))} {shlex.quote(word)}")


def exit_code(alignment: Alignment) -> int:
    """130 where it was interrupted, 3 where it failed, 0 otherwise."""
    if alignment.record.interrupted:
        return INTERRUPTED
    return FAILED if alignment.verdict.label == "failed" else 0


def _checkpoint(command: Align) -> Path:
    """Where training leaves its state: beside the run folder."""
    place = command.output.resolve()
    checkpoint = place.with_name(f"{place.name}.checkpoint")
    if checkpoint.exists() and not checkpoint.is_dir():
        raise RunError(
            f"{checkpoint}: is not a folder, but training keeps its state there; rename it, or choose another -o"
        )
    if any(checkpoint.glob("*.state")):
        command.say(f"{checkpoint}: is there from an earlier run; if that was the same, this one goes on from it")
    return checkpoint


def _lexicon(command: Align, recipe: Recipe) -> Lexicon | None:
    """The pairs to learn from; asked for, or refused, before anything large is read."""
    if command.lexicon is None and recipe.supervised:
        raise SettingsError(f"the recipe {recipe.name!r} learns from word pairs; pass them with --lexicon FILE")
    if command.lexicon is None:
        return None
    if not recipe.supervised:
        raise SettingsError(f"--lexicon was given, but the recipe {recipe.name!r} learns from no lexicon; leave it out")
    reading = read_lexicon(command.lexicon)
    command.say(*reading.notes)
    return reading.lexicon


def _read(command: Align, path: Path, counts: Path | None) -> Space:
    reading = read(path, limit=command.limit, counts=counts, cache=not command.no_cache)
    command.say(*(f"{path}: {note}" for note in (*reading.notes, *reading.remarks)))
    if command.verbose:
        command.say(f"{path}: {len(reading.space)} words of {reading.space.dimension} dimensions ({reading.format})")
    return reading.space
