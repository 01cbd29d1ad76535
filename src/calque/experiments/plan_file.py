"""Reads a plan from a TOML file, and refuses what is wrong with it before anything runs.

Every error says where, what was found, and what was expected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, TypeVar

from calque import recipes
from calque.data.formats import sniff
from calque.errors import CalqueError, SettingsError
from calque.experiments.gold import GoldCache
from calque.experiments.jobs import Resources, SpaceFile
from calque.experiments.plan import Entrant, Experiment, ExperimentPlan, GoldFile, LanguagePair
from calque.experiments.results import ExperimentKey
from calque.recipes import RECIPES, Recipe, into, read_toml

LONGEST_NAME = 80
"""Two names and more make the name of a file."""
MOST_SEEDS = 100_000
SPACE_NAME = re.compile(rf"\w[\w.-]{{0,{LONGEST_NAME - 1}}}")
Value = TypeVar("Value")


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**62


def _fitting(default: Any, expected: str, fits: Callable[[Any], bool] = lambda _: True) -> Any:
    """A field of a table in the file, with what an error says is expected."""
    return field(default=default, metadata={"expected": expected, "fits": fits})


@dataclass(frozen=True)
class SpaceTable:
    """What may stand in the table of a space."""

    file: Path
    counts: Path | None = None
    words: Path | None = None
    limit: int | None = _fitting(None, "a whole number of words, at least 1", lambda limit: _is_whole(limit, 1))


@dataclass(frozen=True)
class SharesTable:
    """What may stand in the table of a recipe's share of a machine."""

    cpus: int = _fitting(1, "a whole number of cores, at least 1", lambda cpus: _is_whole(cpus, 1))
    gpus: float | None = _fitting(None, "a part of a GPU, from 0 to 1", lambda gpus: 0 <= gpus <= 1)


@dataclass(frozen=True)
class PlanFile:
    """What may stand in the file."""

    pairs: Any = "all"
    recipes: tuple[str, ...] = _fitting(("default",), 'a list of names, such as ["default", "mine.toml"]', bool)
    seeds: Any = 1
    retrieval: Literal["nn", "csls"] = "csls"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    save: bool = False
    spaces: Mapping[str, Any] = field(default_factory=dict)
    lexicons: Mapping[str, Path] = field(default_factory=dict)
    training: Mapping[str, Path] = field(default_factory=dict)
    shares: Mapping[str, Any] = field(default_factory=dict)


def read_plan(path: Path, cache: bool = True) -> ExperimentPlan:
    """The plan in a TOML file; paths in it are relative to it. With ``cache``, large files are kept once read."""
    table = read_toml(path)
    try:
        return _plan(path, into(PlanFile, table), cache)
    except CalqueError as error:
        raise SettingsError(f"{path}: {error}") from None


def _plan(path: Path, file: PlanFile, cache: bool) -> ExperimentPlan:
    spaces = _spaces(path.parent, file, cache)
    pairs, chosen, seeds = _pairs(file, spaces), _recipes(path.parent, file), _seeds(file)
    notes: list[str] = []
    lexicons, training = (
        _lexicons(path.parent, key, table, spaces, notes)
        for key, table in (("lexicons", file.lexicons), ("training", file.training))
    )
    resources = _resources(file, chosen)
    experiments = []
    for pair in pairs:
        sides = spaces[pair.source], spaces[pair.target]
        judges = {way: lexicons[way] for way in (pair.name, pair.back) if way in lexicons}
        for recipe in chosen:
            trained = training.get(pair.name) if recipe.supervised else None
            if recipe.supervised and trained is None:
                raise SettingsError(
                    f"recipes has {recipe.name!r}, which learns from word pairs, but training has none for "
                    f"{pair.name}; name a file of them below a line '[training]'"
                )
            if trained and trained.path.resolve() in [judge.path.resolve() for judge in judges.values()]:
                notes.append(f"{pair.name}: supervised recipes are judged by {trained.path}, from which they learned")
            make = partial(
                Experiment,
                recipe=recipe,
                spaces=sides,
                inputs=_inputs(sides, trained, judges.values()),
                directions=(pair.name, pair.back),
                training=trained,
                lexicons=judges,
                required=tuple(judges),
                resources=resources.get(recipe.name, Resources()),
            )
            experiments += [make(ExperimentKey(pair.name, recipe.name, seed)) for seed in seeds]
    return ExperimentPlan(
        "table",
        pairs,
        tuple(Entrant(recipe.name, recipe.name, recipe.supervised) for recipe in chosen),
        seeds,
        tuple(experiments),
        path,
        file.retrieval,
        file.device,
        file.save,
        notes=tuple(dict.fromkeys(notes)),
    )


