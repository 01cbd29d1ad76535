"""The second of the three values: maps of both sides into one common space, and what is known about them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import torch
from torch import Tensor

from calque import store
from calque.card import model_card
from calque.errors import RunError, SpaceError, UnknownWordError
from calque.maps import LinearMap
from calque.preprocess import Preprocessing, unit
from calque.retrieval import Neighbours, find, neighbours
from calque.space import Space, SubwordModel
from calque.verdict import Verdict

Array = TypeVar("Array")
"""A torch tensor or a numpy array; what goes in as one comes out as one."""


@dataclass(frozen=True, eq=False)
class Side:
    """How the vectors of one language get into the common space."""

    preprocessing: Preprocessing
    map: LinearMap

    def apply(self, vectors: Tensor) -> Tensor:
        """Preprocessed, mapped, and of unit length."""
        return unit(self.map.apply(self.preprocessing.apply(vectors)))


@dataclass(frozen=True)
class Candidate:
    """One translation of a word."""

    word: str
    score: float


@dataclass(frozen=True)
class Translation:
    """A word and its best translations, best first."""

    word: str
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class Entry:
    """One line of an induced dictionary."""

    source: str
    target: str
    confidence: float
    """Between 0 and 1: how far each word prefers the other to its next nine candidates, both ways."""
    mutual: bool
    """Whether each is the other's best translation."""


