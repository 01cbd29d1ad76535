"""`calque explore`, and the page that follows `calque align --watch`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from calque.cli.common import (
    DONE,
    Common,
    File,
    Pair,
    Run,
    check_files_exist,
    check_texts_extra,
    open_alignment,
    read_gold,
    split_name,
)
from calque.cli.terminal import print_json
from calque.errors import SettingsError

if TYPE_CHECKING:
    from calque.cli.align import Align
    from calque.show.explorer.explorer import LiveRun


@dataclass(frozen=True, kw_only=True)
class Explore(Common):
    """Open a run as a page in the browser, on this machine alone, until Ctrl-C."""

    folder: Run
    """A run folder."""
    lexicon: File = None
    """Lines of 'source<TAB>target', to see where the run errs. It changes nothing else."""
    pair: Pair = ""
    """Which two languages, of a run that 'calque align-many' made."""
    model: File = None
    """A classifier that 'calque classify --model' wrote: the page then labels texts and says why."""
    port: int = 0
    """Where to serve on 127.0.0.1; 0 takes a free port."""
    words: int = 20_000
    """How many words of each language to put on the map."""
    no_browser: bool = False
    """Only say where the page is; without this the browser opens, on a terminal."""

    def run(self) -> int:
        """Serve the page until Ctrl-C."""
        if self.words < 1:
            raise SettingsError(f"--words is {self.words}; expected at least 1")
        lexicon = None if self.lexicon is None else read_gold(self, self.lexicon)
        from calque.show.explorer.explorer import Explorer, LiveRun
        from calque.show.explorer.serving import serving

        run = open_alignment(self.folder, self.pair) if self.pair else self.folder
        if self.model is not None:
            check_files_exist(self.model)
            check_texts_extra()
        explorer = Explorer(run, lexicon, self.words, self.model)
        explorer.prepare()
        with serving(LiveRun(explorer), self.port) as address:
            if self.json:
                print_json({"run": str(self.folder), "address": address})
            else:
                print(address)
            sys.stdout.flush()
            if not self.no_browser:
                open_browser(address)
            self.say("the page is there until Ctrl-C")
            wait_for_interrupt()
        return DONE


@contextmanager
def serve_live_run(command: Align) -> Iterator[LiveRun]:
    """Serve a page that follows the run."""
    from calque.data.formats import bare_name
    from calque.show.explorer.explorer import LiveRun
    from calque.show.explorer.serving import serving
    from calque.show.views import different_names

    source, target = (name or bare_name(path) for name, path in map(split_name, (command.source, command.target)))
    live_run = LiveRun(names=different_names(source, target))
    with serving(live_run) as address:
        command.say(f"watch it at {address}")
        open_browser(address)
        yield live_run


def explore_live_run(command: Align, live_run: LiveRun, folder: Path) -> None:
    """Let the page go on with the finished run, until Ctrl-C."""
    from calque.show.explorer.explorer import Explorer

    explorer = Explorer(folder)
    explorer.prepare()
    live_run.explorer = explorer
    sys.stdout.flush()
    command.say("the page stays there until Ctrl-C")
    wait_for_interrupt()


def wait_for_interrupt() -> None:
    """Do nothing until Ctrl-C."""
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        return


def open_browser(address: str) -> None:
    """Open the page, on a terminal. In a thread, because a browser of the terminal returns only when it is closed."""
    import webbrowser

    if sys.stdout.isatty():
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
