from __future__ import annotations

import builtins
import os
import subprocess
import sys
from pathlib import Path

import pytest

from calque.show.figures import FIGURES


def test_it_leaves_the_pictures_in_the_run_and_says_where(calque, run_copy, files):
    result = calque("plot", run_copy, "--lexicon", files.lexicon, "--format", "png,svg")
    assert result.code == 0
    expected = [run_copy / "figures" / f"{name}.{form}" for name in FIGURES for form in ("png", "svg")]
    assert [Path(line) for line in result.out.splitlines()] == expected
    assert {each.name for each in (run_copy / "figures").iterdir()} == {each.name for each in expected}
    again = calque("plot", run_copy, "--figures", "search", "--json")
    assert again.json["figures"] == {"search": [str(run_copy / "figures" / "search.png")]}
    assert (run_copy / "figures" / "words.png").exists()


def test_what_cannot_be_drawn_is_told(calque, run_copy, tmp_path):
    result = calque("plot", run_copy, "-o", tmp_path / "out", "--json")
    assert (result.code, list(result.json["left_out"])) == (0, ["frequency"])
    assert "left out frequency" in result.err


def test_pictures_elsewhere_are_replaced_only_if_asked(calque, refused, run_copy, tmp_path):
    given = "plot", run_copy, "-o", tmp_path / "out", "--figures", "search"
    assert calque(*given).code == 0
    assert "pass --overwrite" in refused(*given)
    assert calque(*given, "--overwrite").code == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--figures", "clouds"), "there are: words, search"),
        (("--format", "gif"), "there are: png, svg, pdf"),
        (("--format", ","), "no format was named"),
        (("-o", "x" * 300), "cannot be written"),
        (("--words", "nowhere", "--figures", "words"), "is not among the"),
        (("--width", "100"), "expected 3 to 30 inches"),
        (("--figures", "frequency"), "pass --lexicon FILE"),
        (("--lexicon", "nowhere.tsv"), "cannot be read"),
        (("--pair", "a-b"), "holds one pair already"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_written(refused, run_copy, given, words):
    assert words in refused("plot", run_copy, *given)


def test_without_matplotlib_it_names_the_extra(refused, run_copy, monkeypatch):
    real = builtins.__import__

    def without(name, *given, **named):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *given, **named)

    for name in [each for each in sys.modules if each.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    assert "pip install 'calque-embeddings[plots]'" in refused("plot", run_copy)


def test_where_not_all_pictures_can_be_written_none_is(refused, run_copy, monkeypatch, tmp_path):
    from calque.errors import RunError
    from calque.runs import folder as store

    write, names = store.write_bytes, []

    def full(path, data):
        names.append(path.name)
        if len(names) > 2:
            raise RunError(f"{path}: cannot be written: No space left on device")
        write(path, data)

    monkeypatch.setattr(store, "write_bytes", full)
    assert "No space left" in refused("plot", run_copy, "-o", tmp_path / "pictures")
    assert len(names) == 3


def test_a_backend_that_is_not_there_is_named(run_copy):
    entry = [sys.executable, "-c", "from calque.cli.main import entry; entry()"]
    environment = {**os.environ, "MPLBACKEND": "nonsense"}
    told = subprocess.run([*entry, "plot", str(run_copy)], env=environment, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.count("\n") == 1
    assert "look at $MPLBACKEND" in told.stderr
