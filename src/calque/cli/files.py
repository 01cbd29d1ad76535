"""`calque inspect`, `calque convert` and `calque recipes`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from calque.cli import show
from calque.data.formats import SpaceReading, read, write
from calque.errors import FormatError
from calque.recipes import RECIPES, Recipe, find, to_toml

if TYPE_CHECKING:
    from calque.cli.commands import Convert, Inspect, Recipes


def inspect(command: Inspect) -> int:
    """What is in a file."""
    reading = _read(command)
    told = _described(reading)
    if command.json:
        show.as_json({"file": str(command.file), **told})
        return 0
    for name, value in told.items():
        if name != "notes":
            print(f"{name}: {', '.join(value) if isinstance(value, list) else value}")
    for note in told["notes"] or ["nothing had to be mended"]:
        print(f"note: {note}")
    return 0


def _read(command: Inspect | Convert) -> SpaceReading:
    reading = read(
        command.file, limit=command.limit, format=command.format, words=command.words, cache=not command.no_cache
    )
    command.say(*(f"{command.file}: {remark}" for remark in reading.remarks))
    return reading


def _described(reading: SpaceReading) -> dict[str, Any]:
    space = reading.space
    lengths = space.vectors.norm(dim=1)
    return {
        "format": reading.format,
        "words": len(space),
        "dimension": space.dimension,
        "counts": "yes" if space.counts is not None else "no",
        "subwords": "yes" if space.subwords is not None else "no",
        "shortest vector": round(float(lengths.min()), 4),
        "longest vector": round(float(lengths.max()), 4),
        "length of the mean": round(float(space.vectors.mean(dim=0).norm()), 4),
        "first words": list(space.words[:8]),
        "notes": list(reading.notes),
    }


def convert(command: Convert) -> int:
    """Read one format, write another."""
    if command.output.exists() and not command.overwrite:
        raise FormatError(f"{command.output}: is already there; choose another name, or pass --overwrite to replace it")
    reading = _read(command)
    command.say(*(f"{command.file}: {note}" for note in reading.notes))
    write(reading.space, command.output)
    if command.json:
        show.as_json({"file": str(command.output), "words": len(reading.space), "dimension": reading.space.dimension})
    else:
        print(f"{len(reading.space)} words of {reading.space.dimension} dimensions: {command.output}")
    return 0


def _needs(recipe: Recipe) -> str:
    return "two files of vectors and word pairs (--lexicon)" if recipe.supervised else "two files of vectors"


def recipes(command: Recipes) -> int:
    """All recipes in a line each, or one as TOML."""
    if command.name and command.json:
        show.as_json(dataclasses.asdict(find(command.name)))
    elif command.name:
        print(to_toml(find(command.name)), end="")
    elif command.json:
        told = {each.name: {"summary": each.summary, "published": each.published} for each in RECIPES.values()}
        show.as_json({name: {**each, "needs": _needs(RECIPES[name])} for name, each in told.items()})
    else:
        for each in RECIPES.values():
            print(f"{each.name}: {each.summary}\n  needs {_needs(each)}\n  {each.published}")
    return 0
