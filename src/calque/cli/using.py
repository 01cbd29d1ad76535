"""`calque translate`, `calque lexicon` and `calque export`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from calque import store
from calque.alignment import Alignment, Translation
from calque.cli import show
from calque.errors import FormatError, SettingsError, UnknownWordError
from calque.formats import read, write

if TYPE_CHECKING:
    from calque.cli.commands import Common, Export, MakeLexicon, Translate

SUFFIXES = {"vec": ("word2vec", ".vec"), "bin": ("word2vec-binary", ".bin"), "npz": ("npz", ".npz")}
SUFFIXES["safetensors"] = ("safetensors", ".safetensors")
WRONG = 2


def translate(command: Translate) -> int:
    """Translate the words known; the unknown ones are named, and the exit code tells."""
    words = _words(command)
    alignment = _loaded(command, Alignment.load(command.folder))
    if command.vectors is not None:
        space = read(command.vectors, limit=1).space
        if space.subwords is None:
            raise FormatError(f"{command.vectors}: makes no vectors for unseen words; expected a fastText .bin")
        alignment = alignment.with_subwords(space, command.back)
    found: list[Translation] = []
    unknown: list[str] = []
    for word in words:
        try:
            found += alignment.translate([word], command.k, command.back, command.retrieval)
        except UnknownWordError as error:
            unknown.append(word)
            print(f"calque: {error}", file=sys.stderr)
    _print_translations(command, found, unknown)
    return WRONG if unknown else 0


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
    entries = _loaded(command, Alignment.load(command.folder)).lexicon(command.every)
    lines = [f"{each.source}\t{each.target}\t{each.confidence:.4f}" for each in entries]
    if command.output is not None:
        store.write_lines(command.output, lines)
    if command.json:
        pairs = [
            {"source": e.source, "target": e.target, "confidence": e.confidence, "mutual": e.mutual} for e in entries
        ]
        told = {"count": len(entries), "file": None if command.output is None else str(command.output)}
        show.as_json(told if command.output is not None else told | {"entries": pairs})
    elif command.output is None:
        print("\n".join(lines))
    else:
        print(f"{len(entries)} pairs: {command.output}")
    return 0


def export(command: Export) -> int:
    """Both languages in the common space, in a folder that appears whole."""
    alignment = _loaded(command, Alignment.load(command.folder))
    name, suffix = SUFFIXES[command.format]
    with store.whole_folder(command.output, command.overwrite, mark="export.json") as folder:
        write(alignment.source, folder / f"source{suffix}", format=name)
        write(alignment.target, folder / f"target{suffix}", format=name)
        told = {"run": str(command.folder), "source": alignment.source.name, "target": alignment.target.name}
        store.write_json(folder / "export.json", told | {"verdict": alignment.verdict.label})
    files = [str(command.output / f"{side}{suffix}") for side in ("source", "target")]
    if command.json:
        show.as_json({"files": files, "words": [len(alignment.source), len(alignment.target)]})
    else:
        print("\n".join(files))
    return 0


def _loaded(command: Common, alignment: Alignment) -> Alignment:
    if alignment.verdict.label != "aligned":
        command.say(f"the verdict on this run is {alignment.verdict.label}: its translations should not be trusted")
    return alignment