@dataclass(frozen=True)
class Record:
    """How an alignment was made: enough to make it again."""

    recipe: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    device: str = "cpu"
    versions: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What the user should know beside the verdict: reduced dimensions, an interruption."""
    interrupted: bool = False
    log: tuple[Mapping[str, Any], ...] = ()
    """One event a step."""


@dataclass(frozen=True)
class _MappedSubwords:
    """Vectors of unseen words, carried into the common space."""

    model: SubwordModel
    side: Side

    def vector(self, word: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        return np.asarray(self.side.apply(torch.as_tensor(self.model.vector(word)).unsqueeze(0))[0].numpy(), np.float32)


@dataclass(frozen=True, eq=False)
class Alignment:
    """Two languages in one space."""

    source: Space
    """The source words with their vectors in the common space."""
    target: Space
    source_side: Side
    target_side: Side
    verdict: Verdict
    record: Record
    penalties: dict[tuple[str, bool], Tensor] = field(default_factory=dict, repr=False)
    """What each retrieval holds against each word, by (retrieval, back), kept once computed."""

    @classmethod
    def of(cls, spaces: tuple[Space, Space], sides: tuple[Side, Side], verdict: Verdict, record: Record) -> Alignment:
        """Map both spaces by their sides."""
        return cls(map_space(spaces[0], sides[0]), map_space(spaces[1], sides[1]), *sides, verdict, record)

    @cached_property
    def forward(self) -> LinearMap:
        """G of the paper: from preprocessed source vectors to preprocessed target vectors."""
        return self.source_side.map.then(self.target_side.map.inverse())

    @cached_property
    def backward(self) -> LinearMap:
        """F of the paper: the other way."""
        return self.target_side.map.then(self.source_side.map.inverse())

    def map_source(self, vectors: Array) -> Array:
        """New source vectors in the common space; numpy in, numpy out."""
        return _same_kind(vectors, self.source_side)

    def map_target(self, vectors: Array) -> Array:
        """New target vectors in the common space; numpy in, numpy out."""
        return _same_kind(vectors, self.target_side)

    def translate(
        self, words: Sequence[str], k: int = 5, back: bool = False, retrieval: str = "csls"
    ) -> list[Translation]:
        """The ``k`` best translations of each word; from target to source with ``back``."""
        words = [words] if isinstance(words, str) else list(words)
        space, other = (self.target, self.source) if back else (self.source, self.target)
        found = self.neighbours(_vectors_of(space, words), k, back, retrieval)
        return [
            Translation(
                word, tuple(Candidate(other.words[row], score) for row, score in zip(rows, scores, strict=True))
            )
            for word, rows, scores in zip(words, found.indices.tolist(), found.scores.tolist(), strict=True)
        ]

    def neighbours(self, queries: Tensor, k: int, back: bool = False, retrieval: str = "csls") -> Neighbours:
        """The ``k`` best words of the other language for vectors of the common space."""
        kind, candidates = find(retrieval), (self.source if back else self.target).vectors
        return neighbours(queries, candidates, k, kind, self.penalty(retrieval, back))

    def penalty(self, retrieval: str, back: bool) -> Tensor:
        """What a retrieval holds against each candidate; computed once."""
        if (retrieval, back) not in self.penalties:
            asking, asked = (self.target, self.source) if back else (self.source, self.target)
            self.penalties[retrieval, back] = find(retrieval).penalty(asking.vectors, asked.vectors)
        return self.penalties[retrieval, back]

    def lexicon(self, every: bool = False) -> list[Entry]:
        """The induced dictionary, most frequent source word first: mutual pairs, or ``every`` source word's best."""
        there = self.neighbours(self.source.vectors, 10)
        back = self.neighbours(self.target.vectors, 10, back=True)
        sure_there, sure_back = _preference(there), _preference(back)
        best, returned = there.indices[:, 0], back.indices[:, 0]
        mutual = returned[best] == torch.arange(len(best))
        confidence = torch.where(mutual, (sure_there * sure_back[best]).sqrt(), sure_there / 2)
        return [
            Entry(word, self.target.words[row], sure, both)
            for word, row, sure, both in zip(
                self.source.words, best.tolist(), confidence.tolist(), mutual.tolist(), strict=True
            )
            if both or every
        ]

    def with_subwords(self, space: Space, back: bool = False) -> Alignment:
        """The same, with the subword model of ``space`` for words that the source (or target) has not seen."""
        side = self.target_side if back else self.source_side
        _check_dimension(space.vectors, side)
        model = None if space.subwords is None else _MappedSubwords(space.subwords, side)
        if back:
            return replace(self, target=replace(self.target, subwords=model))
        return replace(self, source=replace(self.source, subwords=model))

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write a run folder, whole or not at all."""
        with store.whole_folder(Path(path), overwrite) as folder:
            store.write_json(folder / "config.json", _config(self))
            store.write_tensors(folder / "maps.safetensors", _map_tensors(self))
            store.write_tensors(folder / "vectors.safetensors", _vector_tensors(self))
            store.write_lines(folder / "words.source.txt", self.source.words)
            store.write_lines(folder / "words.target.txt", self.target.words)
            store.write_lines(folder / "log.jsonl", [store.one_line(event) for event in self.record.log])
            store.write_text(folder / "README.md", model_card(_config(self), Path(path).name))

    @classmethod
    def load(cls, path: str | Path) -> Alignment:
        """The alignment in a run folder."""
        folder = Path(path)
        config = store.read_json(folder / "config.json")
        log = store.read_log(folder / "log.jsonl")
        maps, vectors = (store.read_tensors(folder / f"{name}.safetensors") for name in ("maps", "vectors"))
        try:
            return _from_files(folder, config, maps, vectors, log)
        except (KeyError, TypeError, ValueError, SpaceError) as error:
            raise RunError(f"{folder}: the run folder is damaged or of another version: {error}") from error


def map_space(space: Space, side: Side) -> Space:
    """A space in the common space, block by block, with its subword model where it has one."""
    blocks = torch.split(space.vectors, 65_536)
    mapped = torch.cat([side.apply(block) for block in blocks])
    model = None if space.subwords is None else _MappedSubwords(space.subwords, side)
    return replace(space, vectors=mapped, subwords=model)


def _same_kind(vectors: Array, side: Side) -> Array:
    given: Any = vectors
    made = given.float() if isinstance(given, Tensor) else torch.as_tensor(np.asarray(given, dtype=np.float32))
    _check_dimension(made, side)
    mapped = side.apply(made)
    return cast(Array, mapped if isinstance(given, Tensor) else mapped.numpy())


def _check_dimension(vectors: Tensor, side: Side) -> None:
    expected = int(side.map.matrix.shape[0])
    if vectors.ndim < 1 or vectors.shape[-1] != expected:
        found = f"vectors have shape {tuple(vectors.shape)}"
        raise SpaceError(f"{found}; expected {expected} dimensions, as the map was learned on")


def _vectors_of(space: Space, words: Sequence[str]) -> Tensor:
    try:
        return space.lookup(words)
    except UnknownWordError as error:
        unknown = next(word for word in words if word not in space)
        close = difflib.get_close_matches(unknown, space.words[:50_000], n=3, cutoff=0.75)
        hint = f"; did you mean {', '.join(close)}?" if close else ""
        raise UnknownWordError(f"{error}{hint}") from None


def _preference(found: Neighbours) -> Tensor:
    """The share that the best of the candidates takes of all ten, by softmax."""
    return torch.softmax(10.0 * found.scores, dim=1)[:, 0]


def _config(alignment: Alignment) -> dict[str, Any]:
    record, verdict = alignment.record, alignment.verdict
    return {
        "format": 1,
        "recipe": record.recipe,
        "seed": record.seed,
        "device": record.device,
        "versions": record.versions,
        "inputs": record.inputs,
        "seconds": record.seconds,
        "notes": list(record.notes),
        "interrupted": record.interrupted,
        "names": {"source": alignment.source.name, "target": alignment.target.name},
        "verdict": {"label": verdict.label, "reasons": list(verdict.reasons), "evidence": dict(verdict.evidence)},
    }


def _map_tensors(alignment: Alignment) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    for name, side in (("source", alignment.source_side), ("target", alignment.target_side)):
        tensors[f"{name}.map"] = side.map.matrix
        tensors |= {f"{name}.preprocessing.{key}": value for key, value in side.preprocessing.tensors().items()}
    return tensors


def _vector_tensors(alignment: Alignment) -> dict[str, Tensor]:
    tensors = {"source": alignment.source.vectors, "target": alignment.target.vectors}
    for name, space in (("source", alignment.source), ("target", alignment.target)):
        if space.counts is not None:
            tensors[f"{name}.counts"] = space.counts
    return tensors | {
        "csls.forward": alignment.penalty("csls", back=False),
        "csls.backward": alignment.penalty("csls", back=True),
    }


def _from_files(
    folder: Path,
    config: dict[str, Any],
    maps: dict[str, Tensor],
    vectors: dict[str, Tensor],
    log: tuple[Mapping[str, Any], ...],
) -> Alignment:
    if config["format"] != 1:
        raise RunError(f"{folder}: run folder of format {config['format']}, expected 1; use the calque that wrote it")
    spaces = {
        name: Space(
            tuple(store.read_lines(folder / f"words.{name}.txt")),
            vectors[name],
            vectors.get(f"{name}.counts"),
            config["names"][name],
        )
        for name in ("source", "target")
    }
    told = config["verdict"]
    penalties = {("csls", back): vectors[f"csls.{way}"] for back, way in ((False, "forward"), (True, "backward"))}
    if [len(penalties["csls", back]) for back in (True, False)] != [len(each) for each in spaces.values()]:
        raise RunError(f"{folder}: the run folder is damaged: words and their penalties are not equally many")
    return Alignment(
        spaces["source"],
        spaces["target"],
        _side(maps, "source"),
        _side(maps, "target"),
        Verdict(told["label"], tuple(told["reasons"]), told["evidence"]),
        _record(config, log),
        penalties,
    )


def _side(maps: dict[str, Tensor], name: str) -> Side:
    prefix = f"{name}.preprocessing."
    steps = {key.removeprefix(prefix): value for key, value in maps.items() if key.startswith(prefix)}
    return Side(Preprocessing.from_tensors(steps), LinearMap(maps[f"{name}.map"]))


def _record(config: dict[str, Any], log: tuple[Mapping[str, Any], ...]) -> Record:
    kept = ("recipe", "seed", "device", "versions", "inputs", "seconds", "interrupted")
    return Record(**{name: config[name] for name in kept}, notes=tuple(config["notes"]), log=log)
