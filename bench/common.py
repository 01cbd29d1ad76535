"""What all benchmarks share: the machine in a line, where pairs lie, the whole command timed, tables, the history."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from calque.data.space import Space

CALQUE = [sys.executable, "-c", "from calque.cli.main import entry; entry()"]
MEASURED = """
import atexit, sys
place = sys.argv.pop(1)
def leave():
    with open("/proc/self/status") as told, open(place, "w") as kept:
        kept.write(next(line for line in told if line.startswith("VmHWM")).split()[1])
atexit.register(leave)
from calque.cli.main import entry
entry()
"""
"""The command, which leaves the most KiB it held in a file. What the system counts for a child begins with the peak of
the process that started it, and would often be no more than that."""
RESULTS = Path("build") / "bench"
"""Where every benchmark leaves its table, as Markdown and as JSON."""
HISTORY = Path(__file__).with_name("history.jsonl")
"""Every stored figure, one a line."""
FOUR = ("forward nn", "forward csls", "backward nn", "backward csls")
"""The order of four accuracies in one cell: nn / csls · nn / csls."""


def machine(device: str = "cpu") -> str:
    """Where and when something was measured."""
    place = f"{len(os.sched_getaffinity(0))} cores, {_processor()}"
    if device != "cpu" and torch.cuda.is_available():
        place = torch.cuda.get_device_name()
    return f"{place}, torch {torch.__version__}, Python {platform.python_version()}, {datetime.date.today()}"


def _processor() -> str:
    with Path("/proc/cpuinfo").open() as lines:
        return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def headline(device: str = "cpu") -> str:
    """The command that is running, where and when."""
    return f"`{' '.join(['python', *sys.argv])}`, {machine(device)}"


def parser(doc: str | None) -> argparse.ArgumentParser:
    """A parser with what every benchmark takes."""
    options = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--output", type=Path, default=RESULTS, help="the folder for its table (.md) and runs (.json)")
    options.add_argument("--data", type=Path, default=Path(os.environ.get("CALQUE_DATA", "../shared/data")))
    options.add_argument("--store", action="store_true", help=f"append every figure to {HISTORY.name}")
    return options


def keep(folder: Path, name: str, content: Any, text: str) -> None:
    """Print a table, and leave it and what it was made of in the folder."""
    print(text, flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(f"{text}\n", encoding="utf-8")
    (folder / f"{name}.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def markdown(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


@dataclass(frozen=True)
class Figure:
    """A number that a benchmark measured."""

    name: str
    value: float
    unit: str
    """%, s, ms, MiB, or nothing for counts and ratios."""


def figures(text: str) -> Iterator[Figure]:
    """The numbers in the Markdown tables of a text, each called by its row and its column."""
    head: list[str] = []
    for line in text.splitlines():
        if not line.startswith("|"):
            head = []
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not head:
            head = cells
        elif set(line) - set("|-: "):
            keys = 2 if head[1] == "dimensions" else 1
            for column, cell in zip(head[keys:], cells[keys:], strict=True):
                yield from _in_cell(f"{' × '.join(cells[:keys])}, {column}", cell)


def _in_cell(name: str, cell: str) -> Iterator[Figure]:
    """The first number of a cell; all of 'nn / csls · nn / csls'."""
    numbers = [float(number.replace(",", "")) for number in re.findall(r"(?<![\w.])[+-]?\d[\d,]*(?:\.\d+)?", cell)]
    if "·" in cell and len(numbers) == len(FOUR):
        yield from (Figure(f"{name} {way}", number, "%") for way, number in zip(FOUR, numbers, strict=True))
    elif numbers and re.match(r"[+-]?\d", cell):
        yield Figure(name, numbers[0], _unit(name, cell))


def _unit(name: str, cell: str) -> str:
    if name.endswith(" ms"):
        return "ms"
    if "seconds" in name or cell.endswith(" s"):
        return "s"
    if "MiB" in name or cell.endswith(" MiB"):
        return "MiB"
    return "%" if cell.endswith("%") else ""


def store(asked: argparse.Namespace, benchmark: str, text: str) -> None:
    """Append the figures of a benchmark's tables to the history, where --store asks for it."""
    if not asked.store:
        return
    where = machine(getattr(asked, "device", "cpu")).rpartition(", ")
    context = {
        "machine": where[0],
        "date": where[2],
        "commit": _commit(),
        "command": " ".join(["python", *sys.argv]),
    }
    with HISTORY.open("a", encoding="utf-8") as stream:
        for figure in figures(text):
            line = {
                "benchmark": benchmark,
                "figure": figure.name,
                "value": figure.value,
                "unit": figure.unit,
                **context,
            }
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")


