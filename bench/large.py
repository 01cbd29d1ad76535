"""Full-size vocabularies: reading, aligning, retrieving and looking up, each as a ratio to a rival or a limit.

    python bench/large.py
    python bench/large.py --words 200000 --read 200000

All on data made here: uneven clusters, and a blurred copy of them, turned; row i is the translation of row i. Reading
is measured against gensim, retrieval against the bare matrix products and, where faiss is installed, against its exact
index, all in the same run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from calque.formats import write
from calque.lookup import Lookup
from calque.preprocess import unit
from calque.retrieval import blocks, find, neighbours
from common import CALQUE, command, copies, headline, keep, machine, markdown, parser

READERS = {
    "calque": "from calque.formats import read; read(path)",
    "gensim": "from gensim.models import KeyedVectors; KeyedVectors.load_word2vec_format(path)",
}
TIMED = """
import resource, sys, time
path = sys.argv[1]
{first}
before, began = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 1024, time.monotonic()
{then}
print(time.monotonic() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
ASKED = 4096
"""Queries that stand for all of them: products and search grow in proportion."""


def main() -> None:
    """Measure, print, keep."""
    asked = _arguments()
    with tempfile.TemporaryDirectory(dir=asked.scratch) as folder:
        place = Path(folder)
        rows = read_text(place, asked.read, asked.dimension) if asked.read else []
        rows += retrieve(asked.words, asked.dimension)
        rows += align(place, asked.words, asked.dimension, asked.device)
    text = markdown(["what", "measured", "beside", "ratio", "asked"], rows)
    keep(asked.output, "large", {"machine": machine(asked.device), "rows": rows}, f"{headline(asked.device)}\n\n{text}")


def read_text(place: Path, words: int, dimension: int) -> list[list[str]]:
    """Seconds and memory of reading word2vec text, each reader in a process of its own."""
    path = place / "words.vec"
    _write_text(path, words, dimension)
    seconds, memory = zip(*(_timed(name, path) for name in ("calque", "gensim")), strict=True)
    array = words * dimension * 4 / 2**20
    size = f"{words:,} × {dimension} text"
    return [
        [f"read {size}", f"{seconds[0]:.1f} s", f"gensim {seconds[1]:.1f} s", f"{seconds[1] / seconds[0]:.1f}", "5"],
        ["its memory", f"{memory[0]:.0f} MiB", f"the array {array:.0f} MiB", f"{memory[0] / array:.2f}", "1.3"],
    ]


def _write_text(path: Path, words: int, dimension: int) -> None:
    """Four decimals, as fastText writes them; the lines of some thousand words, again and again under other names."""
    vectors = torch.randn(min(words, 5000), dimension, generator=torch.Generator().manual_seed(0)) / 4
    lines = [" ".join(f"{value:.4f}" for value in row) for row in vectors.tolist()]
    with path.open("w", encoding="utf-8") as stream:
        stream.write(f"{words} {dimension}\n")
        stream.writelines(f"word{row} {lines[row % len(lines)]}\n" for row in range(words))


def _timed(name: str, path: Path) -> tuple[float, float]:
    """Seconds, and MiB at most beyond what was held after the imports."""
    first, then = READERS[name].split("; ")
    code = TIMED.format(first=first, then=then)
    told = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True).stdout
    seconds, kilobytes = told.split()
    return float(seconds), float(kilobytes) / 1024


def retrieve(words: int, dimension: int) -> list[list[str]]:
    """CSLS, exact, for some queries against all words, beside the bare products of the same blocks."""
    generator = torch.Generator().manual_seed(1)
    queries, candidates = (unit(torch.randn(each, dimension, generator=generator)) for each in (ASKED, words))
    kind, penalty = find("csls"), torch.rand(words, generator=generator)
    found, seconds = _clocked(lambda: neighbours(queries, candidates, 1, kind, penalty).indices[:, 0])
    _, bare = _clocked(lambda: _products(queries, candidates))
    right = bool(torch.equal(found[:64], (2 * (queries[:64] @ candidates.mT) - penalty).argmax(dim=1)))
    what = f"CSLS of {ASKED:,} × {words:,}, penalties given" + ("" if right else ", WRONG")
    rows = [[what, f"{seconds:.2f} s", f"bare products {bare:.2f} s", f"{seconds / bare:.2f}", "1.5"]]
    try:
        import faiss
    except ImportError:
        return rows
    index = faiss.IndexFlatIP(dimension)
    index.add(candidates.numpy())
    _, flat = _clocked(lambda: index.search(queries.numpy(), 1))
    return [*rows, ["the same", f"{seconds:.2f} s", f"faiss IndexFlatIP {flat:.2f} s", f"{seconds / flat:.2f}", "1"]]


def _products(queries: Tensor, candidates: Tensor) -> None:
    for rows in blocks(len(queries), len(candidates)):
        queries[rows] @ candidates.mT


def _clocked(work: Callable[[], Any]) -> tuple[Any, float]:
    """The better of two times."""
    took = []
    for _ in range(2):
        began = time.monotonic()
        made = work()
        took.append(time.monotonic() - began)
    return made, min(took)


def align(place: Path, words: int, dimension: int, device: str) -> list[list[str]]:
    """The whole command on two files, the share it gets right, and one look-up in the run."""
    paths = [place / f"{side}.npz" for side in ("one", "other")]
    for space, path in zip(copies(words, dimension, 0.3, 0), paths, strict=True):
        write(space, path)
    run = str(place / "run")
    ended = command("align", *map(str, paths), "-o", run, "--device", device, right=(0, 3))
    began = time.monotonic()
    told = subprocess.run([*CALQUE, "translate", run, "one7", "--json"], capture_output=True, text=True, check=True)
    looked = time.monotonic() - began
    best = json.loads(told.stdout)["translations"]["one7"][0]["word"]
    right = _right(Path(run), words)
    size = f"{words:,} × {dimension}"
    asked = "15 s" if device == "cuda" else "180 s"
    return [
        [f"align {size}, {ended.told['verdict']}", f"{ended.seconds:.0f} s", f"{right:.1%} right", "", asked],
        ["its memory", f"{ended.memory:.0f} MiB", "", "", "3,072 MiB"],
        [f"look one word up (found {best})", f"{looked:.2f} s", "", "", "1 s"],
    ]


def _right(run: Path, words: int) -> float:
    """The share of some words, of all frequencies, whose best translation is their own."""
    some = np.linspace(0, words - 1, 500).astype(int).tolist()
    found = Lookup.open(run).translate([f"one{row}" for row in some], k=1)
    return sum(each.candidates[0].word == f"other{row}" for each, row in zip(found, some, strict=True)) / len(some)


def _arguments() -> argparse.Namespace:
    made = parser(__doc__)
    made.add_argument("--words", type=int, default=50_000, help="of each side that is aligned")
    made.add_argument("--read", type=int, default=20_000, help="words of the text that is read; 0 for none")
    made.add_argument("--dimension", type=int, default=300)
    made.add_argument("--device", choices=("auto", "cpu", "cuda"), default="cpu")
    made.add_argument("--scratch", type=Path, help="a folder on a disk with room; the system's own by default")
    return made.parse_args()


if __name__ == "__main__":
    main()
