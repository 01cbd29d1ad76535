"""What the page asks of a run, answered as plain values. Knows nothing of HTTP."""

from __future__ import annotations

import heapq
import threading
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from calque.data.lexicon import Lexicon
from calque.errors import SettingsError, UnknownWordError
from calque.evaluate import learned_from
from calque.progress import Step
from calque.runs.alignment import Alignment
from calque.runs.lookup import OTHER, Lookup
from calque.show.views import (
    accuracy_by_frequency,
    judge_words,
    language_names,
    positions,
    search_starts,
)

if TYPE_CHECKING:  # they need scikit-learn, which is an extra
    from calque.text.classifier import TextClassifier
    from calque.text.vectorizer import SpaceVectorizer

Result = TypeVar("Result")
Value = dict[str, Any]
WORDS_ON_MAP = 20_000
"""So many words of each language are on the map, the most frequent ones."""
MOST_CANDIDATES = 100
MOST_COMPLETIONS = 50
RETRIEVALS = ("nn", "csls")
SIDES = tuple(OTHER)
NO_LEXICON = "no lexicon was given, so nothing is known of errors; start with --lexicon FILE"
NO_MODEL = "no classifier was given, so no text can be labelled; start with --model FILE of 'calque classify'"


class Explorer:
    """One run, open to questions from many threads: a run folder, or an alignment in memory."""

    def __init__(
        self,
        run: str | Path | Alignment,
        lexicon: Lexicon | None = None,
        words_on_map: int = WORDS_ON_MAP,
        model: Path | None = None,
    ) -> None:
        self.run, self.lexicon, self.words_on_map, self.model = run, lexicon, words_on_map, model
        self.lookup = run.lookup() if isinstance(run, Alignment) else Lookup.open(run)
        self.closing = threading.Event()
        """Set when nobody will wait for an answer any more."""
        self._lock = threading.RLock()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._results: dict[Hashable, Any] = {}
        # Matrix products use all cores by themselves: several at once would only slow each other down.
        self._computing = threading.Lock()

    def prepare(self) -> None:
        """Find out before the first question whether the run and the lexicon are sound.

        This reads all of the run, so that the page still shows the same run if another one takes its folder.
        """
        self.map_places()
        for side in SIDES:
            self.lookup.words(side)
        if self.lexicon is not None:
            for back in (False, True):
                self.judged(back, "csls")
        if self.model is not None:
            self.explained("")

    @cached_property
    def alignment(self) -> Alignment:
        """All of the run; look-ups do without."""
        with self._lock:
            return self.run if isinstance(self.run, Alignment) else Alignment.load(self.run)

    @cached_property
    def classifier(self) -> tuple[TextClassifier, SpaceVectorizer]:
        """The classifier in the file of the model, and what makes vectors of the texts that it labels."""
        from calque.text.classifier import TextClassifier
        from calque.text.vectorizer import SpaceVectorizer

        assert self.model is not None
        classifier, about = TextClassifier.load(self.model)
        settings, side = dict(about.get("settings", {})), "source" if about.get("from") == "target" else "target"
        if settings.get("weighting") == "idf" or settings.get("components"):
            raise SettingsError(
                f"{self.model}: was trained with weights or components that are learned from many texts; "
                "the page shows one text at a time: train it with --weighting sif --components 0"
            )
        return classifier, SpaceVectorizer(self.alignment, side, **settings).fit([])  # type: ignore[arg-type]

    def explained(self, text: str) -> Value:
        """The class of a text, and the words that decided."""
        from calque.text.classifier import explain

        if self.model is None:
            raise SettingsError(NO_MODEL)
        with self._lock:
            classifier, vectorizer = self.classifier
            return {**explain(classifier, vectorizer, text), "side": vectorizer.side}

    def summary(self) -> Value:
        """What was aligned, and how much of it can be trusted."""
        record, verdict, lexicon = self.alignment.record, self.alignment.verdict, self.lexicon
        return {
            "names": dict(zip(SIDES, language_names(self.alignment), strict=True)),
            "words": {side: len(self.lookup.words(side)) for side in SIDES},
            "verdict": verdict.label,
            "interrupted": verdict.interrupted,
            "reasons": list(verdict.reasons),
            "notes": list(record.notes),
            "recipe": record.recipe.get("name", ""),
            "seed": record.seed,
            "seconds": round(sum(record.seconds.values()), 1),
            "labels": self.model is not None,
            "lexicon": None
            if lexicon is None
            else {"name": lexicon.name, "words": len(lexicon), "learned": learned_from(self.alignment, lexicon)},
        }

    def starts(self) -> list[Value]:
        """Every start of the search, which the verdict rests on."""
        return [asdict(start) for start in search_starts(self.alignment.record.log, self.alignment.verdict)]

    def row(self, side: str, word: str | None, row: int | None) -> int:
        """The row of a word that is named, or numbered: some words cannot be written in an address."""
        words = self.lookup.words(_checked(side))
        if row is None and not word:
            raise SettingsError("no word was asked about; give word=… or row=…")
        if row is None:
            return self.lookup.row(side, word or "")
        if not 0 <= row < len(words):
            raise UnknownWordError(f"row {row} is not among the {len(words)} words of {side}; rows count from 0")
        return row

    def neighbours(self, side: str, row: int, k: int) -> Value:
        """The best translations by either retrieval, and whether each translates back."""
        if not 1 <= k <= MOST_CANDIDATES:
            raise SettingsError(f"k is {k}; expected 1 to {MOST_CANDIDATES}")
        other = OTHER[_checked(side)]
        words, other_words = self.lookup.words(side), self.lookup.words(other)
        answer: Value = {"side": side, "row": row, "word": words[row]}
        with self._computing:
            for retrieval in RETRIEVALS:
                best = self.lookup.ranked(side, [row], k, retrieval)[0]
                ways_back = self.lookup.ranked(other, [candidate for candidate, _ in best], 1, retrieval)
                answer[retrieval] = [
                    {
                        "row": candidate,
                        "word": other_words[candidate],
                        "score": round(score, 4),
                        "back": {"row": back_row, "word": words[back_row]},
                        "returns": back_row == row,
                    }
                    for (candidate, score), ((back_row, _), *_) in zip(best, ways_back, strict=True)
                ]
        return answer

    def complete(self, side: str, prefix: str, limit: int) -> list[Value]:
        """Words that begin like this, in upper or lower case, the most frequent first."""
        if not 1 <= limit <= MOST_COMPLETIONS:
            raise SettingsError(f"limit is {limit}; expected 1 to {MOST_COMPLETIONS}")
        words = self.lookup.words(_checked(side))
        spelled, rows = self._once(("spelled", side), lambda: _sorted_by_spelling(words))
        begin, end = (bisect_left(spelled, text) for text in (prefix.casefold(), f"{prefix.casefold()}\U0010ffff"))
        return [{"row": row, "word": words[row]} for row in heapq.nsmallest(limit, rows[begin:end])]

    def map_words(self) -> Value:
        """The words on the map, in the order of their places."""
        words = {side: self.lookup.words(side)[: self.words_on_map] for side in SIDES}
        return {**words, "why_not": self._once("places", self._compute_places)[1]}

    def map_places(self) -> bytes:
        """float32, little-endian: two numbers a word, of the source before, the source after, and the target."""
        return self._once("places", self._compute_places)[0]

    def _compute_places(self) -> tuple[bytes, str]:
        """All places as bytes, and why there is no 'before' where there is none."""
        places = positions(self.alignment, slice(self.words_on_map), slice(self.words_on_map))
        before = places.after if places.before is None else places.before
        arrays = (tensor.numpy().astype("<f4") for tensor in (before, places.after, places.target))
        return b"".join(np.ascontiguousarray(array).tobytes() for array in arrays), places.why_not

    def judged(self, back: bool, retrieval: str) -> Value:
        """By the lexicon: accuracy by frequency, and every word whose best translation is not a right one."""
        if retrieval not in RETRIEVALS:
            raise SettingsError(f"no retrieval is called {retrieval!r} here; there are: {', '.join(RETRIEVALS)}")
        if self.lexicon is None:
            raise SettingsError(NO_LEXICON)
        lexicon = self.lexicon.reversed() if back else self.lexicon

        def judge() -> Value:
            words = judge_words(self.alignment, lexicon, back, retrieval)
            return {
                "asked": len(words),
                "right": sum(word.place == 1 for word in words),
                "bands": [asdict(band) for band in accuracy_by_frequency(words)],
                "errors": [asdict(word) for word in words if word.place != 1],
            }

        return self._once(("judged", back, retrieval), judge)

    def lexicon_lines(self) -> Iterator[bytes]:
        """The induced dictionary, as `calque lexicon` writes it. All of it is computed before the first line."""
        entries = self._once("induced", lambda: self.alignment.lexicon(stopped=self.closing.is_set))
        return (f"{entry.line}\n".encode("utf-8", "surrogateescape") for entry in entries)

    def _once(self, name: Hashable, compute: Callable[[], Result]) -> Result:
        """The result of this name, computed when it is first asked for."""
        with self._lock:
            lock = self._locks.setdefault(name, threading.Lock())
        with lock:  # One lock for each name, so that what takes long keeps nobody else waiting.
            if name not in self._results:
                self._results[name] = compute()
            result: Result = self._results[name]
            return result


