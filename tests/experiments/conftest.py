from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import small
import torch
import world

from calque.data.formats import write
from calque.data.space import Space
from calque.experiments.events import ExperimentEvent
from calque.experiments.jobs import SpaceFile
from calque.experiments.paper_plan import PaperRequest
from calque.experiments.report import Report


@pytest.fixture
def file_of(tmp_path: Path) -> Callable[..., SpaceFile]:
    """A file with so many words in it."""

    def make(name: str, words: int = 3) -> SpaceFile:
        path = tmp_path / f"{name}.vec"
        write(Space.of([f"{name}{row}" for row in range(words)], torch.arange(2.0 * words).reshape(words, 2)), path)
        return SpaceFile(path)

    return make


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
def make(data: Path, tmp_path: Path, solver: world.Solver) -> Callable[..., Report]:
    """Make a table from the data, by the solver unless another is named."""

    def make(
        table: str = "lex-z", by: world.Solver | None = None, events: list[ExperimentEvent] | None = None, **options
    ) -> Report:
        asked = {"pairs": None, "methods": ["mikolov2013", "default"], "seeds": 2, **options}
        stopped = asked.pop("stopped", lambda: False)
        heard = [] if events is None else events
        request, engine = PaperRequest(table, data, **asked), (by or solver).engine()
        return world.reproduce(request, tmp_path / "out", engine=engine, report=heard.append, stopped=stopped)

    return make


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three languages of 300 words, lexicons between them, recipes of their own."""
    return small.put(tmp_path / "data")


@pytest.fixture
def plan_file(folder: Path) -> Callable[[str], Path]:
    """A plan of this text, beside the data."""

    def write(text: str) -> Path:
        path = folder / "plan.toml"
        path.write_text(text)
        return path

    return write
