"""A run that somebody asked to stop says so wherever it says what its verdict is."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import calque
from calque.cli.main import main
from calque.recipes import find, run
from calque.runs.lookup import Lookup
from calque.runs.streaming import StreamedRun
from calque.verdict import INTERRUPTED, Verdict


@pytest.fixture(scope="module")
def interrupted(problem: Any) -> calque.Alignment:
    """An alignment that was asked to stop after its search had found the map."""
    seen: list[str] = []
    made = run(
        find("default"),
        problem.source,
        problem.target,
        device="cpu",
        listen=lambda step: seen.append(step.stage),
        stopped=lambda: "alternate" in seen,
    )
    assert made.verdict.label == "aligned"
    return made


@pytest.fixture(scope="module")
def folder(interrupted: calque.Alignment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("interrupted") / "run"
    interrupted.save(folder)
    return folder


def test_the_verdict_says_it_first(interrupted):
    assert str(interrupted.verdict) == "aligned (interrupted)"
    assert interrupted.verdict.reasons[0] == INTERRUPTED
    assert interrupted.verdict.reasons.count(INTERRUPTED) == 1
    assert "interrupted" in repr(interrupted)


def test_the_run_folder_says_it_to_everybody(interrupted, folder):
    for verdict in (
        str(calque.Alignment.load(folder).verdict),
        Lookup.open(folder).verdict,
        StreamedRun.open(folder).verdict,
        interrupted.lookup().verdict,
    ):
        assert verdict == "aligned (interrupted)"
    assert calque.Alignment.load(folder).verdict == interrupted.verdict
    assert "## Verdict: aligned (interrupted)\n\n- interrupted: " in (folder / "README.md").read_text()


@pytest.mark.parametrize(
    "command",
    [("translate", "{run}", "word", "--back"), ("lexicon", "{run}", "-o", "{out}"), ("export", "{run}", "-o", "{out}")],
)
def test_every_command_on_such_a_run_warns(command, folder, tmp_path, capsys):
    assert main([word.format(run=folder, out=tmp_path / "out") for word in command]) == 0
    assert "the verdict on this run is aligned (interrupted)" in capsys.readouterr().err


def test_the_command_itself_says_it(files, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("calque.cli.align.interruptible", lambda: nullcontext(lambda: True))
    arguments = ["align", str(files.source), str(files.target), "--recipe", str(files.quick)]
    assert main([*arguments, "-o", str(tmp_path / "one")]) == 130
    out = capsys.readouterr().out
    assert "(interrupted)" in out.splitlines()[0]
    assert "interrupted: somebody asked to stop" in out
    assert main([*arguments, "-o", str(tmp_path / "two"), "--json"]) == 130
    told = json.loads(capsys.readouterr().out)
    assert told["interrupted"]
    assert told["reasons"][0] == INTERRUPTED


def test_a_family_says_it_of_every_pair(problem, tmp_path):
    from calque.recipes import run_many

    spaces = {"es": problem.source, "en": problem.target, "pt": problem.source.head(400)}
    steps: list[str] = []
    family = run_many(
        find("default"),
        spaces,
        device="cpu",
        listen=lambda step: steps.append(step.stage),
        stopped=lambda: "pairs" in steps,
    )
    assert str(family.verdict).endswith("(interrupted)")
    assert all(str(relation.verdict).endswith("(interrupted)") for relation in family.relations.values())
    family.save(tmp_path / "family")
    again = calque.Family.load(tmp_path / "family")
    assert again.verdict == family.verdict
    assert all(relation.verdict.interrupted for relation in again.relations.values())
    assert "(interrupted)" in (tmp_path / "family" / "README.md").read_text()


def test_a_whole_run_says_nothing_of_it():
    assert str(Verdict("aligned", (), {})) == "aligned"
    assert Verdict("aligned", (), {}).after_interruption().after_interruption().reasons == (INTERRUPTED,)
