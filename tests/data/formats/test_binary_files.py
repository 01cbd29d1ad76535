from __future__ import annotations

import gzip

import numpy as np
import pytest
import torch

from calque.data.formats import read, sniff, write
from calque.errors import FormatError

VECTORS = np.array([[0.5, -1.25, 3e-8], [1, 2, 3], [-4, 5, 6]], dtype="<f4")
WORDS = ("perro", "東京", "\udcff")


def binary(count=3, end=b"", words=WORDS, vectors=VECTORS):
    entries = [
        word.encode("utf-8", "surrogateescape") + b" " + row.tobytes() + end
        for word, row in zip(words, vectors, strict=True)
    ]
    return b"%d 3\n" % count + b"".join(entries)


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_it_is_read_with_and_without_line_ends(save, end):
    reading = read(save(binary(end=end)))
    assert reading.format == "word2vec-binary"
    assert reading.space.words == WORDS
    assert torch.equal(reading.space.vectors, torch.from_numpy(VECTORS.astype(np.float32)))
    assert reading.notes == ()


def test_a_newline_byte_inside_a_vector_is_part_of_it(save):
    vectors = VECTORS.copy()
    vectors.view(np.uint8)[:, :2] = (10, 32)
    assert np.array_equal(read(save(binary(vectors=vectors, end=b"\n"))).space.vectors.numpy(), vectors)


def test_gzip_is_transparent(save):
    assert read(save(gzip.compress(binary()))).space.words == WORDS


@pytest.mark.parametrize("cut", [1, 5, 11, 12, 13])
def test_a_truncated_file_keeps_its_whole_entries(save, cut):
    reading = read(save(binary()[:-cut]))
    assert reading.space.words == WORDS[:2]
    assert reading.notes == (
        "the file ends inside the vector of '\\udcff': left out",
        "the header says 3 words, the file holds 2",
    )


def test_a_count_far_too_large_costs_nothing(save):
    reading = read(save(binary(count=999_999_999_999)))
    assert reading.space.words == WORDS
    assert reading.notes == ("the header says 999999999999 words, the file holds 3",)


def test_bad_rows_are_left_out(save):
    vectors = VECTORS.copy()
    vectors[1] = 0
    vectors[2, 0] = np.nan
    reading = read(save(binary(vectors=vectors)))
    assert reading.space.words == ("perro",)
    assert len(reading.notes) == 2


def test_nothing_after_the_limit_is_touched(save):
    assert read(save(binary() + b"\xff" * 99), limit=2).space.words == WORDS[:2]


def test_small_blocks_give_the_same(save, monkeypatch):
    path = save(binary(end=b"\n"))
    monkeypatch.setattr("calque.data.formats.word2vec.BLOCK_SIZE", 1)
    assert read(path).space.words == WORDS


def test_bytes_without_a_space_are_a_damaged_file(save, monkeypatch):
    monkeypatch.setattr("calque.data.formats.word2vec.LONGEST_WORD", 20)
    with pytest.raises(FormatError, match="no space within 20 bytes"):
        read(save(binary() + b"\xff" * 99))


def test_gensim_reads_what_we_write(tmp_path, space):
    models = pytest.importorskip("gensim.models")
    for name, is_binary in (("x.vec", False), ("x.bin", True), ("x.vec.gz", False), ("x.bin.gz", True)):
        write(space, tmp_path / name)
        loaded = models.KeyedVectors.load_word2vec_format(
            str(tmp_path / name), binary=is_binary, unicode_errors="surrogateescape"
        )
        assert tuple(loaded.index_to_key) == space.words
        assert np.array_equal(loaded.vectors, space.vectors.numpy())


def test_we_read_what_gensim_writes(tmp_path):
    models = pytest.importorskip("gensim.models")
    keyed = models.KeyedVectors(3)
    keyed.add_vectors(["perro", "gato"], VECTORS[:2])
    for name, is_binary in (("x.vec", False), ("x.bin", True)):
        keyed.save_word2vec_format(str(tmp_path / name), binary=is_binary)
        reading = read(tmp_path / name)
        assert reading.space.words == ("perro", "gato")
        assert np.array_equal(reading.space.vectors.numpy(), VECTORS[:2])


def test_a_binary_file_is_told_from_text_by_content(save):
    assert sniff(save(binary(), "x.txt")) == "word2vec-binary"
    assert sniff(save(b"1 3\nperro 1 2 3\n", "x.bin")) == "word2vec"
