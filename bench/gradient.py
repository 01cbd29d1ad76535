"""Three ways to differentiate the Sinkhorn distance at the paper's size: time, memory, and how far they agree.

    python bench/gradient.py --words 2048 --device cpu

graph        automatic differentiation of every scaling, as the paper's own training did: what the others are rated by
iterations   the same gradient, going back by hand
fixed-point  from the conditions that a converged plan fulfils

Random directions in 50 dimensions, λ = 10. Differences are relative: to the gradient through 20 scalings by the graph,
and to the gradient at convergence.
"""

from __future__ import annotations

import argparse
import datetime
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor

from calque.linear.maps import unit
from calque.transport import SinkhornSettings, sinkhorn, sinkhorn_distance, sqrt_cosine_cost, uniform

WAYS = ("graph", "iterations", "fixed-point")
MANY = 500
"""Scalings after which a plan at λ = 10 no longer changes."""


def main() -> None:
    """Measure each way in a process of its own, so that its memory is its own."""
    asked = _arguments()
    if asked.way:
        measure(asked.way, asked.words, asked.device)
        return
    command = [sys.executable, __file__, "--words", str(asked.words), "--device", asked.device, "--way"]
    print(f"{asked.words} x {asked.words} words, {asked.device}, torch {torch.__version__}, {datetime.date.today()}\n")
    print("| gradient | seconds (median of 5) | against the graph | memory above the cost | off by | off, converged |")
    print("|---|---|---|---|---|---|")
    slowest = 0.0
    for way in WAYS:
        printed = subprocess.run([*command, way], capture_output=True, text=True, check=True).stdout.split()
        seconds, memory, off, converged = map(float, printed)
        slowest = slowest or seconds
        print(f"| {way} | {seconds:.4f} | {slowest / seconds:.1f} x | {memory:.0f} MiB | {off:.1e} | {converged:.1e} |")


def measure(way: str, words: int, device: str) -> None:
    """Seconds of forward and backward, peak memory, and the two differences."""
    cost, weights = problem(words, device)
    differentiate = _differentiator(way, weights, 20)
    before = _peak(device)
    gradient = differentiate(cost)
    memory = _peak(device) - before
    seconds = statistics.median(_timed(differentiate, cost, device) for _ in range(5))
    off = _distance(gradient, _differentiator("graph", weights, 20)(cost))
    many = _differentiator("iterations" if way == "graph" else way, weights, MANY)(cost)
    converged = _distance(many, _differentiator("iterations", weights, MANY)(cost))
    print(seconds, memory, off, converged)


def problem(words: int, device: str) -> tuple[Tensor, Tensor]:
    """The cost between two sets of random directions, and equal weights."""
    generator = torch.Generator().manual_seed(0)
    source, target = (unit(torch.randn(words, 50, generator=generator)).to(device) for _ in range(2))
    cost = sqrt_cosine_cost(source, target).requires_grad_()
    return cost, uniform(words, cost)


def _differentiator(way: str, weights: Tensor, iterations: int) -> Callable[[Tensor], Tensor]:
    settings = SinkhornSettings(10.0, iterations, domain="kernel")

    def differentiate(cost: Tensor) -> Tensor:
        if way == "graph":
            distance = sinkhorn(cost, weights, weights, settings).distance
        else:
            distance = sinkhorn_distance(cost, weights, weights, settings, way)  # type: ignore[arg-type]
        return torch.autograd.grad(distance, cost)[0]

    return differentiate


def _timed(differentiate: Callable[[Tensor], Tensor], cost: Tensor, device: str) -> float:
    began = time.perf_counter()
    differentiate(cost)
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began


def _distance(one: Tensor, other: Tensor) -> float:
    return float((one - other).norm() / other.norm())


def _peak(device: str) -> float:
    """The most memory held so far, in MiB."""
    if device == "cuda":
        return torch.cuda.max_memory_allocated() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=2048)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
