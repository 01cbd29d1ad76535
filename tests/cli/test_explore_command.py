"""`calque explore` and `calque align --watch`, as commands of their own that are ended by Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.request import urlopen

import pytest

COMMAND = [sys.executable, "-c", "from calque.cli.main import entry; entry()"]


def hear_interrupts() -> None:
    """A shell in the background ignores Ctrl-C for its children, who would inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_a_browser_of_the_terminal_keeps_nobody_waiting(monkeypatch):
    from calque.cli import explore

    opened, closed = threading.Event(), threading.Event()

    def browse(address):
        assert address == "http://127.0.0.1:1/"
        opened.set()
        closed.wait(20)

    monkeypatch.setattr("webbrowser.open", browse)
    monkeypatch.setattr(explore.sys.stdout, "isatty", lambda: True, raising=False)
    explore.open_browser("http://127.0.0.1:1/")
    assert opened.wait(20)
    assert not closed.is_set()
    closed.set()


@contextmanager
def started(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def asked(address: str, path: str) -> Any:
    with urlopen(f"{address}{path}", timeout=20) as answer:
        return json.loads(answer.read())


def test_it_serves_a_run_until_ctrl_c(aligned, files):
    with started("explore", aligned.folder, "--lexicon", files.lexicon, "--json") as process:
        told = json.loads(process.stdout.readline())
        assert told["run"] == str(aligned.folder)
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", told["address"])
        assert asked(told["address"], "api/run")["verdict"] == "aligned"
        assert asked(told["address"], "api/judged")["asked"] > 500
        process.send_signal(signal.SIGINT)
        rest, said = process.communicate(timeout=20)
    assert (process.returncode, rest) == (0, "")
    assert said == "calque: the page is there until Ctrl-C\n"


def test_a_run_can_be_watched_and_is_explored_afterwards(files, tmp_path):
    with started("align", files.source, files.target, "-o", tmp_path / "run", "--watch") as process:
        address = re.search(r"watch it at (http://\S+)", process.stderr.readline()).group(1)
        with urlopen(f"{address}api/events", timeout=120) as events:
            stages = re.findall(r'"stage": "([a-z ]+)"', events.read().decode())
        assert stages[0] == "search"
        assert {"alternate", "refine", "contrast"} <= set(stages)
        until = time.monotonic() + 20
        while asked(address, "api/run")["state"] == "running" and time.monotonic() < until:
            time.sleep(0.1)
        assert asked(address, "api/run")["verdict"] == "aligned"
        assert len(asked(address, "api/starts")) == stages.count("search")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert out.startswith("verdict: aligned\n")
    assert (tmp_path / "run" / "config.json").exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--port", "70000"), "expected 0, for a free one"),
        (("--words", "0"), "expected at least 1"),
        (("--lexicon", "nowhere.tsv"), "cannot be read"),
        (("--pair", "a-b"), "holds one pair already"),
    ],
)
def test_what_is_wrong_is_refused_at_once(refused, run_copy, given, words):
    assert words in refused("explore", run_copy, *given)


def test_a_lexicon_of_other_languages_is_refused_at_once(refused, run_copy, tmp_path):
    (tmp_path / "other.tsv").write_text("nowhere\tto be found\n")
    assert "can be asked" in refused("explore", run_copy, "--lexicon", tmp_path / "other.tsv")


def test_a_folder_that_is_no_run_is_refused(refused, tmp_path):
    assert "config.json" in refused("explore", tmp_path)
