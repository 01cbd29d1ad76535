"""What a Python user calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from calque.data.formats import load
from calque.data.lexicon import Lexicon
from calque.data.space import Space
from calque.errors import CalqueError, LexiconError, SettingsError, SpaceError
from calque.progress import Listen, never, quiet
from calque.recipes import Recipe, find, run, run_many
from calque.runs.alignment import Alignment
from calque.runs.family import Family


def align(
    source: Any,
    target: Any,
    *,
    recipe: str | Path | Recipe = "default",
    lexicon: Lexicon | None = None,
    seed: int = 0,
    device: str = "auto",
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
) -> Alignment:
    """Align two spaces. Look at ``.verdict`` of what comes back before using it.

    Each side is a `Space`, the path of a file, a gensim ``KeyedVectors``, a DataFrame, or a tuple (words, array).
    ``lexicon`` is for recipes that learn from one; all others refuse it.
    """
    _check_functions(listen, stopped)
    if lexicon is not None and not isinstance(lexicon, Lexicon):
        raise LexiconError(
            f"found a {type(lexicon).__name__} as lexicon, expected a Lexicon; calque.read_lexicon(path).lexicon is one"
        )
    chosen = recipe if isinstance(recipe, Recipe) else find(str(recipe))
    spaces = as_space(source, "source"), as_space(target, "target")
    return run(chosen, *spaces, seed, device, listen, stopped, lexicon)


def align_many(
    spaces: Mapping[str, Any],
    *,
    into: str = "",
    recipe: str | Path | Recipe = "default",
    seed: int = 0,
    device: str = "auto",
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
) -> Family:
    """Align several spaces, by name: every pair, and all in one shared space, that of ``into`` where it is given."""
    _check_functions(listen, stopped)
    if not isinstance(spaces, Mapping):
        raise SpaceError(
            f"spaces is a {type(spaces).__name__}; expected languages by name, such as {{'es': …, 'en': …}}"
        )
    chosen = recipe if isinstance(recipe, Recipe) else find(str(recipe))
    read = {name: as_space(space, str(name)) for name, space in spaces.items()}
    return run_many(chosen, read, seed, device, listen, stopped, into)


def as_space(value: Any, name: str) -> Space:
    """The space that somebody passed as the argument ``name``: one already, or what `align` makes one of."""
    if isinstance(value, Space):
        return value
    if isinstance(value, (str, os.PathLike)) or hasattr(value, "index_to_key"):
        return load(value)
    if isinstance(value, tuple) and len(value) == 2:
        return Space.of(*value, name=name)
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):
        return Space.from_frame(value, name)
    raise SpaceError(
        f"{name} is a {type(value).__name__}, expected a Space; calque.load reads files, align_arrays takes arrays"
    )


def _check_functions(listen: Any, stopped: Any) -> None:
    for name, function in (("listen", listen), ("stopped", stopped)):
        if not callable(function):
            raise SettingsError(f"{name} is {function!r}; expected a function")


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
