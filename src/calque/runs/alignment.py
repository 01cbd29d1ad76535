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
from calque.errors import RunError, SettingsError, SpaceError, UnknownWordError, file_path, listed_words
from calque.linear.maps import LinearMap, Milestone, Side, map_from, map_space, map_subwords, unit
from calque.progress import never
from calque.retrieval.exact import Neighbours, find, neighbours
from calque.retrieval.induction import CONSIDERED, Choices, LexiconEntry, confidence_and_mutual
from calque.runs.folder import (
    FORMAT,
    damaged,
    naming_damage,
    one_line,
    read_config,
    read_lines,
    read_log,
    read_tensors,
    whole_folder,
    write_json,
    write_lines,
    write_tensors,
    write_text,
)
from calque.runs.lookup import Candidate, Lookup, Translation, parts, similar
from calque.runs.model_card import Example, model_card
from calque.verdict import Verdict

STAGES = "stages.safetensors"
"""The file for the maps of the earlier stages."""
AT_ONCE = 2048
"""How many words are asked between two looks at whether to stop."""
EXAMPLES, EXAMPLES_AMONG = 12, 1200
"""The model card shows 12 translations, of words at even steps among the 1,200 most frequent ones."""
RECORDED = ("recipe", "seed", "device", "versions", "inputs", "seconds", "interrupted")
"""Fields of a record that stand in config.json as they are."""
Array = TypeVar("Array")
"""A torch tensor or a numpy array; what goes in as one comes out as one."""


