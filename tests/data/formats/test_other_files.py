from __future__ import annotations

import gzip
import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from calque.data.formats import FORMATS, read, sniff, write
from calque.data.space import Space
from calque.errors import FormatError, SettingsError, SpaceError


def zipped() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("word/document.xml", "<xml/>")
    return stream.getvalue()


PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01\x00\x00\x00\x01\x00\x08\x06\x00\x00\x00\\r\xa8f"
PROSE = b"Call me Ishmael. Some years ago, in 1851,\nnever mind how long precisely,\nhaving little or no money\n"
OTHERS = {
    "png": PNG,
    "pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nendobj\nxref\n0 2\n0000000000 65535 f \n",
    "zip": zipped(),
    "json": b'{"perro": [0.1, 0.2], "gato": [0.3, 0.4]}\n',
    "json lines": b"[1, 2]\n[3, 4]\n",
    "prose": PROSE,
    "prose with a number": b"Chapter 1\nIt was the best of times,\nit was the worst of times\n",
    "prose after a header": b"12 5\nHello world, how are you?\nFine.\n",
    "csv": b"word,x,y\nperro,0.1,0.2\n",
    "counts": b"the 23135\nof 13151\nand 12997\n",
    "bare matrix": b"0.1 0.2 0.3\n0.4 0.5 0.6\n",
    "words": b"perro\ngato\n",
    "html": b"<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head></html>\n",
    "gzipped prose": gzip.compress(PROSE),
    "elf": b"\x7fELF\x02\x01\x01" + bytes(60),
    "blank": b"\n\n\n",
    "zeros": bytes(4096),
    "pickle": b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x01a\x94K\x01s.",
}


@pytest.mark.parametrize("content", OTHERS.values(), ids=OTHERS.keys())
def test_a_file_of_another_kind_is_refused_with_the_choices(save, content):
    path = save(content)
    for attempt in (sniff, read):
        with pytest.raises(FormatError) as caught:
            attempt(path)
        assert str(caught.value).startswith(f"{path}: begins with b")
        assert "\n" not in str(caught.value)
        assert all(name in str(caught.value) for name in FORMATS)


def message_of(path, format):
    """The error, or nothing: a format without magic bytes may make something of anything."""
    try:
        read(path, format=format)
    except FormatError as error:
        return str(error)
    return ""


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("content", OTHERS.values(), ids=OTHERS.keys())
def test_a_wrong_format_by_force_is_an_error_in_words(save, content, format):
    save(b"a\nb\n", "some.words")
    path = save(content)
    message = message_of(path, format)
    assert "\n" not in message
    assert message.startswith(f"{path}:") or format in ("glove", "word2vec-binary")


@pytest.mark.parametrize("format", [None, *FORMATS])
def test_empty_missing_and_directory(save, tmp_path, format):
    save(b"a\n", "some.words")
    with pytest.raises(FormatError, match=r"some\.vec.*(empty|not a|refused|expected)"):
        read(save(b""), format=format)
    with pytest.raises(FormatError, match=r"nowhere\.vec: no such file; check the path"):
        read(tmp_path / "nowhere.vec", format=format)
    with pytest.raises(FormatError, match="is a directory, expected a file"):
        read(tmp_path, format=format)


def test_an_empty_file_says_so(save):
    with pytest.raises(FormatError, match=r"some\.vec: the file is empty"):
        read(save(b""))


def test_permission_denied_is_said(save, monkeypatch):
    path = save(b"1 2\na 1 2\n")

    def refuse(self, *_):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(FormatError, match=r"some\.vec: may not be read \(permission denied\); check its owner"):
        read(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FormatError, match="is not a plain file, and a pipe cannot be read twice"):
        read(tmp_path / "pipe")


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(save, limit):
    with pytest.raises(SettingsError, match=f"limit is {limit}; expected a whole number of at least 1"):
        read(save(b"1 2\na 1 2\n"), limit=limit)


def test_an_unknown_format_lists_the_choices(save):
    with pytest.raises(SettingsError, match=r"no format is called 'vec'; choose one of .*word2vec"):
        read(save(b"1 2\na 1 2\n"), format="vec")


def test_only_a_header_is_no_space(save):
    with pytest.raises(FormatError, match="no usable word in it"):
        read(save(b"2 300\n"))


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("x.vec", "word2vec"),
        ("x.txt", "word2vec"),
        ("X.VEC.GZ", "word2vec"),
        ("x.glove.gz", "glove"),
        ("x.bin", "word2vec-binary"),
        ("x.npz", "npz"),
        ("x.npy", "npy"),
        ("x.safetensors", "safetensors"),
    ],
)
def test_the_suffix_chooses_what_is_written(tmp_path, space, name, format):
    write(space, tmp_path / name)
    assert sniff(tmp_path / name) == format
    assert (tmp_path / name).read_bytes().startswith(b"\x1f\x8b") == name.lower().endswith(".gz")


def test_an_unknown_suffix_lists_the_choices(tmp_path, space):
    with pytest.raises(FormatError, match=r"the suffix '\.doc' names no format; expected one of .*\.vec \(word2vec\)"):
        write(space, tmp_path / "x.doc")
    with pytest.raises(FormatError, match="'npz' cannot be compressed with gzip"):
        write(space, tmp_path / "x.npz.gz")


def test_the_format_named_wins_over_the_suffix(tmp_path, space):
    write(space, tmp_path / "x.bin", format="glove")
    assert sniff(tmp_path / "x.bin") == "glove"


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(tmp_path, space, monkeypatch):
    write(space, tmp_path / "x.vec")
    before = (tmp_path / "x.vec").read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("calque.data.formats.word2vec.write_rows", fail)
    with pytest.raises(FormatError, match=r"x\.vec: cannot be written \(No space left on device\)"):
        write(space, tmp_path / "x.vec")
    assert (tmp_path / "x.vec").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["x.vec"]


def test_a_missing_folder_is_said(tmp_path, space):
    for name in ("x.vec", "x.safetensors", "x.npy"):
        with pytest.raises(FormatError, match="cannot be written"):
            write(space, tmp_path / "nowhere" / name)


@pytest.mark.parametrize("name", ["x.vec", "x.glove", "x.bin", "x.npz", "x.npy", "x.safetensors"])
@pytest.mark.parametrize("word", ["", "two\nlines", "\ud800"])
def test_words_no_file_can_hold_are_refused(tmp_path, name, word):
    with pytest.raises((FormatError, SpaceError), match=r"the word .*; rename or remove it"):
        write(Space.of(["a", word], np.eye(2)), tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("x.vec", "a "),
        ("x.vec", "iphone 6"),
        ("x.glove", "a 0.5"),
        ("x.glove", "\x1f\udc8bword"),
        ("x.bin", "New York"),
        ("x.npz", "a\0"),
        ("x.npy", "a\r"),
    ],
)
def test_words_this_format_would_change_are_refused(tmp_path, name, word):
    with pytest.raises(FormatError, match="or choose another format"):
        write(Space.of(["a", word], np.eye(2)), tmp_path / name)


def test_every_format_gives_its_files_the_same_mode(tmp_path, space):
    names = ["x.vec", "x.bin", "x.npz", "x.npy", "x.safetensors"]
    for name in names:
        write(space, tmp_path / name)
    assert len({(tmp_path / name).stat().st_mode for name in names}) == 1
