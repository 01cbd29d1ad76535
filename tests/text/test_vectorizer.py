from __future__ import annotations

import itertools
import pickle
import tracemalloc

import numpy as np
import pytest
import torch

import carried

sklearn = pytest.importorskip("sklearn", reason="needs the extra: pip install 'calque-embeddings[sklearn]'")
from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402

from calque.data.space import Space  # noqa: E402
from calque.errors import CalqueError, SettingsError  # noqa: E402
from calque.text import SpaceVectorizer  # noqa: E402
from calque.text.vectorizer import sif_weights  # noqa: E402

A, B = carried.word("x", "sport", 0), carried.word("x", "law", 3)


def fitted(**settings) -> SpaceVectorizer:
    return SpaceVectorizer(carried.run(), "source", **settings).fit([])


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def test_mean_weighting_is_the_mean_of_the_words_vectors():
    made = fitted(weighting="mean")
    one, two = (made.space_.vectors[made.space_.index[name]].numpy() for name in (A, B))
    np.testing.assert_allclose(made.transform([f"{A} {B} unheard"])[0], unit(one + two), atol=1e-6)


def test_translations_of_each_other_have_the_same_vector():
    run = carried.run()
    source, target = (SpaceVectorizer(run, side).fit([]) for side in ("source", "target"))
    there, here = ([text for text, _ in carried.texts(language, 30, 1)] for language in "xy")
    np.testing.assert_allclose(source.transform(there), target.transform(here), atol=1e-5)


def test_sif_weighs_by_counts_where_they_are_known_and_by_ranks_where_not():
    space = Space.of(["the", "cat"], torch.eye(2), torch.tensor([99.0, 1.0]))
    np.testing.assert_allclose(sif_weights(space, 0.01), [0.01 / 1.0, 0.01 / 0.02], rtol=1e-6)
    ranked = sif_weights(carried.run().source, 1e-3)
    assert (np.diff(ranked) > 0).all()


def test_idf_counts_texts_not_words():
    made = SpaceVectorizer(carried.run(), "source", weighting="idf").fit([f"{A} {A}", f"{A} {B}", A])
    weights = made.weights_[[made.space_.index[name] for name in (A, B)]]
    np.testing.assert_allclose(weights, [np.log(4 / 4) + 1, np.log(4 / 2) + 1], rtol=1e-6)


def test_the_first_principal_component_is_gone_from_every_text():
    texts = [text for text, _ in carried.texts("x", 60, 2)]
    plain = fitted().transform(texts)
    direction = np.linalg.svd(plain, full_matrices=False)[2][0]
    made = SpaceVectorizer(carried.run(), "source", components=1).fit(texts)
    np.testing.assert_allclose(made.transform(texts) @ direction, 0, atol=1e-4)
    assert np.abs(plain @ direction).min() > 0.1


def test_a_text_without_a_known_word_is_zero_and_alone():
    vectors = fitted().transform(["", "unheard of", A])
    assert not vectors[:2].any()
    np.testing.assert_allclose(np.linalg.norm(vectors[2]), 1, atol=1e-6)


def test_words_stand_halfway_to_their_translations():
    run = carried.run()
    made = SpaceVectorizer(run, "source", translations=1, weighting="mean").fit([])
    (found,) = run.translate([A], 1)
    own, other = run.source.vectors[run.source.index[A]], run.target.vectors[run.target.index[found.candidates[0].word]]
    own, other = own / own.norm(), other / other.norm()
    np.testing.assert_allclose(made.transform([A])[0], unit((own + other).numpy()), atol=1e-5)
    np.testing.assert_allclose(made.transform([A]), made.transform([f"{A} {A}"]), atol=1e-6)  # it is moved only once


def test_the_run_itself_is_left_as_it_was():
    run = carried.run()
    before = run.source.vectors.clone()
    SpaceVectorizer(run, "source", translations=3).fit([]).transform([A, B])
    assert torch.equal(run.source.vectors, before)


