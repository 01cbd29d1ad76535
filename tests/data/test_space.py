from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from calque.data.space import Space
from calque.errors import CalqueError, SpaceError, UnknownWordError

WORDS = ("perro", "gato", "pez")
VECTORS = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


class Pieces:
    """A vector for any word: its length, twice."""

    def vector(self, word: str) -> np.ndarray:
        return np.array([len(word), len(word)], dtype=np.float32)


def test_a_space_knows_its_words():
    space = Space(WORDS, VECTORS)
    assert len(space) == 3
    assert space.dimension == 2
    assert space.index == {"perro": 0, "gato": 1, "pez": 2}
    assert "gato" in space
    assert "dog" not in space


def test_lookup_gives_vectors_in_the_order_asked():
    assert Space(WORDS, VECTORS).lookup(["pez", "perro", "pez"]).tolist() == [[5, 6], [1, 2], [5, 6]]


def test_lookup_of_nothing_is_an_empty_table_of_the_right_width():
    assert Space(WORDS, VECTORS).lookup([]).shape == (0, 2)


def test_an_unknown_word_is_named_with_the_space():
    with pytest.raises(UnknownWordError, match=r"es\.vec: 'dog' is not among the 3 words"):
        Space(WORDS, VECTORS, name="es.vec").lookup(["gato", "dog"])


def test_subwords_make_vectors_of_unseen_words_and_of_those_alone():
    space = Space(WORDS, VECTORS, subwords=Pieces())
    vectors = space.lookup(["gato", "perrito"])
    assert vectors.tolist() == [[3, 4], [7, 7]]
    assert vectors.dtype == torch.float32
    assert "perrito" not in space


def test_the_head_is_the_most_frequent_words_with_all_that_belongs_to_them():
    counts = torch.tensor([9.0, 5.0, 1.0], dtype=torch.float64)
    head = Space(WORDS, VECTORS, counts, "es.vec", Pieces()).head(2)
    assert head.words == ("perro", "gato")
    assert head.vectors.tolist() == [[1, 2], [3, 4]]
    assert head.counts.tolist() == [9, 5]
    assert head.name == "es.vec"
    assert "pez" not in head
    assert head.lookup(["abcd"]).tolist() == [[4, 4]]


def test_a_head_longer_than_the_space_is_the_space():
    assert Space(WORDS, VECTORS).head(99).words == WORDS


def test_a_head_of_nothing_is_refused():
    with pytest.raises(SpaceError, match="a head of 0 words"):
        Space(WORDS, VECTORS).head(0)


@pytest.mark.parametrize(
    "vectors",
    [VECTORS.tolist(), VECTORS.numpy().astype(np.float64), VECTORS.numpy().astype(np.int64), VECTORS.half(), VECTORS],
)
def test_a_space_is_made_of_whatever_holds_numbers(vectors):
    space = Space.of(list(WORDS), vectors, counts=[9, 5, 1])
    assert space.words == WORDS
    assert space.vectors.dtype == torch.float32
    assert torch.equal(space.vectors, VECTORS)
    assert space.counts.tolist() == [9, 5, 1]


def test_a_space_of_trained_parameters_carries_no_gradient():
    assert not Space.of(WORDS, VECTORS.clone().requires_grad_()).vectors.requires_grad


@pytest.mark.parametrize("counted", [True, False])
def test_a_space_from_gensim_has_its_words_vectors_and_counts(counted):
    keyed = pytest.importorskip("gensim.models").KeyedVectors(2)
    keyed.add_vectors(list(WORDS), VECTORS.numpy())
    if counted:
        for word, count in zip(WORDS, (9, 5, 1), strict=True):
            keyed.set_vecattr(word, "count", count)
    space = Space.from_gensim(keyed, "es")
    assert space.words == WORDS
    assert torch.equal(space.vectors, VECTORS)
    assert (space.counts is None) if not counted else (space.counts.tolist() == [9, 5, 1])
    assert space.name == "es"


def with_value(value: float) -> torch.Tensor:
    vectors = VECTORS.clone()
    vectors[1, 0] = value
    return vectors


