from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from calque.data.formats import write
from calque.data.space import Space

# Who runs us may ignore Ctrl-C (a shell's background job does), and a child would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

ODD_PAIRS = {
    5: ("\udcff\udcfe", "caf\udce9"),
    6: ("-", "dash"),
    7: ("el gato", "the cat"),
    8: ("東京", "Tōkyō"),
    9: ("palabra", "word"),
}
"""Words that have gone wrong on the way somewhere: broken UTF-8, a hyphen, a blank, wide letters."""

QUICK = """
name = "quick"
[settings.deep]
rounds = 0
[settings.search]
words = [300]
dimensions = [30]
starts = [6, 6]
rounds = 1
"""
"""A recipe for tests of what surrounds the search: it need not find anything."""


@dataclass(frozen=True)
class Problem:
    """A space, a rotated and noised copy of it under other words, and which word is which."""

    source: Space
    target: Space
    pairs: dict[str, str]

    def right(self, found: dict[str, str]) -> float:
        """The share of all words whose translation is the right one."""
        return sum(found.get(word) == target for word, target in self.pairs.items()) / len(self.pairs)


def clustered(words: int, dimension: int, generator: torch.Generator) -> torch.Tensor:
    """Uneven clusters with a decaying spectrum, so that one rotation fits and no other does."""
    spectrum = torch.arange(1, dimension + 1) ** -0.5
    centres = torch.randn(40, dimension, generator=generator) * spectrum
    shares = torch.arange(1.0, 41.0) ** -0.7
    members = torch.multinomial(shares, words, replacement=True, generator=generator)
    return centres[members] + 0.5 * torch.randn(words, dimension, generator=generator) * spectrum


def make_problem(words: int = 600, dimension: int = 20, seed: int = 0) -> Problem:
    generator = torch.Generator().manual_seed(seed)
    vectors = clustered(words, dimension, generator)
    rotation = torch.linalg.qr(torch.randn(dimension, dimension, generator=generator)).Q
    noise = 0.1 * vectors.norm(dim=1).mean() / dimension**0.5
    copy = vectors @ rotation + noise * torch.randn(words, dimension, generator=generator)
    order = (torch.arange(words) + 10 * torch.randn(words, generator=generator)).argsort()
    named = [ODD_PAIRS.get(row, (f"fuente{row:04}", f"target{row:04}")) for row in range(words)]
    return Problem(
        Space.of([each[0] for each in named], vectors, name="source"),
        Space.of([named[row][1] for row in order.tolist()], copy[order], name="target"),
        dict(named),
    )


@dataclass(frozen=True)
class Files:
    """The problem as files."""

    source: Path
    target: Path
    lexicon: Path
    quick: Path


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test leaves anything in the cache of whoever runs it, or finds anything there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CALQUE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def problem() -> Problem:
    return make_problem()


@pytest.fixture(scope="session")
def files(problem: Problem, tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("problem")
    made = Files(folder / "source.vec", folder / "target.vec", folder / "gold.tsv", folder / "quick.toml")
    write(problem.source, made.source)
    write(problem.target, made.target)
    lines = "".join(f"{word}\t{right}\n" for word, right in problem.pairs.items())
    made.lexicon.write_bytes(lines.encode("utf-8", "surrogateescape"))
    made.quick.write_text(QUICK)
    return made


@pytest.fixture(scope="session")
def noise_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two matrices of noise, which have nothing to do with each other."""
    folder, generator = tmp_path_factory.mktemp("noise"), torch.Generator().manual_seed(1)
    paths = folder / "one.vec", folder / "other.vec"
    for path in paths:
        words = [f"{path.stem}{row:03}" for row in range(400)]
        write(Space.of(words, torch.randn(400, 20, generator=generator)), path)
    return paths


@pytest.fixture
def recipe_file(tmp_path: Path) -> Callable[[str], Path]:
    """A recipe of this text, in a file."""

    def place(text: str) -> Path:
        path = tmp_path / "recipe.toml"
        path.write_text(text)
        return path

    return place


@pytest.fixture(scope="session")
def ray() -> Iterator[None]:
    """A Ray of our own with two cores, for all tests that need one; its workers find what jobs of the tests do."""
    pytest.importorskip("ray", reason="needs the extra: pip install 'calque-embeddings[sweep]'")
    from calque.experiments.ray_backend import connected

    paths = [str(Path(__file__).parent / "experiments"), *filter(None, [os.environ.get("PYTHONPATH")])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))
        with connected("", 2, 1):
            yield
