from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calque import sample
from calque.cli import demo
from calque.cli.demo import Demo
from calque.cli.main import main
from calque.runs.alignment import Alignment


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, str, str]:
    """The demo, run once; its folder, exit code, stdout and stderr."""
    import contextlib
    import io

    folder = tmp_path_factory.mktemp("demo") / "run"
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["demo", "-o", str(folder), "--json"])
    return folder, code, out.getvalue(), err.getvalue()


def test_the_sample_is_aligned(shown: Any) -> None:
    folder, code, out, err = shown
    told = json.loads(out)
    assert code == 0
    assert {"run", "verdict", "evidence", "seconds", "scores"} <= set(told)
    assert (told["run"], told["verdict"]) == (str(folder), "aligned")
    assert "no dictionary" in err
    assert err.count("\n") == 1


def test_the_shipped_lexicon_says_that_it_is_right(shown: Any) -> None:
    scores = json.loads(shown[2])["scores"]
    assert scores["forward"]["csls"]["accuracy"]["1"] >= 0.65
    assert scores["forward"]["csls"]["asked"] + scores["forward"]["csls"]["missing"] == len(sample.lexicon())
    assert scores["backward"]["csls"]["accuracy"]["1"] >= 0.5


def test_the_run_can_be_used(shown: Any, calque: Callable[..., Any]) -> None:
    folder, *_ = shown
    assert (Alignment.load(folder).source.name, Alignment.load(folder).target.name) == ("pt", "en")
    gold = sample.lexicon().answers
    words = [word for word in Alignment.load(folder).source.words[:2000] if word in gold][:50]
    told = calque("translate", folder, *words, "--json").json["translations"]
    right = sum(any(each["word"] in gold[word] for each in told[word]) for word in words)
    assert right > 35


def test_what_people_see(shown: Any, capsys: pytest.CaptureFixture[str]) -> None:
    folder, *_ = shown
    demo.print_result(Demo(output=folder), Alignment.load(folder), 1.5, ["one.png", "two.png"])
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("verdict: aligned\n")
    assert f"accuracy on {len(sample.lexicon())} words" in out
    assert "acc@1" in out
    assert "pt to en" in out
    assert len([line for line in out.splitlines() if " | " in line]) == demo.EXAMPLES
    assert out.endswith(f"1.5 s; run folder: {folder}\npictures: one.png, two.png\n")


def test_it_leaves_two_pictures_in_the_run_folder(shown: Any) -> None:
    folder, *_ = shown
    pictures = [folder / "figures" / name for name in ("words.png", "search.png")]
    assert json.loads(shown[2])["figures"] == list(map(str, pictures))
    assert all(each.read_bytes().startswith(b"\x89PNG") for each in pictures)


def test_it_replaces_nothing_of_others(refused: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    assert "was not made by calque" in refused("demo", "-o", tmp_path / "mine")
