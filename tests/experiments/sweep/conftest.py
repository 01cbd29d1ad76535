from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import small


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
