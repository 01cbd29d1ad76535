"""A run that is streamed gives what the same run gives from memory, and takes no more memory when it is larger."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import calque
from calque.data.formats import write
from calque.data.space import Space
from calque.errors import RunError
from calque.linear.maps import LinearMap, Preprocessing, Side
from calque.retrieval.exact import find, neighbours, neighbours_among
from calque.runs import streaming
from calque.runs.alignment import Alignment, Record
from calque.runs.streaming import FileWords, StreamedRun, induce
from calque.verdict import Verdict

SUFFIXES = {"vec": ".vec", "bin": ".bin", "npz": ".npz", "safetensors": ".safetensors"}
CALQUE = [sys.executable, "-c", "from calque.cli.main import entry; entry()"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(calque.__file__).parents[1])}


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def space(prefix: str, words: int, dimension: int, seed: int) -> Space:
    """With counts on one side only, and words of every kind."""
    names = ["東京", f"{prefix}\udcff\udcfe", "el\u2028gato", *(f"{prefix}{row}" for row in range(words - 3))]
    counts = torch.arange(words, 0, -1) if prefix == "s" else None
    return Space.of(names, torch.randn(words, dimension, generator=seeded(seed)), counts, prefix)


def side(seed: int, dimension: int) -> Side:
    turn = torch.linalg.qr(torch.randn(dimension, dimension, generator=seeded(seed))).Q
    return Side(Preprocessing((None,)), LinearMap(turn))


def save(folder: Path, words: tuple[int, int], dimension: int, two_maps: bool = False) -> Path:
    back = (side(3, dimension), side(4, dimension)) if two_maps else None
    spaces = space("s", words[0], dimension, 1), space("t", words[1], dimension, 2)
    sides = side(5, dimension), side(6, dimension)
    Alignment.of(spaces, sides, Verdict("aligned", ("why",), {}), Record(), back).save(folder)
    return folder


@pytest.fixture(scope="module", params=[False, True], ids=["one map", "two maps"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("runs") / "run", (230, 170), 6, request.param)


class TestLexicon:
    @pytest.mark.parametrize("every", [False, True])
    @pytest.mark.parametrize("blocks", [(8192, 3906), (50, 40), (9, 64)])
    def test_is_that_of_the_alignment_in_memory(self, run, every, blocks, monkeypatch):
        monkeypatch.setattr(streaming, "CANDIDATES", blocks[0])
        monkeypatch.setattr(streaming, "QUERIES", blocks[1])
        whole, streamed = Alignment.load(run).lexicon(every), induce(StreamedRun.open(run), every)
        assert len(streamed) == len(whole)
        told = [[(each.source, each.target, each.mutual) for each in one] for one in (whole, streamed)]
        assert told[0] == told[1]
        assert [each.confidence for each in streamed] == pytest.approx([each.confidence for each in whole], abs=1e-5)

    def test_fewer_candidates_than_are_considered(self, tmp_path):
        folder = save(tmp_path / "run", (20, 4), 6)
        whole, streamed = Alignment.load(folder).lexicon(True), induce(StreamedRun.open(folder), True)
        assert [each.target for each in streamed] == [each.target for each in whole]


@pytest.mark.parametrize("block", [1, 3, 10, 100])
@pytest.mark.parametrize("k", [1, 10, 80])
def test_candidates_in_blocks_are_ranked_as_together(block, k):
    queries, candidates = torch.randn(20, 6, generator=seeded(0)), torch.randn(70, 6, generator=seeded(1))
    penalty, kind = torch.rand(70, generator=seeded(2)), find("csls")
    whole = neighbours(queries, candidates, k, kind, penalty)
    parts = neighbours_among(queries, torch.split(candidates, block), penalty, k, kind)
    assert torch.equal(parts.indices, whole.indices)
    assert torch.allclose(parts.scores, whole.scores, atol=1e-6)


class TestExport:
    @pytest.mark.parametrize("name", SUFFIXES)
    def test_is_to_the_byte_what_is_written_from_memory(self, run, name, tmp_path, monkeypatch):
        from calque.cli.main import main

        monkeypatch.setattr(streaming, "BLOCK_ROWS", 64)
        monkeypatch.setattr("calque.data.formats.block_source.BLOCK_ROWS", 64)
        assert main(["export", str(run), "-o", str(tmp_path / "out"), "--format", name, "-q"]) == 0
        whole = Alignment.load(run)
        for each, made in (("source", whole.source), ("target", whole.target)):
            path = tmp_path / f"{each}{SUFFIXES[name]}"
            write(made, path)
            assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes()


class TestWords:
    def test_are_found_again_by_their_row(self, run):
        words = FileWords(run / "words.target.txt")
        listed = Alignment.load(run).target.words
        assert [word for block in words.blocks(7) for word in block] == list(listed)
        rows = [169, 0, 3, 3, 168, 1]
        assert words.pick(rows) == [listed[row] for row in rows]


def test_numbers_that_are_none_are_damage(tmp_path):
    folder = save(tmp_path / "run", (20, 20), 6)
    path = folder / "vectors.safetensors"
    offset = StreamedRun.open(folder).vectors("target").array.offset
    content = bytearray(path.read_bytes())
    content[offset + 40 : offset + 44] = b"\x00\x00\xc0\x7f"
    path.write_bytes(bytes(content))
    with pytest.raises(RunError, match=r"vectors\.safetensors: holds NaN, infinite or too few values"):
        list(induce(StreamedRun.open(folder)))


MEASURED = """
import re, sys
from pathlib import Path
import torch
from calque.runs import streaming
from calque.cli.main import main
torch.set_num_threads(1)
streaming.CANDIDATES = streaming.QUERIES = 1000

