from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from calque.data.space import Space


@pytest.fixture
def save(tmp_path: Path) -> Callable[..., Path]:
    """Put bytes into a file; its path."""

    def place(content: bytes, name: str = "some.vec") -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return place


@pytest.fixture
def space() -> Space:
    generator = torch.Generator().manual_seed(3)
    words = ("</s>", "perro", "el\u00a0gato", "2017", "naïve", "\udcff\udcfe", "東京", "a\u2028b\u0085c\u3000d")
    return Space(words, torch.randn(len(words), 5, generator=generator), torch.arange(8.0, dtype=torch.float64) + 1)
