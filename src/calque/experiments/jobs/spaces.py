"""Spaces that several jobs are given: read once, shared between processes without copying, put away in time."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import torch

from calque.data.formats import read
from calque.data.space import Space
from calque.errors import CalqueError

Value = TypeVar("Value")


@dataclass(frozen=True)
class SpaceFile:
    """Where a space is read from, and how much of it."""

    path: Path
    counts: Path | None = None
    limit: int | None = None
    """So many words; all without."""
    words: Path | None = None
    """The word list of a bare .npy array."""
    cache: bool = True
    """Whether it is kept for the next time, where it is large."""


@dataclass(frozen=True)
class Loaded:
    """A space, and what had to be mended to read it."""

    space: Space
    notes: tuple[str, ...]


def read_space(file: SpaceFile) -> Loaded:
    """Words, vectors and counts, without a subword model: jobs ask for no unseen words, and the model is large.

    The vectors are copied to where torch would put them: some products differ in their last bit with the place in
    memory, and a job must come to the same result in this process as in another.
    """
    reading = read(file.path, limit=file.limit, words=file.words, counts=file.counts, cache=file.cache)
    found, path = reading.space, str(file.path)
    notes = tuple(each if path in each else f"{path}: {each}" for each in (*reading.notes, *reading.remarks))
    return Loaded(Space(found.words, found.vectors.clone(), found.counts, found.name), notes)


def try_space(file: SpaceFile) -> Loaded | CalqueError:
    """The same, with what is wrong with the file as a value: it is not read again for every job that wants it."""
    try:
        return read_space(file)
    except CalqueError as error:
        return error


@dataclass(frozen=True)
class Packed:
    """A loaded space as plain arrays, which processes of one machine can share."""

    words: np.ndarray[Any, np.dtype[np.uint8]]
    """All words, one after the other."""
    ends: np.ndarray[Any, np.dtype[np.int64]]
    """Where each word ends."""
    vectors: np.ndarray[Any, np.dtype[np.float32]]
    counts: np.ndarray[Any, np.dtype[np.float64]] | None
    name: str
    notes: tuple[str, ...]


def pack(loaded: Loaded) -> Packed:
    """``unpack`` gives it back, bit by bit."""
    space = loaded.space
    words = [word.encode("utf-8", "surrogatepass") for word in space.words]
    return Packed(
        np.frombuffer(b"".join(words), np.uint8),
        np.cumsum([len(word) for word in words], dtype=np.int64),
        space.vectors.numpy(),
        None if space.counts is None else space.counts.numpy(),
        space.name,
        loaded.notes,
    )


def unpack(packed: Packed) -> Space:
    """The space, on the same memory: nobody may write to it."""
    text, ends = packed.words.tobytes(), packed.ends.tolist()
    words = tuple(
        text[begin:end].decode("utf-8", "surrogatepass") for begin, end in zip([0, *ends], ends, strict=False)
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*not writable.*")
        vectors = torch.from_numpy(packed.vectors)
        counts = None if packed.counts is None else torch.from_numpy(packed.counts)
    return Space(words, vectors, counts, packed.name)


class Shelf(Generic[Value]):
    """What stands for each space, fetched when a job first wants it and put away when none wants it any more.

    Where more than ``hold`` would stand there, the one that is wanted last goes, and is fetched again in its time.
    """

    def __init__(
        self, fetch: Callable[[SpaceFile], Value], needs: Iterable[Sequence[SpaceFile]], hold: int | None = None
    ) -> None:
        self.fetch, self.hold = fetch, hold
        self.there: dict[SpaceFile, Value] = {}
        self.wanted: dict[SpaceFile, deque[int]] = {}
        """The numbers of the jobs that will still want it."""
        for number, files in enumerate(needs):
            for file in files:
                self.wanted.setdefault(file, deque()).append(number)

    def take(self, needs: Sequence[SpaceFile]) -> list[Value]:
        """The values of these."""
        for file in needs:
            if file not in self.there:
                self.there[file] = self.fetch(file)
        while self.hold is not None and len(self.there) > max(self.hold, len(needs)):
            self.forget([max((each for each in self.there if each not in needs), key=self._next)])
        return [self.there[file] for file in needs]

    def finished(self, needs: Sequence[SpaceFile]) -> None:
        """One job less wants these."""
        for file in needs:
            self.wanted[file].popleft()
        self.forget([file for file in needs if not self.wanted[file]])

    def forget(self, files: Iterable[SpaceFile]) -> None:
        """Put these away."""
        for file in files:
            self.there.pop(file, None)

    def _next(self, file: SpaceFile) -> float:
        """The number of the job that wants it next, beyond all where none does."""
        return self.wanted[file][0] if self.wanted[file] else inf
