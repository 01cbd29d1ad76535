"""Finished runs, one JSON file each: with them, work that was killed goes on where it was."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from calque.data.files import sha256_of
from calque.errors import CalqueError, FormatError, RunError
from calque.evaluate import DirectionScore, SimilarityScore
from calque.recipes import Recipe
from calque.runs import folder as store

RETRIEVALS = "nn", "csls"
"""The retrievals by which every direction is scored."""


@dataclass(frozen=True)
class ExperimentKey:
    """Identifies a run."""

    pair: str
    """'es-en': Spanish is the source."""
    method: str
    """The name of its recipe, or of its row in a table of the paper."""
    seed: int
    """Of the method, and of everything else that is drawn at random for it."""
    dataset: str = ""
    """For a table of the paper: which vectors. Empty in a sweep."""
    lexicon: str = ""
    """For a table of the paper: what judges it. Empty in a sweep."""

    @property
    def stem(self) -> str:
        """Its file without the suffix. A sweep has a folder for each pair, because there may be very many."""
        if self.dataset:
            return f"{self.dataset}-{self.lexicon}.{self.pair}.{self.method}.{self.seed}"
        return f"{quote(self.pair, safe='')}/{quote(self.method, safe='')}.{self.seed}"

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.stem}.json"

    def __str__(self) -> str:
        return f"{self.method} {self.pair} seed {self.seed}"


@dataclass(frozen=True)
class Score:
    """What the gold data says of one alignment."""

    translation: Mapping[str, Mapping[str, DirectionScore]] = field(default_factory=dict)
    """By direction, then by retrieval."""
    similarity: SimilarityScore | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    """Why there is no score, in one line: by direction, 'similarity', or 'run' if the method itself failed."""
    texts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Figures of classification and retrieval of texts, such as accuracy, by 'classification en-fr' and so on."""


def failed_score(error: Exception) -> Score:
    """The score of a method that failed."""
    text = str(error) if isinstance(error, CalqueError) else f"{type(error).__name__}: {error}"
    return Score(errors={"run": " ".join(text.split())})


@dataclass(frozen=True)
class Provenance:
    """How a run was made: what must be unchanged for it to count, and what a reader may want to know."""

    settings: str
    """Digest of the recipe's method and settings."""
    inputs: Mapping[str, str]
    """Digest of every file that it learned from or was judged by."""
    verdict: str = ""
    """aligned, doubtful or failed, as calque judged it without the lexicon; empty if the method failed."""
    seconds: float = 0.0
    """To align; its share if several seeds ran together."""
    scoring: float = 0.0
    """Seconds to judge."""
    together: int = 1
    """How many seeds ran as one batch."""
    device: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    saved: bool = False
    """Whether its run folder was written with it."""


@dataclass(frozen=True)
class FinishedRun:
    """One method on one pair with one seed, finished."""

    key: ExperimentKey
    score: Score
    provenance: Provenance

    def error(self, judge: str) -> str:
        """Why there is no score by a judge, a direction or 'similarity'; empty if there is one."""
        return self.score.errors.get("run") or self.score.errors.get(judge, "")

    def answers(self, judges: Iterable[str]) -> bool:
        """Whether each judge, a direction or 'similarity', gave a score or a reason why there is none."""
        similarity = () if self.score.similarity is None else ("similarity",)
        scored = {*self.score.translation, *similarity, *self.score.texts}
        return all(judge in scored or bool(self.error(judge)) for judge in judges)

    def as_json(self) -> dict[str, Any]:
        """The run as a JSON value; ``read_run`` reads it."""
        key = {name: value for name, value in asdict(self.key).items() if value != ""}
        scores = {
            direction: {retrieval: score.as_json() for retrieval, score in by_retrieval.items()}
            for direction, by_retrieval in self.score.translation.items()
        }
        similarity = None if self.score.similarity is None else self.score.similarity.as_json()
        judged: dict[str, Any] = {"scores": scores, "similarity": similarity, "errors": dict(self.score.errors)}
        judged |= (
            {"texts": {judge: dict(score) for judge, score in self.score.texts.items()}} if self.score.texts else {}
        )
        return {"format": 1, **key, **judged, **asdict(self.provenance)}


@dataclass(frozen=True)
class LostRun:
    """A run that was tried and is not there."""

    key: ExperimentKey
    error: Exception
    unreadable: bool = False
    """Whether a file is the reason: one that cannot be read, or cannot be written."""

    def __str__(self) -> str:
        return str(self.error) if self.unreadable else f"broke off: {self.error}"


