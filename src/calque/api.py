"""What a Python user calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from calque.data.lexicon import Lexicon
from calque.data.space import Space
from calque.errors import CalqueError, LexiconError, SpaceError
from calque.progress import Listen, never, quiet
from calque.recipes import Recipe, find, run, run_many
from calque.runs.alignment import Alignment
from calque.runs.family import Family


def align(
    source: Space,
    target: Space,
    *,
    recipe: str | Path | Recipe = "default",
    lexicon: Lexicon | None = None,
    seed: int = 0,
    device: str = "auto",
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
) -> Alignment:
    """Align two spaces. Look at ``.verdict`` of what comes back before using it.

    ``lexicon`` is for recipes that learn from one; all others refuse it.
    """
    for space in (source, target):
        if not isinstance(space, Space):
            raise SpaceError(
                f"found {type(space).__name__}, expected a Space; calque.load reads files, align_arrays takes arrays"
            )
    if lexicon is not None and not isinstance(lexicon, Lexicon):
        raise LexiconError(
            f"found a {type(lexicon).__name__} as lexicon, expected a Lexicon; calque.read_lexicon(path).lexicon is one"
        )
    chosen = recipe if isinstance(recipe, Recipe) else find(str(recipe))
    return run(chosen, source, target, seed, device, listen, stopped, lexicon)


def align_many(
    spaces: Mapping[str, Space],
    *,
    into: str = "",
    recipe: str | Path | Recipe = "default",
    seed: int = 0,
    device: str = "auto",
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
) -> Family:
    """Align several spaces, by name: every pair, and all in one shared space, that of ``into`` where it is given."""
    for name, space in spaces.items():
        if not isinstance(space, Space):
            raise SpaceError(f"{name}: found {type(space).__name__}, expected a Space; calque.load reads files")
    chosen = recipe if isinstance(recipe, Recipe) else find(str(recipe))
    return run_many(chosen, spaces, seed, device, listen, stopped, into)


def align_arrays(source: Any, target: Any, **options: Any) -> Alignment:
    """Align two arrays of vectors without words. Rows are numbered, and the most frequent should come first."""
    numbered = []
    for name, vectors in (("source", source), ("target", target)):
        rows = len(vectors) if hasattr(vectors, "__len__") else 0
        numbered.append(Space.of([str(row) for row in range(rows)], vectors, name=name))
    return align(*numbered, **options)


class Aligner:
    """Aligns two arrays in the manner of scikit-learn: ``Aligner().fit(X, Y).transform(X)``.

    ``transform`` gives source vectors in the common space, ``transform_target`` target vectors.
    """

    def __init__(self, recipe: str = "default", seed: int = 0, device: str = "auto") -> None:
        self.recipe, self.seed, self.device = recipe, seed, device

    def fit(self, X: Any, Y: Any) -> Aligner:
        """Learn both maps from two arrays whose rows need not correspond."""
        self.alignment_ = align_arrays(X, Y, recipe=self.recipe, seed=self.seed, device=self.device)
        return self

    @property
    def verdict_(self) -> Any:
        """Whether to trust it."""
        return self._fitted().verdict

    def transform(self, X: Any) -> Any:
        """Source vectors in the common space."""
        return self._fitted().map_source(X)

    def transform_target(self, Y: Any) -> Any:
        """Target vectors in the common space."""
        return self._fitted().map_target(Y)

    def fit_transform(self, X: Any, Y: Any) -> Any:
        """Learn the maps, and give the source vectors in the common space."""
        return self.fit(X, Y).transform(X)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002  (scikit-learn's signature)
        """The constructor's arguments."""
        return {"recipe": self.recipe, "seed": self.seed, "device": self.device}

    def set_params(self, **parameters: Any) -> Aligner:
        """Change the constructor's arguments."""
        for name in parameters:
            if name not in self.get_params():
                raise CalqueError(f"Aligner has no parameter {name!r}; there are: {', '.join(self.get_params())}")
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def _fitted(self) -> Alignment:
        if not hasattr(self, "alignment_"):
            raise CalqueError("this Aligner is not fitted; call fit(X, Y) first")
        return self.alignment_
