"""Large files are kept once they were read: the same comes back, nothing old ever does, and trouble costs a remark."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import calque
from calque.data import files
from calque.data.formats import cache, read, reading, write
from calque.data.formats.reading import SpaceReading
from calque.data.space import Space
from calque.errors import CacheWarning

LINES = b"perro 1 2\n\xff\xfe 3 4\nperro 5 6\nel gato 7 8\n"
NOTES = ("the header says 9 words, the file holds 4", "1 duplicate word left out (first kept): 'perro'")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for each test, which takes small files too."""
    monkeypatch.setattr(reading, "SMALLEST", 1)
    monkeypatch.setenv("CALQUE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that was written long ago, as far as its times can tell."""
    monkeypatch.setattr(files, "COARSEST", -1)
    path = tmp_path / "some.vec"
    path.write_bytes(b"9 2\n" + LINES)
    return path


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were read themselves, not from the cache."""
    seen: list[str] = []
    plain = reading._read_file

    def watched(path, *arguments):
        seen.append(path.name)
        return plain(path, *arguments)

    monkeypatch.setattr(reading, "_read_file", watched)
    return seen


@pytest.fixture
def summed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes were summed to see whether a file is what it was."""
    seen: list[int] = []
    plain = files.sha256_of_start

    def watched(stream, size):
        seen.append(size)
        return plain(stream, size)

    monkeypatch.setattr(files, "sha256_of_start", watched)
    return seen


def alike(one: SpaceReading, other: SpaceReading) -> bool:
    counts = [result.space.counts for result in (one, other)]
    same = counts[0] is counts[1] is None or torch.equal(counts[0], counts[1])
    described = [(result.space.words, result.format, result.notes, result.space.name) for result in (one, other)]
    return same and described[0] == described[1] and torch.equal(one.space.vectors, other.space.vectors)


def entry_in(place: Path) -> Path:
    (folder,) = place.iterdir()
    return folder


class TestSecondReading:
    def test_gives_what_the_first_gave_with_its_notes(self, old, parsed):
        first, second = read(old), read(old)
        assert alike(first, second)
        assert second.notes == NOTES
        assert second.remarks == ()
        assert parsed == ["some.vec"]

    @pytest.mark.parametrize("name", ["a.vec", "a.vec.gz", "a.bin", "a.bin.gz", "a.glove", "a.glove.gz"])
    def test_of_every_format_that_is_kept(self, name, tmp_path, parsed):
        words = ["perro", "gato", "東京", "\udcff"]
        write(Space.of(words, torch.randn(4, 3, generator=torch.Generator().manual_seed(0))), tmp_path / name)
        assert alike(read(tmp_path / name), read(tmp_path / name))
        assert parsed == [name]

    @pytest.mark.parametrize("name", ["a.npz", "a.npy", "a.safetensors"])
    def test_of_other_formats_is_a_first_one(self, name, tmp_path, parsed, place):
        write(Space.of(["perro", "gato"], [[1, 2], [3, 4]]), tmp_path / name)
        read(tmp_path / name), read(tmp_path / name)
        assert parsed == [name, name]
        assert not place.exists()

    def test_a_small_file_is_not_kept(self, old, place, monkeypatch):
        monkeypatch.setattr(reading, "SMALLEST", old.stat().st_size + 1)
        read(old)
        assert not place.exists()

    def test_can_be_refused(self, old, place, parsed):
        read(old, cache=False), read(old, cache=False)
        assert parsed == ["some.vec", "some.vec"]
        assert not place.exists()

    def test_each_limit_and_format_is_kept_apart(self, old):
        for _ in range(2):
            assert len(read(old, limit=1).space) == 1
            assert len(read(old, limit=2).space) == 2
            assert len(read(old).space) == 3
        old.write_bytes(b"1 1\n3 4\n")
        for _ in range(2):
            assert read(old, format="word2vec").space.words == ("3",)
            assert read(old, format="glove").space.words == ("1", "3")

    def test_vectors_are_mapped_and_writing_to_them_changes_no_file(self, old, place):
        read(old)
        before = (entry_in(place) / cache.VECTORS).read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            space = read(old).space
            space.vectors.mul_(7)
        assert (entry_in(place) / cache.VECTORS).read_bytes() == before
        assert torch.equal(read(old).space.vectors * 7, space.vectors)

    def test_counts_are_attached_after_it(self, old, tmp_path):
        (tmp_path / "counts.txt").write_bytes(b"perro 5\n")
        first, second = (read(old, counts=tmp_path / "counts.txt") for _ in range(2))
        assert alike(first, second)
        assert second.space.counts.tolist() == [5, 0, 0]

    def test_load_warns_again_of_what_was_mended(self, old):
        for _ in range(2):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                calque.load(old)
            assert [str(warning.message) for warning in caught] == [f"{old}: {note}" for note in NOTES]

    def test_trusts_the_look_of_the_file_alone(self, old, summed):
        read(old), read(old)
        assert summed == []


class TestChangedSource:
    @pytest.mark.parametrize("again", [b"9 2\n" + LINES.replace(b"8", b"9"), b"9 2\n" + LINES + b"x 1 1\n"])
    def test_is_read_anew(self, again, old):
        read(old)
        old.write_bytes(again)
        anew = read(old)
        assert alike(anew, read(old, cache=False))
        assert anew.remarks == ()

    def test_of_equal_size_and_with_its_time_set_back_is_read_anew(self, old):
        read(old)
        before = old.stat()
        old.write_bytes(old.read_bytes().replace(b"7 8", b"8 7"))
        os.utime(old, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert read(old).space.lookup(["el gato"]).tolist() == [[8, 7]]

    def test_touched_but_equal_is_summed_once_and_not_read(self, old, parsed, summed):
        read(old)
        os.utime(old)
        for _ in range(3):
            assert read(old).notes == NOTES
        assert parsed == ["some.vec"]
        assert summed == [old.stat().st_size]

    def test_another_file_moved_over_it_is_read_anew(self, old, tmp_path):
        read(old)
        other = tmp_path / "other"
        other.write_bytes(old.read_bytes().replace(b"7 8", b"8 7"))
        os.utime(other, ns=(old.stat().st_atime_ns, old.stat().st_mtime_ns))
        other.replace(old)
        assert read(old).space.lookup(["el gato"]).tolist() == [[8, 7]]

    def test_changed_just_before_it_was_read_is_summed_until_time_can_tell(self, tmp_path, parsed, summed, monkeypatch):
        path = tmp_path / "new.vec"
        path.write_bytes(b"4 2\n" + LINES)
        read(path), read(path)
        assert summed == [path.stat().st_size]
        monkeypatch.setattr(files, "COARSEST", -1)
        read(path), read(path), read(path)
        assert summed == [path.stat().st_size] * 2
        assert parsed == ["new.vec"]

    def test_beyond_the_limit_changes_nothing_that_was_read(self, tmp_path, parsed):
        """Only what was looked at is summed, so that a few words of a huge file are not paid with all of it."""
        path = tmp_path / "long.vec"
        line = b" 0.5" * 300 + b"\n"
        path.write_bytes(b"4000 300\n" + b"".join(b"word%d%s" % (row, line) for row in range(4000)))
        first = read(path, limit=5)
        with path.open("ab") as stream:
            stream.write(b"and more\n")
        assert alike(first, read(path, limit=5))
        assert parsed == ["long.vec"]
        path.write_bytes(path.read_bytes().replace(b"word1 ", b"other "))
        assert read(path, limit=5).space.words[1] == "other"


class TestDamagedEntry:
    @pytest.mark.parametrize("name", [cache.WORDS, cache.VECTORS, cache.DESCRIPTION])
    @pytest.mark.parametrize("damage", [lambda b: b[:-2], lambda b: b[:0], lambda b: b[:1] + b"\x07" + b[2:]])
    def test_is_noticed_and_made_anew(self, name, damage, old, place, parsed):
        first = read(old)
        path = entry_in(place) / name
        path.write_bytes(damage(path.read_bytes()))
        second, third = read(old), read(old)
        assert alike(first, second)
        assert alike(first, third)
        assert second.remarks == ("its entry in the cache was damaged, and is made anew",)
        assert third.remarks == ()
        assert parsed == ["some.vec"] * 2

    @pytest.mark.parametrize("name", [cache.WORDS, cache.VECTORS])
    def test_a_missing_file_too(self, name, old, place):
        first = read(old)
        (entry_in(place) / name).unlink()
        second = read(old)
        assert alike(first, second)
        assert len(second.remarks) == 1

    def test_of_another_version_is_replaced(self, old, place, parsed):
        first = read(old)
        mark = entry_in(place) / cache.DESCRIPTION
        mark.write_text(json.dumps(json.loads(mark.read_text()) | {"version": cache.VERSION + 1}))
        second = read(old)
        assert alike(first, second)
        assert second.remarks == ("its entry in the cache is of another version of calque, and is made anew",)
        assert read(old).remarks == ()
        assert len(parsed) == 2

    def test_copied_to_another_place_is_summed_and_used(self, old, place, parsed, summed, tmp_path, monkeypatch):
        first = read(old)
        shutil.copytree(place, tmp_path / "copy")
        monkeypatch.setenv("CALQUE_CACHE", str(tmp_path / "copy"))
        assert alike(first, read(old))
        assert parsed == ["some.vec"]
        assert len(summed) == 2

    def test_a_warning_tells_python_users(self, old, place):
        old.write_bytes(b"3 2\na 1 2\nb 1 3\nc 1 4\n")
        calque.load(old)
        (entry_in(place) / cache.VECTORS).write_bytes(b"")
        with pytest.warns(CacheWarning, match="damaged"):
            calque.load(old)


class TestEntryThatCannotBeWritten:
    def test_below_a_file(self, old, tmp_path, monkeypatch):
        (tmp_path / "file").write_bytes(b"")
        monkeypatch.setenv("CALQUE_CACHE", str(tmp_path / "file"))
        result = read(old)
        assert alike(result, read(old, cache=False))
        (remark,) = result.remarks
        assert remark.startswith("not kept in the cache (")

    def test_without_a_home(self, old, monkeypatch):
        monkeypatch.delenv("CALQUE_CACHE")
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

        def nowhere():
            raise RuntimeError("Could not determine home directory.")

        monkeypatch.setattr(Path, "home", nowhere)
        (remark,) = read(old).remarks
        assert "there is no home folder" in remark

    def test_more_than_a_quarter_of_the_free_disk(self, old, place, monkeypatch):
        size = 3 * 2 * 4
        usage = type(shutil.disk_usage("/"))
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 0, 4 * size - 1))
        (remark,) = read(old).remarks
        assert "would take 0 MiB of the 0 that are free" in remark
        assert list(place.iterdir()) == []
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 0, 4 * size))
        assert read(old).remarks == ()

    def test_a_disk_that_fills_up_leaves_nothing_behind(self, tmp_path, place):
        """The system refuses to let any file grow beyond a limit, which is how a full disk looks to a writer."""
        path = tmp_path / "large.bin"
        write(Space.of([f"w{row}" for row in range(3000)], np.ones((3000, 100), np.float32)), path)
        ran = subprocess.run(
            [sys.executable, "-c", LIMITED, path],
            env={**os.environ, "PYTHONPATH": str(Path(calque.__file__).parents[1])},
            capture_output=True,
            text=True,
            check=True,
        )
        words, remark = ran.stdout.splitlines()
        assert words == "3000"
        assert remark.startswith("not kept in the cache (File too large)")
        assert list(place.iterdir()) == []

    def test_the_folder_is_the_users_own_where_none_is_named(self, old, tmp_path, monkeypatch):
        monkeypatch.delenv("CALQUE_CACHE")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        read(old)
        assert len(list((tmp_path / "xdg" / "calque").iterdir())) == 1


