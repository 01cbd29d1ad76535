"""What is done to vectors before a map is learned on them, kept with the map so that new vectors get the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from calque.errors import SettingsError

STEPS = ("unit", "center", "standardise", "iterative")
"""unit: every vector to length 1; center: mean to 0; standardise: mean to 0 and deviation to 1, dimension by dimension;
iterative: unit and center in turn, five times, until both nearly hold at once (Zhang et al. 2019)."""

_ROUNDS_OF_ITERATIVE = 5
_SHORTEST = 1e-12


def unit(vectors: Tensor) -> Tensor:
    """Every row at length 1; a row of zeros stays a row of zeros."""
    lengths: Tensor = vectors.norm(dim=-1, keepdim=True)
    return vectors / lengths.clamp_min(_SHORTEST)


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """A fitted chain of steps: each is a shift and a scale, or None for making the length 1."""

    steps: tuple[tuple[Tensor, Tensor] | None, ...]

    def apply(self, vectors: Tensor) -> Tensor:
        """The same steps on any vectors of the space, with what was measured when fitting."""
        for step in self.steps:
            vectors = unit(vectors) if step is None else (vectors - step[0].to(vectors)) * step[1].to(vectors)
        return vectors

    def cpu(self) -> Preprocessing:
        """The same, kept in the main memory."""
        return Preprocessing(tuple(None if step is None else (step[0].cpu(), step[1].cpu()) for step in self.steps))

    def tensors(self) -> dict[str, Tensor]:
        """What must be saved; ``from_tensors`` gives the preprocessing back."""
        saved = {f"{number}.unit": torch.ones(1) for number, step in enumerate(self.steps) if step is None}
        for number, step in enumerate(self.steps):
            if step is not None:
                saved |= {f"{number}.shift": step[0].contiguous(), f"{number}.scale": step[1].contiguous()}
        return saved

    @classmethod
    def from_tensors(cls, saved: dict[str, Tensor]) -> Preprocessing:
        """The preprocessing whose ``tensors`` these are."""
        numbers = sorted({int(name.split(".")[0]) for name in saved})
        return cls(
            tuple(
                None if f"{number}.unit" in saved else (saved[f"{number}.shift"], saved[f"{number}.scale"])
                for number in numbers
            )
        )


def fit(vectors: Tensor, names: Sequence[str]) -> tuple[Preprocessing, Tensor]:
    """Measure and apply the named steps in order; the preprocessing, and the vectors after it."""
    fitted: list[tuple[Tensor, Tensor] | None] = []
    for name in _spelled_out(names):
        step = None if name == "unit" else _measure(vectors, name)
        vectors = Preprocessing((step,)).apply(vectors)
        fitted.append(step)
    return Preprocessing(tuple(fitted)), vectors


def check_steps(names: Sequence[str]) -> None:
    """Raise SettingsError, with the choices, for a name that is none."""
    for name in names:
        if name not in STEPS:
            raise SettingsError(f"no preprocessing step is called {name!r}; there are: {', '.join(STEPS)}")


def _spelled_out(names: Sequence[str]) -> list[str]:
    check_steps(names)
    return [
        each
        for name in names
        for each in (["unit", "center"] * _ROUNDS_OF_ITERATIVE if name == "iterative" else [name])
    ]


def _measure(vectors: Tensor, name: str) -> tuple[Tensor, Tensor]:
    mean = vectors.mean(dim=0)
    if name == "center":
        return mean, torch.ones_like(mean)
    deviation = vectors.std(dim=0, correction=0)
    rounding = 8 * torch.finfo(vectors.dtype).eps * vectors.abs().amax(dim=0)
    return mean, torch.where(deviation > rounding, 1.0 / deviation.clamp_min(_SHORTEST), 0.0)
