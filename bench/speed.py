"""Where the time goes: against other recipes, against what the machine could do, and as words and dimensions grow.

    python bench/speed.py
    python bench/speed.py --pair we-z:es-en --recipes default,artetxe2018,paper --most-words 200000

Three tables. The whole command `calque align` with each recipe, as a ratio to the default. The stages of the default
recipe beside their floor: their matrix products and passes over memory, counted as the code makes them, over the rates
that this machine reaches in the same run at matrix products and at copying matrices of the stage's size. And seconds
and memory of turned copies of a made space, against words at 50 dimensions and against dimensions at 5,000 words, with
the fitted exponent.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from calque.data.formats import load, write
from calque.data.space import Space
from calque.methods.default.coarse_to_fine import CoarseToFineSettings
from calque.methods.default.contrast import ContrastSettings
from calque.recipes import find, run
from common import Ended, command, copies, files, headline, keep, machine, markdown, parser, store

WORDS = (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000)
DIMENSIONS = (20, 50, 100, 300, 1000)
FLOAT = 4
SIZES = {"search": 500, "alternate": 2000, "refine": 4000, "contrast": 4000}
"""Rows and columns of the matrices that a stage goes over."""
PASSES_A_TURN = 16
"""Over the matrix of a turn: the cost and its root, the exponent, its largest, the kernel, the plan, its weights."""
PASSES_A_ROUND = 3
"""Over the similarities of a round: written once, read for the largest of each group, read for the products."""
ENTRIES = 0.75
"""Of the places in all lists of a contrast: a pair of words that are in each other's lists is one entry, not two."""


def main() -> None:
    """Measure, print, plot, keep."""
    asked = _arguments()
    if asked.one is not None:
        print(json.dumps(grown(*asked.one)))
        return
    with tempfile.TemporaryDirectory() as folder:
        vectors = _vectors(asked, Path(folder))
        recipes = {
            name: command(
                "align", *vectors, "-o", f"{folder}/{name}", "--recipe", name, "--device", "cpu", right=(0, 3)
            )
            for name in asked.recipes
        }
        source, target = load(vectors[0]), load(vectors[1])
    stages = staged(source, target)
    growth = [_grown(words, 50) for words in WORDS if words <= asked.most_words]
    wide = [_grown(5000, dimension) for dimension in DIMENSIONS if dimension <= asked.most_dimensions]
    text = "\n\n".join(
        [
            headline(),
            ratio_table(recipes),
            stage_table(stages),
            growth_table(growth, wide),
        ]
    )
    content = {"machine": machine(), "recipes": {name: _as_json(ended) for name, ended in recipes.items()}}
    keep(asked.output, "speed", {**content, "stages": stages, "words": growth, "dimensions": wide}, text)
    store(asked, "speed", text)
    if not asked.no_plot:
        plot(growth, wide, asked.output / "speed.svg")


def ratio_table(recipes: dict[str, Ended]) -> str:
    """Every recipe beside the first."""
    first = next(iter(recipes.values())).seconds
    rows = [
        [name, ended.printed["verdict"], f"{ended.seconds:.1f}", f"{ended.seconds / first:.1f}", f"{ended.memory:.0f}"]
        for name, ended in recipes.items()
    ]
    return markdown(["recipe", "verdict", "seconds, whole command", "times the first", "memory, MiB"], rows)


def product_rate(size: int = 2000) -> float:
    """Billions of floating-point operations a second in a float32 matrix product."""
    one, out = torch.rand(size, size), torch.empty(size, size)
    return 2 * size**3 / _fastest(lambda: torch.mm(one, one, out=out)) / 1e9


def copy_rate(size: int) -> float:
    """Billions of bytes read and written a second by copying a matrix of this size."""
    one, out = torch.rand(size, size), torch.empty(size, size)
    return 2 * FLOAT * size**2 / _fastest(lambda: out.copy_(one)) / 1e9


