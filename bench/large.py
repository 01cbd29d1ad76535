"""Full-size vocabularies: reading, aligning, retrieving, writing and looking up, each as a ratio to a rival or a limit.

    python bench/large.py
    python bench/large.py --words 200000 --read 200000 --stream 200000 --approximate 2500000

All on data made here: uneven clusters, and a blurred copy of them, turned; row i is the translation of row i. Reading
is measured against gensim, retrieval against the bare matrix products and, where faiss is installed, against its exact
index, all in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
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

from calque.data.formats import read, write
from calque.linear.maps import LinearMap, Preprocessing, Side, unit
from calque.retrieval.approximate import build, exact_best, sample, tuned
from calque.retrieval.exact import blocks, find, neighbours
from calque.runs.alignment import Alignment, Record
from calque.runs.lookup import Lookup
from calque.runs.streaming import VectorRows
from calque.verdict import Verdict
from common import CALQUE, Ended, blurred_files, command, copies, headline, keep, machine, markdown, parser, store

READERS = {
    "calque": "from calque.data.formats import read; read(path)",
    "alone": "from calque.data.formats import read; read(path, cache=False)",
    "gensim": "from gensim.models import KeyedVectors; KeyedVectors.load_word2vec_format(path)",
}
TIMED = """
import re, sys, time
path = sys.argv[1]
def held(name):
    return int(re.search(name + r":\\s+(\\d+)", open("/proc/self/status").read())[1])
{first}
before, began = held("VmRSS"), time.monotonic()
{then}
print(time.monotonic() - began, held("VmHWM") - before)
"""
ASKED = 4096
"""Queries that stand for all of them: products and search grow in proportion."""
SETTLED = 2.5
"""Seconds after which the time stamps of a file prove that it has not changed."""
PENALISED = 2000
"""Frequent words that make the penalties of millions: all 20,000 would take longer than what is measured."""


def main() -> None:
    """Measure, print, keep."""
    asked = _arguments()
    with tempfile.TemporaryDirectory(dir=asked.scratch) as folder:
        place = Path(folder)
        os.environ["CALQUE_CACHE"] = str(place / "cache")
        rows = read_files(place, asked.read, asked.dimension) if asked.read else []
        rows += retrieve(asked.words, asked.dimension) if asked.words else []
        rows += align(place, asked.words, asked.dimension, asked.device) if asked.words else []
        rows += stream(place, asked.stream, asked.dimension) if asked.stream else []
        rows += approximate(place, asked.approximate, asked.dimension) if asked.approximate else []
    text = markdown(["what", "measured", "beside", "ratio", "asked"], rows)
    keep(asked.output, "large", {"machine": machine(asked.device), "rows": rows}, f"{headline(asked.device)}\n\n{text}")
    store(asked, "large", text)


def read_files(place: Path, words: int, dimension: int) -> list[list[str]]:
    """Seconds and memory of reading a text, twice, and the memory of other formats; each in a process of its own."""
    path, array = place / "words.vec", words * dimension * 4 / 2**20
    _write_text(path, words, dimension)
    time.sleep(SETTLED)
    alone, _ = _timed("alone", path)
    (first, memory), (second, _), (gensim, _) = (_timed(name, path) for name in ("calque", "calque", "gensim"))
    rows = [
        [
            f"read {words:,} × {dimension} text",
            f"{alone:.1f} s",
            f"gensim {gensim:.1f} s",
            f"{gensim / alone:.1f}",
            "5",
        ],
        ["the same, and keep it", f"{first:.1f} s", f"without {alone:.1f} s", f"{first / alone:.2f}", "1.1"],
        ["read it again", f"{second:.3f} s", f"first {first:.1f} s", f"{first / second:.0f}", "50"],
        ["the same", f"{second:.3f} s", f"gensim {gensim:.1f} s", f"{gensim / second:.0f}", ""],
        _memory_row("memory of reading the text", memory, array),
    ]
    space = read(path).space
    for name in ("words.bin", "words.bin.gz", "words.vec.gz"):
        write(space, place / name)
        rows.append(
            _memory_row(f"memory of reading {name.removeprefix('words')}", _timed("alone", place / name)[1], array)
        )
    return rows


def _memory_row(what: str, memory: float, array: float) -> list[str]:
    return [what, f"{memory:.0f} MiB", f"the array {array:.0f} MiB", f"{memory / array:.2f}", "1.3"]


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
    printed = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True).stdout
    seconds, kilobytes = printed.split()
    return float(seconds), float(kilobytes) / 1024


def retrieve(words: int, dimension: int) -> list[list[str]]:
    """CSLS, exact, for some queries against all words, beside the bare products; and nearest beside faiss."""
    generator = torch.Generator().manual_seed(1)
    queries, candidates = (unit(torch.randn(count, dimension, generator=generator)) for count in (ASKED, words))
    kind, penalty = find("csls"), torch.rand(words, generator=generator)
    answers, seconds = _clocked(lambda: neighbours(queries, candidates, 1, kind, penalty).indices[:, 0])
    _, bare = _clocked(lambda: _products(queries, candidates))
    right = bool(torch.equal(answers[:64], (2 * (queries[:64] @ candidates.mT) - penalty).argmax(dim=1)))
    what = f"CSLS of {ASKED:,} × {words:,}, penalties given" + ("" if right else ", WRONG")
    rows = [[what, f"{seconds:.2f} s", f"bare products {bare:.2f} s", f"{seconds / bare:.2f}", "1.5"]]
    try:
        import faiss
    except ImportError:
        return rows
    index = faiss.IndexFlatIP(dimension)
    index.add(candidates.numpy())
    _, plain = _clocked(lambda: neighbours(queries, candidates, 1, find("nn"), torch.zeros(words)))
    _, flat = _clocked(lambda: index.search(queries.numpy(), 1))
    what = f"nearest of {ASKED:,} × {words:,}"
    return [*rows, [what, f"{plain:.2f} s", f"faiss IndexFlatIP {flat:.2f} s", f"{plain / flat:.2f}", "1"]]


def _products(queries: Tensor, candidates: Tensor) -> None:
    for rows in blocks(len(queries), len(candidates)):
        queries[rows] @ candidates.mT


def _clocked(work: Callable[[], Any]) -> tuple[Any, float]:
    """The better of two times."""
    took = []
    for _ in range(2):
        began = time.monotonic()
        result = work()
        took.append(time.monotonic() - began)
    return result, min(took)


def align(place: Path, words: int, dimension: int, device: str) -> list[list[str]]:
    """The whole command on two files, the share it gets right, and one look-up in the run."""
    paths = [place / f"{side}.npz" for side in ("one", "other")]
    for space, path in zip(copies(words, dimension, 0.3, 0), paths, strict=True):
        write(space, path)
    run = str(place / "run")
    ended = command("align", *map(str, paths), "-o", run, "--device", device, right=(0, 3))
    began = time.monotonic()
    translated = subprocess.run(
        [*CALQUE, "translate", run, "one7", "--json"], capture_output=True, text=True, check=True
    )
    looked = time.monotonic() - began
    best = json.loads(translated.stdout)["translations"]["one7"][0]["word"]
    right = _right(Path(run), words)
    size = f"{words:,} × {dimension}"
    asked = "15 s" if device == "cuda" else "180 s"
    return [
        [f"align {size}, {ended.printed['verdict']}", f"{ended.seconds:.0f} s", f"{right:.1%} right", "", asked],
        ["its memory", f"{ended.memory:.0f} MiB", "", "", "3,072 MiB"],
        [f"look one word up (found {best})", f"{looked:.2f} s", "", "", "1 s"],
    ]


def _right(run: Path, words: int) -> float:
    """The share of some words, of all frequencies, whose best translation is their own."""
    some = np.linspace(0, words - 1, 500).astype(int).tolist()
    entries = Lookup.open(run).translate([f"one{row}" for row in some], k=1)
    return sum(entry.candidates[0].word == f"other{row}" for entry, row in zip(entries, some, strict=True)) / len(some)


def stream(place: Path, words: int, dimension: int) -> list[list[str]]:
    """The memory of exporting a run and of inducing its lexicon, beside that of a run a quarter as large."""
    runs = [_saved(place / f"run{size}", size, dimension) for size in (words // 4, words)]
    kinds = {"lexicon": ["lexicon"], "export": ["export"], "export npz": ["export", "--format", "npz"]}
    rows = []
    for name, (verb, *options) in kinds.items():
        small, large = (_ended(place, verb, run, options) for run in runs)
        what = f"memory of {name}, {words:,} × {dimension}, in {large.seconds:.0f} s"
        beside = f"a quarter of the words {small.memory:.0f} MiB"
        rows.append([what, f"{large.memory:.0f} MiB", beside, f"{large.memory / small.memory:.2f}", "1.1"])
    return rows


def _ended(place: Path, verb: str, run: Path, options: list[str]) -> Ended:
    return command(verb, str(run), "-o", str(place / f"{run.name}.{verb}"), "--overwrite", *options)


def _saved(folder: Path, words: int, dimension: int) -> Path:
    """A run of two copies that lie in one space already."""
    one, other = copies(words, dimension, 0.3, 0, turned=False)
    side = Side(Preprocessing((None,)), LinearMap(torch.eye(dimension)))
    Alignment.of((one, other), (side, side), Verdict("aligned", ("made so",), {}), Record()).save(folder)
    return folder


def approximate(place: Path, words: int, dimension: int) -> list[list[str]]:
    """The index: how long it takes to make and to ask, what it holds, and what it finds."""
    paths = blurred_files(place, words, dimension, 0.3, 0)
    queries, candidates = (VectorRows(np.memmap(path, "<f4", "r", 0, (words, dimension))) for path in paths)
    frequent = torch.from_numpy(next(queries.blocks(PENALISED)))
    penalty = torch.cat(
        [find("csls").penalty(frequent, torch.from_numpy(block)) for block in candidates.blocks(50_000)]
    )
    before, began = _held(), time.monotonic()
    index, recall = tuned(build(candidates, penalty), queries)
    making, held = time.monotonic() - began, _held() - before
    asked = torch.from_numpy(queries.pick(sample(words, ASKED)))
    answers, seconds = _clocked(lambda: index.neighbours(asked, 1))
    _, exact = _clocked(lambda: exact_best(asked, candidates, penalty))
    right = float((answers.indices[:, 0].numpy() == sample(words, ASKED)).mean())
    size, array = f"{words:,} × {dimension}", words * dimension * 4 / 2**20
    lists = f"{recall.probes} of {recall.lists} lists"
    return [
        [
            f"index of {size}, recall@1",
            f"{recall.share:.3f}",
            f"of {recall.sampled} words",
            f"{right:.1%} right",
            "0.98",
        ],
        [f"{ASKED:,} queries of it, {lists}", f"{seconds:.1f} s", f"exact {exact:.1f} s", f"{exact / seconds:.1f}", ""],
        ["to make and tune it", f"{making:.0f} s", "", "", ""],
        ["its memory", f"{held:.0f} MiB", f"the array {array:.0f} MiB", f"{held / array:.2f}", ""],
    ]


def _held() -> float:
    """MiB of our own; pages of files that are mapped do not count."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) / 1024


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--words", type=int, default=50_000, help="of each side that is aligned; 0 for none")
    options.add_argument("--read", type=int, default=20_000, help="words of the text that is read; 0 for none")
    options.add_argument("--stream", type=int, default=40_000, help="words of the run that is exported; 0 for none")
    options.add_argument("--approximate", type=int, default=50_000, help="words of the index; 0 for none")
    options.add_argument("--dimension", type=int, default=300)
    options.add_argument("--device", choices=("auto", "cpu", "cuda"), default="cpu")
    options.add_argument("--scratch", type=Path, help="a folder on a disk with room; the system's own by default")
    return options.parse_args()


if __name__ == "__main__":
    main()
