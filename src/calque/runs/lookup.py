"""Single look-ups in a saved run: numpy on memory-mapped vectors, so that an answer waits for neither torch nor disk.

Of `vectors.safetensors` only the header, the rows asked about and the candidates are touched. The answers are those of
`Alignment.translate`.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from calque.errors import RunError, SettingsError, UnknownWordError
from calque.runs import folder as store

Array = npt.NDArray[np.float32]
SCALES = {"nn": 1.0, "csls": 2.0}
"""The retrievals whose penalties a run keeps, with what they multiply a cosine by (retrieval.py)."""
KINDS = {"F32": "<f4", "F64": "<f8"}
"""Vectors and penalties, and counts, as a run keeps them."""
OTHER = {"source": "target", "target": "source"}
AT_ONCE = 64
"""Words asked about together: what is held in memory is their similarities to all candidates."""
SEARCHED = 50_000
"""Among so many frequent words one of similar spelling is sought for a word that is unknown."""


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


@dataclass(frozen=True, eq=False)
class Lookup:
    """A run folder, opened but not read."""

    folder: Path
    config: Mapping[str, Any]
    tensors: Mapping[str, Array]

    @classmethod
    def open(cls, path: str | Path) -> Lookup:
        """The run in a folder."""
        folder = Path(path)
        config = store.read_json(folder / "config.json")
        store.check_format(folder, config)
        store.check_is_pair(folder, config)
        return cls(folder, config, mapped_tensors(folder / "vectors.safetensors"))

    @property
    def verdict(self) -> str:
        """aligned, doubtful or failed."""
        return str(self.told("verdict", "label"))

    def translate(
        self, words: Sequence[str], k: int = 5, back: bool = False, retrieval: str = "csls"
    ) -> list[Translation]:
        """The ``k`` best translations of each word; from target to source with ``back``."""
        asking, asked = ("target", "source") if back else ("source", "target")
        rows = [self.row(asking, word) for word in words]
        ours, theirs = self.words(asking), self.words(asked)
        return [
            Translation(ours[row], tuple(Candidate(theirs[place], score) for place, score in best))
            for row, best in zip(rows, self.ranked(asking, rows, k, retrieval), strict=True)
        ]

    def _best(self, rows: list[int], asking: str, k: int, retrieval: str) -> list[list[tuple[int, float]]]:
        back = asking == "target"
        way = "back." if back and "back.source" in self.tensors else ""
        queries, candidates = self.tensor(f"{way}{asking}")[rows], self.tensor(f"{way}{OTHER[asking]}")
        scores = SCALES[retrieval] * (queries @ candidates.T)
        if retrieval == "csls":
            scores -= self.tensor("csls.backward" if back else "csls.forward")
        return [list(zip(places.tolist(), line[places].tolist(), strict=True)) for line, places in _largest(scores, k)]

    def knows(self, side: str, word: str) -> bool:
        """Whether this is a word of ``source`` or ``target``."""
        return word in self._index[side]

    def row(self, side: str, word: str) -> int:
        """Of a word; UnknownWordError, with words of similar spelling, where there is none."""
        row = self._index[side].get(word)
        if row is None:
            words = self.words(side)
            name = self.told("names", side)
            where = f"{name}: " if name else ""
            raise UnknownWordError(f"{where}{word!r} is not among the {len(words)} words{similar(word, words)}")
        return row

    def words(self, side: str) -> list[str]:
        """The words of ``source`` or ``target``, most frequent first."""
        return self._both[side]

    def ranked(self, side: str, rows: Sequence[int], k: int, retrieval: str = "csls") -> list[list[tuple[int, float]]]:
        """The same by rows: for each row of ``side`` the ``k`` best rows of the other language, with their scores."""
        if retrieval not in SCALES:
            raise SettingsError(f"a look-up knows the retrievals {', '.join(SCALES)}, not {retrieval!r}")
        if k < 1:
            raise SettingsError(f"k is {k}; expected at least 1")
        return [
            each
            for begin in range(0, len(rows), AT_ONCE)
            for each in self._best(list(rows[begin : begin + AT_ONCE]), side, k, retrieval)
        ]

    @cached_property
    def _both(self) -> dict[str, list[str]]:
        both = {side: store.read_lines(self.folder / f"words.{side}.txt") for side in ("source", "target")}
        kept = {"source": ("source", "csls.backward"), "target": ("target", "csls.forward")}
        for side, words in both.items():
            if any(len(self.tensor(name)) != len(words) for name in kept[side]):
                raise self.damaged(f"words.{side}.txt, vectors and penalties are not equally many")
        return both

    @cached_property
    def _index(self) -> dict[str, dict[str, int]]:
        index = {side: {word: row for row, word in enumerate(words)} for side, words in self._both.items()}
        for side, rows in index.items():
            if len(rows) != len(self._both[side]):
                raise self.damaged(f"a word stands in words.{side}.txt twice")
        return index

    def tensor(self, name: str) -> Array:
        """What the run keeps under this name; RunError where it does not."""
        if name not in self.tensors:
            raise self.damaged(f"no {name!r} in it")
        return self.tensors[name]

    def told(self, *names: str) -> Any:
        """What the configuration says; RunError where it does not."""
        kept: Any = self.config
        for name in names:
            if not isinstance(kept, Mapping) or name not in kept:
                raise self.damaged(f"no {name!r} in it")
            kept = kept[name]
        return kept

    def damaged(self, how: str) -> RunError:
        """The error for a folder that is not as it was written."""
        return RunError(f"{self.folder}: the run folder is damaged or of another version: {how}")


def _largest(scores: Array, k: int) -> Iterator[tuple[Array, npt.NDArray[np.intp]]]:
    """Each line, and the places of its ``k`` largest scores, the largest first."""
    k = min(k, scores.shape[1])
    best = scores.argmax(axis=1)[:, None] if k == 1 else np.argpartition(-scores, k - 1, axis=1)[:, :k]
    for line, some in zip(scores, best, strict=True):
        yield line, some[np.argsort(-line[some], kind="stable")]


def spelled_alike(word: str, words: Sequence[str]) -> list[str]:
    """Up to three words of similar spelling among the frequent ones: those that differ in case alone, then others."""
    among = words[:SEARCHED]
    same = [each for each in among if each.casefold() == word.casefold()]
    return list(dict.fromkeys([*same, *difflib.get_close_matches(word, among, n=3, cutoff=0.75)]))[:3]


def similar(word: str, words: Sequence[str]) -> str:
    """The same as the end of a sentence."""
    close = spelled_alike(word, words)
    return f"; did you mean {', '.join(close)}?" if close else ""


def mapped_tensors(path: Path) -> dict[str, Array]:
    """The tensors of floats in a safetensors file, each mapped into memory and read where it is touched."""
    try:
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(min(length, path.stat().st_size)))
        return {
            name: _mapped(path, 8 + length, told)
            for name, told in header.items()
            if name != "__metadata__" and told["dtype"] in KINDS
        }
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror}); expected a run made by 'calque align'") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{path}: is no whole safetensors file ({error}); the run folder is damaged") from error


def _mapped(path: Path, begin: int, told: Mapping[str, Any]) -> Array:
    first, last = told["data_offsets"]
    kind = np.dtype(KINDS[told["dtype"]])
    if last - first != kind.itemsize * math.prod(told["shape"]) or begin + last > path.stat().st_size:
        raise ValueError("a tensor reaches beyond the end")
    return np.memmap(path, kind, "r", begin + first, tuple(told["shape"]))