@dataclass(frozen=True)
class Record:
    """How an alignment was made: enough to make it again."""

    recipe: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    device: str = "cpu"
    threads: int = 0
    """How many threads torch computed with: sums in another order round otherwise. 0 where it was not written down."""
    versions: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What the user should know beside the verdict: reduced dimensions, an interruption."""
    interrupted: bool = False
    log: tuple[Mapping[str, Any], ...] = ()
    """One event a step."""

    def as_json(self) -> dict[str, Any]:
        """As it stands in config.json. The log is not in it, since it has a file of its own."""
        threads = {"threads": self.threads} if self.threads else {}
        return {name: getattr(self, name) for name in RECORDED} | {"notes": list(self.notes)} | threads

    @classmethod
    def from_json(cls, config: Mapping[str, Any], log: tuple[Mapping[str, Any], ...] = ()) -> Record:
        """The record in a config.json; KeyError where it has none."""
        recorded = {name: config[name] for name in RECORDED}
        return cls(**recorded, threads=config.get("threads", 0), notes=tuple(config["notes"]), log=log)


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
    """The penalty of each word, by (retrieval, back); filled when first needed."""
    returning: Alignment | None = None
    """The alignment for translating back, where a method learned two maps (F of the paper beside G, not its inverse).
    Queries stay as they are and candidates are mapped, so F serves the way there and G the way back."""
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
        return f"Alignment({self.source!r}, {self.target!r}, {self.verdict})"

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
        return _mapped(vectors, self.source_side)

    def map_target(self, vectors: Array) -> Array:
        """New target vectors in the common space; numpy in, numpy out."""
        return _mapped(vectors, self.target_side)

    def translate(
        self, words: Sequence[str], k: int = 5, back: bool = False, retrieval: str = "csls"
    ) -> list[Translation]:
        """The ``k`` best translations of each word; from target to source with ``back``.

        A phrase that is not in the vocabulary, but whose words are, is translated by their mean.
        """
        words = listed_words(words)
        space, other = self.spaces(back)
        try:
            parted = [parts(word, space) for word in words]
            queries = space.lookup([part for several in parted for part in several])
        except UnknownWordError as error:
            unknown = next(word for word in words if word not in space)
            raise UnknownWordError(f"{error}{similar(unknown, space.words)}") from None
        if len(queries) > len(words):
            phrases = torch.split(queries, [len(several) for several in parted])
            queries = torch.stack([unit(vectors.mean(dim=0)) for vectors in phrases])
        best = self.neighbours(queries, k, back, retrieval)
        translations = []
        for word, rows, scores in zip(words, best.indices.tolist(), best.scores.tolist(), strict=True):
            candidates = (Candidate(other.words[row], score) for row, score in zip(rows, scores, strict=True))
            translations.append(Translation(word, tuple(candidates)))
        return translations

    def neighbours(self, queries: Tensor, k: int, back: bool = False, retrieval: str = "csls") -> Neighbours:
        """The ``k`` best words of the other language for vectors of the common space."""
        candidates = self.spaces(back)[1].vectors
        return neighbours(queries, candidates, k, find(retrieval), self.penalty(retrieval, back))

    def penalty(self, retrieval: str, back: bool) -> Tensor:
        """The penalty that a retrieval gives each candidate; computed once."""
        if (retrieval, back) not in self.penalties:
            asking, asked = self.spaces(back)
            self.penalties[retrieval, back] = find(retrieval).penalty(asking.vectors, asked.vectors)
        return self.penalties[retrieval, back]

    def lexicon(self, every: bool = False, stopped: Callable[[], bool] = never) -> list[LexiconEntry]:
        """The induced dictionary, most frequent source word first: mutual pairs, or ``every`` source word's best.

        RunError where it was ``stopped`` before the end.
        """
        choices = []
        for back in (False, True):
            blocks = []
            for queries in torch.split(self.spaces(back)[0].vectors, AT_ONCE):
                if stopped():
                    raise RunError("the lexicon was not finished: somebody asked to stop")
                blocks.append(Choices.of(self.neighbours(queries, CONSIDERED, back)))
            choices.append(Choices.joined(blocks))
        confidence, mutual = confidence_and_mutual(*choices)
        lines = zip(choices[0].best.tolist(), confidence.tolist(), mutual.tolist(), strict=True)
        entries = (
            LexiconEntry(word, self.target.words[row], sure, both)
            for word, (row, sure, both) in zip(self.source.words, lines, strict=True)
        )
        return [entry for entry in entries if entry.mutual or every]

    def lookup(self) -> Lookup:
        """The same words and vectors for single look-ups, with numpy alone."""
        names = {"source": self.source.name, "target": self.target.name}
        words = {"source": self.source.words, "target": self.target.words}
        tensors = {name: tensor.numpy() for name, tensor in _vector_tensors(self).items()}
        return Lookup(str(self.verdict), names, words, tensors)

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
        path = file_path(path)
        config = {
            "format": FORMAT,
            **self.record.as_json(),
            "names": {"source": self.source.name, "target": self.target.name},
            "verdict": self.verdict.as_json(),
        }
        with whole_folder(path, overwrite) as folder:
            write_json(folder / "config.json", config)
            write_tensors(folder / "maps.safetensors", _map_tensors(self))
            write_tensors(folder / "vectors.safetensors", _vector_tensors(self))
            if self.earlier:
                write_tensors(folder / STAGES, _stage_tensors(self.earlier))
            write_lines(folder / "words.source.txt", self.source.words)
            write_lines(folder / "words.target.txt", self.target.words)
            write_lines(folder / "log.jsonl", map(one_line, self.record.log))
            write_text(folder / "README.md", model_card(config, path.resolve().name, _examples(self)))

    @classmethod
    def load(cls, path: str | Path) -> Alignment:
        """The alignment in a run folder."""
        folder = file_path(path)
        config, log = read_config(folder), read_log(folder / "log.jsonl")
        maps, vectors = (read_tensors(folder / f"{name}.safetensors") for name in ("maps", "vectors"))
        stages = read_tensors(folder / STAGES) if (folder / STAGES).exists() else {}
        with naming_damage(folder):
            record = Record.from_json(config, log)
            verdict = Verdict.from_json(config["verdict"], bool(record.interrupted))
            source, target = (
                Space(
                    tuple(read_lines(folder / f"words.{name}.txt")),
                    vectors[name],
                    vectors.get(f"{name}.counts"),
                    config["names"][name],
                )
                for name in ("source", "target")
            )
            penalties = {("csls", False): vectors["csls.forward"], ("csls", True): vectors["csls.backward"]}
            if (len(penalties["csls", True]), len(penalties["csls", False])) != (len(source), len(target)):
                raise damaged(folder, "words and their penalties are not equally many")
            returning = None
            if "back.source" in vectors:
                returning = cls(
                    replace(source, vectors=vectors["back.source"]),
                    replace(target, vectors=vectors["back.target"]),
                    side_from(maps, "back.source."),
                    side_from(maps, "back.target."),
                    verdict,
                    record,
                )
            sides = side_from(maps, "source."), side_from(maps, "target.")
            return cls(source, target, *sides, verdict, record, penalties, returning, _milestones(stages))


def side_from(tensors: Mapping[str, Tensor], prefix: str) -> Side:
    """The side whose tensors were saved under names with this prefix; ValueError where there are none."""
    saved = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    if not saved:
        raise ValueError(f"no map of {prefix[:-1]!r} in it")
    return Side.from_tensors(saved)


def _linear(side: Side) -> LinearMap:
    if not isinstance(side.map, LinearMap):
        raise SettingsError("this alignment's map has hidden layers, and so no matrix; use map_source and map_target")
    return side.map


def _mapped(vectors: Array, side: Side) -> Array:
    """Vectors in the common space, as the kind of array that they came in."""
    values: Any = vectors
    try:
        plain = values.float() if isinstance(values, Tensor) else torch.as_tensor(np.asarray(values, dtype=np.float32))
    except (TypeError, ValueError) as error:
        raise SpaceError(f"vectors are no array of numbers: {error}") from error
    _check_dimension(plain, side)
    if not bool(torch.isfinite(plain).all()):
        row = int((~torch.isfinite(plain.reshape(-1, plain.shape[-1])).all(dim=1)).nonzero()[0])
        raise SpaceError(f"vectors have NaN or infinite values in row {row}; leave such rows out")
    mapped = side.apply(plain)
    return cast(Array, mapped if isinstance(values, Tensor) else mapped.numpy())


def _check_dimension(vectors: Tensor, side: Side) -> None:
    expected = side.map.inputs
    if vectors.ndim < 1 or vectors.shape[-1] != expected:
        raise SpaceError(
            f"vectors have shape {tuple(vectors.shape)}; expected {expected} dimensions, as the map was learned on"
        )


def _examples(alignment: Alignment) -> list[Example]:
    """Translations of words at even steps among the frequent ones."""
    among = min(EXAMPLES_AMONG, len(alignment.source))
    rows = range(among // EXAMPLES - 1, among, among // EXAMPLES) if among >= EXAMPLES else range(among)
    translations = alignment.translate([alignment.source.words[row] for row in rows], k=1)
    return [(line.word, line.candidates[0].word, line.candidates[0].score) for line in translations]


def _map_tensors(alignment: Alignment) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    for prefix, way in (("", alignment), ("back.", alignment.returning)):
        if way is not None:
            for name, side in (("source", way.source_side), ("target", way.target_side)):
                tensors |= {f"{prefix}{name}.{key}": tensor for key, tensor in side.tensors().items()}
    return tensors


def _vector_tensors(alignment: Alignment) -> dict[str, Tensor]:
    tensors = {"source": alignment.source.vectors, "target": alignment.target.vectors}
    if alignment.returning is not None:
        tensors["back.source"] = alignment.returning.source.vectors
        tensors["back.target"] = alignment.returning.target.vectors
    for name, space in (("source", alignment.source), ("target", alignment.target)):
        if space.counts is not None:
            tensors[f"{name}.counts"] = space.counts
    tensors["csls.forward"] = alignment.penalty("csls", back=False)
    tensors["csls.backward"] = alignment.penalty("csls", back=True)
    return tensors


def _stage_tensors(earlier: Sequence[Milestone]) -> dict[str, Tensor]:
    return {
        f"{number}.{milestone.stage}.{name}{key}": tensor
        for number, milestone in enumerate(earlier)
        for name, map in (("source", milestone.source), ("target", milestone.target))
        for key, tensor in map.tensors().items()
    }


def _milestones(stages: dict[str, Tensor]) -> tuple[Milestone, ...]:
    names = sorted({(int(number), stage) for number, stage, *_ in (name.split(".") for name in stages)})
    return tuple(
        Milestone(stage, map_from(stages, f"{number}.{stage}.source"), map_from(stages, f"{number}.{stage}.target"))
        for number, stage in names
    )
