"""Words, file names and messages of others cannot steer a terminal; in files and pipes every byte stays as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calque.cli.terminal import visible

pty = pytest.importorskip("pty", reason="needs a terminal of Unix")
TITLE, RED, CSI, TURN = "\x1b]0;owned\x07", "\x1b[31m", "\x9b2J", "\u202egnp.exe"
COMMAND = [sys.executable, "-m", "calque"]


def on_a_terminal(*arguments: object) -> str:
    """All that a command writes to a terminal, on stdout and stderr."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*COMMAND, *map(str, arguments)], stdout=theirs, stderr=theirs, stdin=theirs)
    os.close(theirs)
    written = b""
    while True:
        try:
            block = os.read(ours, 4096)
        except OSError:
            break
        if not block:
            break
        written += block
    os.close(ours)
    process.wait(60)
    return written.decode("utf-8", "surrogateescape")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Vectors whose words, and whose name, would set a title, change colours and turn the direction of text."""
    path = tmp_path / f"es{RED}.vec"
    words = [f"{TITLE}a", f"{RED}b", f"{CSI}c", f"d{TURN}", "e"]
    lines = [f"{word} {row} 1.5\n" for row, word in enumerate(words)]
    path.write_text("".join([f"{len(lines) + 1} 2\n", *lines, f"{TITLE}a 9 9\n"]), encoding="utf-8")
    return path


def test_a_terminal_sees_what_it_would_obey(hostile):
    shown = on_a_terminal("inspect", hostile)
    assert not any(sign in shown for sign in ("\x1b", "\x07", "\x9b", "\u202e"))
    for written in (r"\x1b]0;owned\x07a", r"\x1b[31mb", r"\x9b2Jc", r"d\u202egnp.exe"):
        assert written in shown


@pytest.mark.parametrize("arguments", [("inspect", "none\x1b[31m.vec"), ("recipes", "x\x1b]0;y\x07"), ("al\x1b[31m",)])
def test_errors_are_shown_so_too(arguments):
    shown = on_a_terminal(*arguments)
    assert "\x1b" not in shown
    assert r"\x1b" in shown


def test_a_pipe_gets_every_byte(hostile):
    ended = subprocess.run([*COMMAND, "inspect", hostile], capture_output=True, check=True)
    assert f"{TITLE}a, {RED}b, {CSI}c, d{TURN}, e" in ended.stdout.decode("utf-8")


@given(st.text())
def test_nothing_that_moves_a_cursor_is_left_and_all_else_is(text):
    shown = visible(text)
    assert not any(ord(sign) < 0x20 and sign not in "\n\t" for sign in shown)
    assert not any(0x7F <= ord(sign) < 0xA0 for sign in shown)
    plain = "".join(sign for sign in text if sign.isprintable())
    assert visible(plain) == plain