LIMITED = """
import resource, sys
from calque.data.formats import read, reading
reading.SMALLEST = 1
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
found = read(sys.argv[1])
print(len(found.space))
print(*found.remarks)
"""


class TestSeveralAtOnce:
    def test_processes_that_read_the_same_file_all_get_it_right(self, tmp_path, place):
        path = tmp_path / "large.bin"
        write(Space.of([f"w{row}" for row in range(500)], np.ones((500, 10), np.float32)), path)
        asked = [sys.executable, "-c", AGAIN, path]
        env = {**os.environ, "PYTHONPATH": str(Path(calque.__file__).parents[1])}
        running = [subprocess.Popen(asked, env=env, stdout=subprocess.PIPE, text=True) for _ in range(3)]
        assert [process.communicate()[0] for process in running] == ["5000.0 ()\n"] * 3
        assert [file.name for file in entry_in(place).iterdir()] != []

    def test_what_a_killed_process_left_is_removed_a_day_later(self, old, place):
        left, fresh = place / f"{cache.UNFINISHED}left", place / f"{cache.UNFINISHED}fresh"
        for folder in (left, fresh):
            folder.mkdir(parents=True)
        os.utime(left, (time.time() - cache.ABANDONED - 5,) * 2)
        read(old)
        assert fresh.exists()
        assert not left.exists()


