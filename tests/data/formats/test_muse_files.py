from __future__ import annotations

import os
import sys
import types
from pathlib import Path

import pytest
import torch

from calque.data.formats import read, sniff, write
from calque.errors import FormatError, SettingsError

VECTORS = torch.tensor([[1.0, 2], [3, 4], [5, 6]])


@pytest.fixture
def dictionary(monkeypatch):
    """A class that pickles under the name MUSE's has; gone again when the file is read."""
    dictionary_class = type("Dictionary", (), {"__module__": "src.dictionary"})
    module = types.ModuleType("src.dictionary")
    module.Dictionary = dictionary_class
    monkeypatch.setitem(sys.modules, "src", types.ModuleType("src"))
    monkeypatch.setitem(sys.modules, "src.dictionary", module)
    filled = dictionary_class()
    filled.id2word = {0: "perro", 1: "el\u00a0gato", 2: "</s>"}
    filled.word2id = {word: row for row, word in filled.id2word.items()}
    filled.lang = "es"
    return filled


@pytest.mark.parametrize("archive", [True, False])
@pytest.mark.parametrize("kind", [torch.float16, torch.float32, torch.float64])
def test_a_muse_export_is_read(tmp_path, dictionary, monkeypatch, archive, kind):
    content = {"dico": dictionary, "vectors": VECTORS.to(kind)}
    torch.save(content, tmp_path / "x.pth", _use_new_zipfile_serialization=archive)
    monkeypatch.delitem(sys.modules, "src.dictionary")
    reading = read(tmp_path / "x.pth")
    assert reading.format == "muse"
    assert reading.space.words == ("perro", "el\u00a0gato", "</s>")
    assert torch.equal(reading.space.vectors, VECTORS)
    assert "src.dictionary" not in sys.modules


def test_a_list_of_words_will_do(tmp_path):
    torch.save({"words": ["a", "b", "a"], "vectors": VECTORS}, tmp_path / "x.pth")
    reading = read(tmp_path / "x.pth")
    assert reading.space.words == ("a", "b")
    assert reading.notes == ("1 duplicate word left out (first kept): 'a'",)


class Hostile:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


@pytest.mark.parametrize("archive", [True, False])
def test_pickled_code_is_refused_and_not_run(tmp_path, archive):
    marker = tmp_path / "marker"
    content = {"dico": Hostile(marker), "vectors": VECTORS}
    torch.save(content, tmp_path / "x.pth", _use_new_zipfile_serialization=archive)
    for options in ({}, {"format": "muse"}):
        with pytest.raises(FormatError, match="refused, because only tensors and a MUSE dictionary are read") as caught:
            read(tmp_path / "x.pth", **options)
        assert "\n" not in str(caught.value)
    assert not marker.exists()
    torch.load(tmp_path / "x.pth", weights_only=False)
    assert marker.exists(), "the file was not hostile after all"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"weight": VECTORS}, r"holds \['weight'\], expected 'dico'"),
        ([VECTORS], "holds list, expected 'dico'"),
        ({"words": ["a", "b", "c"], "vectors": [1, 2]}, "'vectors' is list, expected a tensor"),
        ({"words": ["a", "b"], "vectors": VECTORS}, "2 words but 3 vectors"),
        ({"words": ["a", 2, "c"], "vectors": VECTORS}, "expected 'dico'"),
        ({"dico": {"a": 0}, "vectors": VECTORS}, "expected 'dico'"),
    ],
)
def test_other_contents_are_refused(tmp_path, content, message):
    torch.save(content, tmp_path / "x.pth")
    with pytest.raises(FormatError, match=message):
        read(tmp_path / "x.pth")


def test_a_dictionary_with_holes_is_refused(tmp_path, dictionary):
    del dictionary.id2word[1]
    torch.save({"dico": dictionary, "vectors": VECTORS}, tmp_path / "x.pth")
    with pytest.raises(FormatError, match="expected 'dico'"):
        read(tmp_path / "x.pth")


def test_a_truncated_export_is_refused(tmp_path, save):
    torch.save({"words": ["a", "b", "c"], "vectors": VECTORS}, tmp_path / "x.pth")
    with pytest.raises(FormatError, match="cut or damaged zip"):
        read(save((tmp_path / "x.pth").read_bytes()[:-40], "y.pth"))


def test_it_is_not_written(tmp_path, space):
    with pytest.raises(FormatError, match=r"'muse' can only be read; write one of npy, npz, word2vec, safetensors"):
        write(space, tmp_path / "x.pth")
    with pytest.raises(SettingsError, match="no format is called 'pickle'; choose one of fasttext, "):
        write(space, tmp_path / "x.pth", format="pickle")


def test_a_torch_archive_is_told_from_other_zips(tmp_path):
    torch.save({"words": ["a", "b", "c"], "vectors": VECTORS}, tmp_path / "x.npz")
    assert sniff(tmp_path / "x.npz") == "muse"
