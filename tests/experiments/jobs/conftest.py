from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from calque.data.formats import write
from calque.data.space import Space
from calque.experiments.jobs import SpaceFile


@pytest.fixture
def file_of(tmp_path: Path) -> Callable[..., SpaceFile]:
    """A file with so many words in it."""

    def make(name: str, words: int = 3) -> SpaceFile:
        path = tmp_path / f"{name}.vec"
        write(Space.of([f"{name}{row}" for row in range(words)], torch.arange(2.0 * words).reshape(words, 2)), path)
        return SpaceFile(path)

    return make
