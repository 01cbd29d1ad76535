from __future__ import annotations

import sys

import numpy as np
import pytest

from calque.data.formats import load, read, write
from calque.errors import FormatError, MissingExtraError, SettingsError, UnknownWordError


@pytest.fixture(scope="module")
def model():
    fasttext = pytest.importorskip("gensim.models.fasttext")
    sentences = [["perro", "gato", "pez"], ["perro", "gato"], ["perro"]] * 5
    return fasttext.FastText(sentences, vector_size=6, min_count=1, bucket=50, epochs=1, workers=1, seed=1)


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    from gensim.models.fasttext import save_facebook_model

    place = tmp_path_factory.mktemp("fasttext") / "tiny.bin"
    save_facebook_model(model, str(place))
    return place


def test_words_vectors_and_counts_are_read(path, model):
    reading = read(path)
    assert reading.format == "fasttext"
    assert reading.space.words == ("perro", "gato", "pez")
    assert np.allclose(reading.space.vectors.numpy(), model.wv.vectors, atol=1e-6)
    assert reading.space.counts.tolist() == [15, 10, 5]


def test_space_and_model_share_one_array(path):
    space = read(path).space
    assert np.shares_memory(space.vectors.numpy(), space.subwords.keyed_vectors.vectors)
    some = read(path, limit=2).space
    assert some.vectors.shape == (2, 6)
    assert some.subwords.keyed_vectors.vectors.shape == (3, 6)


def test_unseen_words_have_vectors(path, model):
    space = read(path, limit=1).space
    assert space.words == ("perro",)
    assert np.allclose(space.subwords.vector("perros"), model.wv.get_vector("perros"), atol=1e-6)
    assert np.allclose(space.lookup(["perros"])[0], model.wv.get_vector("perros"), atol=1e-6)


def test_a_word_without_pieces_is_unknown(path):
    with pytest.raises(UnknownWordError, match="has no vector and no pieces"):
        read(path).space.subwords.vector("")


def test_it_is_not_written(path, tmp_path):
    with pytest.raises(FormatError, match="'fasttext' can only be read; write one of"):
        write(read(path).space, tmp_path / "x.bin", format="fasttext")


def test_a_truncated_file_is_refused(path, save):
    with pytest.raises(FormatError, match=r"not a whole fastText \.bin file"):
        read(save(path.read_bytes()[:200]))


def test_without_gensim_the_extra_is_named(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models.fasttext", None)
    with pytest.raises(
        MissingExtraError, match=r"tiny\.bin: reading a fastText \.bin file .*calque-embeddings\[fasttext\]"
    ):
        read(path)


def test_keyed_vectors_in_memory_are_a_space(model):
    space = load(model.wv, limit=2)
    assert space.words == ("perro", "gato")
    assert np.array_equal(space.vectors.numpy(), model.wv.vectors[:2])
    assert space.subwords.vector("perros").shape == (6,)


def test_options_about_files_do_not_go_with_keyed_vectors(model):
    with pytest.raises(FormatError, match="are about files"):
        load(model.wv, format="glove")
    with pytest.raises(SettingsError, match="limit is 0"):
        load(model.wv, limit=0)