def read_run(value: Any) -> FinishedRun:
    """The run in a JSON value; KeyError, TypeError or ValueError if it is damaged."""
    if value["format"] != 1:
        raise ValueError(f"format {value['format']}, expected 1")
    translation = {
        direction: {retrieval: _read_counts(counts) for retrieval, counts in scores.items()}
        for direction, scores in value["scores"].items()
    }
    if not all(set(scores) == set(RETRIEVALS) for scores in translation.values()):
        raise ValueError(f"a direction is not scored by {' and '.join(RETRIEVALS)}")
    similarity = None if value["similarity"] is None else SimilarityScore(**value["similarity"])
    errors = {str(judge): str(line) for judge, line in value["errors"].items()}
    texts = {judge: {name: float(x) for name, x in score.items()} for judge, score in value.get("texts", {}).items()}
    value = {"saved": False, "dataset": "", "lexicon": "", **value}
    provenance = Provenance(**{name.name: value[name.name] for name in dataclasses.fields(Provenance)})
    if not all(isinstance(table, dict) for table in (provenance.inputs, provenance.versions)):
        raise TypeError("inputs and versions are no tables")
    numbers = provenance.seconds, provenance.scoring, provenance.together
    if not all(isinstance(number, (int, float)) for number in numbers):
        raise TypeError("seconds are no numbers")
    key = ExperimentKey(**{name.name: value[name.name] for name in dataclasses.fields(ExperimentKey)})
    return FinishedRun(key, Score(translation, similarity, errors, texts), provenance)


def _read_counts(value: Any) -> DirectionScore:
    """Counts, from which every share follows."""
    score = DirectionScore({int(k): int(n) for k, n in value["right"].items()}, int(value["asked"]), value["missing"])
    if score.asked < 1 or 1 not in score.right or not all(0 <= n <= score.asked for n in score.right.values()):
        raise ValueError(f"counts {value['right']} of {score.asked} asked")
    return score


@dataclass(frozen=True)
class ResultStore:
    """A folder of finished runs."""

    folder: Path

    def find(self, key: ExperimentKey) -> FinishedRun | None:
        """The run, if it is there; RunError if its file is damaged."""
        path = self.folder / key.name
        if not path.exists():
            return None
        try:
            run = read_run(store.read_json(path))
        except (RunError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise RunError(f"{path}: is no finished run ({type(error).__name__}); it is run again") from error
        if run.key != key:
            raise RunError(f"{path}: holds another run, {run.key.name}; it is run again")
        return run

    def put(self, run: FinishedRun) -> None:
        """Keep a run; its file appears whole."""
        path = self.folder / run.key.name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{path.parent}: cannot be made a folder: {error.strerror}") from error
        store.write_json(path, run.as_json())


def settings_digest(recipe: Recipe) -> str:
    """The same for recipes with the same method and settings."""
    text = json.dumps({"method": recipe.method, "settings": asdict(recipe.settings)}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


class InputDigests:
    """SHA-256 of input files, kept beside the runs: gigabytes are not read again to see that nothing changed.

    A file with the same size, times and inode as before is taken to be the same. The time of the last change to a file
    (ctime), unlike that of its content (mtime), cannot be set back.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            table = store.read_json(path) if path.exists() else {}
        except RunError:  # a damaged record only costs the time to read the inputs again
            table = {}
        self.records: dict[str, Any] = table if isinstance(table, dict) else {}

    def of(self, file: Path) -> str:
        """The digest of a file's bytes."""
        place, state = str(file.resolve()), file.stat()
        mark = [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino]
        record = self.records.get(place)
        if not isinstance(record, dict) or record.get("mark") != mark or not isinstance(record.get("sha256"), str):
            try:
                self.records[place] = {"mark": mark, "sha256": sha256_of(file)}
            except OSError as error:
                raise FormatError(f"{file}: cannot be read: {error.strerror}; expected an input") from error
            store.write_json(self.path, self.records)
        return str(self.records[place]["sha256"])


def make_output_folder(output: Path) -> Path:
    """The output folder with a folder for runs in it; both are made if they are not there."""
    if output.exists() and not output.is_dir():
        raise RunError(f"{output}: is not a folder; choose another name for the table's folder")
    try:
        (output / "runs").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{output}: cannot be made a folder: {error.strerror}; choose another name") from error
    if not os.access(output, os.W_OK) or not os.access(output / "runs", os.W_OK):
        raise RunError(f"{output}: may not be written to; choose another name")
    return output
