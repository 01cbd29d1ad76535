"""Accuracy, verdict and time of `calque align` on real pairs, and on pairs with nothing in common.

Run it with the data folder in $CALQUE_DATA (default ../shared/data):

    python bench/accuracy.py --seeds 5

It prints the two tables as Markdown and writes every run as JSON where --output says.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from calque.formats import load, write
from calque.space import Space

CALQUE = [sys.executable, "-c", "from calque.cli.main import entry; entry()"]
PAIRS = tuple(f"we-z:{pair}" for pair in ("es-en", "it-en", "zh-en"))
"""The paper's own vectors; --pairs also takes europarl:es-en and others of that folder, and hard:zh-en."""
NULLS = ("noise against noise", "es against noise", "es against en, coordinates shuffled word by word")


def main() -> None:
    """Measure, print, keep."""
    asked = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        real = [measure(asked, pair, seed, Path(folder)) for pair in asked.pairs for seed in range(asked.seeds)]
        null = [measure_null(asked.data, name, Path(folder)) for name in NULLS] if asked.nulls else []
    print(f"{_machine()}\n\n{real_table(real)}\n\n{null_table(null)}")
    if asked.output is not None:
        asked.output.write_text(json.dumps({"machine": _machine(), "real": real, "null": null}, indent=1) + "\n")


def measure(asked: argparse.Namespace, pair: str, seed: int, folder: Path) -> dict[str, Any]:
    """One pair with one seed: the command, then its score by both lexicons."""
    vectors, (there, back) = files(asked.data, pair)
    how = "--seed", str(seed), "--recipe", asked.recipe
    run, seconds, code = align(vectors, folder / f"{pair.replace(':', '-')}-{seed}", *how)
    score = _json("evaluate", run["run"], "--lexicon", there, "--lexicon-back", back)
    return {"pair": pair, "seed": seed, "seconds": seconds, "code": code, "verdict": run["verdict"], "score": score}


def files(data: Path, pair: str) -> tuple[list[str], list[str]]:
    """The vectors of a pair, and its lexicons both ways: whole ones for WE-Z, the MUSE test split for the others."""
    folder, languages = pair.split(":")
    names = {"we-z": f"we-z/{languages}/word2vec.{{}}", "europarl": "europarl/{}.vec.gz"}
    vectors = [
        str(data / names.get(folder, f"{folder}/{languages}/{{}}.vec.gz").format(each)) for each in languages.split("-")
    ]
    half = "" if folder == "we-z" else ".test"
    ways = languages, "-".join(reversed(languages.split("-")))
    return vectors, [str(data / "lexicons" / "muse" / f"{way}{half}.tsv") for way in ways]


def measure_null(data: Path, name: str, folder: Path) -> dict[str, Any]:
    """A pair that cannot be aligned: the verdict must say so."""
    paths = [str(folder / f"{side}.npz") for side in ("one", "other")]
    for path, space in zip(paths, null_spaces(data, name), strict=True):
        write(space, path)
    run, seconds, code = align(paths, folder / name.replace(" ", "-"))
    return {"pair": name, "seconds": seconds, "code": code, "verdict": run["verdict"], "evidence": run["evidence"]}


def null_spaces(data: Path, name: str) -> tuple[Space, Space]:
    """Two spaces without a common structure."""
    random = torch.Generator().manual_seed(0)
    noise = [Space.of(list(map(str, range(5000))), torch.randn(5000, 50, generator=random)) for _ in range(2)]
    if name == NULLS[0]:
        return noise[0], noise[1]
    spanish, english = (load(data / "we-z" / "es-en" / f"word2vec.{each}") for each in ("es", "en"))
    if name == NULLS[1]:
        return spanish, noise[0]
    order = torch.rand(english.vectors.shape, generator=random).argsort(dim=1)
    return spanish, Space.of(english.words, english.vectors.gather(1, order))


def align(vectors: list[str], run: Path, *options: str) -> tuple[dict[str, Any], float, int]:
    """The whole command, from start to exit: what it printed, its seconds and its exit code."""
    began = time.monotonic()
    done = subprocess.run(
        [*CALQUE, "align", *vectors, "-o", str(run), "--json", *options], capture_output=True, text=True
    )
    if done.returncode not in (0, 3):
        sys.exit(done.stderr)
    return json.loads(done.stdout), time.monotonic() - began, done.returncode


def real_table(runs: list[dict[str, Any]]) -> str:
    """Mean accuracy@1 over seeds, lowest in brackets; verdicts; median and longest time."""
    lines = [
        "| pair | forward nn / csls | backward nn / csls | aligned | seconds: median (longest) |",
        "|---|---|---|---|---|",
    ]
    for pair in dict.fromkeys(run["pair"] for run in runs):
        mine = [run for run in runs if run["pair"] == pair]
        cells = [" / ".join(_accuracy(mine, way, kind) for kind in ("nn", "csls")) for way in ("forward", "backward")]
        seconds = [run["seconds"] for run in mine]
        aligned = f"{sum(run['verdict'] == 'aligned' for run in mine)} of {len(mine)}"
        lines.append(
            f"| {pair} | {cells[0]} | {cells[1]} | {aligned} | {statistics.median(seconds):.0f} ({max(seconds):.0f}) |"
        )
    return "\n".join(lines)


def _accuracy(runs: list[dict[str, Any]], direction: str, retrieval: str) -> str:
    values = [100 * run["score"][direction][retrieval]["accuracy"]["1"] for run in runs]
    return f"{statistics.mean(values):.1f} ({min(values):.1f})"


def null_table(runs: list[dict[str, Any]]) -> str:
    """The verdicts on pairs that have nothing in common."""
    lines = ["| pair | verdict | exit code | deviations | starts that agree | seconds |", "|---|---|---|---|---|---|"]
    for run in runs:
        told = run["evidence"]
        cells = (run["verdict"], run["code"], f"{told['clearance']:.1f}", told["agreeing"], f"{run['seconds']:.0f}")
        lines.append(f"| {run['pair']} | " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def _json(*arguments: str) -> Any:
    done = subprocess.run([*CALQUE, *arguments, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def _machine() -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{cores} cores, {platform.machine()}, torch {torch.__version__}, {datetime.date.today()}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("CALQUE_DATA", "../shared/data")))
    parser.add_argument("--pairs", type=lambda text: text.split(","), default=list(PAIRS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--recipe", default="default", help="a recipe's name, or a TOML file with other settings")
    parser.add_argument("--no-nulls", dest="nulls", action="store_false")
    parser.add_argument("--output", type=Path)
    asked = parser.parse_args()
    if not asked.data.is_dir():
        parser.error(f"{asked.data} is not a folder; set CALQUE_DATA to the one with we-z and lexicons in it")
    return asked


if __name__ == "__main__":
    main()
