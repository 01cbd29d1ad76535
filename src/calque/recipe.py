"""Named recipes: a method with its settings, in TOML and out of it; and the one place that runs them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import operator
import platform
import sys
import time
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from calque.alignment import Alignment, Record
from calque.errors import SettingsError
from calque.methods.coarse_to_fine import CoarseToFineSettings, coarse_to_fine
from calque.methods.task import Method, Outcome, Task
from calque.progress import Listen, Step, never, quiet
from calque.space import Space
from calque.verdict import judge

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Recipe:
    """A method, all of its settings, and what to say of it."""

    name: str
    method: str
    settings: Any
    summary: str
    published: str = ""
    """Where the method is described."""


@dataclass(frozen=True)
class _Kind:
    method: Method
    settings: type


METHODS = {"coarse-to-fine": _Kind(coarse_to_fine, CoarseToFineSettings)}
"""Every method by name, with the type of its settings."""

RECIPES = {
    each.name: each
    for each in (
        Recipe(
            "default",
            "coarse-to-fine",
            CoarseToFineSettings(),
            "no dictionary: coarse search from many starts, alternation of plan and map, re-weighted refinement",
            "after Xu, Yang, Otani, Wu 2018 (the objective) and Artetxe, Labaka, Agirre 2018 (profiles, re-weighting)",
        ),
    )
}


def find(name: str) -> Recipe:
    """The recipe of this name, or the one in the TOML file of this path."""
    if name in RECIPES:
        return RECIPES[name]
    if name.endswith(".toml"):
        return read_recipe(Path(name), ())
    raise SettingsError(f"no recipe is called {name!r}; there are: {', '.join(RECIPES)}, or the path of a .toml file")


def read_recipe(path: Path, within: tuple[Path, ...] = ()) -> Recipe:
    """A recipe from TOML: ``base`` names the recipe it starts from, ``[settings]`` holds what differs.

    A base that is a file itself is looked for beside this one; ``within`` are the files that led here.
    """
    if path.resolve() in within:
        raise SettingsError(f"{path}: starts from itself; name another base, such as 'default'")
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read as TOML: {error}") from error
    unknown = set(table) - {"name", "base", "summary", "settings"}
    if unknown:
        raise SettingsError(f"{path}: unknown key {sorted(unknown)[0]!r}; expected name, base, summary, settings")
    try:
        base = _base(str(table.get("base", "default")), path, within)
        settings = changed(base.settings, table.get("settings", {}), "settings")
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from None
    return replace(
        base, name=str(table.get("name", path.stem)), summary=str(table.get("summary", base.summary)), settings=settings
    )


def _base(name: str, path: Path, within: tuple[Path, ...]) -> Recipe:
    if name in RECIPES or not name.endswith(".toml"):
        return find(name)
    return read_recipe(path.parent / name, (*within, path.resolve()))


def changed(settings: Any, table: Any, where: str) -> Any:
    """Settings with the values of a table put in, checked by name and type, tables within tables."""
    if not isinstance(table, Mapping):
        raise SettingsError(f"{where} is {table!r}; expected a table")
    types_of = typing.get_type_hints(type(settings))
    values = {}
    for name, value in table.items():
        if name not in types_of:
            raise SettingsError(f"{where} has no {name!r}; there are: {', '.join(types_of)}")
        current = getattr(settings, name)
        values[name] = (
            changed(current, value, f"{where}.{name}")
            if dataclasses.is_dataclass(current)
            else _checked(value, types_of[name], f"{where}.{name}")
        )
    return replace(settings, **values)


def _checked(value: Any, expected: Any, where: str) -> Any:
    """A TOML value as the type a setting has: whole numbers pass for fractions, lists become tuples."""
    origin, inner = typing.get_origin(expected), typing.get_args(expected)
    if origin is tuple and isinstance(value, list):
        return tuple(_checked(each, inner[0], where) for each in value)
    if expected is float and type(value) in (int, float):
        return float(value)
    if origin is typing.Literal and value in inner:
        return value
    if isinstance(expected, type) and type(value) is expected:
        return value
    name = (
        expected.__name__ if isinstance(expected, type) and not isinstance(expected, types.GenericAlias) else expected
    )
    raise SettingsError(f"{where} is {value!r}; expected {name}")


def to_toml(recipe: Recipe) -> str:
    """The recipe with every default filled in; ``read_recipe`` gives it back."""
    base = next(each.name for each in RECIPES.values() if each.method == recipe.method)
    lines = [f"{name} = {_toml_value(value)}" for name, value in (("name", recipe.name), ("base", base))]
    lines += [f"summary = {_toml_value(recipe.summary)}", ""]
    return "\n".join(lines + _toml_table(asdict(recipe.settings), "settings")) + "\n"


def _toml_table(table: Mapping[str, Any], where: str) -> list[str]:
    plain = {name: value for name, value in table.items() if not isinstance(value, Mapping)}
    lines = [f"[{where}]", *(f"{name} = {_toml_value(value)}" for name, value in plain.items()), ""]
    for name, value in table.items():
        if isinstance(value, Mapping):
            lines += _toml_table(value, f"{where}.{name}")
    return lines


def _toml_value(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, str) else repr(value)


def choose_device(name: str) -> torch.device:
    """auto: the GPU where there is one."""
    if name not in ("auto", "cpu", "cuda"):
        raise SettingsError(f"device is {name!r}; expected auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise SettingsError("device is 'cuda', but torch sees no GPU here; use 'cpu' or 'auto'")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def run(
    recipe: Recipe,
    source: Space,
    target: Space,
    seed: int = 0,
    device: str = "auto",
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
) -> Alignment:
    """Align two spaces by a recipe, judge the result, and keep how it was made."""
    if recipe.method not in METHODS:
        raise SettingsError(f"no method is called {recipe.method!r}; there are: {', '.join(METHODS)}")
    clock = _Clock(listen)
    task = Task(source, target, _whole(seed), choose_device(device), clock.hear, stopped)
    with torch.no_grad():
        outcome = METHODS[recipe.method].method(task, recipe.settings)
    return Alignment.of(
        (source, target),
        (outcome.source, outcome.target),
        judge(outcome.evidence),
        _record(recipe, task, outcome, clock),
    )


def _whole(seed: Any) -> int:
    try:
        return operator.index(seed)
    except TypeError:
        raise SettingsError(f"seed is {seed!r}; expected a whole number") from None


class _Clock:
    """Passes every step on, and keeps it with its time; a stage lasts from the last step before it to its own last."""

    def __init__(self, listen: Listen) -> None:
        self.listen, self.began, self.last = listen, time.monotonic(), 0.0
        self.log: list[dict[str, Any]] = []
        self.seconds: dict[str, float] = {}

    def hear(self, step: Step) -> None:
        now = time.monotonic() - self.began
        self.seconds[step.stage] = self.seconds.get(step.stage, 0.0) + now - self.last
        self.last = now
        self.log.append({"stage": step.stage, "number": step.number, "seconds": round(now, 3), **step.values})
        self.listen(step)


def _record(recipe: Recipe, task: Task, outcome: Outcome, clock: _Clock) -> Record:
    names = ("calque", "torch", "numpy")
    return Record(
        recipe={"name": recipe.name, "method": recipe.method, "settings": asdict(recipe.settings)},
        seed=task.seed,
        device=str(task.device),
        versions={name: metadata.version(name) for name in names} | {"python": platform.python_version()},
        inputs={"source": _described(task.source), "target": _described(task.target)},
        seconds={stage: round(seconds, 3) for stage, seconds in clock.seconds.items()},
        notes=outcome.notes,
        interrupted=task.stopped(),
        log=tuple(clock.log),
    )


def _described(space: Space) -> dict[str, Any]:
    digest = hashlib.sha256("\n".join(space.words).encode("utf-8", "surrogateescape"))
    digest.update(space.vectors.contiguous().numpy().data)
    return {
        "name": space.name,
        "words": len(space),
        "dimension": space.dimension,
        "counts": space.counts is not None,
        "sha256": digest.hexdigest(),
    }