def kibibytes(name):
    return int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

small, large, out, *rest = sys.argv[1:]
peaks = []
for number, run in enumerate((small, small, large)):
    assert main([rest[0], run, "-o", f"{out}{number}", "-q", *rest[1:]]) == 0
    peaks.append(kibibytes("VmHWM"))
print(peaks[2] - peaks[1])
"""
LARGE, DIMENSION = 16_000, 400
"""One side of it takes 24 MiB."""


@pytest.fixture(scope="module")
def two_sizes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("sizes")
    return tuple(save(folder / str(words), (words, words), DIMENSION) for words in (4000, LARGE))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.parametrize("what", [["lexicon"], *(["export", "--format", name] for name in SUFFIXES)], ids=" ".join)
def test_memory_does_not_grow_with_the_run(two_sizes, what, tmp_path):
    asked = [sys.executable, "-c", MEASURED, *two_sizes, tmp_path / "out", *what]
    ran = subprocess.run(asked, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    grown = int(re.findall(r"-?\d+", ran.stdout)[-1]) * 1024
    assert grown < LARGE * DIMENSION * 4 / 2


LIMITED = """
import resource, sys
from calque.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
sys.exit(main(sys.argv[1:]))
"""


class TestDiskThatFillsUp:
    """The system refuses to let a file grow beyond a limit, which is how a full disk looks to a writer."""

    @pytest.mark.parametrize(
        "what", [["lexicon", "--every"], *(["export", "--format", name] for name in SUFFIXES)], ids=" ".join
    )
    def test_is_told_in_one_line_and_nothing_is_left(self, run, what, tmp_path):
        asked = [sys.executable, "-c", LIMITED, what[0], run, "-o", tmp_path / "out", *what[1:]]
        ran = subprocess.run(asked, env=ENVIRONMENT, capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stdout) == (2, "")
        assert re.fullmatch(r"calque: .*out.*: cannot be written.*File too large.*\n", ran.stderr)
        assert list(tmp_path.iterdir()) == []

    def test_a_run_is_not_half_written(self, tmp_path, files):
        asked = ["align", files.source, files.target, "-o", tmp_path / "out", "--recipe", files.quick, "-q"]
        ran = subprocess.run(
            [sys.executable, "-c", LIMITED, *asked], env=ENVIRONMENT, capture_output=True, text=True, check=False
        )
        assert (ran.returncode, ran.stdout) == (2, "")
        assert re.fullmatch(r"calque: .*out.*: cannot be written.*\n", ran.stderr)
        assert list(tmp_path.iterdir()) == []
