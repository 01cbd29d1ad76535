"""Is the verdict to be believed? Pairs with nothing in common must never be called aligned, true ones never failed.

    python bench/verdict.py --nulls 200 --reals 200

Null pairs come in families: noise, clusters, real vectors with their coordinates shuffled, real vectors against noise
of the same shape, against things that are no words, and against words of which all but a few were replaced. Real pairs
are language pairs with words left out, vectors blurred and dimensions cut, and turned copies of a made space, blurred
until hardly a word is found. Every pair differs in size and seed. Without the data folder ($CALQUE_DATA, default
../shared/data) only the made families run.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from calque.data.formats import load
from calque.data.lexicon import Lexicon, read_lexicon
from calque.data.space import Space
from calque.evaluate import score_translation
from calque.recipes import find
from calque.recipes import run as align
from calque.runs.alignment import Alignment
from calque.verdict import Evidence, judge
from common import clustered, copies, files, headline, keep, machine, markdown, parser, store

WE_Z = tuple(f"we-z:{pair}" for pair in ("es-en", "it-en", "zh-en"))
USEFUL = 0.15
"""A map that is right for fewer words than this may be called anything."""


class Draw:
    """The chances of one pair."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def whole(self, least: int, most: int) -> int:
        """A number between the two."""
        return int(torch.randint(least, most + 1, (1,), generator=self.generator))

    def share(self, least: float, most: float) -> float:
        """The same, but not whole."""
        return least + (most - least) * float(torch.rand(1, generator=self.generator))

    def one(self, of: tuple[str, ...]) -> str:
        """Any of them."""
        return of[self.whole(0, len(of) - 1)]

    def normal(self, words: int, dimension: int) -> Tensor:
        """Noise."""
        return torch.randn(words, dimension, generator=self.generator)

    def order(self, count: int) -> Tensor:
        """Any order."""
        return torch.randperm(count, generator=self.generator)


@dataclass(frozen=True)
class Pair:
    """Two spaces, and the lexicon that knows which of their words translate each other, if any do."""

    source: Space
    target: Space
    truth: Lexicon | None = None


def noise(draw: Draw, _: Path) -> Pair:
    """Two clouds without structure."""
    dimension = draw.whole(20, 100)
    return _made(draw.normal(draw.whole(500, 5000), dimension), draw.normal(draw.whole(500, 5000), dimension))


def few_dimensions(draw: Draw, _: Path) -> Pair:
    """Clusters in so few dimensions that there is not much to turn."""
    dimension, many = draw.whole(3, 19), draw.whole(5, 100)
    one, other = (clustered(draw.whole(500, 3000), dimension, draw.generator, many) for _ in range(2))
    return _made(one, other)


def clusters(draw: Draw, _: Path) -> Pair:
    """Two spaces as structured as words, but not alike."""
    dimension, many = draw.whole(20, 100), draw.whole(20, 400)
    one, other = (clustered(draw.whole(500, 5000), dimension, draw.generator, many) for _ in range(2))
    return _made(one, other)


def shuffled_by_word(draw: Draw, data: Path) -> Pair:
    """A real pair, but the coordinates of every target word in an order of their own."""
    source, target = _some_words(draw, *_real(data, draw.one(WE_Z)))
    order = torch.rand(target.shape, generator=draw.generator).argsort(dim=1)
    return _made(source, target.gather(1, order))


def shuffled_by_coordinate(draw: Draw, data: Path) -> Pair:
    """A real pair, but every coordinate of the target handed round among its words."""
    source, target = _some_words(draw, *_real(data, draw.one(WE_Z)))
    return _made(source, torch.stack([column[draw.order(len(column))] for column in target.mT], dim=1))


def against_its_shape(draw: Draw, data: Path) -> Pair:
    """Half real: a language against noise with the mean and the covariance of another."""
    source, target = _some_words(draw, *_real(data, draw.one(WE_Z)))
    return _made(source, _shaped(draw, target, len(target)))


def against_waves(draw: Draw, data: Path) -> Pair:
    """Unrelated domains: a language against windows of slow random walks."""
    source, _ = _some_words(draw, *_real(data, draw.one(WE_Z)))
    return _made(source, draw.normal(draw.whole(1000, 5000), source.shape[1]).cumsum(dim=1))


def against_a_graph(draw: Draw, data: Path) -> Pair:
    """Unrelated domains: a language against the nodes of a random graph, by its leading eigenvectors."""
    source, _ = _some_words(draw, *_real(data, draw.one(WE_Z)))
    nodes = 1500
    places = torch.rand(nodes, 3, generator=draw.generator)
    near = (torch.cdist(places, places) < draw.share(0.1, 0.3)).float()
    degree = near.sum(dim=1).rsqrt()
    values, vectors = torch.linalg.eigh(degree[:, None] * near * degree)
    leading = vectors[:, -source.shape[1] - 1 : -1] * values[-source.shape[1] - 1 : -1].clamp_min(0)
    return _made(source, leading[draw.order(nodes)])


