"""Reads a plan, and refuses what is wrong with it before anything is run: where, what was found, what is allowed."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from calque import recipes
from calque.data.formats import sniff
from calque.data.lexicon import read_lexicon
from calque.errors import CalqueError, SettingsError
from calque.experiments.jobs import RETRIEVALS, SpaceFile
from calque.experiments.sweep.plan import Pair, Plan, Wish, WordPairs
from calque.recipes import RECIPES, Recipe

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DEVICES = "auto", "cpu", "cuda"
KEYS = "pairs", "recipes", "seeds", "retrieval", "device", "save", "spaces", "lexicons", "training", "shares"
LONGEST_NAME = 80
"""Two names and more make the name of a file."""
MOST_SEEDS = 100_000
_NAME = re.compile(r"\w[\w.-]*")


def read_plan(path: Path, cache: bool = True) -> Plan:
    """The plan in a TOML file; paths in it are relative to it. With ``cache``, large files are kept once read."""
    given = _Given(path, _toml(path))
    given.only(KEYS, given.table, "")
    spaces = {name: replace(file, cache=cache) for name, file in _spaces(given).items()}
    pairs, chosen = _pairs(given, spaces), _recipes(given)
    device = given.choice("device", DEVICES, "auto")
    lexicons, notes = _lexicons(given, "lexicons", spaces)
    training, more = _lexicons(given, "training", spaces)
    plan = Plan(
        path,
        spaces,
        pairs,
        chosen,
        _seeds(given),
        lexicons,
        training,
        _wishes(given, chosen, device),
        given.choice("retrieval", RETRIEVALS, "csls"),
        device,
        given.flag("save"),
        (*notes, *more),
    )
    _check_training(given, plan)
    return replace(plan, notes=(*plan.notes, *_flattered(plan)))


class _Given:
    """What stands in the file, and how to complain of it."""

    def __init__(self, path: Path, table: Mapping[str, Any]) -> None:
        self.path, self.table = path, table

    def wrong(self, key: str, found: Any, expected: str) -> SettingsError:
        told = repr(found)
        return SettingsError(
            f"{self.path}: {key} is {told if len(told) <= 80 else told[:77] + '...'}; expected {expected}"
        )

    def only(self, known: tuple[str, ...], table: Mapping[str, Any], within: str) -> None:
        for key in table:
            if key not in known:
                raise SettingsError(f"{self.path}: unknown key {within + key!r}; there are: {', '.join(known)}")

    def choice(self, key: str, known: tuple[str, ...], usual: str) -> str:
        found = self.table.get(key, usual)
        if found not in known:
            raise self.wrong(key, found, f"one of {', '.join(known)}")
        return str(found)

    def flag(self, key: str) -> bool:
        found = self.table.get(key, False)
        if not isinstance(found, bool):
            raise self.wrong(key, found, "true or false")
        return found

    def within(self, key: str) -> Mapping[str, Any]:
        found = self.table.get(key, {})
        if not isinstance(found, dict):
            raise self.wrong(key, found, f"a table, begun by a line '[{key}]'")
        return found

    def strings(self, key: str, usual: list[str], what: str) -> list[str]:
        found = self.table.get(key, usual)
        if not isinstance(found, list) or not found or not all(isinstance(each, str) for each in found):
            raise self.wrong(key, found, what)
        twice = next((each for each in found if found.count(each) > 1), None)
        if twice is not None:
            raise SettingsError(f"{self.path}: {key} has {twice!r} twice; once is enough")
        return found

    def file(self, key: str, found: Any) -> Path:
        if not isinstance(found, str) or not found:
            raise self.wrong(key, found, "the path of a file, relative to the plan")
        place = self.path.parent / found
        try:
            there = place.is_file()
        except (OSError, ValueError):  # too long, or with a null byte in it
            raise self.wrong(key, found, "the path of a file") from None
        if not there:
            raise SettingsError(f"{self.path}: {key} is {found!r}, but {place} is no file; check the path")
        return place

    def checked(self, key: str, does: Callable[[], Any]) -> Any:
        """What something gives, with the key in front of what it complains of."""
        try:
            return does()
        except CalqueError as error:
            raise SettingsError(f"{self.path}: {key}: {error}") from None


def _toml(path: Path) -> Mapping[str, Any]:
    try:
        return dict(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}; expected a plan in TOML") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        told = " ".join(str(error).split())
        raise SettingsError(f"{path}: is not TOML: {told}; a key may stand there only once") from error


def _spaces(given: _Given) -> dict[str, SpaceFile]:
    found = {name: _space(given, name, value) for name, value in given.within("spaces").items()}
    if len(found) < 2:
        raise given.wrong("spaces", list(found), "at least two, such as en = \"en.vec\" below a line '[spaces]'")
    seen: dict[Path, str] = {}
    for name, file in found.items():
        other = seen.setdefault(file.path.resolve(), name)
        if other != name:
            raise SettingsError(
                f"{given.path}: spaces.{name} and spaces.{other} are the same file, {file.path}; leave one out"
            )
    return found


def _space(given: _Given, name: str, value: Any) -> SpaceFile:
    key = f"spaces.{name}"
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise SettingsError(
            f"{given.path}: spaces has {name[:80]!r}; expected names of letters, digits, '_', '.' and '-', at most "
            f"{LONGEST_NAME} of them"
        )
    table = {"file": value} if isinstance(value, str) else value
    if not isinstance(table, dict) or "file" not in table:
        raise given.wrong(key, value, 'the path of a file, or a table such as { file = "es.vec", limit = 50000 }')
    given.only(("file", "counts", "words", "limit"), table, f"{key}.")
    limit = table.get("limit")
    if limit is not None and not _whole(limit, 1):
        raise given.wrong(f"{key}.limit", limit, "a whole number of words, at least 1")
    path = given.file(key if isinstance(value, str) else f"{key}.file", table["file"])
    others = {part: given.file(f"{key}.{part}", table[part]) for part in ("counts", "words") if part in table}
    given.checked(key, lambda: sniff(path))
    return SpaceFile(path, others.get("counts"), limit, others.get("words"))


def _pairs(given: _Given, spaces: Mapping[str, SpaceFile]) -> tuple[Pair, ...]:
    if given.table.get("pairs", "all") == "all":
        pairs = [Pair(*each) for each in combinations(spaces, 2)]
    else:
        names = given.strings("pairs", [], '"all", or a list such as ["es-en", "de-en"]')
        pairs = [_pair(given, "pairs", name, spaces) for name in names]
    known: dict[str, Pair] = {}
    for pair in pairs:
        for direction in (pair.name, pair.back):
            other = known.setdefault(direction, pair)
            if other != pair:
                raise SettingsError(
                    f"{given.path}: pairs has {pair.source} with {pair.target} beside {other.source} with "
                    f"{other.target}, which is the same pair or the same name; leave one out or rename a space"
                )
    return tuple(pairs)


def _pair(given: _Given, key: str, name: str, spaces: Mapping[str, SpaceFile]) -> Pair:
    """'es-en' as two names; hyphens may stand in names too."""
    cuts = [Pair(name[:place], name[place + 1 :]) for place, letter in enumerate(name) if letter == "-"]
    found = [each for each in cuts if each.source in spaces and each.target in spaces]
    if len(found) != 1:
        what = "can be read in two ways" if found else "is not two of the spaces"
        raise SettingsError(
            f"{given.path}: {key} has {name!r}, which {what}; expected two of {_some(spaces)} with '-' between them"
        )
    if found[0].source == found[0].target:
        raise SettingsError(f"{given.path}: {key} has {name!r}, a space with itself; expected two different ones")
    return found[0]


def _some(names: Mapping[str, Any]) -> str:
    """All of a few names, or the first of many."""
    listed = list(names)
    return ", ".join(listed if len(listed) <= 12 else [*listed[:12], f"and {len(listed) - 12} more"])


def _recipes(given: _Given) -> tuple[Recipe, ...]:
    names = given.strings("recipes", ["default"], 'a list of names, such as ["default", "mine.toml"]')
    found = [given.checked("recipes", lambda name=name: _recipe(given, name)) for name in names]  # type: ignore[misc]
    called = [each.name for each in found]
    twice = next((name for name in called if called.count(name) > 1), None)
    if twice is not None:
        raise SettingsError(
            f"{given.path}: recipes has two that are called {twice!r}; change 'name' in one of the files"
        )
    return tuple(found)


def _recipe(given: _Given, name: str) -> Recipe:
    beside = name.endswith(".toml") and name not in RECIPES
    return recipes.find(str(given.path.parent / name) if beside else name)


def _seeds(given: _Given) -> tuple[int, ...]:
    found, expected = given.table.get("seeds", 1), "how many, such as 3, or a list of different ones, such as [0, 1, 2]"
    if _whole(found, 1) and found <= MOST_SEEDS:
        return tuple(range(found))
    if not isinstance(found, list) or not found or not all(_whole(each, 0) for each in found):
        raise given.wrong("seeds", found, expected)
    if len(set(found)) != len(found):
        raise given.wrong("seeds", found, expected)
    return tuple(found)


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**62


def _lexicons(given: _Given, key: str, spaces: Mapping[str, SpaceFile]) -> tuple[dict[str, WordPairs], tuple[str, ...]]:
    """Word pairs by direction, all of them read: they are small, and must be right before hours are spent."""
    found: dict[str, WordPairs] = {}
    notes: list[str] = []
    for direction, value in given.within(key).items():
        pair, path = _pair(given, key, direction, spaces), given.file(f"{key}.{direction}", value)
        reading = given.checked(f"{key}.{direction}", lambda path=path: read_lexicon(path))  # type: ignore[misc]
        found[pair.name] = WordPairs(path, reading.lexicon)
        notes += reading.notes
    turned = {_turned(given, name, spaces): each for name, each in found.items()}
    back = {
        name: WordPairs(each.path, each.lexicon.reversed(), True) for name, each in turned.items() if name not in found
    }
    return found | back, tuple(notes)


def _turned(given: _Given, direction: str, spaces: Mapping[str, SpaceFile]) -> str:
    return _pair(given, "", direction, spaces).back


def _wishes(given: _Given, chosen: tuple[Recipe, ...], device: str) -> dict[str, Wish]:
    tables = given.within("shares")
    given.only(tuple(each.name for each in chosen), tables, "shares.")
    return {name: _wish(given, f"shares.{name}", table, device) for name, table in tables.items()}


def _wish(given: _Given, key: str, table: Any, device: str) -> Wish:
    if not isinstance(table, dict):
        raise given.wrong(key, table, "a table with cpus and gpus")
    given.only(("cpus", "gpus"), table, f"{key}.")
    cpus, gpus = table.get("cpus", 1), table.get("gpus")
    if not _whole(cpus, 1):
        raise given.wrong(f"{key}.cpus", cpus, "a whole number of cores, at least 1")
    if gpus is not None and (isinstance(gpus, bool) or not isinstance(gpus, (int, float)) or not 0 <= gpus <= 1):
        raise given.wrong(f"{key}.gpus", gpus, "a part of a GPU, from 0 to 1")
    if gpus is not None and (gpus > 0 if device == "cpu" else gpus == 0 and device == "cuda"):
        raise given.wrong(
            f"{key}.gpus", gpus, f"what goes with device = {device!r}; leave it out, or change the device"
        )
    return Wish(cpus, None if gpus is None else float(gpus))


def _check_training(given: _Given, plan: Plan) -> None:
    """Every pair of a supervised recipe must have something to learn from."""
    for recipe in (each for each in plan.recipes if each.supervised):
        for pair in plan.pairs:
            if plan.trains(pair) is None:
                raise SettingsError(
                    f"{given.path}: recipes has {recipe.name!r}, which learns from word pairs, but training has none "
                    f"for {pair.name}; name a file of them below a line '[training]'"
                )


def _flattered(plan: Plan) -> list[str]:
    """Pairs that would be judged by what was learned from."""
    told = []
    for pair in plan.pairs if any(each.supervised for each in plan.recipes) else ():
        trains, judges = plan.trains(pair), plan.judges(pair)
        if trains and judges and trains.path.resolve() in [each.path.resolve() for each in judges]:
            told.append(f"{pair.name}: supervised recipes are judged by {trains.path}, from which they learned")
    return told
