"""Where the files of a pair are, and which of them are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from calque.experiments.reproduce.tables import Table, turned

MOST_FREQUENT = 200_000
"""So many words of each language are read and searched on LEX-C, as the paper did."""


@dataclass(frozen=True)
class Inputs:
    """The files of one pair by their part: 'source', 'target counts', 'test es-en', 'judged'…"""

    pair: str
    """'es-en': Spanish is the source."""
    dataset: str
    """Which vectors: we-z, fasttext or europarl."""
    lexicon: str
    split: bool
    """Whether the lexicon of a direction is one file, to be halved by seed."""
    files: Mapping[str, Path]
    """What is there."""
    absent: Mapping[str, str]
    """What is not: the name it should have, below the data folder."""

    def part(self, half: str, direction: str) -> str:
        """Which file holds the 'train' or the 'test' half of a direction's lexicon."""
        return f"lexicon {direction}" if self.split else f"{half} {direction}"

    def learned(self, supervised: bool) -> tuple[str, ...]:
        """What a method is shown: vectors, counts, and, where it is supervised, the training half."""
        sides = [each for each in (*self.files, *self.absent) if each.startswith(("source", "target"))]
        return (*sides, *((self.part("train", self.pair),) if supervised else ()))

    def directions(self, supervised: bool) -> tuple[str, ...]:
        """What is asked of a method: what learned from the lexicon of one direction, that one only."""
        return (self.pair,) if supervised else (self.pair, turned(self.pair))

    def tested(self, supervised: bool) -> tuple[str, ...]:
        """The lexicons it is judged by: of its own direction where supervised, of both otherwise."""
        return tuple(self.part("test", each) for each in self.directions(supervised))

    def required(self, table: Table, supervised: bool) -> tuple[str, ...]:
        """Without these a method has no cell in the table."""
        judges = ("judged",) if table.task == "similarity" else self.tested(supervised)
        return tuple(dict.fromkeys((*self.learned(supervised), *judges)))

    def missing(self, table: Table, supervised: bool) -> tuple[str, ...]:
        """The names of required files that are not there."""
        return tuple(self.absent[each] for each in self.required(table, supervised) if each in self.absent)


def find_inputs(table: Table, data: Path, pair: str, lexicon: str) -> Inputs:
    """The files of a pair in a data folder, in the names that their publishers or the data folder give them."""
    dataset, wanted = _vectors(table, data, pair)
    wanted |= _lexicons(table, pair, lexicon)
    if table.vectors == "we-c":
        wanted["judged"] = [f"similarity/semeval17/{each}-SEMEVAL17.txt" for each in (turned(pair), pair)]
    there = {part: [data / name for name in names if (data / name).is_file()] for part, names in wanted.items()}
    return Inputs(
        pair,
        dataset,
        lexicon,
        table.split,
        {part: found[0] for part, found in there.items() if found},
        {part: names[0] for part, names in wanted.items() if not there[part]},
    )


def _vectors(table: Table, data: Path, pair: str) -> tuple[str, dict[str, Sequence[str]]]:
    """Which vectors serve this pair, and the names that its files may have."""
    if table.vectors == "we-z":
        folder = (
            pair if (data / "we-z" / pair).is_dir() or not (data / "we-z" / turned(pair)).is_dir() else turned(pair)
        )
        return "we-z", _sides(pair, f"we-z/{folder}/word2vec.{{}}", f"we-z/{folder}/vocab-freq.{{}}")
    fasttext = _sides(pair, "fasttext/wiki.{}.vec")
    europarl = _sides(pair, "europarl/{}.vec.gz", "europarl/{}.freq")
    vectors = [data / europarl[side][0] for side in ("source", "target")]
    if all(each.is_file() for each in vectors) and not all((data / each[0]).is_file() for each in fasttext.values()):
        return "europarl", europarl
    return "fasttext", fasttext


def _sides(pair: str, vectors: str, counts: str = "") -> dict[str, Sequence[str]]:
    languages = dict(zip(("source", "target"), pair.split("-"), strict=True))
    wanted: dict[str, Sequence[str]] = {side: [vectors.format(each)] for side, each in languages.items()}
    if counts:
        wanted |= {f"{side} counts": [counts.format(each)] for side, each in languages.items()}
    return wanted


def _lexicons(table: Table, pair: str, lexicon: str) -> dict[str, Sequence[str]]:
    wanted: dict[str, Sequence[str]] = {}
    for direction in (pair, turned(pair)):
        stem = f"lexicons/{lexicon}/{direction}"
        if table.split:
            wanted[f"lexicon {direction}"] = [f"{stem}.tsv", f"{stem}.txt"]
        else:
            wanted[f"train {direction}"] = [f"{stem}.0-5000.txt", f"{stem}.train.tsv"]
            wanted[f"test {direction}"] = [f"{stem}.5000-6500.txt", f"{stem}.test.tsv"]
    return wanted
