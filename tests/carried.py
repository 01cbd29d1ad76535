"""A small run of two languages with clear topics, and texts about them."""

from __future__ import annotations

import random
from pathlib import Path

import torch

from calque.data.space import Space
from calque.linear.maps import LinearMap, Preprocessing, Side
from calque.runs.alignment import Alignment, Record
from calque.verdict import Verdict

TOPICS = ("sport", "law", "food")
PER_TOPIC, DIMENSION = 20, 8
LETTERS = "abcdefghijklmnopqrst"


def word(language: str, topic: str, number: int) -> str:
    """The name of a word: 'xsportaaa' means the same as 'ysportaaa'."""
    return f"{language}{topic}{LETTERS[number] * 3}"


def run(counts: bool = False) -> Alignment:
    """Words of one topic lie near each other; the source is a turned copy of the target, and its map turns it back."""
    generator = torch.Generator().manual_seed(0)
    centres = torch.eye(DIMENSION)[: len(TOPICS)]
    vectors = torch.cat([centre + 0.2 * torch.randn(PER_TOPIC, DIMENSION, generator=generator) for centre in centres])
    turn = torch.linalg.qr(torch.randn(DIMENSION, DIMENSION, generator=generator)).Q
    names = {
        language: [word(language, topic, row) for topic in TOPICS for row in range(PER_TOPIC)] for language in "xy"
    }
    seen = torch.arange(len(vectors), 0, -1).double() if counts else None
    source = Space.of(names["x"], vectors @ turn.mT, seen, name="x")
    target = Space.of(names["y"], vectors, seen, name="y")
    back, same = Side(Preprocessing(()), LinearMap(turn.mT)), Side(Preprocessing(()), LinearMap(torch.eye(DIMENSION)))
    if not torch.allclose(back.map.apply(source.vectors), vectors, atol=1e-5):  # a map multiplies from the other side
        back = Side(Preprocessing(()), LinearMap(turn))
    return Alignment.of((source, target), (back, same), Verdict("aligned", ("made",), {}), Record())


def texts(language: str, count: int, seed: int) -> list[tuple[str, str]]:
    """Texts of six words, of which five are of the text's topic."""
    draw, rows = random.Random(seed), []
    for place in range(count):
        topic = TOPICS[place % len(TOPICS)]
        topics = [topic] * 5 + [draw.choice(TOPICS)]
        rows.append((" ".join(word(language, name, draw.randrange(PER_TOPIC)) for name in topics), topic))
    return rows


def write_table(path: Path, rows: list[tuple[str, str]], head: str = "text\tcategory") -> Path:
    path.write_text("\n".join([head, *("\t".join(row) for row in rows)]) + "\n", encoding="utf-8")
    return path
