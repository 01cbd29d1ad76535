from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import calque

ROWS, DIMENSION = 40_000, 300
SCRIPT = """
import re, sys
from pathlib import Path
from calque.formats import read

def kibibytes(name):
    return int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

small, large = map(Path, sys.argv[1:])
read(small)
before = kibibytes("VmRSS")
read(large)
print(kibibytes("VmHWM") - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_text_is_read_within_one_and_a_half_times_the_array(tmp_path):
    numbers = b" ".join(b"-0.%05d" % (value * 331) for value in range(DIMENSION))
    lines = b"".join(b"word%d %s\n" % (row, numbers) for row in range(ROWS))
    (tmp_path / "small.vec").write_bytes(b"1 2\na 1 2\n")
    (tmp_path / "large.vec").write_bytes(b"%d %d\n" % (10**12, DIMENSION) + lines)
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path / "small.vec", tmp_path / "large.vec"],
        env={"PYTHONPATH": str(Path(calque.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(ran.stdout) * 1024 < 1.5 * ROWS * DIMENSION * 4
