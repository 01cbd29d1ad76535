"""`calque translate`, `calque lexicon` and `calque export`."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from calque.cli import show
from calque.errors import FormatError, SettingsError, UnknownWordError
from calque.runs import folder as store
from calque.runs.lookup import AT_ONCE, SCALES, Lookup, Translation

if TYPE_CHECKING:
    from calque.cli.commands import Common, Export, MakeLexicon, Translate
    from calque.runs.alignment import Alignment
    from calque.runs.streaming import InducedLexicon, StreamedRun

SUFFIXES = {"vec": ("word2vec", ".vec"), "bin": ("word2vec-binary", ".bin"), "npz": ("npz", ".npz")}
SUFFIXES["safetensors"] = ("safetensors", ".safetensors")
WRONG = 2


def translate(command: Translate) -> int:
    """Translate the words known; the unknown ones are named, and the exit code tells."""
    words = _words(command)
    run = _opened(command)
    found: list[Translation] = []
    unknown: list[str] = []

    def ask(some: list[str]) -> None:
        """Several at once, which is faster; where one is unknown, each alone."""
        try:
            found.extend(run.translate(some, command.k, command.back, command.retrieval))
        except UnknownWordError as error:
            if len(some) > 1:
                for word in some:
                    ask([word])
                return
            unknown.extend(some)
            print(f"calque: {error}", file=sys.stderr)

    for begin in range(0, len(words), AT_ONCE):
        ask(words[begin : begin + AT_ONCE])
    _print_translations(command, found, unknown)
    return WRONG if unknown else 0


def _opened(command: Translate) -> Lookup | Alignment:
    """The run, as lightly as the question allows: all of it only for unseen words and for a retrieval that needs it."""
    if command.vectors is None and command.retrieval in SCALES and not command.pair:
        light = Lookup.open(command.folder)
        _warn(command, light.verdict)
        return light
    alignment = _loaded(command)
    if command.vectors is None:
        return alignment
    from calque.data.formats import read

    space = read(command.vectors, limit=1, cache=False).space
    if space.subwords is None:
        raise FormatError(f"{command.vectors}: makes no vectors for unseen words; expected a fastText .bin")
    return alignment.with_subwords(space, command.back)


def _words(command: Translate) -> list[str]:
    given = [line.rstrip("\r\n") for line in sys.stdin] if command.words == ("-",) else list(command.words)
    words = [word for word in given if word]
    if not words:
        raise SettingsError("no word to translate was given; name some, or '-' to read them from stdin")
    return words


def _print_translations(command: Translate, found: list[Translation], unknown: list[str]) -> None:
    if not command.json:
        show.translations(found)
        return
    told = {each.word: [{"word": one.word, "score": one.score} for one in each.candidates] for each in found}
    show.as_json({"translations": told, "unknown": unknown})


def lexicon(command: MakeLexicon) -> int:
    """Induce the dictionary and write it."""
    if command.output is not None and command.output.exists() and not command.overwrite:
        raise FormatError(f"{command.output}: is already there; choose another name, or pass --overwrite to replace it")
    _write_lexicon(command, *_induced(command, _streamed(command)))
    return 0


def _write_lexicon(command: MakeLexicon, entries: InducedLexicon, recall: Mapping[str, Any]) -> None:
    lines = (each.line for each in entries)
    told = {"count": len(entries), "file": None if command.output is None else str(command.output), **recall}
    if command.output is not None:
        store.write_lines(command.output, lines)
    if command.json and command.output is None:
        show.as_long_json(told, "entries", map(dataclasses.asdict, entries))
    elif command.json:
        show.as_json(told)
    elif command.output is None:
        sys.stdout.writelines(f"{line}\n" for line in lines)
    else:
        print(f"{len(entries)} pairs: {command.output}")


def _induced(command: MakeLexicon, run: StreamedRun) -> tuple[InducedLexicon, dict[str, Any]]:
    """The dictionary, and where it is approximate what is to be known about that."""
    from calque.runs.streaming import induce, induce_approximately

    if not command.approximate:
        return induce(run, command.every), {}
    entries, recalls = induce_approximately(run, command.every)
    told = {}
    for way, each in zip(("there", "back"), recalls, strict=True):
        command.say(
            f"approximate search {way}: {each.right} of {each.sampled} words sampled find what an exact search finds "
            f"(recall@1 {each.share:.3f}; {each.probes} of {each.lists} lists looked through)"
        )
        told[way] = {"recall": each.share, **dataclasses.asdict(each)}
    return entries, {"approximate": told}


def export(command: Export) -> int:
    """Both languages in the common space, in a folder that appears whole."""
    from calque.cli import families
    from calque.data.formats import write
    from calque.runs.family import is_family

    if not command.pair and is_family(command.folder):
        return families.export(command, *SUFFIXES[command.format])
    name, suffix = SUFFIXES[command.format]
    run = _streamed(command)
    with store.whole_folder(command.output, command.overwrite, mark="export.json") as folder:
        sheets = {side: run.block_source(side) for side in ("source", "target")}
        for side, sheet in sheets.items():
            write(sheet, folder / f"{side}{suffix}", format=name)
        told = {"run": str(command.folder)} | dict(run.names)
        store.write_json(folder / "export.json", told | {"verdict": run.verdict})
    files = [str(command.output / f"{side}{suffix}") for side in sheets]
    if command.json:
        show.as_json({"files": files, "words": [sheet.count for sheet in sheets.values()]})
    else:
        print("\n".join(files))
    return 0


def _streamed(command: MakeLexicon | Export) -> StreamedRun:
    """A run to be read block by block; two languages of a family are mapped in memory."""
    from calque.runs.streaming import StreamedRun

    if command.pair:
        from calque.cli.families import alignment_in

        run = StreamedRun.of(alignment_in(command.folder, command.pair))
    else:
        run = StreamedRun.open(command.folder)
    _warn(command, run.verdict)
    return run


def _loaded(command: Translate) -> Alignment:
    from calque.cli.families import alignment_in

    alignment = alignment_in(command.folder, command.pair)
    _warn(command, alignment.verdict.label)
    return alignment


def _warn(command: Common, label: str) -> None:
    if label != "aligned":
        command.say(f"the verdict on this run is {label}: its translations should not be trusted")