def _fastest(work: Any) -> float:
    seconds = []
    for _ in range(7):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def staged(source: Space, target: Space) -> list[dict[str, Any]]:
    """Seconds of every stage beside its floor; the median of three runs."""
    products, copying = product_rate(), {stage: copy_rate(size) for stage, size in SIZES.items()}
    runs = [run(find("default"), source, target, seed, "cpu") for seed in range(3)]
    median_run = sorted(runs, key=lambda alignment: sum(alignment.record.seconds.values()))[1]
    work = counted(median_run.record.log, len(source), len(target), source.dimension)
    return [
        {
            "stage": stage,
            "seconds": seconds,
            "gflop": work[stage][0] / 1e9,
            "gbyte": work[stage][1] / 1e9,
            "products": products,
            "copies": copying[stage],
            "floor": work[stage][0] / 1e9 / products + work[stage][1] / 1e9 / copying[stage],
        }
        for stage, seconds in median_run.record.seconds.items()
        if stage in work
    ]


def counted(log: Any, source: int, target: int, dimension: int) -> dict[str, tuple[float, float]]:
    """Operations in matrix products, and bytes moved, of every stage whose size is known from its log."""
    settings = CoarseToFineSettings()
    flops = bytes_ = 0.0
    searched = [entry for entry in log if entry["stage"] == "search"]
    turns = len(settings.search.alternation.schedule())
    a_round = sum(settings.search.starts)
    for number, entry in enumerate(searched):
        words = settings.search.words[number // a_round % len(settings.search.words)]
        flops += turns * turn_flops(words, int(entry["dimensions"]))
        bytes_ += turns * turn_bytes(words, settings.search.alternation.scalings)
    words = min(settings.words, source, target)
    many = len(settings.alternation.schedule())
    used = [min(size, settings.refinement.words) for size in (source, target)]
    rounds = sum(entry["stage"] == "refine" for entry in log)
    return {
        "search": (flops, bytes_),
        "alternate": (many * turn_flops(words, dimension), many * turn_bytes(words, settings.alternation.scalings)),
        "contrast": contrast_work(settings.contrast, used, dimension),
        "refine": (rounds * 4.0 * math.prod(used) * dimension, rounds * 2.0 * FLOAT * PASSES_A_ROUND * math.prod(used)),
    }


def contrast_work(settings: ContrastSettings, words: list[int], dimension: int) -> tuple[float, float]:
    """The lists of both directions; of every step of each: vectors carried over, three sparse products, gradients."""
    entries = ENTRIES * settings.rivals * sum(words)
    steps = 2.0 * settings.steps
    flops = 4.0 * math.prod(words) * dimension + steps * (4.0 * sum(words) * dimension**2 + 6.0 * entries * dimension)
    moved = FLOAT * (2.0 * PASSES_A_ROUND * math.prod(words) + steps * 3.0 * entries * dimension)
    return flops, moved


def turn_flops(words: int, dimension: int) -> float:
    """Two products of a turn: the cosines, and the plan times the target."""
    return 4.0 * words**2 * dimension


def turn_bytes(words: int, scalings: int) -> float:
    """Passes of a turn over its matrix."""
    return float(FLOAT * words**2 * (PASSES_A_TURN + 2 * scalings))


def stage_table(stages: list[dict[str, Any]]) -> str:
    """A row a stage."""
    rows = [
        [
            row["stage"],
            f"{row['seconds']:.2f}",
            f"{row['gflop']:.1f} at {row['products']:.0f}",
            f"{row['gbyte']:.1f} at {row['copies']:.0f}",
            f"{row['floor']:.2f}",
            f"{row['seconds'] / row['floor']:.1f}",
        ]
        for row in stages
    ]
    return markdown(
        ["stage", "seconds", "Gflop, at Gflop/s", "GB moved, at GB/s", "floor, seconds", "times the floor"], rows
    )


def grown(words: int, dimension: int) -> dict[str, float]:
    """Seconds to align two copies of a made space, in this very process; its peak memory is asked for outside."""
    source, target = copies(words, dimension, 0.3, 0)
    began = time.monotonic()
    alignment = run(find("default"), source, target, 0, "cpu")
    kept = float(alignment.source.dimension)
    return {"kept": kept, "seconds": time.monotonic() - began, "aligned": float(alignment.verdict.label == "aligned")}


def _grown(words: int, dimension: int) -> dict[str, float]:
    """The same in a process of its own."""
    code = "import resource,subprocess,sys; done=subprocess.run(sys.argv[1:],capture_output=True,text=True,check=True)"
    code += "; print(done.stdout, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    arguments = [sys.executable, __file__, "--one", str(words), str(dimension)]
    printed = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    ).stdout
    figures, memory = printed.rsplit(maxsplit=1)
    return {"words": words, "dimension": dimension, **json.loads(figures), "memory": int(memory) / 1024}