def nearly_all_replaced(draw: Draw, data: Path) -> Pair:
    """A real pair of which 19 in 20 target words were replaced by noise of the same shape."""
    source, target = _some_words(draw, *_real(data, draw.one(WE_Z)))
    rows = draw.order(len(target))[: int(0.95 * len(target))]
    replaced = target.clone()
    replaced[rows] = _shaped(draw, target, len(rows))
    return _made(source, replaced)


def languages(draw: Draw, data: Path) -> Pair:
    """A real pair: some words left out, the vectors blurred, some dimensions cut."""
    source, target, truth = _translated(data, draw.one(WE_Z))
    kept = draw.share(0.3, 1.0)
    blur, dimension = draw.share(0.0, 0.5), draw.whole(25, source.dimension)
    worn = [_worn(draw, side, kept, blur, dimension) for side in (source, target)]
    return Pair(worn[0], worn[1], truth)


def turned_copies(draw: Draw, _: Path) -> Pair:
    """A made space and a turned copy, each blurred."""
    words, dimension = draw.whole(500, 5000), draw.whole(20, 100)
    source, target = copies(words, dimension, draw.share(0.05, 1.5), draw.whole(0, 10**9))
    return Pair(source, target, Lexicon.of(zip(source.words, target.words, strict=True)))


Family = Callable[[Draw, Path], Pair]
MADE_NULLS: tuple[Family, ...] = (noise, clusters, few_dimensions)
NULLS: tuple[Family, ...] = (
    *MADE_NULLS,
    *(shuffled_by_word, shuffled_by_coordinate, against_its_shape),
    *(against_waves, against_a_graph, nearly_all_replaced),
)
REALS: tuple[Family, ...] = (languages, turned_copies)


def _made(source: Tensor, target: Tensor) -> Pair:
    named = [[f"{side}{row}" for row in range(len(vectors))] for side, vectors in (("s", source), ("t", target))]
    return Pair(Space.of(named[0], source), Space.of(named[1], target))


@cache
def _translated(data: Path, pair: str) -> tuple[Space, Space, Lexicon]:
    vectors, lexicons = files(data, pair)
    return load(vectors[0]), load(vectors[1]), read_lexicon(lexicons[0]).lexicon


def _real(data: Path, pair: str) -> tuple[Tensor, Tensor]:
    source, target, _ = _translated(data, pair)
    return source.vectors, target.vectors


