"""`calque explore`, and the page that follows `calque align --watch`."""

from __future__ import annotations

import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from calque.cli import show
from calque.cli.judging import gold
from calque.data.formats import bare_name
from calque.errors import SettingsError
from calque.progress import Listen, Step
from calque.show.explorer.explorer import Explorer
from calque.show.explorer.live import Stage
from calque.show.explorer.serving import serving
from calque.show.views import told_apart

if TYPE_CHECKING:
    from calque.cli.commands import Align, Common, Explore


def run(command: Explore) -> int:
    """Serve a run until Ctrl-C."""
    if command.words < 1:
        raise SettingsError(f"--words is {command.words}; expected at least 1")
    lexicon = None if command.lexicon is None else gold(command, command.lexicon)
    alignment = None
    if command.pair:
        from calque.cli.families import alignment_in

        alignment = alignment_in(command.folder, command.pair)
    explorer = Explorer(alignment or command.folder, lexicon, command.words)
    explorer.prepare()
    with serving(Stage(explorer), command.port) as address:
        if command.json:
            show.as_json({"run": str(command.folder), "address": address})
        else:
            print(address)
        sys.stdout.flush()
        if not command.no_browser:
            _open(address)
        command.say("the page is there until Ctrl-C")
        _wait()
    return 0


@contextmanager
def watched(command: Align) -> Iterator[Stage | None]:
    """A page that follows the run, where one was asked for."""
    if not command.watch:
        yield None
        return
    stage = Stage(names=told_apart(bare_name(command.source), bare_name(command.target)))
    with serving(stage) as address:
        command.say(f"watch it at {address}")
        _open(address)
        yield stage


def both(listen: Listen, stage: Stage | None) -> Listen:
    """The bars hear a step, and so does the page."""
    if stage is None:
        return listen

    def hear(step: Step) -> None:
        listen(step)
        stage.hear(step)

    return hear


def stay(command: Common, stage: Stage | None, folder: Path) -> None:
    """Let the page go on with the finished run, until Ctrl-C."""
    if stage is not None:
        explorer = Explorer(folder)
        explorer.prepare()
        stage.explorer = explorer
        sys.stdout.flush()
        command.say("the page stays there until Ctrl-C")
        _wait()


def _wait() -> None:
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        return


def _open(address: str) -> None:
    if sys.stdout.isatty():
        # Of a thread: a browser of the terminal keeps whoever opens it until it is closed.
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
