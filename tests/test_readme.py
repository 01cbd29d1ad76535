"""The README's two commands are there, and are what CI runs."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_it_names_the_command_for_the_sample_and_the_one_for_all_tests():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [line.split("#")[0].strip() for line in readme.splitlines() if line.startswith("make ")]
    assert commands[:2] == ["make demo", "make test"]
    assert "pip install ." in readme


def test_ci_runs_the_second():
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-1] == "make test"
