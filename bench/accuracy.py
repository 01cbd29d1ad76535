"""Accuracy, verdict, time and memory of `calque align` on real pairs, beside what is asked of it and what rivals reach.

Run it with the data folder in $CALQUE_DATA (default ../shared/data):

    python bench/accuracy.py --seeds 20

Accuracy@1 by nearest neighbour / by CSLS, mean over seeds; the spread is the largest difference between two seeds in
any of the four. `sample` is the pair that calque ships, and needs no data. VecMap's figures are of its 2019 code on the
same vectors and lexicons.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from calque import sample
from common import command, files, headline, keep, machine, markdown, parser, store

ASKED = {
    "we-z:es-en": ("79.3 / 81.2 · 75.0 / 77.2", "78.8 / 80.7 · 74.5 / 77.0"),
    "we-z:it-en": ("65.6 / 68.2 · 68.5 / 71.4", "63.7 / 66.8 · 66.4 / 70.0"),
    "we-z:zh-en": ("58.5 / 60.5 · 63.0 / 65.0", "fails"),
    "europarl:es-en": ("58.5 / 62.0 · 61.7 / 65.0", "57.6 / 61.5 · 58.8 / 63.7"),
    "europarl:de-en": ("55.5 / 60.0 · 57.5 / 59.5", "54.7 / 59.3 · 56.1 / 58.4"),
    "europarl:it-en": ("62.0 / 66.0 · 59.0 / 61.5", "61.3 / 65.1 · 56.9 / 60.3"),
    "hard:zh-en": ("42.5 / 46.0 · 48.5 / 50.0", "41.6 / 45.3 · 47.9 / 49.4"),
    "sample": ("", ""),
}
"""Forward · backward: what is asked for, and VecMap."""
ENDS = "vec.gz", "counts.txt"
WAYS = [(way, kind) for way in ("forward", "backward") for kind in ("nn", "csls")]


def main() -> None:
    """Measure, print, keep."""
    asked = _arguments()
    runs = list[dict[str, Any]]()
    for pair in asked.pairs:
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(asked.workers) as pool:
            runs += pool.map(partial(measure, asked, pair, Path(folder)), range(asked.seeds))
        text = f"{headline(asked.device)}\n\n{table(runs)}"
        keep(asked.output, asked.name, {"machine": machine(asked.device), "runs": runs}, text)
    store(asked, asked.name, table(runs))


def measure(asked: argparse.Namespace, pair: str, folder: Path, seed: int) -> dict[str, Any]:
    """One pair with one seed: the command, then its score by both lexicons."""
    inputs, lexicons = of_the_sample() if pair == "sample" else of_a_pair(asked.data, pair)
    run = str(folder / f"{pair.replace(':', '-')}-{seed}")
    how = "--seed", str(seed), "--recipe", asked.recipe, "--device", asked.device
    ended = command("align", *inputs, "-o", run, "--overwrite", *how, right=(0, 3))
    score = command("evaluate", run, *lexicons).printed
    accuracy = [100 * score[way][kind]["accuracy"]["1"] for way, kind in WAYS]
    judgement = {name: ended.printed[name] for name in ("verdict", "evidence")}
    times = {"seconds": ended.seconds, "stages": ended.printed["seconds"], "memory": ended.memory}
    return {"pair": pair, "seed": seed, "accuracy": accuracy, **times, **judgement}


def of_a_pair(data: Path, pair: str) -> tuple[list[str], list[str]]:
    """What `align` and `evaluate` are given."""
    vectors, (there, back) = files(data, pair)
    return vectors, ["--lexicon", there, "--lexicon-back", back]


def of_the_sample() -> tuple[list[str], list[str]]:
    """The same of the pair that ships, with its counts."""
    vectors, counts = (
        [str(sample.HERE / f"{language}.{end}") for language in (sample.SOURCE, sample.TARGET)] for end in ENDS
    )
    arguments = [*vectors, "--source-counts", counts[0], "--target-counts", counts[1]]
    return arguments, ["--lexicon", str(sample.HERE / f"{sample.SOURCE}-{sample.TARGET}.tsv")]


def table(runs: list[dict[str, Any]]) -> str:
    """A row a pair."""
    head = [
        "pair",
        "accuracy",
        "asked",
        "VecMap",
        "spread",
        "aligned",
        "seconds (longest)",
        "of them aligning",
        "memory, MiB",
    ]
    return markdown(head, [_row(pair, [run for run in runs if run["pair"] == pair]) for pair in _pairs(runs)])


def _row(pair: str, runs: list[dict[str, Any]]) -> list[str]:
    four = list(zip(*(run["accuracy"] for run in runs), strict=True))
    means = [f"{statistics.mean(column):.1f}" for column in four]
    aligned = sum(run["verdict"] == "aligned" for run in runs)
    seconds = [run["seconds"] for run in runs]
    return [
        pair,
        f"{means[0]} / {means[1]} · {means[2]} / {means[3]}",
        *ASKED.get(pair, ("", "")),
        f"{max(max(column) - min(column) for column in four):.1f}",
        f"{aligned} of {len(runs)}",
        f"{statistics.median(seconds):.1f} ({max(seconds):.1f})",
        f"{statistics.median(aligning(run) for run in runs):.1f}",
        f"{max(run['memory'] for run in runs):.0f}",
    ]


def aligning(run: dict[str, Any]) -> float:
    """Seconds without starting Python, reading and writing."""
    return float(sum(seconds for stage, seconds in run["stages"].items() if stage != "read"))


def _pairs(runs: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(run["pair"] for run in runs))


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--pairs", type=lambda text: text.split(","), default=list(ASKED))
    options.add_argument("--seeds", type=int, default=20)
    options.add_argument("--recipe", default="default", help="a recipe's name, or a TOML file with other settings")
    options.add_argument("--device", choices=("auto", "cpu", "cuda"), default="cpu")
    options.add_argument(
        "--workers", type=int, default=1, help="seeds at once; above 1, seconds are of a shared machine"
    )
    options.add_argument("--name", default="accuracy", help="what its files are called")
    asked = options.parse_args()
    if not asked.data.is_dir():
        print(f"{asked.data} is no folder: the sample alone is measured; set CALQUE_DATA to the folder with we-z in it")
        asked.pairs = ["sample"]
    return asked


if __name__ == "__main__":
    main()
