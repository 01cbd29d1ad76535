"""A run a block at a time: exporting it, or finding its dictionary, takes no more memory when the run is larger.

Of a saved run, vectors are read, not mapped, since pages of a map count as memory once they were touched; and words are
read line by line. A run in memory goes the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

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
from calque.runs.alignment import Alignment
from calque.runs.folder import damaged, naming_damage, read_config
from calque.runs.lookup import Array, mapped_tensors
from calque.verdict import Verdict

CANDIDATES = 8192
"""How many candidates are compared at once."""
QUERIES = 2 * (BLOCK_ENTRIES // CANDIDATES)
"""How many queries are asked each time the candidates are read."""


@dataclass(frozen=True, eq=False)
class VectorRows:
    """Rows of an array, of which only a block is in memory where the array is a map of a file."""

    array: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """How many rows, and how long they are."""
        return self.array.shape

    def blocks(self, rows: int) -> Iterator[Array]:
        """All rows, so many at a time; RunError where a number is NaN or infinite."""
        count, width = self.shape
        for start in range(0, count, rows):
            block = self.array[start : start + rows]
            if isinstance(self.array, np.memmap):
                path, offset = str(self.array.filename), self.array.offset + 4 * start * width
                block = np.fromfile(path, np.dtype("<f4"), min(rows, count - start) * width, offset=offset)
                if len(block) != min(rows, count - start) * width or not np.isfinite(block).all():
                    raise RunError(f"{path}: holds NaN, infinite or too few values; the run folder is damaged")
            yield block.reshape(-1, width)

    def pick(self, rows: npt.NDArray[np.int64]) -> Array:
        """Some rows, in any order. Of a map of a file, they stay in memory as long as there is room."""
        return np.asarray(self.array[rows])


class WordRows(Protocol):
    """The words of a language, most frequent first."""

    def blocks(self, rows: int) -> Iterator[list[str]]:
        """All words, so many at a time."""
        ...

    def pick(self, rows: Sequence[int]) -> list[str]:
        """The words of these rows."""
        ...


@dataclass(frozen=True, eq=False)
class ListedWords:
    """Words in memory."""

    words: Sequence[str]

    def blocks(self, rows: int) -> Iterator[list[str]]:
        """All words, so many at a time."""
        return (list(self.words[start : start + rows]) for start in range(0, len(self.words), rows))

    def pick(self, rows: Sequence[int]) -> list[str]:
        """The words of these rows."""
        return [self.words[row] for row in rows]


@dataclass(frozen=True, eq=False)
class FileWords:
    """The lines of a file, of which only the places are in memory."""

    path: Path

    @cached_property
    def ends(self) -> npt.NDArray[np.int64]:
        """Where each line ends, its line feed included."""
        with self.path.open("rb") as stream:
            return np.cumsum(np.fromiter((len(line) for line in stream), np.int64))

    def distinct(self) -> bool:
        """Whether no line is there twice, by 64 bits of each."""
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
        """The words of these rows, each read from its place in the file."""
        words = []
        with self.path.open("rb", buffering=0) as stream:
            for row in rows:
                begin = int(self.ends[row - 1]) if row else 0
                stream.seek(begin)
                words.append(_word(stream.read(int(self.ends[row]) - begin)))
        return words


def _word(line: bytes) -> str:
    return line.removesuffix(b"\n").decode("utf-8", "surrogateescape")


@dataclass(frozen=True, eq=False)
class StreamedRun:
    """A run whose words and vectors come in blocks: from its folder (``open``), or from memory (``of``)."""

    verdict: str
    """aligned, doubtful or failed."""
    names: Mapping[str, str]
    """What the languages are called, by ``source`` and ``target``; so are the words."""
    words: Mapping[str, WordRows]
    tensors: Mapping[str, Array]
    """Named as in vectors.safetensors."""

    @classmethod
    def of(cls, alignment: Alignment) -> StreamedRun:
        """An alignment in memory."""
        run = alignment.lookup()
        words = {side: ListedWords(listed) for side, listed in run.vocabularies.items()}
        return cls(run.verdict, run.names, words, run.tensors)

    @classmethod
    def open(cls, path: str | Path) -> StreamedRun:
        """The run in a folder; RunError where its parts do not belong together."""
        folder = Path(path)
        config, tensors = read_config(folder), mapped_tensors(folder / "vectors.safetensors")
        words = {side: FileWords(folder / f"words.{side}.txt") for side in ("source", "target")}
        with naming_damage(folder):
            verdict = Verdict.from_json(config["verdict"], bool(config["interrupted"]))
            run = cls(str(verdict), dict(config["names"]), words, tensors)
            for side, penalty in (("source", "csls.backward"), ("target", "csls.forward")):
                try:
                    count, distinct = len(words[side].ends), words[side].distinct()
                except OSError as error:
                    path = words[side].path
                    raise RunError(f"{path}: cannot be read ({error.strerror}); expected a run folder") from error
                vectors = run.vectors(side), run.vectors(side, back=True)
                if {len(tensors[penalty]), *(len(rows.array) for rows in vectors)} != {count}:
                    raise damaged(folder, f"words.{side}.txt, vectors and penalties are not equally many")
                if not distinct:
                    raise damaged(folder, f"a word stands in words.{side}.txt twice")
        return run

    def vectors(self, side: str, back: bool = False) -> VectorRows:
        """The vectors of a language in the common space of the way there, or of the way ``back``."""
        return VectorRows(self.tensors[f"back.{side}" if back and "back.source" in self.tensors else side])

    def meeting(self, back: bool) -> tuple[VectorRows, VectorRows, Tensor]:
        """The vectors that ask, those that answer, and the CSLS penalty of each that answers."""
        asking, asked = ("target", "source") if back else ("source", "target")
        penalty = np.array(self.tensors["csls.backward" if back else "csls.forward"])
        return self.vectors(asking, back), self.vectors(asked, back), torch.from_numpy(penalty)

    def block_source(self, side: str) -> BlockSource:
        """A language, as it is written to a file."""
        words, vectors, counts = self.words[side], self.vectors(side), self.tensors.get(f"{side}.counts")
        count, dimension = vectors.shape
        return BlockSource(
            count,
            dimension,
            lambda: words.blocks(BLOCK_ROWS),
            lambda: vectors.blocks(BLOCK_ROWS),
            None if counts is None else np.array(counts),
        )


@dataclass(frozen=True, eq=False)
class InducedLexicon:
    """A dictionary, of which only the choices are in memory."""

    run: StreamedRun
    best: Tensor
    confidence: Tensor
    mutual: Tensor
    every: bool

    def __len__(self) -> int:
        return len(self.best) if self.every else int(self.mutual.sum())

    def __iter__(self) -> Iterator[LexiconEntry]:
        start = 0
        for words in self.run.words["source"].blocks(BLOCK_ROWS):
            rows = slice(start, start + len(words))
            start += len(words)
            targets = self.run.words["target"].pick(self.best[rows].tolist())
            lines = zip(words, targets, self.confidence[rows].tolist(), self.mutual[rows].tolist(), strict=True)
            yield from (LexiconEntry(*line) for line in lines if line[3] or self.every)


def induce(run: StreamedRun, every: bool = False) -> InducedLexicon:
    """The induced dictionary, most frequent source word first, as ``Alignment.lexicon`` has it."""
    there, back = (_exact(*run.meeting(back)) for back in (False, True))
    return InducedLexicon(run, there.best, *confidence_and_mutual(there, back), every)


def induce_approximately(run: StreamedRun, every: bool = False) -> tuple[InducedLexicon, tuple[Recall, Recall]]:
    """The same by an index for each direction, and what share of the exact answers each of them finds."""
    there, recall = _approximate(*run.meeting(back=False))
    back, recall_back = _approximate(*run.meeting(back=True))
    return InducedLexicon(run, there.best, *confidence_and_mutual(there, back), every), (recall, recall_back)


def _approximate(queries: VectorRows, candidates: VectorRows, penalty: Tensor) -> tuple[Choices, Recall]:
    index, recall = tuned(build(candidates, penalty), queries)
    blocks = map(torch.from_numpy, queries.blocks(QUERIES))
    return Choices.joined(Choices.of(index.neighbours(block, CONSIDERED)) for block in blocks), recall


def _exact(queries: VectorRows, candidates: VectorRows, penalty: Tensor) -> Choices:
    """Every word's best candidate by CSLS: for each block of queries, all candidates block by block."""
    csls, choices = find("csls"), []
    for block in queries.blocks(QUERIES):
        blocks = map(torch.from_numpy, candidates.blocks(CANDIDATES))
        choices.append(Choices.of(neighbours_among(torch.from_numpy(block), blocks, penalty, CONSIDERED, csls)))
    return Choices.joined(choices)
