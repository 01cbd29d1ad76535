"""Steps that prepare vectors before a map is learned. They are kept with the map, so that new vectors get the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from calque.errors import SettingsError

STEPS = ("unit", "center", "standardise", "iterative")
"""unit: every vector to length 1; center: mean to 0; standardise: mean to 0 and deviation to 1 in every dimension;
iterative: unit and center in turn, five times, until both nearly hold at once (Zhang et al. 2019)."""

_ITERATIVE_ROUNDS = 5
_SHORTEST = 1e-12
_USUAL = (1e-9, 1e15)
"""Between these lengths squares in float32 neither vanish nor overflow, and `_SHORTEST` is far."""


def unit(vectors: Tensor) -> Tensor:
    """Every row at length 1; a row of zeros stays a row of zeros."""
    lengths: Tensor = vectors.norm(dim=-1, keepdim=True)
    return vectors / lengths.clamp_min(_SHORTEST)


def unit_of_any_length(vectors: Tensor) -> Tensor:
    """The same for rows as a user has them: of length 1e30 or 1e-30 too, whose squares float32 cannot hold."""
    lengths: Tensor = vectors.norm(dim=-1, keepdim=True)
    if bool(((lengths > _USUAL[0]) & (lengths < _USUAL[1])).all()):
        return vectors / lengths
    largest = vectors.abs().amax(dim=-1, keepdim=True)
    return unit(vectors / torch.where(largest > 0, largest, torch.ones_like(largest)))


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """Steps whose means and deviations were measured on one space."""

    steps: tuple[tuple[Tensor, Tensor] | None, ...]
    """Each is a (shift, scale), or None for making every vector length 1."""

    def apply(self, vectors: Tensor) -> Tensor:
        """The same steps on any vectors of that space."""
        for step in self.steps:
            vectors = (
                unit_of_any_length(vectors) if step is None else (vectors - step[0].to(vectors)) * step[1].to(vectors)
            )
        return vectors

    def cpu(self) -> Preprocessing:
        """The same, with all tensors in main memory."""
        return Preprocessing(tuple(None if step is None else (step[0].cpu(), step[1].cpu()) for step in self.steps))

    def tensors(self) -> dict[str, Tensor]:
        """The tensors to save; ``from_tensors`` reads them."""
        saved: dict[str, Tensor] = {}
        for number, step in enumerate(self.steps):
            if step is None:
                saved[f"{number}.unit"] = torch.ones(1)
            else:
                saved[f"{number}.shift"], saved[f"{number}.scale"] = step[0].contiguous(), step[1].contiguous()
        return saved

    @classmethod
    def from_tensors(cls, saved: dict[str, Tensor]) -> Preprocessing:
        """The preprocessing that was saved as these tensors."""
        steps: list[tuple[Tensor, Tensor] | None] = []
        for number in sorted({int(name.split(".")[0]) for name in saved}):
            is_unit = f"{number}.unit" in saved
            steps.append(None if is_unit else (saved[f"{number}.shift"], saved[f"{number}.scale"]))
        return cls(tuple(steps))


def fit(vectors: Tensor, names: Sequence[str]) -> tuple[Preprocessing, Tensor]:
    """Measure and apply the named steps in order; the preprocessing, and the vectors after it."""
    check_steps(names)
    simple_names: list[str] = []
    for name in names:
        simple_names += ["unit", "center"] * _ITERATIVE_ROUNDS if name == "iterative" else [name]
    steps: list[tuple[Tensor, Tensor] | None] = []
    if simple_names[:1] != ["unit"]:
        # Only directions matter, so vectors that are all too long or too short for float32 are brought near length 1.
        size = float(vectors.abs().amax(dim=-1).median())
        if size > 0 and not _USUAL[0] < size < _USUAL[1]:
            zero = torch.zeros_like(vectors[0])
            steps.append((zero, torch.full_like(zero, 1 / size)))
            vectors = Preprocessing((steps[-1],)).apply(vectors)
    for name in simple_names:
        steps.append(None if name == "unit" else _shift_and_scale(vectors, name))
        vectors = Preprocessing((steps[-1],)).apply(vectors)
    return Preprocessing(tuple(steps)), vectors


def check_steps(names: Sequence[str]) -> None:
    """SettingsError, with the choices, if a name is not that of a step."""
    for name in names:
        if name not in STEPS:
            raise SettingsError(f"no preprocessing step is called {name!r}; there are: {', '.join(STEPS)}")


def _shift_and_scale(vectors: Tensor, name: str) -> tuple[Tensor, Tensor]:
    mean = vectors.mean(dim=0)
    if name == "center":
        return mean, torch.ones_like(mean)
    deviation = vectors.std(dim=0, correction=0)
    # A dimension that only varies by rounding errors is constant, and becomes 0.
    rounding = 8 * torch.finfo(vectors.dtype).eps * vectors.abs().amax(dim=0)
    return mean, torch.where(deviation > rounding, 1.0 / deviation.clamp_min(_SHORTEST), 0.0)
