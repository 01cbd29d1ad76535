"""Files that were read once and are kept in memory, since every method wants the same ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from calque.evaluate import read_similarity
from calque.evaluate.similarity import Judged
from calque.formats import read
from calque.lexicon import Lexicon, read_lexicon
from calque.reproduce.inputs import MOST_FREQUENT, Inputs
from calque.reproduce.split import Halves, split
from calque.space import Space


@dataclass(frozen=True)
class Shelf:
    """Spaces and lexicons by path."""

    spaces: dict[tuple[Path, Path | None], Space] = field(default_factory=dict)
    lexicons: dict[Path, Lexicon] = field(default_factory=dict)

    def space(self, inputs: Inputs, side: str) -> Space:
        """The 'source' or the 'target' of a pair, with its counts."""
        path, counts = inputs.files[side], inputs.files.get(f"{side} counts")
        if (path, counts) not in self.spaces:
            limit = None if inputs.dataset == "we-z" else MOST_FREQUENT
            self.spaces[path, counts] = read(path, limit=limit, counts=counts).space
        return self.spaces[path, counts]

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
            self.lexicons[path] = read_lexicon(path).lexicon
        return self.lexicons[path]