def _commit() -> str:
    """What is checked out, with a plus where files differ from it."""
    command = ["git", "-C", str(HISTORY.parent), "describe", "--always", "--exclude=*", "--dirty=+"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def files(data: Path, pair: str) -> tuple[list[str], list[str]]:
    """The vectors of a pair, and its lexicons both ways: whole ones for WE-Z, the MUSE test split for the others."""
    folder, languages = pair.split(":")
    names = {"we-z": f"we-z/{languages}/word2vec.{{}}", "europarl": "europarl/{}.vec.gz"}
    vectors = [
        str(data / names.get(folder, f"{folder}/{languages}/{{}}.vec.gz").format(language))
        for language in languages.split("-")
    ]
    half = "" if folder == "we-z" else ".test"
    ways = languages, "-".join(reversed(languages.split("-")))
    return vectors, [str(data / "lexicons" / "muse" / f"{way}{half}.tsv") for way in ways]


@dataclass(frozen=True)
class Ended:
    """A command that ran to its end."""

    printed: Any
    """Its JSON."""
    seconds: float
    """From start to exit."""
    memory: float
    """The most it held, in MiB."""


def command(*arguments: str, right: Sequence[int] = (0,)) -> Ended:
    """`calque` with these arguments and --json, the whole of it timed; anything but the right exit codes ends us."""
    with tempfile.NamedTemporaryFile("r") as held:
        began = time.monotonic()
        asked = [sys.executable, "-c", MEASURED, held.name, *arguments, "--json"]
        ended = subprocess.run(asked, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - began
        if ended.returncode not in right:
            sys.exit(f"calque {' '.join(arguments)} ended with {ended.returncode}: {ended.stderr}")
        return Ended(json.loads(ended.stdout), seconds, float(held.read()) / 1024)


def clustered(words: int, dimension: int, generator: torch.Generator, clusters: int = 200) -> torch.Tensor:
    """Uneven clusters with a decaying spectrum, as word vectors have: one rotation fits them and no other does."""
    spectrum = torch.arange(1, dimension + 1) ** -0.5
    centres = torch.randn(clusters, dimension, generator=generator) * spectrum
    shares = torch.arange(1.0, clusters + 1.0) ** -0.7
    members = torch.multinomial(shares, words, replacement=True, generator=generator)
    return centres[members] + torch.randn(words, dimension, generator=generator) * spectrum


def copies(words: int, dimension: int, blur: float, seed: int, turned: bool = True) -> tuple[Space, Space]:
    """Two blurred copies of one space, the second turned: row i is the translation of row i."""
    generator = torch.Generator().manual_seed(seed)
    vectors = clustered(words, dimension, generator)
    noise = blur * float(vectors.norm(dim=1).mean()) / dimension**0.5
    one, other = (vectors + noise * torch.randn(vectors.shape, generator=generator) for _ in range(2))
    turn = torch.linalg.qr(torch.randn(dimension, dimension, generator=generator)).Q
    names = [[f"{side}{row}" for row in range(words)] for side in ("one", "other")]
    return Space.of(names[0], one, name="one"), Space.of(names[1], other @ turn if turned else other, name="other")


def blurred_files(place: Path, words: int, dimension: int, blur: float, seed: int) -> list[Path]:
    """Two blurred copies of one space in files of bare float32, made a block at a time: for millions of words."""
    generator = torch.Generator().manual_seed(seed)
    paths = [place / f"{side}.f32" for side in ("one", "other")]
    with paths[0].open("wb") as one, paths[1].open("wb") as other:
        for vectors in _clustered_blocks(words, dimension, generator):
            noise = blur * float(vectors.norm(dim=1).mean()) / dimension**0.5
            for stream in (one, other):
                (vectors + noise * torch.randn(vectors.shape, generator=generator)).numpy().tofile(stream)
    return paths


def _clustered_blocks(words: int, dimension: int, generator: torch.Generator) -> Iterator[torch.Tensor]:
    """Ten times as many clusters as `clustered` has, the same ones in every block."""
    spectrum = torch.arange(1, dimension + 1) ** -0.5
    centres = torch.randn(2000, dimension, generator=generator) * spectrum
    shares = torch.arange(1.0, 2001.0) ** -0.7
    for begin in range(0, words, 50_000):
        many = min(50_000, words - begin)
        members = torch.multinomial(shares, many, replacement=True, generator=generator)
        yield centres[members] + torch.randn(many, dimension, generator=generator) * spectrum
