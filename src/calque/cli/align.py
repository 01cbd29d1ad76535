"""`calque align`: two files of vectors in, a run folder out."""

from __future__ import annotations

import shlex
import textwrap
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from calque.cli.common import Device, File, Number, Output, Reads, check_files_exist, exit_code, split_name
from calque.cli.terminal import WIDTH, interruptible, print_json, stage_bars
from calque.errors import RunError, SettingsError
from calque.progress import Listen, Step

if TYPE_CHECKING:
    from calque.data.lexicon import Lexicon
    from calque.data.space import Space
    from calque.recipes import Recipe
    from calque.runs.alignment import Alignment
    from calque.show.explorer.explorer import LiveRun


@dataclass(frozen=True, kw_only=True)
class Align(Reads):
    """Find maps between two files of word vectors, in both directions, and judge whether they can be trusted."""

    source: Annotated[Positional[str], arg(metavar="SRC")]
    """Vectors of the language to translate from, most frequent word first; es=wiki.vec calls it es."""
    target: Annotated[Positional[str], arg(metavar="TGT")]
    """Vectors of the language to translate to."""
    output: Output
    """Where to write the run folder."""
    recipe: str = "default"
    """A name from 'calque recipes', or the path of a .toml file."""
    lexicon: File = None
    """Word pairs that are known. The default recipe needs none, and makes use of any: twenty already help."""
    identical: Literal["auto", "yes", "no"] = "auto"
    """Whether words that both files spell alike may start the search; auto: where there are fifty of them."""
    effort: Literal["quick", "normal", "thorough"] = "normal"
    """How long the search looks before it gives up: seconds, a minute or two, ten minutes on two cores."""
    seed: int = 0
    """The same seed on the same device, with as many threads, gives the same maps."""
    limit: Number = None
    """Read only so many words of each file."""
    device: Device = "auto"
    """auto takes the GPU where there is one."""
    source_counts: File = None
    """Lines of 'word count' for the source: frequencies help where the two texts are alike."""
    target_counts: File = None
    """The same for the target."""
    watch: bool = False
    """Follow the search on a page in the browser while it happens; the page then stays until Ctrl-C (extra 'web')."""
    overwrite: bool = False
    """Replace an earlier run of that name."""

    def run(self) -> int:
        """Read both files, align them, write the run folder, print the verdict."""
        from calque.runs.folder import check_free

        check_free(self.output, self.overwrite)
        named = [split_name(text) for text in (self.source, self.target)]
        check_files_exist(*(path for _, path in named), self.source_counts, self.target_counts)
        if self.watch:
            from calque.cli.explore import explore_live_run, serve_live_run
        from calque.recipes import find, forget, searching
        from calque.recipes import run as run_recipe

        recipe = searching(find(self.recipe), self.identical, self.effort)
        lexicon = lexicon_to_learn_from(self, recipe)
        began = time.monotonic()
        source = read_space(self, *named[0], self.source_counts)
        target = read_space(self, *named[1], self.target_counts)
        reading_seconds = time.monotonic() - began
        checkpoint = checkpoint_folder(self) if recipe.resumes else None
        with serve_live_run(self) if self.watch else nullcontext() as live_run:
            with interruptible() as stopped:
                with stage_bars(not self.quiet) as bars:
                    listen = bars if live_run is None else listen_twice(bars, live_run)
                    alignment = run_recipe(
                        recipe, source, target, self.seed, self.device, listen, stopped, lexicon, checkpoint
                    )
                alignment.save(self.output, self.overwrite)
            if checkpoint is not None and alignment.record.interrupted:
                self.say(f"interrupted: {checkpoint} stays; the same command with --overwrite goes on from it")
            elif checkpoint is not None:
                forget(checkpoint)
            print_result(self, alignment, reading_seconds)
            if live_run is not None:
                explore_live_run(self, live_run, self.output)
        return exit_code(alignment)


def lexicon_to_learn_from(command: Align, recipe: Recipe) -> Lexicon | None:
    """The word pairs that a recipe learns from. They are asked for, or refused, before the vectors are read."""
    from calque.data.lexicon import read_lexicon

    if command.lexicon is None:
        if recipe.supervision == "required":
            raise SettingsError(f"the recipe {recipe.name!r} learns from word pairs; pass them with --lexicon FILE")
        return None
    if recipe.supervision == "none":
        raise SettingsError(f"--lexicon was given, but the recipe {recipe.name!r} learns from no lexicon; leave it out")
    reading = read_lexicon(command.lexicon)
    command.say(*reading.notes)
    return reading.lexicon


def read_space(command: Align, name: str, path: Path, counts: Path | None) -> Space:
    """The words and vectors of a file, under the name that was given to it, if any."""
    from calque.data.space import Space

    reading = command.read(path, limit=command.limit, counts=counts)
    if command.verbose:
        command.say(f"{path}: {len(reading.space)} words of {reading.space.dimension} dimensions ({reading.format})")
    space = reading.space
    if not name:
        return space
    return Space.checked_before(space.words, space.vectors, space.counts, name, space.subwords)


def checkpoint_folder(command: Align) -> Path:
    """Where training keeps its state: beside the run folder."""
    output = command.output.resolve()
    checkpoint = output.with_name(f"{output.name}.checkpoint")
    if checkpoint.exists() and not checkpoint.is_dir():
        raise RunError(
            f"{checkpoint}: is not a folder, but training keeps its state there; rename it, or choose another -o"
        )
    if any(checkpoint.glob("*.state")):
        command.say(f"{checkpoint}: is there from an earlier run; if that was the same, this one goes on from it")
    return checkpoint


def listen_twice(bars: Listen, live_run: LiveRun) -> Listen:
    """A listener that passes every step to the bars and to the page."""

    def hear(step: Step) -> None:
        bars(step)
        live_run.hear(step)

    return hear


def print_result(command: Align, alignment: Alignment, reading_seconds: float) -> None:
    """The verdict, where the run is, and what to do with it."""
    if command.json:
        print_json(
            {
                "run": str(command.output),
                "verdict": alignment.verdict.label,
                "interrupted": alignment.record.interrupted,
                "evidence": dict(alignment.verdict.evidence),
                "reasons": list(alignment.verdict.reasons),
                "notes": list(alignment.record.notes),
                "seconds": {"read": round(reading_seconds, 3), **alignment.record.seconds},
            }
        )
        return
    print_verdict(alignment)
    print(f"run: {command.output}")
    if alignment.verdict.label != "failed":
        word = alignment.source.words[min(99, len(alignment.source) - 1)]
        command.say(f"now try: calque translate {shlex.quote(str(command.output))} {shlex.quote(word)}")


def print_verdict(alignment: Alignment) -> None:
    """The verdict, its reasons and the notes."""
    print(f"verdict: {alignment.verdict}")
    for line in (*alignment.verdict.reasons, *(f"note: {note}" for note in alignment.record.notes)):
        # A no-break space keeps a number and its "%" on one line.
        unbroken = line.replace(" %", "\N{NO-BREAK SPACE}%")
        wrapped = textwrap.fill(unbroken, WIDTH, initial_indent="  - ", subsequent_indent="    ")
        print(wrapped.replace("\N{NO-BREAK SPACE}%", " %"))