@pytest.mark.parametrize(
    ("words", "vectors", "counts", "said"),
    [
        (WORDS, VECTORS[0], None, r"shape \(2,\), expected \(words, dimensions\)"),
        (WORDS[:2], VECTORS, None, "2 words but 3 vectors"),
        ((), VECTORS[:0], None, "is empty"),
        (WORDS, VECTORS[:, :0], None, "is empty"),
        (WORDS, with_value(math.nan), None, r"'gato' \(row 1\) has NaN or infinite"),
        (WORDS, with_value(math.inf), None, r"'gato' \(row 1\) has NaN or infinite"),
        (WORDS, with_value(-math.inf), None, r"'gato' \(row 1\) has NaN or infinite"),
        (("pez", "gato", "pez"), VECTORS, None, "the word 'pez' occurs more than once"),
        (WORDS, VECTORS, torch.ones(2), r"3 words but counts of shape \(2,\)"),
        (WORDS, VECTORS, torch.ones(3, 1), r"3 words but counts of shape \(3, 1\)"),
        (WORDS, VECTORS, torch.tensor([1.0, -1.0, 3.0]), "counts must be finite and not negative"),
        (WORDS, VECTORS, torch.tensor([1.0, math.nan, 3.0]), "counts must be finite and not negative"),
        (WORDS, VECTORS, torch.tensor([1.0, math.inf, 3.0]), "counts must be finite and not negative"),
        (WORDS, VECTORS, torch.zeros(3), "all counts are zero"),
    ],
)
def test_what_is_no_space_is_refused_with_its_name(words, vectors, counts, said):
    with pytest.raises(SpaceError, match=f"^es.vec: .*{said}"):
        Space(words, vectors, counts, "es.vec")


def test_refusals_can_be_caught_as_one_kind():
    assert issubclass(SpaceError, CalqueError)
    assert issubclass(UnknownWordError, CalqueError)


def test_values_at_the_edge_of_float32_are_finite():
    largest = torch.finfo(torch.float32).max
    assert float(Space(WORDS, with_value(largest)).vectors.max()) == largest


def test_words_that_differ_in_any_way_are_different_words():
    space = Space(("Perro", "perro", "perro "), VECTORS)
    assert space.lookup(["perro ", "Perro"]).tolist() == [[5, 6], [1, 2]]


def test_a_word_in_brackets_gives_its_vector():
    space = Space(WORDS, VECTORS, name="es")
    assert space["gato"].tolist() == [3, 4]
    assert list(space) == list(WORDS)
    assert Space(WORDS, VECTORS, subwords=Pieces())["perrito"].tolist() == [7, 7]
    with pytest.raises(UnknownWordError, match="es: 'casa' is not among"):
        space["casa"]
    with pytest.raises(SpaceError, match=r"es: the index is 1; expected a word, such as space\['casa'\]"):
        space[1]


@pytest.mark.parametrize("counts", [None, [9, 5, 1]])
def test_there_and_back_through_gensim(counts):
    pytest.importorskip("gensim")
    space = Space.of(WORDS, VECTORS, counts)
    keyed = space.to_gensim()
    assert keyed.most_similar("gato", topn=1)[0][0] == "pez"
    again = Space.from_gensim(keyed)
    assert again.words == WORDS
    assert torch.equal(again.vectors, VECTORS)
    assert (again.counts is None) if counts is None else again.counts.tolist() == counts


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_with_a_column_of_words_is_a_space(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({"x": [1.0, 3.0, 5.0], "word": list(WORDS), "y": [2, 4, 6]})
    space = Space.from_frame(frame, "es")
    assert (space.words, space.name) == (WORDS, "es")
    assert torch.equal(space.vectors, VECTORS)
    with pytest.raises(SpaceError, match="expected one column of words"):
        Space.from_frame(frames.DataFrame({"a": ["x"], "b": ["y"], "c": [1.0]}))


def test_a_pandas_frame_without_a_column_of_words_has_them_in_its_index():
    frames = pytest.importorskip("pandas")
    assert Space.from_frame(frames.DataFrame(VECTORS.numpy(), index=list(WORDS))).words == WORDS
    with pytest.raises(SpaceError, match=r"words\[0\] is 0"):
        Space.from_frame(frames.DataFrame(VECTORS.numpy()))


def test_a_polars_frame_without_words_is_refused():
    frames = pytest.importorskip("polars")
    with pytest.raises(SpaceError, match="no column holds words"):
        Space.from_frame(frames.DataFrame({"x": [1.0], "y": [2.0]}))