def _checked(side: str) -> str:
    if side not in SIDES:
        raise SettingsError(f"no side is called {side!r}; there are: {', '.join(SIDES)}")
    return side


def _sorted_by_spelling(words: Sequence[str]) -> tuple[list[str], list[int]]:
    """Words in lower case in order of spelling, and their rows."""
    pairs = sorted((word.casefold(), row) for row, word in enumerate(words))
    return [spelled for spelled, _ in pairs], [row for _, row in pairs]


@dataclass
class LiveRun:
    """What the page shows: a run under way, or one that is finished. Written by one thread, read by many."""

    explorer: Explorer | None = None
    """None while the run is under way."""
    steps: list[dict[str, Any]] = field(default_factory=list)
    """Every step so far, for pages that open at any time."""
    names: tuple[str, str] = ("source", "target")
    """What to call the two languages while the run is under way."""
    closing: threading.Event = field(default_factory=threading.Event)
    """Set when the server is about to end, so that no page keeps it waiting."""

    @property
    def state(self) -> Literal["running", "done"]:
        """Whether there is a run to explore."""
        return "running" if self.explorer is None else "done"

    def summary(self) -> dict[str, Any]:
        """What was aligned; of a run under way only what the languages are called."""
        if self.explorer is None:
            return {"state": self.state, "names": dict(zip(SIDES, self.names, strict=True))}
        return {"state": self.state, **self.explorer.summary()}

    def hear(self, step: Step) -> None:
        """Keep a step of the run."""
        self.steps.append({"stage": step.stage, "number": step.number, "total": step.total, **step.values})
