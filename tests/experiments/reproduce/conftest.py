from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import world

from calque.experiments.reproduce import Grid, News, Request, reproduce


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two pairs of WE-Z, one of Europarl."""
    folder = tmp_path / "data"
    for language in ("es", "it"):
        world.put_we_z(folder, language)
    world.put_europarl(folder, "de")
    return folder


@pytest.fixture
def solver() -> world.Solver:
    return world.Solver()


@pytest.fixture
def make(data: Path, tmp_path: Path, solver: world.Solver) -> Callable[..., Grid]:
    """Make a table from the data, by the solver unless another is named."""

    def make(table: str = "lex-z", by: world.Solver | None = None, news: list[News] | None = None, **options) -> Grid:
        asked = {"pairs": None, "methods": ["mikolov2013", "default"], "seeds": 2, **options}
        stopped = asked.pop("stopped", lambda: False)
        request = Request(table, data, tmp_path / "out", **asked)
        heard = [] if news is None else news
        return reproduce(request, (by or solver).engine(), heard.append, stopped=stopped)

    return make