def _inputs(
    sides: tuple[SpaceFile, SpaceFile], training: GoldFile | None, judges: Any
) -> dict[str, Path | GoldFile | str]:
    """Everything that a run depends on, by the names that are kept with a finished run."""
    inputs: dict[str, Path | GoldFile | str | None] = {}
    for side, space in zip(("source", "target"), sides, strict=True):
        inputs |= {side: space.path, f"{side} counts": space.counts, f"{side} words": space.words}
        inputs[f"{side} limit"] = None if space.limit is None else str(space.limit)
    inputs |= {"training": training, **dict(zip(("there", "back"), judges, strict=False))}
    return {part: value for part, value in inputs.items() if value is not None}


def _with_key(key: str, make: Callable[[], Value]) -> Value:
    """A value, or an error with the key in front of it."""
    try:
        return make()
    except (CalqueError, ValueError) as error:  # ValueError: a path with a null byte in it
        raise SettingsError(f"{key}: {error}") from None


def _existing(folder: Path, key: str, name: Path) -> Path:
    """The path of a file that is there."""
    path = folder / name
    try:
        there = path.is_file()
    except (OSError, ValueError):  # too long, or with a null byte in it
        raise SettingsError(f"{key} is {str(name)[:LONGEST_NAME]!r}; expected the path of a file") from None
    if not there:
        raise SettingsError(f"{key} is {str(name)[:LONGEST_NAME]!r}, but {path} is no file; check the path")
    return path


def _spaces(folder: Path, file: PlanFile, cache: bool) -> dict[str, SpaceFile]:
    spaces: dict[str, SpaceFile] = {}
    names: dict[Path, str] = {}
    for name, value in file.spaces.items():
        if not SPACE_NAME.fullmatch(name):
            raise SettingsError(
                f"spaces has {name[:LONGEST_NAME]!r}; expected names of letters, digits, '_', '.' and '-', at most "
                f"{LONGEST_NAME} of them"
            )
        key = f"spaces.{name}"
        if not isinstance(value, (str, dict)) or not value:
            raise SettingsError(
                f"{key} is {repr(value)[:LONGEST_NAME]}; expected the path of a file, "
                'or a table such as { file = "es.vec", limit = 50000 }'
            )
        table = into(SpaceTable, {"file": value} if isinstance(value, str) else value, key)
        paths = {
            part: None if name is None else _existing(folder, key if isinstance(value, str) else f"{key}.{part}", name)
            for part, name in (("file", table.file), ("counts", table.counts), ("words", table.words))
        }
        path = folder / table.file
        _with_key(key, partial(sniff, path))
        spaces[name] = SpaceFile(path, paths["counts"], table.limit, paths["words"], cache)
        other = names.setdefault(path.resolve(), name)
        if other != name:
            raise SettingsError(f"{key} and spaces.{other} are the same file, {path}; leave one out")
    if len(spaces) < 2:
        raise SettingsError(
            f"spaces is {list(spaces)!r}; expected at least two, such as en = \"en.vec\" below a line '[spaces]'"
        )
    return spaces


def _pairs(file: PlanFile, spaces: Mapping[str, SpaceFile]) -> tuple[LanguagePair, ...]:
    names = file.pairs
    if names == "all":
        pairs = [LanguagePair(*pair) for pair in combinations(spaces, 2)]
    elif not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise SettingsError(f'pairs is {names!r}; expected "all", or a list such as ["es-en", "de-en"]')
    else:
        _refuse_twice("pairs", names)
        pairs = [_pair("pairs", name, spaces) for name in names]
    by_direction: dict[str, LanguagePair] = {}
    for pair in pairs:
        for direction in (pair.name, pair.back):
            other = by_direction.setdefault(direction, pair)
            if other != pair:
                raise SettingsError(
                    f"pairs has {pair.source} with {pair.target} beside {other.source} with {other.target}, which is "
                    "the same pair or the same name; leave one out or rename a space"
                )
    return tuple(pairs)


