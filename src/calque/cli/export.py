"""`calque export` and `calque lexicon`: files of vectors, or of word pairs, from a run."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import arg

from calque.cli.common import DONE, Common, Output, Pair, Run, check_output_file, open_alignment, warn_unless_aligned
from calque.cli.terminal import print_json, print_long_json
from calque.errors import RunError

if TYPE_CHECKING:
    from calque.runs.streaming import InducedLexicon, StreamedRun

FORMAT_NAMES = {"vec": "word2vec", "bin": "word2vec-binary", "npz": "npz", "safetensors": "safetensors"}
"""The format that each ending of an exported file stands for."""


@dataclass(frozen=True, kw_only=True)
class MakeLexicon(Common):
    """Write the dictionary that a run implies, with confidences."""

    folder: Run
    """A run folder."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="FILE")] = None
    """Where to write 'source<TAB>target<TAB>confidence'; stdout without it."""
    pair: Pair = ""
    """Which two languages, of a run that 'calque align-many' made."""
    every: bool = False
    """The best translation of every source word, not only of pairs that choose each other."""
    approximate: bool = False
    """Search with an index, for very large runs: faster and nearly exact, with the share it finds measured and told."""
    overwrite: bool = False
    """Replace the file if it is there."""

    def run(self) -> int:
        """Induce the dictionary and write it."""
        from calque.runs.folder import write_lines

        if self.output is not None:
            check_output_file(self.output, self.overwrite)
        entries, recall = induce(self, open_streamed(self))
        lines = (entry.line for entry in entries)
        result = {"count": len(entries), "file": None if self.output is None else str(self.output), **recall}
        if self.output is not None:
            write_lines(self.output, lines)
        if self.json and self.output is None:
            print_long_json(result, "entries", map(dataclasses.asdict, entries))
        elif self.json:
            print_json(result)
        elif self.output is None:
            sys.stdout.writelines(f"{line}\n" for line in lines)
        else:
            print(f"{len(entries)} pairs: {self.output}")
        return DONE


@dataclass(frozen=True, kw_only=True)
class Export(Common):
    """Write both languages, or all of a family, as vectors of one shared space."""

    folder: Run
    """A run folder."""
    output: Output
    """The folder to make, with source.* and target.* in it, or a file for each language of a family."""
    format: Literal["vec", "bin", "npz", "safetensors"] = "vec"
    """vec: word2vec text, which everything reads."""
    pair: Pair = ""
    """Two languages of a family in a space of their own, instead of all in the shared one."""
    overwrite: bool = False
    """Replace an earlier export of that name."""

    def run(self) -> int:
        """Write a file for each language, in a folder that appears whole."""
        from calque.runs.folder import MARK, read_json

        read_json(self.folder / MARK)  # refuses what is no run folder before torch is imported
        from calque.runs.family import is_family

        if not self.pair and is_family(self.folder):
            return export_family(self)
        run = open_streamed(self)
        blocks = {side: run.block_source(side) for side in ("source", "target")}
        write_folder(self, blocks.items(), {**run.names, "verdict": run.verdict})
        print_files(self, {side: block.count for side, block in blocks.items()})
        return DONE


def open_streamed(command: MakeLexicon | Export) -> StreamedRun:
    """A run to be read block by block; two languages of a family are mapped in memory."""
    from calque.runs.streaming import StreamedRun

    if command.pair:
        run = StreamedRun.of(open_alignment(command.folder, command.pair))
    else:
        run = StreamedRun.open(command.folder)
    warn_unless_aligned(command, run.verdict)
    return run


def induce(command: MakeLexicon, run: StreamedRun) -> tuple[InducedLexicon, dict[str, Any]]:
    """The dictionary, and where the search was approximate, how much it finds."""
    from calque.runs import streaming

    if not command.approximate:
        return streaming.induce(run, command.every), {}
    entries, recalls = streaming.induce_approximately(run, command.every)
    result = {}
    for direction, recall in zip(("there", "back"), recalls, strict=True):
        command.say(
            f"approximate search {direction}: {recall.right} of {recall.sampled} words sampled find what an exact "
            f"search finds (recall@1 {recall.share:.3f}; {recall.probes} of {recall.lists} lists looked through)"
        )
        result[direction] = {"recall": recall.share, **dataclasses.asdict(recall)}
    return entries, {"approximate": result}


def export_family(command: Export) -> int:
    """Write every language of a family in the shared space."""
    from calque.runs.family import Family

    family = Family.load(command.folder)
    if str(family.verdict) != "aligned":
        command.say(f"the verdict on this run is {family.verdict}: {'; '.join(family.verdict.reasons)}")
    languages = [name for name in family.names if name not in family.left_out]
    if not languages:
        raise RunError(f"{command.folder}: no language shares a space with another; there is nothing to export")
    mark = {"languages": languages, "into": family.into, "verdict": str(family.verdict)}
    write_folder(command, ((name, family.shared(name)) for name in languages), mark)
    print_files(command, {name: len(family.spaces[name]) for name in languages})
    return DONE


def write_folder(command: Export, spaces: Iterable[tuple[str, Any]], mark: dict[str, Any]) -> None:
    """Write each space to a file of its name, and ``export.json``, by which the folder is known again."""
    from calque.data.formats import write
    from calque.runs.folder import whole_folder, write_json

    with whole_folder(command.output, command.overwrite, mark="export.json") as folder:
        for name, space in spaces:
            write(space, folder / f"{name}.{command.format}", format=FORMAT_NAMES[command.format])
        write_json(folder / "export.json", {"run": str(command.folder), **mark})


def print_files(command: Export, words: dict[str, int]) -> None:
    """Say which files were written, and how many words are in each."""
    files = [str(command.output / f"{name}.{command.format}") for name in words]
    if command.json:
        print_json({"files": files, "words": list(words.values())})
    else:
        print("\n".join(files))
