import hashlib

import pytest

from calque.data import files
from calque.data.files import replacing, sha256_of, written_whole


def test_a_file_appears_once_all_is_written(tmp_path):
    path = tmp_path / "file.bin"
    with written_whole(path) as stream:
        stream.write(b"all of it")
        assert not path.exists()
    assert path.read_bytes() == b"all of it"
    assert [file.name for file in tmp_path.iterdir()] == ["file.bin"]


def test_a_failed_writing_leaves_the_older_file_and_nothing_else(tmp_path):
    path = tmp_path / "file.bin"
    path.write_bytes(b"older")

    def fail_halfway():
        with written_whole(path) as stream:
            stream.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_halfway()
    assert path.read_bytes() == b"older"
    assert [file.name for file in tmp_path.iterdir()] == ["file.bin"]


def test_an_error_of_the_system_reaches_the_caller(tmp_path):
    with pytest.raises(FileNotFoundError), written_whole(tmp_path / "no folder" / "file"):
        pass


def test_a_library_may_write_to_the_path_beside(tmp_path):
    with replacing(tmp_path / "file.txt") as temporary:
        assert temporary.parent == tmp_path
        temporary.write_text("text")
    assert (tmp_path / "file.txt").read_text() == "text"
    assert [file.name for file in tmp_path.iterdir()] == ["file.txt"]


def test_a_written_file_has_the_mode_of_any_other(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    with written_whole(tmp_path / "whole"):
        pass
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_the_sum_is_that_of_all_bytes_and_progress_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "BLOCK_SIZE", 4)
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    sizes = []
    assert sha256_of(path, sizes.append) == sha256_of(path) == hashlib.sha256(b"0123456789").hexdigest()
    assert sizes == [4, 8, 10]
