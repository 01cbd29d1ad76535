"""Three languages whose words correspond: blurred copies of one space, each turned otherwise."""

from __future__ import annotations

import torch

from calque.data.space import Space

NAMES = ("en", "es", "pt-br")
WORDS, DIMENSION = 700, 14


def languages(noise: float = 0.1) -> dict[str, Space]:
    """Word i of one is word i of every other."""
    generator = torch.Generator().manual_seed(3)
    spectrum = torch.arange(1, DIMENSION + 1) ** -0.5
    centres = torch.randn(40, DIMENSION, generator=generator) * spectrum
    members = torch.multinomial(torch.arange(1.0, 41.0) ** -0.7, WORDS, replacement=True, generator=generator)
    base = centres[members] + 0.5 * torch.randn(WORDS, DIMENSION, generator=generator) * spectrum
    spaces = {}
    for name in NAMES:
        turn = torch.linalg.qr(torch.randn(DIMENSION, DIMENSION, generator=generator)).Q
        blur = noise * base.std() * torch.randn(base.shape, generator=generator)
        spaces[name] = Space.of([f"{name}{row}" for row in range(WORDS)], (base + blur) @ turn, name=f"{name}.vec")
    return spaces
