"""Spaces that several jobs need: read once, shared between processes without a copy, and dropped in time."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Generic, TypeVar

import numpy as np
import torch

from calque.data.formats import read
from calque.data.space import Space
from calque.errors import CalqueError
from calque.experiments.jobs import SpaceFile

Value = TypeVar("Value")


@dataclass(frozen=True)
class LoadedSpace:
    """A space, and what had to be mended to read it."""

    space: Space
    notes: tuple[str, ...]


def read_space(file: SpaceFile) -> LoadedSpace:
    """Words, vectors and counts, without a subword model: jobs ask for no unseen words, and the model is large.

    The vectors are copied to where torch would put them. Some products differ in their last bit with the place in
    memory, and a job must have the same result in every process.
    """
    reading = read(file.path, limit=file.limit, words=file.words, counts=file.counts, cache=file.cache)
    space, path = reading.space, str(file.path)
    notes = tuple(note if path in note else f"{path}: {note}" for note in (*reading.notes, *reading.remarks))
    return LoadedSpace(Space(space.words, space.vectors.clone(), space.counts, space.name), notes)


def try_space(file: SpaceFile) -> LoadedSpace | CalqueError:
    """The same, with an error as a value, so that a bad file is not read again for every job that needs it."""
    try:
        return read_space(file)
    except CalqueError as error:
        return error


@dataclass(frozen=True)
class PackedSpace:
    """A loaded space as plain arrays, which the processes of one machine can share."""

    words: np.ndarray[Any, np.dtype[np.uint8]]
    """All words, one after the other."""
    ends: np.ndarray[Any, np.dtype[np.int64]]
    """Where each word ends."""
    vectors: np.ndarray[Any, np.dtype[np.float32]]
    counts: np.ndarray[Any, np.dtype[np.float64]] | None
    name: str
    notes: tuple[str, ...]


def pack(loaded: LoadedSpace) -> PackedSpace:
    """``unpack`` gives it back, bit by bit."""
    space = loaded.space
    words = [word.encode("utf-8", "surrogatepass") for word in space.words]
    return PackedSpace(
        np.frombuffer(b"".join(words), np.uint8),
        np.cumsum([len(word) for word in words], dtype=np.int64),
        space.vectors.numpy(),
        None if space.counts is None else space.counts.numpy(),
        space.name,
        loaded.notes,
    )


def unpack(packed: PackedSpace) -> Space:
    """The space, on the same memory; nothing may write to it."""
    text, ends = packed.words.tobytes(), packed.ends.tolist()
    words = tuple(
        text[begin:end].decode("utf-8", "surrogatepass") for begin, end in zip([0, *ends], ends, strict=False)
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*not writable.*")
        vectors = torch.from_numpy(packed.vectors)
        counts = None if packed.counts is None else torch.from_numpy(packed.counts)
    return Space(words, vectors, counts, packed.name)


class SpaceCache(Generic[Value]):
    """A value for each space: fetched when a job first needs it, dropped when no later job needs it.

    If there would be more than ``hold`` values, the one that is needed last is dropped, and is fetched again later.
    """

    def __init__(
        self, fetch: Callable[[SpaceFile], Value], needs: Iterable[Sequence[SpaceFile]], hold: int | None = None
    ) -> None:
        self.fetch, self.hold = fetch, hold
        self.values: dict[SpaceFile, Value] = {}
        self.waiting: dict[SpaceFile, deque[int]] = {}
        """For each file, the numbers of the jobs that still need it."""
        for number, files in enumerate(needs):
            for file in files:
                self.waiting.setdefault(file, deque()).append(number)

    def take(self, needs: Sequence[SpaceFile]) -> list[Value]:
        """The values of these files."""
        for file in needs:
            if file not in self.values:
                self.values[file] = self.fetch(file)
        while self.hold is not None and len(self.values) > max(self.hold, len(needs)):
            # A file that no job waits for goes first.
            others = [file for file in self.values if file not in needs]
            self.forget([max(others, key=lambda file: self.waiting[file][0] if self.waiting[file] else inf)])
        return [self.values[file] for file in needs]

    def finished(self, needs: Sequence[SpaceFile]) -> None:
        """A job that needs these files has ended."""
        for file in needs:
            self.waiting[file].popleft()
        self.forget([file for file in needs if not self.waiting[file]])

    def forget(self, files: Iterable[SpaceFile]) -> None:
        """Drop the values of these files."""
        for file in files:
            self.values.pop(file, None)
