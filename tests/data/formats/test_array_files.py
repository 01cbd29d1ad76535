from __future__ import annotations

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from calque.data.formats import read, write
from calque.errors import FormatError

WORDS = np.array(["perro", "gato", "pez"])
VECTORS = np.array([[1, 2], [3, 4], [5, 6.5]], dtype=np.float32)


@pytest.mark.parametrize("kind", [np.float16, np.float64, np.float32, np.int32])
def test_npz_of_any_precision_becomes_float32(tmp_path, kind):
    np.savez(tmp_path / "x.npz", words=WORDS, vectors=VECTORS.astype(kind), counts=np.array([9, 5, 1]))
    reading = read(tmp_path / "x.npz")
    assert reading.format == "npz"
    assert reading.space.words == ("perro", "gato", "pez")
    assert reading.space.vectors.dtype == torch.float32
    assert np.array_equal(reading.space.vectors.numpy(), VECTORS.astype(kind).astype(np.float32))
    assert reading.space.counts.tolist() == [9, 5, 1]


def test_counts_stay_with_their_words_when_rows_are_left_out(tmp_path):
    vectors = VECTORS.copy()
    vectors[0] = np.inf
    np.savez(tmp_path / "x.npz", words=WORDS, vectors=vectors, counts=np.array([9, 5, 1]))
    space = read(tmp_path / "x.npz", limit=1).space
    assert space.words == ("gato",)
    assert space.counts.tolist() == [5]


def test_values_beyond_float32_are_left_out(tmp_path):
    np.savez(tmp_path / "x.npz", words=WORDS, vectors=np.array([[1e300, 1], [3, 4], [5, 6]]))
    reading = read(tmp_path / "x.npz")
    assert reading.space.words == ("gato", "pez")
    assert reading.notes == ("1 word with NaN or infinite values left out: 'perro'",)


def test_npz_never_unpickles(tmp_path):
    np.savez(tmp_path / "x.npz", words=np.array(["a", None], dtype=object), vectors=VECTORS[:2])
    with pytest.raises(FormatError, match=r"x\.npz: not an \.npz of plain arrays .*array of strings"):
        read(tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": VECTORS}, r"expected the arrays 'words' and 'vectors', found \['a'\]"),
        ({"words": WORDS[:2], "vectors": VECTORS}, "2 words but 3 vectors"),
        ({"words": WORDS, "vectors": VECTORS[0]}, r"shape \(2,\), expected numbers of shape \(words, dimensions\)"),
        ({"words": WORDS, "vectors": VECTORS.astype(str)}, "expected numbers"),
        ({"words": VECTORS, "vectors": VECTORS}, "expected one row of strings"),
        ({"words": WORDS, "vectors": VECTORS, "counts": np.ones(2)}, "expected 3 numbers"),
    ],
)
def test_npz_of_the_wrong_arrays_is_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(FormatError, match=message):
        read(tmp_path / "x.npz")


def test_npz_words_may_be_bytes(tmp_path):
    np.savez(tmp_path / "x.npz", words=np.array([b"a", b"na\xefve"]), vectors=VECTORS[:2])
    assert read(tmp_path / "x.npz").space.words == ("a", "na\udcefve")


def test_a_truncated_npz_is_refused(tmp_path, save):
    np.savez(tmp_path / "x.npz", words=WORDS, vectors=VECTORS)
    with pytest.raises(FormatError, match="a cut or damaged zip archive"):
        read(save((tmp_path / "x.npz").read_bytes()[:-30]))


@pytest.mark.parametrize("name", ["x.txt", "x.words", "x.words.txt"])
def test_npy_finds_its_words_beside_it(tmp_path, name):
    np.save(tmp_path / "x.npy", VECTORS.astype(np.float16))
    (tmp_path / name).write_bytes(b"el perro\r\ngato\r\nna\xefve\r\n")
    reading = read(tmp_path / "x.npy")
    assert reading.format == "npy"
    assert reading.space.words == ("el perro", "gato", "na\udcefve")
    assert np.array_equal(reading.space.vectors.numpy(), VECTORS)


def test_npy_takes_its_words_from_where_it_is_told(tmp_path):
    np.save(tmp_path / "x.npy", VECTORS)
    (tmp_path / "list").write_text("a\nb\nc")
    assert read(tmp_path / "x.npy", words=tmp_path / "list", limit=2).space.words == ("a", "b")


def test_npy_without_words_says_where_they_are_looked_for(tmp_path):
    np.save(tmp_path / "x.npy", VECTORS)
    with pytest.raises(FormatError, match=r"no word list beside it, expected one of x\.words, x\.words\.txt, x\.txt"):
        read(tmp_path / "x.npy")


def test_npy_with_another_number_of_words_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", VECTORS)
    (tmp_path / "x.txt").write_text("a\nb\n")
    with pytest.raises(FormatError, match="2 words but 3 vectors"):
        read(tmp_path / "x.npy")


def test_npy_of_objects_or_cut_is_refused(tmp_path):
    (tmp_path / "x.txt").write_text("a\nb\n")
    np.save(tmp_path / "x.npy", np.array(["a", None], dtype=object))
    with pytest.raises(FormatError, match=r"not a whole \.npy of plain numbers"):
        read(tmp_path / "x.npy")
    np.save(tmp_path / "x.npy", VECTORS[:2])
    (tmp_path / "x.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-3])
    with pytest.raises(FormatError, match=r"not a whole \.npy of plain numbers"):
        read(tmp_path / "x.npy")


def letters(text: bytes) -> torch.Tensor:
    return torch.frombuffer(bytearray(text), dtype=torch.uint8)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64])
def test_safetensors_of_any_precision_becomes_float32(tmp_path, kind):
    vectors = torch.from_numpy(VECTORS).to(kind)
    save_file({"vectors": vectors, "words": letters(b"a\nna\xefve\nc")}, tmp_path / "x.safetensors")
    reading = read(tmp_path / "x.safetensors")
    assert reading.format == "safetensors"
    assert reading.space.words == ("a", "na\udcefve", "c")
    assert torch.equal(reading.space.vectors, vectors.float())


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"weight": torch.ones(2, 2)}, r"holds the tensors \['weight'\], expected 'words' and 'vectors'"),
        ({"vectors": torch.ones(2, 2), "words": letters(b"a")}, "1 words but vectors of shape"),
        ({"vectors": torch.ones(2, 2), "words": torch.ones(2)}, "expected the bytes of a newline-joined list"),
        ({"vectors": torch.ones(1, 2), "words": letters(b"a"), "counts": torch.ones(2)}, "1 words but 2 counts"),
    ],
)
def test_safetensors_of_the_wrong_tensors_are_refused(tmp_path, tensors, message):
    save_file(tensors, tmp_path / "x.safetensors")
    with pytest.raises(FormatError, match=message):
        read(tmp_path / "x.safetensors")


def test_a_truncated_safetensors_is_refused(tmp_path, save, space):
    write(space, tmp_path / "x.safetensors")
    with pytest.raises(FormatError, match="not a whole safetensors file"):
        read(save((tmp_path / "x.safetensors").read_bytes()[:-5]))


@pytest.mark.parametrize("name", ["x.npz", "x.safetensors"])
def test_counts_survive(tmp_path, space, name):
    write(space, tmp_path / name)
    assert read(tmp_path / name).space.counts.tolist() == space.counts.tolist()