def _refuse_twice(key: str, names: list[str]) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SettingsError(f"{key} has {twice!r} twice; once is enough")


def _pair(key: str, name: str, spaces: Mapping[str, SpaceFile]) -> LanguagePair:
    """'es-en' as two names; hyphens may stand in names too."""
    cuts = [LanguagePair(name[:place], name[place + 1 :]) for place, letter in enumerate(name) if letter == "-"]
    pairs = [pair for pair in cuts if pair.source in spaces and pair.target in spaces]
    if len(pairs) != 1:
        names = list(spaces)
        listed = ", ".join(names if len(names) <= 12 else [*names[:12], f"and {len(names) - 12} more"])
        what = "can be read in two ways" if pairs else "is not two of the spaces"
        raise SettingsError(f"{key} has {name!r}, which {what}; expected two of {listed} with '-' between them")
    if pairs[0].source == pairs[0].target:
        raise SettingsError(f"{key} has {name!r}, a space with itself; expected two different ones")
    return pairs[0]


def _recipes(folder: Path, file: PlanFile) -> tuple[Recipe, ...]:
    _refuse_twice("recipes", list(file.recipes))
    chosen = []
    for name in file.recipes:
        is_file = name.endswith(".toml") and name not in RECIPES
        chosen.append(_with_key("recipes", partial(recipes.find, str(folder / name) if is_file else name)))
    names = [recipe.name for recipe in chosen]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SettingsError(f"recipes has two that are called {twice!r}; change 'name' in one of the files")
    return tuple(chosen)


def _seeds(file: PlanFile) -> tuple[int, ...]:
    seeds = file.seeds
    if _is_whole(seeds, 1) and seeds <= MOST_SEEDS:
        return tuple(range(seeds))
    if not isinstance(seeds, list) or not seeds or not all(_is_whole(seed, 0) for seed in seeds):
        seeds = []
    if not seeds or len(set(seeds)) != len(seeds):
        expected = "how many, such as 3, or a list of different ones, such as [0, 1, 2]"
        raise SettingsError(f"seeds is {str(file.seeds)[:LONGEST_NAME]}; expected {expected}")
    return tuple(seeds)


def _lexicons(
    folder: Path, key: str, table: Mapping[str, Path], spaces: Mapping[str, SpaceFile], notes: list[str]
) -> dict[str, GoldFile]:
    """Word pairs by direction. All are read: they are small, and must be right before hours are spent."""
    files: dict[str, GoldFile] = {}
    turned: dict[str, GoldFile] = {}
    for direction, name in table.items():
        pair, path = _pair(key, direction, spaces), _existing(folder, f"{key}.{direction}", name)
        files[pair.name], turned[pair.back] = GoldFile(path), GoldFile(path, turned=True)
        _with_key(f"{key}.{direction}", partial(GoldCache(notes.append).word_pairs, files[pair.name]))
    return turned | files


def _resources(file: PlanFile, chosen: tuple[Recipe, ...]) -> dict[str, Resources]:
    """What a run takes of a machine, by recipe."""
    names, resources = [recipe.name for recipe in chosen], {}
    for name, table in file.shares.items():
        if name not in names:
            raise SettingsError(f"unknown key {f'shares.{name}'!r}; there are: {', '.join(names)}")
        if not isinstance(table, dict):
            raise SettingsError(f"shares.{name} is {table!r}; expected a table with cpus and gpus")
        share = into(SharesTable, table, f"shares.{name}")
        resources[name] = Resources(share.cpus, share.gpus)
        if share.gpus is not None and (file.device == "cpu") == (share.gpus > 0) and file.device != "auto":
            raise SettingsError(
                f"shares.{name}.gpus is {table['gpus']}; expected what goes with device = {file.device!r}; "
                "leave it out, or change the device"
            )
    return resources
