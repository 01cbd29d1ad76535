from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import calque

DIMENSION = 300
SCRIPT = """
import re, sys
from pathlib import Path
from calque.data.formats import read, reading

def kibibytes(name):
    return int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

reading.SMALLEST = 1
small, large = map(Path, sys.argv[1:])
read(small)
before = kibibytes("VmRSS")
read(large)
print(kibibytes("VmHWM") - before)
"""


def text(rows: int) -> bytes:
    """Under a header that says far too many words."""
    numbers = b" ".join(b"-0.%05d" % (value * 331) for value in range(DIMENSION))
    return b"%d %d\n" % (10**12, DIMENSION) + b"".join(b"word%d %s\n" % (row, numbers) for row in range(rows))


def binary(rows: int) -> bytes:
    numbers = np.linspace(-1, 1, DIMENSION).astype("<f4").tobytes()
    return b"%d %d\n" % (10**12, DIMENSION) + b"".join(b"word%d %s\n" % (row, numbers) for row in range(rows))


def packed(content: Callable[[int], bytes]) -> Callable[[int], bytes]:
    return lambda rows: gzip.compress(content(rows), 1)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.parametrize(
    ("content", "rows", "most", "cached"),
    [
        (text, 40_000, 1.5, True),
        (packed(text), 40_000, 1.5, True),
        (binary, 100_000, 1.3, True),
        (packed(binary), 100_000, 1.3, True),
        (binary, 100_000, 1.3, False),
    ],
    ids=["text", "text.gz", "binary", "binary.gz", "binary, not kept"],
)
def test_no_second_array_is_made(content, rows, most, cached, tmp_path):
    """Parsing text takes some MiB for itself, whatever its size: bench/large.py has the share at full size."""
    (tmp_path / "small").write_bytes(content(2000))
    (tmp_path / "large").write_bytes(content(rows))
    cache = str(tmp_path / "cache") if cached else os.devnull
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path / "small", tmp_path / "large"],
        env={"PYTHONPATH": str(Path(calque.__file__).parents[1]), "CALQUE_CACHE": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(ran.stdout) * 1024 < most * rows * DIMENSION * 4