def _some_words(draw: Draw, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    words = draw.whole(1000, 5000)
    return source[:words], target[:words]


def _shaped(draw: Draw, like: Tensor, words: int) -> Tensor:
    root = torch.linalg.cholesky(torch.cov(like.mT).double() + 1e-9 * torch.eye(like.shape[1]).double())
    shaped: Tensor = draw.normal(words, like.shape[1]) @ root.mT.float() + like.mean(dim=0)
    return shaped


def _worn(draw: Draw, space: Space, kept: float, blur: float, dimension: int) -> Space:
    rows = draw.order(len(space))[: int(kept * len(space))].sort().values
    vectors = space.vectors[rows]
    vectors = vectors + blur * vectors.std() * draw.normal(*vectors.shape)
    _, directions = torch.linalg.eigh(vectors.mT @ vectors)
    return Space.of([space.words[row] for row in rows.tolist()], vectors @ directions[:, -dimension:])


def judge_one(family: Family, seed: int, data: Path, device: str, threads: int) -> dict[str, Any]:
    """Align a pair of the family, and keep what was said of it."""
    torch.set_num_threads(threads)
    pair = family(Draw(seed), data)
    began = time.monotonic()
    alignment = align(find("default"), pair.source, pair.target, seed, device)
    drawn = {"family": family.__name__.replace("_", " "), "seed": seed, "seconds": time.monotonic() - began}
    size = {"words": [len(pair.source), len(pair.target)], "dimension": pair.source.dimension}
    verdict = {"verdict": alignment.verdict.label, "evidence": dict(alignment.verdict.evidence)}
    return {**drawn, **size, **verdict, "accuracy": None if pair.truth is None else _accuracy(alignment, pair.truth)}


def _accuracy(alignment: Alignment, truth: Lexicon) -> float:
    return float(score_translation(alignment, truth, ks=(1,)).forward["nn"].accuracy(1))


def main() -> None:
    """Run every pair, print, plot, keep."""
    asked = _arguments()
    nulls, reals = (NULLS, REALS) if asked.data.is_dir() else (MADE_NULLS, REALS[-1:])
    jobs = [*_spread(nulls, asked.nulls), *_spread(reals, asked.reals)]
    runs = judged_again(asked.again) if asked.again else judge_all(jobs, asked)
    content = {"machine": machine(asked.device), "runs": runs}
    keep(asked.output, "verdict", content, f"{headline(asked.device)}\n\n{table(runs)}")
    store(asked, "verdict", table(runs))
    if not asked.no_plot:
        plot(runs, asked.output / "verdict.svg")


def _spread(families: tuple[Family, ...], count: int) -> list[tuple[Family, int]]:
    return [(families[seed % len(families)], seed) for seed in range(count)]


def judge_all(jobs: list[tuple[Family, int]], asked: argparse.Namespace) -> list[dict[str, Any]]:
    """All pairs, several at once where there are several workers; none is begun once time is up."""
    began, runs = time.monotonic(), []
    with ProcessPoolExecutor(asked.workers, get_context("spawn")) as pool:
        threads = max(1, torch.get_num_threads() // asked.workers)
        waiting = iter(jobs)
        ahead = {
            pool.submit(judge_one, *job, asked.data, asked.device, threads)
            for job, _ in zip(waiting, range(asked.workers), strict=False)
        }
        while ahead:
            done = next(as_completed(ahead))
            ahead.remove(done)
            runs.append(done.result())
            job = next(waiting, None) if time.monotonic() - began < asked.seconds else None
            if job is not None:
                ahead.add(pool.submit(judge_one, *job, asked.data, asked.device, threads))
    return runs


def judged_again(kept: list[Path]) -> list[dict[str, Any]]:
    """The runs of earlier files, judged by the rule as it is now; of a pair in several files the last one counts."""
    runs = [run for path in kept for run in json.loads(path.read_text(encoding="utf-8"))["runs"]]
    latest = {(run["family"], run["seed"]): run for run in runs}
    return [run | {"verdict": judge(Evidence(**run["evidence"])).label} for run in latest.values()]


def table(runs: list[dict[str, Any]]) -> str:
    """Verdicts by family; those of real pairs by how many words they got right."""
    rows = []
    for name, mine in _groups(runs):
        labels = Counter(run["verdict"] for run in mine)
        agree = max(run["evidence"]["agreeing"] for run in mine)
        clear = max(run["evidence"]["clearance"] for run in mine)
        seconds = sorted(run["seconds"] for run in mine)
        counts = [labels[label] for label in ("aligned", "doubtful", "failed")]
        rows.append([name, len(mine), *counts, agree, f"{clear:.1f}", f"{seconds[len(seconds) // 2]:.1f}"])
    head = ["pairs", "runs", "aligned", "doubtful", "failed", "most that agree", "clearest", "median seconds"]
    return markdown(head, rows)


def _groups(runs: list[dict[str, Any]]) -> Iterable[tuple[str, list[dict[str, Any]]]]:
    bands = ((USEFUL, 1.01, "right for 15 % or more"), (0.05, USEFUL, "right for 5 to 15 %"), (0.0, 0.05, "for fewer"))
    for name in dict.fromkeys(run["family"] for run in runs):
        mine = [run for run in runs if run["family"] == name]
        if mine[0]["accuracy"] is None:
            yield name, mine
            continue
        for least, most, what in bands:
            some = [run for run in mine if least <= run["accuracy"] < most]
            if some:
                yield f"{name}, {what}", some


def plot(runs: list[dict[str, Any]], path: Path) -> None:
    """Accuracy against clearance, a colour a verdict."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for label, colour, mark in (("aligned", "#0072b2", "o"), ("doubtful", "#e69f00", "^"), ("failed", "#888888", "x")):
        mine = [run for run in runs if run["verdict"] == label]
        shown = [-0.04 - 0.002 * (run["seed"] % 10) if run["accuracy"] is None else run["accuracy"] for run in mine]
        clear = [max(run["evidence"]["clearance"], 0.1) for run in mine]
        axes.scatter(clear, shown, s=16, c=colour, marker=mark, linewidths=0.8, label=f"{label} ({len(mine)})")
    axes.axvline(6, color="black", linewidth=0.8, linestyle="--")
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set(xscale="log", xlabel="deviations between the winner and the crowd (6 are asked for)")
    axes.set(ylabel="accuracy@1 (below the line: null pairs)")
    axes.legend()
    figure.savefig(path, metadata={"Date": None})


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--nulls", type=int, default=200)
    options.add_argument("--reals", type=int, default=240)
    options.add_argument("--device", choices=("auto", "cpu", "cuda"), default="cpu")
    options.add_argument("--workers", type=int, default=1, help="pairs at once")
    options.add_argument("--seconds", type=float, default=float("inf"), help="begin no pair after so many")
    options.add_argument(
        "--again", type=Path, nargs="+", help="judge the kept evidence of these verdict.json; run nothing"
    )
    options.add_argument("--no-plot", action="store_true", help="where matplotlib is not installed")
    return options.parse_args()


if __name__ == "__main__":
    main()
