"""The second of the three values: maps of both sides into one common space, and what is known about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import torch
from torch import Tensor

from calque.data.space import Space
from calque.errors import RunError, SettingsError, SpaceError, UnknownWordError
from calque.linear.maps import LinearMap, map_from
from calque.linear.side import Milestone, Side, map_space, map_subwords
from calque.progress import never
from calque.retrieval.exact import Neighbours, find, neighbours
from calque.retrieval.induction import CONSIDERED, Choices, LexiconEntry, confidence_and_mutual
from calque.runs import folder as store
from calque.runs.lookup import Candidate, Translation, similar
from calque.runs.model_card import Example, model_card
from calque.verdict import Verdict, verdict_from

STAGES = "stages.safetensors"
"""Where a run folder keeps the maps of its earlier stages."""
AT_ONCE = 2048
"""So many words are asked about between two looks at whether to stop."""
EXAMPLES, EXAMPLES_AMONG = 12, 1200
"""So many translations stand in the model card, of words at even steps among so many."""
Array = TypeVar("Array")
"""A torch tensor or a numpy array; what goes in as one comes out as one."""


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

    def as_json(self) -> dict[str, Any]:
        """As config.json tells it, without the log, which has a file of its own; ``record_from`` gives it back."""
        return {name: getattr(self, name) for name in _TOLD} | {"notes": list(self.notes)}


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
    returning: Alignment | None = None
    """By what to translate back, where a method learned two maps (F of the paper beside G, not its inverse). Queries
    stay and candidates are mapped, so that F serves the way there and G the way back."""
    earlier: tuple[Milestone, ...] = ()
    """The maps of the way there after each stage but the last."""

    @classmethod
    def of(
        cls,
        spaces: tuple[Space, Space],
        sides: tuple[Side, Side],
        verdict: Verdict,
        record: Record,
        back: tuple[Side, Side] | None = None,
    ) -> Alignment:
        """Map both spaces by their sides; by ``back`` for the way back, where it has sides of its own."""
        returning = None if back is None else cls.of(spaces, back, verdict, record)
        mapped = map_space(spaces[0], sides[0]), map_space(spaces[1], sides[1])
        return cls(*mapped, *sides, verdict, record, returning=returning)

    def __repr__(self) -> str:
        return f"Alignment({self.source!r}, {self.target!r}, {self.verdict.label})"

    @cached_property
    def forward(self) -> LinearMap:
        """G of the paper: from preprocessed source vectors to preprocessed target vectors."""
        way = self.returning or self
        return _linear(way.source_side).then(_linear(way.target_side).inverse())

    @cached_property
    def backward(self) -> LinearMap:
        """F of the paper: the other way."""
        return _linear(self.target_side).then(_linear(self.source_side).inverse())

    def spaces(self, back: bool = False) -> tuple[Space, Space]:
        """The language that asks and the one that answers, in the space where they meet."""
        way = self.returning if back and self.returning is not None else self
        return (way.target, way.source) if back else (way.source, way.target)

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
        space, other = self.spaces(back)
        found = self.neighbours(_vectors_of(space, words), k, back, retrieval)
        return [
            Translation(
                word, tuple(Candidate(other.words[row], score) for row, score in zip(rows, scores, strict=True))
            )
            for word, rows, scores in zip(words, found.indices.tolist(), found.scores.tolist(), strict=True)
        ]

    def neighbours(self, queries: Tensor, k: int, back: bool = False, retrieval: str = "csls") -> Neighbours:
        """The ``k`` best words of the other language for vectors of the common space."""
        candidates = self.spaces(back)[1].vectors
        return neighbours(queries, candidates, k, find(retrieval), self.penalty(retrieval, back))

    def penalty(self, retrieval: str, back: bool) -> Tensor:
        """What a retrieval holds against each candidate; computed once."""
        if (retrieval, back) not in self.penalties:
            asking, asked = self.spaces(back)
            self.penalties[retrieval, back] = find(retrieval).penalty(asking.vectors, asked.vectors)
        return self.penalties[retrieval, back]

    def lexicon(self, every: bool = False, stopped: Callable[[], bool] = never) -> list[LexiconEntry]:
        """The induced dictionary, most frequent source word first: mutual pairs, or ``every`` source word's best.

        RunError where it was ``stopped`` before the end.
        """
        there, back = (self._choices(back, stopped) for back in (False, True))
        confidence, mutual = confidence_and_mutual(there, back)
        return [
            LexiconEntry(word, self.target.words[row], sure, both)
            for word, row, sure, both in zip(
                self.source.words, there.best.tolist(), confidence.tolist(), mutual.tolist(), strict=True
            )
            if both or every
        ]

    def _choices(self, back: bool, stopped: Callable[[], bool]) -> Choices:
        blocks = []
        for queries in torch.split(self.spaces(back)[0].vectors, AT_ONCE):
            if stopped():
                raise RunError("the lexicon was not finished: somebody asked to stop")
            blocks.append(Choices.of(self.neighbours(queries, CONSIDERED, back)))
        return Choices.joined(blocks)

    def with_subwords(self, space: Space, back: bool = False) -> Alignment:
        """The same, with the subword model of ``space`` for words that the source (or target) has not seen."""
        if back and self.returning is not None:
            return replace(self, returning=self.returning.with_subwords(space, back))
        side = self.target_side if back else self.source_side
        _check_dimension(space.vectors, side)
        model = map_subwords(space, side)
        if back:
            return replace(self, target=replace(self.target, subwords=model))
        return replace(self, source=replace(self.source, subwords=model))

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write a run folder, whole or not at all."""
        with store.whole_folder(Path(path), overwrite) as folder:
            store.write_json(folder / "config.json", _config(self))
            store.write_tensors(folder / "maps.safetensors", _map_tensors(self))
            store.write_tensors(folder / "vectors.safetensors", _vector_tensors(self))
            if self.earlier:
                store.write_tensors(folder / STAGES, _stage_tensors(self.earlier))
            store.write_lines(folder / "words.source.txt", self.source.words)
            store.write_lines(folder / "words.target.txt", self.target.words)
            store.write_lines(folder / "log.jsonl", [store.one_line(event) for event in self.record.log])
            store.write_text(
                folder / "README.md", model_card(_config(self), Path(path).resolve().name, _examples(self))
            )

    @classmethod
    def load(cls, path: str | Path) -> Alignment:
        """The alignment in a run folder."""
        folder = Path(path)
        config = store.read_json(folder / "config.json")
        log = store.read_log(folder / "log.jsonl")
        maps, vectors = (store.read_tensors(folder / f"{name}.safetensors") for name in ("maps", "vectors"))
        stages = store.read_tensors(folder / STAGES) if (folder / STAGES).exists() else {}
        try:
            return replace(_from_files(folder, config, maps, vectors, log), earlier=_earlier(stages))
        except (KeyError, TypeError, ValueError, SpaceError) as error:
            raise RunError(f"{folder}: the run folder is damaged or of another version: {error}") from error


