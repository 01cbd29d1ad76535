"""Lexicons and judgements that were read once and are kept in memory, since every method wants the same ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from calque.data.lexicon import Lexicon, read_lexicon
from calque.errors import LexiconError
from calque.evaluate import read_similarity
from calque.evaluate.similarity import Judged
from calque.experiments.jobs import Note, SpaceFile, Tell, nobody
from calque.experiments.reproduce.inputs import MOST_FREQUENT, Inputs
from calque.experiments.reproduce.split import Halves, split


def space_file(inputs: Inputs, side: str, cache: bool = True) -> SpaceFile:
    """Where the 'source' or the 'target' of a pair is, with its counts."""
    limit = None if inputs.dataset == "we-z" else MOST_FREQUENT
    return SpaceFile(inputs.files[side], inputs.files.get(f"{side} counts"), limit, cache=cache)


@dataclass(frozen=True)
class Shelf:
    """Lexicons and judgements by path."""

    tell: Tell = nobody
    """Hears what had to be mended in a file, once."""
    lexicons: dict[Path, Lexicon] = field(default_factory=dict)
    judgements: dict[Path, list[Judged]] = field(default_factory=dict)

    def with_lexicons(self, learned: Inputs, judging: Iterable[Inputs], supervised: bool) -> Shelf:
        """A shelf to be sent elsewhere: all that one method reads of these, and nothing else.

        What it would learn from must be readable; a judge that is not is left to whoever asks it.
        """
        lexicons: dict[Path, Lexicon] = {}
        judgements: dict[Path, list[Judged]] = {}
        if supervised:
            path = learned.files[learned.part("train", learned.pair)]
            lexicons[path] = self._lexicon(path)
        for inputs in judging:
            for path in [inputs.files[part] for part in inputs.tested(supervised) if part in inputs.files]:
                with suppress(LexiconError):
                    lexicons[path] = self._lexicon(path)
            if "judged" in inputs.files:
                with suppress(LexiconError):
                    judgements[inputs.files["judged"]] = self._judgements(inputs.files["judged"])
        return Shelf(lexicons=lexicons, judgements=judgements)

    def train(self, inputs: Inputs, seed: int) -> Lexicon:
        """What a supervised method learns from, from source to target."""
        return self._halves(inputs, "train", inputs.pair, seed).train

    def test(self, inputs: Inputs, direction: str, seed: int) -> Lexicon:
        """What a direction is judged by."""
        return self._halves(inputs, "test", direction, seed).test

    def judged(self, inputs: Inputs) -> list[Judged]:
        """Human judgements, source word first whichever way round the file is."""
        path = inputs.files["judged"]
        found = self._judgements(path)
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

    def _judgements(self, path: Path) -> list[Judged]:
        if path not in self.judgements:
            self.judgements[path] = read_similarity(path)
        return self.judgements[path]

    def _tell(self, path: Path, notes: Sequence[str]) -> None:
        for note in notes:
            self.tell(Note(note if str(path) in note else f"{path}: {note}"))
