from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from calque.experiments.sources.catalogue import DataFile, Source
from calque.experiments.sources.download import Patience
from calque.experiments.sources.fetch import DownloadResult, FetchOptions, fetch
from experiments.sources.publisher import Publisher, serving

SOURCE = Source("some vectors", "http://publisher.example/page", "MIT", "ask the author")


@pytest.fixture
def publisher(monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    """A server on this machine, reached without any proxy."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with serving() as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def pauses() -> list[float]:
    """The pauses that would have been made."""
    return []


def file_of(url: str, path: str = "vectors/some.vec", **known: Any) -> DataFile:
    return DataFile(path, ("lex-z",), "MIT", url, source=SOURCE, **known)


@pytest.fixture
def get(folder: Path, pauses: list[float]) -> Callable[..., DownloadResult]:
    """Fetch one file into the folder, without waiting."""

    def run(url: str, path: str = "vectors/some.vec", attempts: int = 5, **known: Any) -> DownloadResult:
        errand = FetchOptions(folder, Patience(attempts=attempts, timeout=5.0, block=1000), pause=pauses.append)
        (outcome,) = fetch([file_of(url, path, **known)], errand)
        return outcome

    return run


def names(folder: Path) -> set[str]:
    """Everything that is left in a folder, without what calque writes down itself."""
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    return found - {".calque-data.lock", "SHA256SUMS"}