AGAIN = """
import sys
from calque.data.formats import cache, read, reading
reading.SMALLEST = 1
for _ in range(30):
    found = read(sys.argv[1])
    for each in cache.cache_folder().glob("[0-9a-f]*"):
        (each / cache.DESCRIPTION).unlink(missing_ok=True)
print(float(found.space.vectors.sum()), found.remarks)
"""


class TestChangedWhileRead:
    @pytest.mark.parametrize("cached", [True, False])
    @pytest.mark.parametrize("change", ["append", "replace", "remove"])
    def test_is_refused_in_one_line(self, cached, change, tmp_path, monkeypatch, place):
        path = tmp_path / "some.vec"
        path.write_bytes(b"4 2\n" + LINES)
        word2vec = calque.data.formats.FORMATS["word2vec"]
        monkeypatch.setattr(reading, "find_format", lambda _: _changing(word2vec, path, change))
        with pytest.raises(calque.errors.FormatError, match=r"some\.vec: changed while it was read; wait") as caught:
            read(path, cache=cached)
        assert "\n" not in str(caught.value)
        assert not place.exists()


def _changing(format, path: Path, change: str):
    def read_and_change(*arguments):
        content = format.read(*arguments)
        if change == "append":
            with path.open("ab") as stream:
                stream.write(b"x 1 2\n")
        elif change == "replace":
            (path.parent / "other").write_bytes(path.read_bytes())
            (path.parent / "other").replace(path)
        else:
            path.unlink()
        return content

    return replace(format, read=read_and_change)
