"""Finished runs, one JSON file each: what makes work that was killed go on where it was."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast

import torch

from calque.errors import CalqueError, RunError
from calque.evaluate import DirectionScore, SimilarityScore
from calque.recipes import Recipe
from calque.runs import folder as store

RETRIEVALS = "nn", "csls"
"""By which every direction is scored."""
KEPT = (CalqueError, ArithmeticError, torch.linalg.LinAlgError)  # type: ignore[attr-defined]
"""What a method may fail by: such a run is kept as failed. Anything else is not its doing, and is tried again."""


class Named(Protocol):
    """What a run is known by; a frozen dataclass of plain values."""

    @property
    def pair(self) -> str:
        """'es-en': Spanish is the source."""
        ...

    @property
    def method(self) -> str:
        """What aligned it: runs of one method take about the same time."""
        ...

    @property
    def seed(self) -> int:
        """Of the method, and of whatever else is drawn for it."""
        ...

    @property
    def name(self) -> str:
        """The name of its file."""
        ...


K = TypeVar("K", bound=Named)


@dataclass(frozen=True)
class Score:
    """What the judges said of one alignment."""

    translation: Mapping[str, Mapping[str, DirectionScore]] = field(default_factory=dict)
    """By direction, then by retrieval."""
    similarity: SimilarityScore | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    """By direction, 'similarity', or 'run' where the method itself did not come through: one line of why."""


def failure(error: Exception) -> Score:
    """The score of a method that did not come through."""
    told = str(error) if isinstance(error, CalqueError) else f"{type(error).__name__}: {error}"
    return Score(errors={"run": " ".join(told.split())})


@dataclass(frozen=True)
class Making:
    """How a run was made: what must be unchanged for it to count, and what one may want to know."""

    settings: str
    """Digest of the recipe's method and settings."""
    inputs: Mapping[str, str]
    """Digest of every file it was learned from or judged by."""
    verdict: str = ""
    """aligned, doubtful or failed, as calque judged it without the lexicon; empty where it did not come through."""
    seconds: float = 0.0
    """To align; its share where several seeds ran together."""
    scoring: float = 0.0
    """Seconds to judge."""
    together: int = 1
    """How many seeds ran as one batch."""
    device: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    saved: bool = False
    """Whether its run folder was written with it."""


@dataclass(frozen=True)
class Run(Generic[K]):
    """One method on one pair with one seed, finished."""

    key: K
    score: Score
    making: Making

    def error(self, judge: str) -> str:
        """Why there is no score by this judge, a direction or 'similarity'; empty where there is."""
        return self.score.errors.get("run") or self.score.errors.get(judge, "")

    def answers(self, judges: Iterable[str]) -> bool:
        """Whether each of these judges, directions or 'similarity', gave a score, or says why there is none."""
        scored = {*self.score.translation, *(() if self.score.similarity is None else ("similarity",))}
        return all(judge in scored or bool(self.error(judge)) for judge in judges)

    def as_json(self) -> dict[str, Any]:
        """As it is kept; ``read_run`` gives it back."""
        translation = {
            direction: {name: each.as_json() for name, each in scores.items()}
            for direction, scores in self.score.translation.items()
        }
        similarity = None if self.score.similarity is None else self.score.similarity.as_json()
        told = {"scores": translation, "similarity": similarity, "errors": dict(self.score.errors)}
        return {"format": 1, **asdict(cast(Any, self.key)), **told, **asdict(self.making)}


def read_run(found: Any, kind: type[K]) -> Run[K]:
    """The run in a JSON value, known by a key of this kind; KeyError, TypeError or ValueError where it is none."""
    if found["format"] != 1:
        raise ValueError(f"format {found['format']}, expected 1")
    translation = {
        direction: {name: _direction(each) for name, each in scores.items()}
        for direction, scores in found["scores"].items()
    }
    if not all(set(scores) == set(RETRIEVALS) for scores in translation.values()):
        raise ValueError(f"a direction is not scored by {' and '.join(RETRIEVALS)}")
    similarity = None if found["similarity"] is None else SimilarityScore(**found["similarity"])
    errors = {str(judge): str(line) for judge, line in found["errors"].items()}
    told = {"saved": False} | found
    making = Making(**{each.name: told[each.name] for each in dataclasses.fields(Making)})
    if not all(isinstance(each, dict) for each in (making.inputs, making.versions)):
        raise TypeError("inputs and versions are no tables")
    if not all(isinstance(each, (int, float)) for each in (making.seconds, making.scoring, making.together)):
        raise TypeError("seconds are no numbers")
    key = kind(**{each.name: found[each.name] for each in dataclasses.fields(cast(Any, kind))})
    return Run(key, Score(translation, similarity, errors), making)


def _direction(found: Any) -> DirectionScore:
    """Counts, from which every share follows."""
    score = DirectionScore({int(k): int(n) for k, n in found["right"].items()}, int(found["asked"]), found["missing"])
    if score.asked < 1 or 1 not in score.right or not all(0 <= n <= score.asked for n in score.right.values()):
        raise ValueError(f"counts {found['right']} of {score.asked} asked")
    return score


@dataclass(frozen=True)
class Keep(Generic[K]):
    """A folder of finished runs."""

    folder: Path
    kind: type[K]
    """Of their keys."""

    def path(self, key: K) -> Path:
        """Where a run is kept."""
        return self.folder / key.name

    def find(self, key: K) -> Run[K] | None:
        """The run, if it is there; RunError where its file is damaged."""
        path = self.path(key)
        if not path.exists():
            return None
        try:
            run = read_run(store.read_json(path), self.kind)
        except (RunError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise RunError(f"{path}: is no finished run ({type(error).__name__}); it is run again") from error
        if run.key != key:
            raise RunError(f"{path}: holds another run, {run.key.name}; it is run again")
        return run

    def put(self, run: Run[K]) -> None:
        """Keep a run; its file appears whole."""
        path = self.path(run.key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{path.parent}: cannot be made a folder: {error.strerror}") from error
        store.write_json(path, run.as_json())


def settings_digest(recipe: Recipe) -> str:
    """The same for recipes of the same method and settings."""
    told = {"method": recipe.method, "settings": asdict(recipe.settings)}
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()
