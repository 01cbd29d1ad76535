"""Single look-ups in a run, with numpy alone. Of a saved run, vectors are mapped into memory, so that an answer waits
neither for torch nor for the disk. The answers are those of `Alignment.translate`.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from calque.errors import RunError, SettingsError, UnknownWordError, file_path, listed_words, whole_number
from calque.runs.folder import damaged, naming_damage, read_config, read_lines
from calque.verdict import Verdict

Array = npt.NDArray[np.float32]
SCALES = {"nn": 1.0, "csls": 2.0}
"""The retrievals whose penalties a run keeps, and the factor of the cosine in each (retrieval/exact.py)."""
TYPES = {"F32": "<f4", "F64": "<f8"}
"""The types of vectors and penalties, and of counts, in a run folder."""
OTHER = {"source": "target", "target": "source"}
AT_ONCE = 64
"""How many words are looked up together: their similarities to all candidates are in memory at once."""
SEARCHED = 50_000
"""Words of similar spelling are sought among this many frequent words."""


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
    """Words, vectors and penalties of a run. ``open`` takes them from a folder, `Alignment.lookup` from memory."""

    verdict: str
    """aligned, doubtful or failed, with '(interrupted)' behind it where the run was."""
    names: Mapping[str, str]
    """What the languages are called, by ``source`` and ``target``; so are the vocabularies."""
    vocabularies: Mapping[str, Sequence[str]]
    tensors: Mapping[str, Array]
    """Named as in vectors.safetensors."""

    @classmethod
    def open(cls, path: str | Path) -> Lookup:
        """The run in a folder; RunError where its parts do not belong together."""
        folder = file_path(path)
        config, tensors = read_config(folder), mapped_tensors(folder / "vectors.safetensors")
        vocabularies = {side: read_lines(folder / f"words.{side}.txt") for side in OTHER}
        with naming_damage(folder):
            verdict = Verdict.from_json(config["verdict"], bool(config["interrupted"]))
            run = cls(str(verdict), dict(config["names"]), vocabularies, tensors)
            for side, penalty in (("source", "csls.backward"), ("target", "csls.forward")):
                if not len(tensors[side]) == len(tensors[penalty]) == len(vocabularies[side]):
                    raise damaged(folder, f"words.{side}.txt, vectors and penalties are not equally many")
                if len(run.index[side]) != len(vocabularies[side]):
                    raise damaged(folder, f"a word stands in words.{side}.txt twice")
        return run

    @cached_property
    def index(self) -> dict[str, dict[str, int]]:
        """The row of each word, by language."""
        return {side: {word: row for row, word in enumerate(words)} for side, words in self.vocabularies.items()}

    def words(self, side: str) -> Sequence[str]:
        """The words of ``source`` or ``target``, most frequent first."""
        return self.vocabularies[side]

    def knows(self, side: str, word: str) -> bool:
        """Whether this is a word of ``source`` or ``target``."""
        return word in self.index[side]

    def row(self, side: str, word: str) -> int:
        """The row of a word; UnknownWordError, with words of similar spelling, where there is none."""
        if not self.knows(side, word):
            words = self.words(side)
            where = f"{self.names[side]}: " if self.names[side] else ""
            raise UnknownWordError(f"{where}{word!r} is not among the {len(words)} words{similar(word, words)}")
        return self.index[side][word]

    def translate(
        self, words: Sequence[str], k: int = 5, back: bool = False, retrieval: str = "csls"
    ) -> list[Translation]:
        """The ``k`` best translations of each word; from target to source with ``back``.

        A phrase that is not in the vocabulary, but whose words are, is translated by their mean.
        """
        words = listed_words(words)
        side = "target" if back else "source"
        others = self.words(OTHER[side])
        rows = [[self.row(side, part) for part in parts(word, self.index[side])] for word in words]
        ranked = self.ranked_by_rows(side, rows, k, retrieval)
        return [
            Translation(word, tuple(Candidate(others[row], score) for row, score in best))
            for word, best in zip(words, ranked, strict=True)
        ]

    def ranked(self, side: str, rows: Sequence[int], k: int, retrieval: str = "csls") -> list[list[tuple[int, float]]]:
        """For each row of ``side`` the ``k`` best rows of the other language, with their scores."""
        return self.ranked_by_rows(side, [[row] for row in rows], k, retrieval)

    def ranked_by_rows(
        self, side: str, rows: Sequence[Sequence[int]], k: int, retrieval: str
    ) -> list[list[tuple[int, float]]]:
        """The same for the mean of several rows each, brought to length 1."""
        if not isinstance(retrieval, str) or retrieval not in SCALES:
            raise SettingsError(f"a look-up knows the retrievals {', '.join(SCALES)}, not {retrieval!r}")
        whole_number(k, "k")
        back = side == "target"
        way = "back." if back and "back.source" in self.tensors else ""
        queries, candidates = self.tensors[f"{way}{side}"], self.tensors[f"{way}{OTHER[side]}"]
        ranked = []
        for begin in range(0, len(rows), AT_ONCE):
            block = rows[begin : begin + AT_ONCE]
            asked = queries[[several[0] for several in block]]
            for place, several in enumerate(block):
                if len(several) > 1:
                    mean = queries[list(several)].mean(axis=0)
                    asked[place] = mean / max(float(np.linalg.norm(mean)), 1e-12)
            scores = SCALES[retrieval] * (asked @ candidates.T)
            if retrieval == "csls":
                scores -= self.tensors["csls.backward" if back else "csls.forward"]
            for line, best in _largest(scores, k):
                ranked.append(list(zip(best.tolist(), line[best].tolist(), strict=True)))
        return ranked


def parts(text: str, known: Container[str]) -> list[str]:
    """The word itself, or the words of a phrase that is no word of the vocabulary but whose words all are."""
    words = text.split()
    return words if len(words) > 1 and text not in known and all(word in known for word in words) else [text]


def _largest(scores: Array, k: int) -> Iterator[tuple[Array, npt.NDArray[np.intp]]]:
    """Each line, and the places of its ``k`` largest scores, the largest first."""
    k = min(k, scores.shape[1])
    best = scores.argmax(axis=1)[:, None] if k == 1 else np.argpartition(-scores, k - 1, axis=1)[:, :k]
    for line, places in zip(scores, best, strict=True):
        yield line, places[np.argsort(-line[places], kind="stable")]


def spelled_alike(word: str, words: Sequence[str]) -> list[str]:
    """Up to three frequent words of similar spelling; those that differ only in case come first."""
    frequent = words[:SEARCHED]
    same = [candidate for candidate in frequent if candidate.casefold() == word.casefold()]
    return list(dict.fromkeys([*same, *difflib.get_close_matches(word, frequent, n=3, cutoff=0.75)]))[:3]


def similar(word: str, words: Sequence[str]) -> str:
    """Words of similar spelling as the end of an error."""
    close = spelled_alike(word, words)
    return f"; did you mean {', '.join(close)}?" if close else ""


def mapped_tensors(path: Path) -> dict[str, Array]:
    """The tensors of floats in a safetensors file, mapped into memory: only what is touched is read."""
    try:
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(min(length, path.stat().st_size)))
        tensors: dict[str, Array] = {}
        for name, entry in header.items():
            if name == "__metadata__" or entry["dtype"] not in TYPES:
                continue
            begin, end = entry["data_offsets"]
            kind = np.dtype(TYPES[entry["dtype"]])
            if end - begin != kind.itemsize * math.prod(entry["shape"]) or 8 + length + end > path.stat().st_size:
                raise RunError(f"{path}: a tensor reaches beyond the end of the file; the run folder is damaged")
            tensors[name] = np.memmap(path, kind, "r", 8 + length + begin, tuple(entry["shape"]))
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror}); expected a run made by 'calque align'") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{path}: is no whole safetensors file ({error}); the run folder is damaged") from error
    return tensors
