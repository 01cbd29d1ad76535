"""A saved run a block at a time: what it takes to export it, or to induce its dictionary, does not grow with it.

Vectors are read, not mapped, since pages of a map count as memory once they were touched. Words are read line by line;
of each only its place is kept, where it has to be found again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from calque.data.formats import BlockSource
from calque.data.formats.block_source import BLOCK_ROWS
from calque.errors import RunError
from calque.retrieval.approximate import Recall, build, tuned
from calque.retrieval.exact import BLOCK_ENTRIES, find, neighbours_among
from calque.retrieval.induction import CONSIDERED, Choices, LexiconEntry, confidence_and_mutual
from calque.runs.lookup import Array, Lookup

CANDIDATES = 8192
"""Candidates that are compared at once."""
QUERIES = 2 * (BLOCK_ENTRIES // CANDIDATES)
"""Queries for which the candidates are read once."""
SIDES = ("source", "target")


@dataclass(frozen=True, eq=False)
class Vectors:
    """Rows of a file, read a block at a time."""

    path: Path
    offset: int
    shape: tuple[int, ...]

    def __len__(self) -> int:
        return self.shape[0]

    def blocks(self, rows: int) -> Iterator[Array]:
        """All rows, so many at a time; RunError where a number is none."""
        return (self.read(start, rows) for start in range(0, len(self), rows))

    def read(self, start: int, rows: int) -> Array:
        """Some rows."""
        width, many = self.shape[1], min(rows, len(self) - start)
        read = np.fromfile(self.path, np.dtype("<f4"), many * width, offset=self.offset + 4 * start * width)
        if len(read) != many * width or not np.isfinite(read).all():
            raise RunError(f"{self.path}: holds NaN, infinite or too few values; the run folder is damaged")
        return read.reshape(many, width)

    def pick(self, rows: npt.NDArray[np.int64]) -> Array:
        """Some rows anywhere, by a map of the file: what was touched stays in memory as long as there is room."""
        return np.asarray(self._mapped[rows])

    @cached_property
    def _mapped(self) -> Array:
        return np.memmap(self.path, np.dtype("<f4"), "r", self.offset, self.shape)


@dataclass(frozen=True, eq=False)
class Words:
    """The lines of a file."""

    path: Path

    @cached_property
    def ends(self) -> npt.NDArray[np.int64]:
        """Where each line ends, its line end included."""
        with self.path.open("rb") as stream:
            return np.cumsum(np.fromiter((len(line) for line in stream), np.int64))

    @cached_property
    def distinct(self) -> bool:
        """Whether no line is there twice; told by 64 bits of each."""
        with self.path.open("rb") as stream:
            hashes = np.sort(np.fromiter((hash(line) for line in stream), np.int64))
        return not bool((hashes[1:] == hashes[:-1]).any())

    def blocks(self, rows: int) -> Iterator[list[str]]:
        """All words, so many at a time."""
        with self.path.open("rb") as stream:
            block: list[str] = []
            for line in stream:
                block.append(_word(line))
                if len(block) == rows:
                    yield block
                    block = []
            if block:
                yield block

    def pick(self, rows: Sequence[int]) -> list[str]:
        """The words of these rows, each sought in the file."""
        picked = []
        with self.path.open("rb", buffering=0) as stream:
            for row in rows:
                begin = int(self.ends[row - 1]) if row else 0
                stream.seek(begin)
                picked.append(_word(stream.read(int(self.ends[row]) - begin)))
        return picked


def _word(line: bytes) -> str:
    return line.removesuffix(b"\n").decode("utf-8", "surrogateescape")


@dataclass(frozen=True, eq=False)
class StreamedRun:
    """A run folder of which no more than a block is in memory."""

    run: Lookup

    @classmethod
    def open(cls, path: str | Path) -> StreamedRun:
        """The run in a folder; RunError where its parts do not belong together."""
        made = cls(Lookup.open(path))
        for side in SIDES:
            made.check(side)
        return made

    @property
    def verdict(self) -> str:
        """aligned, doubtful or failed."""
        return self.run.verdict

    def name(self, side: str) -> str:
        """What the language is called."""
        return str(self.run.told("names", side))

    def words(self, side: str) -> Words:
        """The words of a language."""
        return Words(self.run.folder / f"words.{side}.txt")

    def vectors(self, side: str, back: bool = False) -> Vectors:
        """Its vectors, in the space where both meet on the way there, or on the way back."""
        mapped = self.run.tensor(f"back.{side}" if back and "back.source" in self.run.tensors else side)
        return Vectors(self.run.folder / "vectors.safetensors", _offset(mapped), mapped.shape)

    def penalty(self, back: bool) -> Tensor:
        """What CSLS holds against each candidate: four bytes a word."""
        return torch.from_numpy(np.array(self.run.tensor("csls.backward" if back else "csls.forward")))

    def meeting(self, back: bool) -> tuple[Vectors, Vectors, Tensor]:
        """The language that asks, the one that answers, and the penalties of its words."""
        asking, asked = reversed(SIDES) if back else SIDES
        return self.vectors(asking, back), self.vectors(asked, back), self.penalty(back)

    def counts(self, side: str) -> npt.NDArray[Any] | None:
        """How often each word was seen; None where nobody knows."""
        kept = self.run.tensors.get(f"{side}.counts")
        return None if kept is None else np.array(kept)

    def sheet(self, side: str) -> BlockSource:
        """A language, as it is written to a file."""
        words, vectors = self.words(side), self.vectors(side)
        return BlockSource(
            len(vectors),
            vectors.shape[1],
            lambda: words.blocks(BLOCK_ROWS),
            lambda: vectors.blocks(BLOCK_ROWS),
            self.counts(side),
        )

    def check(self, side: str) -> None:
        """RunError unless words, vectors and penalties are equally many, and no word is there twice."""
        words, penalty = self.words(side), self.run.tensor("csls.backward" if side == "source" else "csls.forward")
        try:
            many, distinct = len(words.ends), words.distinct
        except OSError as error:
            raise RunError(f"{words.path}: cannot be read ({error.strerror}); expected a run folder") from error
        if not {len(self.vectors(side)), len(self.vectors(side, back=True)), len(penalty)} == {many}:
            raise self.run.damaged(f"words.{side}.txt, vectors and penalties are not equally many")
        if not distinct:
            raise self.run.damaged(f"a word stands in words.{side}.txt twice")


def _offset(mapped: Array) -> int:
    assert isinstance(mapped, np.memmap)
    return int(mapped.offset)


@dataclass(frozen=True, eq=False)
class Induced:
    """A dictionary, of which only the choices are held."""

    run: StreamedRun
    best: Tensor
    confidence: Tensor
    mutual: Tensor
    every: bool

    def __len__(self) -> int:
        return len(self.best) if self.every else int(self.mutual.sum())

    def __iter__(self) -> Iterator[LexiconEntry]:
        target, start = self.run.words("target"), 0
        for words in self.run.words("source").blocks(BLOCK_ROWS):
            rows = slice(start, start + len(words))
            start += len(words)
            found = target.pick(self.best[rows].tolist())
            told = zip(words, found, self.confidence[rows].tolist(), self.mutual[rows].tolist(), strict=True)
            yield from (LexiconEntry(*each) for each in told if each[3] or self.every)


def induce(run: StreamedRun, every: bool = False) -> Induced:
    """The induced dictionary, most frequent source word first, as ``Alignment.lexicon`` has it."""
    there, back = (_exact(*run.meeting(back)) for back in (False, True))
    return Induced(run, there.best, *confidence_and_mutual(there, back), every)


def induce_approximately(run: StreamedRun, every: bool = False) -> tuple[Induced, tuple[Recall, Recall]]:
    """The same by an index for each direction, and what share of the exact answers each of them finds."""
    there, recall = _approximate(*run.meeting(back=False))
    back, returned = _approximate(*run.meeting(back=True))
    return Induced(run, there.best, *confidence_and_mutual(there, back), every), (recall, returned)


def _approximate(queries: Vectors, candidates: Vectors, penalty: Tensor) -> tuple[Choices, Recall]:
    index, recall = tuned(build(candidates, penalty), queries)
    blocks = map(torch.from_numpy, queries.blocks(QUERIES))
    return Choices.joined(Choices.of(index.neighbours(block, CONSIDERED)) for block in blocks), recall


def _exact(queries: Vectors, candidates: Vectors, penalty: Tensor) -> Choices:
    """Every word's best candidate by CSLS: a block of queries, and all candidates block by block for it."""
    return Choices.joined(
        Choices.of(
            neighbours_among(
                torch.from_numpy(block),
                map(torch.from_numpy, candidates.blocks(CANDIDATES)),
                penalty,
                CONSIDERED,
                find("csls"),
            )
        )
        for block in queries.blocks(QUERIES)
    )
