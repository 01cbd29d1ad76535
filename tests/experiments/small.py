"""Three small languages: the same clustered cloud, rotated, with so much noise that some words go astray."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import torch

from calque.data.formats import write
from calque.data.space import Space

WORDS, DIMENSION, TRAINED = 300, 10, 60
LANGUAGES = "en", "es", "de"

QUICK = """
name = "quick"
[settings.deep]
rounds = 0
[settings.search]
words = [300]
dimensions = [10]
starts = [4, 4]
rounds = 1
"""
"""The default recipe with so little search that it takes a second."""

PLAN = """
pairs = "all"
recipes = ["xing2015", "quick.toml"]
seeds = 2
device = "cpu"
[spaces]
en = "en.vec"
es = { file = "es.vec", counts = "es.freq", limit = 250 }
de = "de.vec"
[lexicons]
es-en = "es-en.tsv"
de-en = "de-en.tsv"
[training]
es-en = "es-en.train.tsv"
de-en = "de-en.train.tsv"
es-de = "es-de.train.tsv"
"""


@cache
def cloud() -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    spectrum = torch.arange(1, DIMENSION + 1) ** -0.5
    centres = torch.randn(40, DIMENSION, generator=generator) * spectrum
    members = torch.randint(40, (WORDS,), generator=generator)
    return centres[members] + 0.5 * torch.randn(WORDS, DIMENSION, generator=generator) * spectrum


def space(language: str) -> Space:
    generator = torch.Generator().manual_seed(sum(map(ord, language)))
    turning = torch.linalg.qr(torch.randn(DIMENSION, DIMENSION, generator=generator)).Q
    noise = 0.12 * torch.randn(WORDS, DIMENSION, generator=generator)
    return Space.of([f"{language}{row}" for row in range(WORDS)], cloud() @ turning + noise)


def lines(one: str, other: str, rows: range) -> str:
    return "".join(f"{one}{row}\t{other}{row}\n" for row in rows)


def put(folder: Path) -> Path:
    folder.mkdir()
    for language in LANGUAGES:
        write(space(language), folder / f"{language}.vec")
        (folder / f"{language}.freq").write_text("".join(f"{language}{row} {999 - row}\n" for row in range(WORDS)))
    for one, other in (("es", "en"), ("de", "en"), ("es", "de")):
        (folder / f"{one}-{other}.tsv").write_text(lines(one, other, range(TRAINED, WORDS)))
        (folder / f"{one}-{other}.train.tsv").write_text(lines(one, other, range(TRAINED)))
    (folder / "foreign.tsv").write_text("perro\tdog\ngato\tcat\n")
    (folder / "quick.toml").write_text(QUICK)
    return folder
