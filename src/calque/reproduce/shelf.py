"""Files that were read once and are kept in memory, since every method wants the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from calque.evaluate import read_similarity
from calque.evaluate.similarity import Judged
from calque.formats import read
from calque.lexicon import Lexicon, read_lexicon
from calque.reproduce.inputs import MOST_FREQUENT, Inputs
from calque.reproduce.news import Note, Tell, nobody
from calque.reproduce.split import Halves, split
from calque.space import Space


@dataclass(frozen=True)
class Shelf:
    """Spaces and lexicons by path."""

    tell: Tell = nobody
    """Hears what had to be mended in a file, once."""
    spaces: dict[tuple[Path, Path | None], Space] = field(default_factory=dict)
    lexicons: dict[Path, Lexicon] = field(default_factory=dict)

    def space(self, inputs: Inputs, side: str) -> Space:
        """The 'source' or the 'target' of a pair, with its counts."""
        path, counts = inputs.files[side], inputs.files.get(f"{side} counts")
        if (path, counts) not in self.spaces:
            limit = None if inputs.dataset == "we-z" else MOST_FREQUENT
            reading = read(path, limit=limit, counts=counts)
            self._tell(path, reading.notes)
            self.spaces[path, counts] = reading.space
        return self.spaces[path, counts]

    def fetch(self, inputs: Inputs, seed: int, supervised: bool) -> None:
        """Read what a run is made from, so that a broken file is not taken for a method that failed."""
        for side in ("source", "target"):
            self.space(inputs, side)
        if supervised:
            self.train(inputs, seed)

    def train(self, inputs: Inputs, seed: int) -> Lexicon:
        """What a supervised method learns from, from source to target."""
        return self._halves(inputs, "train", inputs.pair, seed).train

    def test(self, inputs: Inputs, direction: str, seed: int) -> Lexicon:
        """What a direction is judged by."""
        return self._halves(inputs, "test", direction, seed).test

    def judged(self, inputs: Inputs) -> list[Judged]:
        """Human judgements, source word first whichever way round the file is."""
        path = inputs.files["judged"]
        found = read_similarity(path)
        if path.name.startswith(f"{inputs.pair}-"):
            return found
        return [Judged(each.target, each.source, each.score) for each in found]

    def _halves(self, inputs: Inputs, half: str, direction: str, seed: int) -> Halves:
        lexicon = self._lexicon(inputs.files[inputs.part(half, direction)])
        return split(lexicon, seed) if inputs.split else Halves(lexicon, lexicon)

    def _lexicon(self, path: Path) -> Lexicon:
        if path not in self.lexicons:
            reading = read_lexicon(path)
            self._tell(path, reading.notes)
            self.lexicons[path] = reading.lexicon
        return self.lexicons[path]

    def _tell(self, path: Path, notes: Sequence[str]) -> None:
        for note in notes:
            self.tell(Note(note if str(path) in note else f"{path}: {note}"))
