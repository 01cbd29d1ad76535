from __future__ import annotations

import numpy as np
import pytest
import torch

from calque.data.space import Space
from calque.errors import SpaceError

ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)
WORDS = ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "vectors",
    [
        ROWS[::-1][::-1],
        ROWS.astype(">f4"),
        ROWS.astype(np.longdouble),
        np.asfortranarray(ROWS),
        ROWS.astype(np.float16),
        ROWS.astype(np.int64),
        ROWS.tolist(),
        torch.tensor(ROWS, dtype=torch.float64, requires_grad=True),
    ],
)
def test_any_array_of_real_numbers_makes_the_same_space(vectors):
    assert torch.equal(Space.of(WORDS, vectors).vectors, torch.tensor(ROWS))


def test_rows_in_reverse_stay_in_reverse():
    assert torch.equal(Space.of(WORDS, ROWS[::-1]).vectors, torch.tensor(ROWS).flip(0))


@pytest.mark.parametrize(
    "vectors", [None, ROWS + 1j, ROWS.astype(str), [[1, 2, 3], [4], [5], [6]], (row for row in ROWS)]
)
def test_anything_else_is_refused_in_words(vectors):
    with pytest.raises(SpaceError, match=r"es: vectors .*number"):
        Space.of(WORDS, vectors, name="es")


@pytest.mark.parametrize("vectors", [torch.zeros(4, 3, dtype=torch.float64), ROWS])
def test_a_space_is_not_made_of_another_type_unasked(vectors):
    with pytest.raises(SpaceError, match="float32"):
        Space(tuple(WORDS), vectors)


def test_what_was_given_can_change_without_changing_the_space():
    vectors = ROWS.copy()
    space = Space.of(WORDS, vectors)
    vectors[:] = 7
    assert torch.equal(space.vectors, torch.tensor(ROWS))


def test_a_space_is_shown_short():
    assert repr(Space.of(WORDS, ROWS, name="es")) == "Space('es', 4 words, 3 dimensions)"