def _linear(side: Side) -> LinearMap:
    if not isinstance(side.map, LinearMap):
        raise SettingsError("this alignment's map has hidden layers, and so no matrix; use map_source and map_target")
    return side.map


def _same_kind(vectors: Array, side: Side) -> Array:
    given: Any = vectors
    made = given.float() if isinstance(given, Tensor) else torch.as_tensor(np.asarray(given, dtype=np.float32))
    _check_dimension(made, side)
    mapped = side.apply(made)
    return cast(Array, mapped if isinstance(given, Tensor) else mapped.numpy())


def _check_dimension(vectors: Tensor, side: Side) -> None:
    expected = side.map.inputs
    if vectors.ndim < 1 or vectors.shape[-1] != expected:
        found = f"vectors have shape {tuple(vectors.shape)}"
        raise SpaceError(f"{found}; expected {expected} dimensions, as the map was learned on")


def _vectors_of(space: Space, words: Sequence[str]) -> Tensor:
    try:
        return space.lookup(words)
    except UnknownWordError as error:
        unknown = next(word for word in words if word not in space)
        raise UnknownWordError(f"{error}{similar(unknown, space.words)}") from None


def _examples(alignment: Alignment) -> list[Example]:
    """Translations of words at even steps among the frequent ones."""
    among = min(EXAMPLES_AMONG, len(alignment.source))
    rows = range(among // EXAMPLES - 1, among, among // EXAMPLES) if among >= EXAMPLES else range(among)
    found = alignment.translate([alignment.source.words[row] for row in rows], k=1)
    return [(each.word, each.candidates[0].word, each.candidates[0].score) for each in found]


def _config(alignment: Alignment) -> dict[str, Any]:
    return {
        "format": store.FORMAT,
        **alignment.record.as_json(),
        "names": {"source": alignment.source.name, "target": alignment.target.name},
        "verdict": alignment.verdict.as_json(),
    }


def _map_tensors(alignment: Alignment) -> dict[str, Tensor]:
    sides = {"source": alignment.source_side, "target": alignment.target_side}
    tensors = {f"{name}.{key}": value for name, side in sides.items() for key, value in side.tensors().items()}
    return tensors | _for_the_way_back(alignment, _map_tensors)


def _for_the_way_back(alignment: Alignment, tensors: Callable[[Alignment], dict[str, Tensor]]) -> dict[str, Tensor]:
    """What the way back adds, where it has maps of its own."""
    way = alignment.returning
    return {} if way is None else {f"back.{name}": value for name, value in tensors(way).items()}


def _stage_tensors(earlier: Sequence[Milestone]) -> dict[str, Tensor]:
    sides = [
        (f"{number}.{each.stage}.{side}", map)
        for number, each in enumerate(earlier)
        for side, map in (("source", each.source), ("target", each.target))
    ]
    return {f"{name}{key}": tensor for name, map in sides for key, tensor in map.tensors().items()}


def _earlier(saved: dict[str, Tensor]) -> tuple[Milestone, ...]:
    stages = sorted({(int(number), stage) for number, stage, *_ in (name.split(".") for name in saved)})
    return tuple(
        Milestone(stage, *(map_from(saved, f"{number}.{stage}.{side}") for side in ("source", "target")))
        for number, stage in stages
    )


def _mapped_tensors(alignment: Alignment) -> dict[str, Tensor]:
    return {"source": alignment.source.vectors, "target": alignment.target.vectors}


def _vector_tensors(alignment: Alignment) -> dict[str, Tensor]:
    tensors = _mapped_tensors(alignment) | _for_the_way_back(alignment, _mapped_tensors)
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
    store.check_format(folder, config)
    store.check_is_pair(folder, config)
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
    verdict, record = verdict_from(told), record_from(config, log)
    sides = _side(maps, "source"), _side(maps, "target")
    way = None
    if "back.source" in vectors:
        back = [replace(spaces[name], vectors=vectors[f"back.{name}"]) for name in ("source", "target")]
        way = Alignment(back[0], back[1], _side(maps, "back.source"), _side(maps, "back.target"), verdict, record)
    return Alignment(spaces["source"], spaces["target"], *sides, verdict, record, penalties, way)


def _side(maps: dict[str, Tensor], name: str) -> Side:
    return Side.from_tensors(
        {key.removeprefix(f"{name}."): each for key, each in maps.items() if key.startswith(f"{name}.")}
    )


_TOLD = ("recipe", "seed", "device", "versions", "inputs", "seconds", "interrupted")


def record_from(config: Mapping[str, Any], log: tuple[Mapping[str, Any], ...] = ()) -> Record:
    """The record that a config tells; KeyError where it tells none."""
    return Record(**{name: config[name] for name in _TOLD}, notes=tuple(config["notes"]), log=log)