def growth_table(words: list[dict[str, float]], wide: list[dict[str, float]]) -> str:
    """Both series, each with the exponent that fits its upper half."""
    head = ["words", "dimensions", "seconds", "memory, MiB", "aligned"]
    rows = [
        [
            f"{row['words']:,}",
            _dimensions(row),
            f"{row['seconds']:.1f}",
            f"{row['memory']:.0f}",
            "yes" if row["aligned"] else "no",
        ]
        for row in (*words, *wide)
    ]
    sentences = []
    for name, series, by in (("words", words, "words"), ("dimensions", wide, "dimension")):
        for what in ("seconds", "memory"):
            sentences.append(f"{what} grow as {name} to the power {exponent(series, by, what):.2f}")
    return f"{markdown(head, rows)}\n\nFitted to the larger half: {'; '.join(sentences)}."


def _dimensions(row: dict[str, float]) -> str:
    whole, kept = int(row["dimension"]), int(row["kept"])
    return str(whole) if whole == kept else f"{whole}, reduced to {kept}"


def exponent(series: list[dict[str, float]], by: str, what: str) -> float:
    """The slope of a straight line through the larger half, both axes logarithmic; of sizes that were not reduced."""
    whole = [row for row in series if row["kept"] == row["dimension"]]
    upper = whole[min(len(whole) // 2, len(whole) - 2) :] if len(whole) > 1 else []
    if not upper:
        return math.nan
    fit = statistics.linear_regression([math.log(row[by]) for row in upper], [math.log(row[what]) for row in upper])
    return fit.slope


def plot(words: list[dict[str, float]], wide: list[dict[str, float]], path: Path) -> None:
    """Seconds and memory against both, logarithmic."""
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
    for panel, series, by in zip(panels, (words, wide), ("words", "dimension"), strict=True):
        sizes = [row[by] for row in series]
        panel.loglog(sizes, [row["seconds"] for row in series], "o-", color="#0072b2", label="seconds")
        panel.loglog(sizes, [row["memory"] for row in series], "s--", color="#d55e00", label="MiB")
        panel.set(xlabel=by if by == "words" else "dimensions")
        panel.legend()
    figure.savefig(path, metadata={"Date": None})


def _vectors(asked: argparse.Namespace, folder: Path) -> list[str]:
    if asked.pair and asked.data.is_dir():
        return files(asked.data, asked.pair)[0]
    paths = [str(folder / f"{side}.npz") for side in ("one", "other")]
    for space, path in zip(copies(5000, 50, 0.3, 0), paths, strict=True):
        write(space, path)
    return paths


def _as_json(ended: Ended) -> dict[str, Any]:
    return {"seconds": ended.seconds, "memory": ended.memory, "verdict": ended.printed["verdict"]}


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument(
        "--pair", default="", help="such as we-z:es-en; a made pair of 5,000 words without it, or its data"
    )
    options.add_argument("--recipes", type=lambda text: text.split(","), default=["default", "artetxe2018"])
    options.add_argument("--most-words", type=int, default=20_000)
    options.add_argument("--most-dimensions", type=int, default=1000)
    options.add_argument("--no-plot", action="store_true", help="where matplotlib is not installed")
    options.add_argument("--one", type=int, nargs=2, help=argparse.SUPPRESS)
    return options.parse_args()


if __name__ == "__main__":
    main()