def test_unknown_words_get_vectors_from_subwords():
    class Subwords:
        def vector(self, word: str) -> np.ndarray:
            return np.eye(carried.DIMENSION, dtype=np.float32)[len(word) % carried.DIMENSION]

    run = carried.run()
    space = Space(("w",), torch.zeros(1, carried.DIMENSION) + 1, subwords=Subwords())
    made = SpaceVectorizer(run.with_subwords(space), "source").fit([])
    expected = run.source_side.apply(torch.eye(carried.DIMENSION)[:1])[0].numpy()
    np.testing.assert_allclose(made.transform(["qqqqqqqq"])[0], expected, atol=1e-5)


def test_known_words_are_counted_once_each():
    (block,) = fitted().blocks([f"{A} {A}zzz nothing", ""])
    assert (block.known, block.words) == ([2, 0], [3, 0])  # the second word by its beginning


def test_any_callable_is_a_tokeniser():
    made = fitted(tokenizer=lambda text: text.split("|"))
    assert made.words(f"{A}|{B}|x") == [A, B]


def test_the_size_of_blocks_changes_nothing(monkeypatch):
    texts = [text for text, _ in carried.texts("x", 25, 3)]
    whole = fitted().transform(texts)
    monkeypatch.setattr("calque.text.vectorizer.AT_ONCE", 4)
    np.testing.assert_allclose(fitted().transform(texts), whole, atol=1e-6)


def test_a_pipeline_that_learns_in_one_language_labels_the_other():
    run = carried.run()
    learned = make_pipeline(SpaceVectorizer(run, "target"), LogisticRegression(C=10))
    texts, labels = zip(*carried.texts("y", 90, 4), strict=True)
    learned.fit(list(texts), list(labels))
    asked, right = zip(*carried.texts("x", 60, 5), strict=True)
    carried_over = SpaceVectorizer(run, "source").fit([]).transform(list(asked))
    assert learned[-1].score(carried_over, list(right)) > 0.95


def test_it_is_an_estimator_like_others():
    made = SpaceVectorizer(carried.run(), "source", weighting="idf", components=1)
    copy = clone(made)
    assert copy.get_params() == made.get_params()
    assert copy.run is made.run
    assert copy.set_params(weighting="mean").weighting == "mean"
    with pytest.raises(NotFittedError):
        made.transform(["a"])
    texts = [text for text, _ in carried.texts("x", 20, 6)]
    again = pickle.loads(pickle.dumps(made.fit(texts)))
    np.testing.assert_array_equal(again.transform(texts), made.transform(texts))
    assert len(made.get_feature_names_out()) == carried.DIMENSION
    assert made.fit_transform(texts).shape == (20, carried.DIMENSION)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"side": "left"}, "side is 'left'"),
        ({"weighting": "tf"}, "weighting is 'tf'"),
        ({"smoothing": 0}, "smoothing is 0"),
        ({"components": -1}, "components is -1"),
        ({"components": 9}, "only 1 texts"),
    ],
)
def test_wrong_settings_are_refused_when_it_is_fitted(settings, message):
    with pytest.raises(SettingsError, match=message):
        SpaceVectorizer(carried.run(), **settings).fit([A])


def test_texts_that_are_no_texts_are_refused():
    with pytest.raises(SettingsError, match="found one text"):
        fitted().transform("one text")
    with pytest.raises(CalqueError, match="text 2 is a int"):
        fitted().transform([A, 7])


def test_a_long_stream_takes_no_more_memory_than_a_short_one():
    made = fitted()
    lines = [text for text, _ in carried.texts("x", 50, 7)]

    def peak(count: int) -> int:
        stream = (f"{line} new{number}" for number, line in enumerate(itertools.islice(itertools.cycle(lines), count)))
        tracemalloc.start()
        for _ in made.blocks(stream):
            pass
        high = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return high

    made.rows_.kept.clear()
    short = peak(4_000)
    assert peak(12_000) < 1.5 * short + 3_000_000
