from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path

import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from calque.errors import RunError
from calque.runs.folder import (
    MARK,
    check_free,
    one_line,
    read_json,
    read_lines,
    read_log,
    read_tensors,
    whole_folder,
    write_json,
    write_lines,
    write_tensors,
    write_text,
)

ODD_WORDS = [
    "perro",
    "",
    "el gato",
    "\udcff\udcfe",
    "a\u2028b",
    "a\u2029b",
    "a\x85b",
    "a\rb",
    "a\r",
    "\x0b\x0c\x1c\x1e",
    "東京",
]


def contents(folder: Path) -> dict[str, str]:
    """Every file below, hidden ones too, and what is in it."""
    return {str(each.relative_to(folder)): each.read_text() for each in folder.rglob("*") if each.is_file()}


@pytest.fixture
def old_run(tmp_path: Path) -> Path:
    path = tmp_path / "run"
    path.mkdir()
    (path / MARK).write_text("old")
    (path / "words.txt").write_text("of old")
    return path


def write_new(folder: Path) -> None:
    (folder / MARK).write_text("new")
    (folder / "sub").mkdir()
    (folder / "sub" / "more.txt").write_text("of new")


def save_new(path: Path, overwrite: bool = False, failing: BaseException | None = None) -> None:
    """A run written to the end, or up to where something goes wrong."""
    with whole_folder(path, overwrite) as folder:
        write_new(folder)
        if failing is not None:
            raise failing


NEW = {"run/config.json": "new", "run/sub/more.txt": "of new"}
OLD = {"run/config.json": "old", "run/words.txt": "of old"}


def fail_renames_to(path: Path, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """The disk refuses to put anything at ``path``, so many times."""
    rename, left = Path.rename, [times]

    def refuse(self: Path, target: Path) -> Path:
        if Path(target) == path and left[0] > 0:
            left[0] -= 1
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)


def test_a_folder_is_not_there_before_the_end_and_whole_after_it(tmp_path):
    path = tmp_path / "run"
    with whole_folder(path) as folder:
        write_new(folder)
        assert not path.exists()
    assert contents(tmp_path) == NEW


def test_the_folders_above_are_made(tmp_path):
    with whole_folder(tmp_path / "some" / "where" / "run") as folder:
        write_new(folder)
    assert contents(tmp_path / "some" / "where") == NEW


def test_a_relative_path_is_one_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with whole_folder(Path("run")) as folder:
        write_new(folder)
    assert contents(tmp_path) == NEW


def test_others_may_read_the_folder(tmp_path):
    """What tempfile makes is for its owner alone."""
    with whole_folder(tmp_path / "run") as folder:
        write_tensors(folder / "a.safetensors", {"a": torch.ones(2)})
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "run" / "a.safetensors").stat().st_mode) == 0o644


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, RunError])
def test_whatever_goes_wrong_inside_leaves_nothing_and_is_not_disguised(tmp_path, error):
    with pytest.raises(error, match="in the middle"):
        save_new(tmp_path / "run", failing=error("in the middle"))
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fails_inside_leaves_nothing_and_is_told_in_one_line(tmp_path):
    with pytest.raises(RunError, match=r"run: cannot be written: No space left on device$") as caught:
        save_new(tmp_path / "run", failing=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fails_at_the_end_leaves_nothing(tmp_path, monkeypatch):
    fail_renames_to(tmp_path / "run", monkeypatch, times=9)
    with pytest.raises(RunError, match="cannot be written: Input/output error"):
        save_new(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_an_older_run_is_replaced_whole_when_asked(tmp_path, old_run):
    with whole_folder(old_run, overwrite=True) as folder:
        assert list(folder.iterdir()) == []
        write_new(folder)
        assert contents(old_run.parent)["run/config.json"] == "old"
    assert contents(tmp_path) == NEW
    assert [each.name for each in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError])
def test_an_older_run_stays_when_its_successor_fails(tmp_path, old_run, error):
    with pytest.raises((error, RunError), match="in the middle"):
        save_new(old_run, overwrite=True, failing=error("in the middle"))
    assert contents(tmp_path) == OLD
    assert [each.name for each in tmp_path.iterdir()] == ["run"]


def test_an_older_run_comes_back_when_the_disk_fails_at_the_end(tmp_path, old_run, monkeypatch):
    """It was already moved aside, under a name nobody would look for."""
    fail_renames_to(old_run, monkeypatch, times=1)
    with pytest.raises(RunError, match="cannot be written: Input/output error"):
        save_new(old_run, overwrite=True)
    assert contents(tmp_path) == OLD


def test_a_run_is_not_replaced_unasked(tmp_path, old_run):
    with pytest.raises(RunError, match=r"run: is already there; .*--overwrite"):
        save_new(old_run, failing=AssertionError("refused before anything is written"))
    assert contents(tmp_path) == OLD


def test_a_run_that_appeared_in_the_meantime_is_not_replaced_unasked(tmp_path):
    """Two runs of an hour each, started with the same name."""
    slower = whole_folder(tmp_path / "run")
    (slower.__enter__() / MARK).write_text("slower")
    save_new(tmp_path / "run")
    with pytest.raises(RunError, match="run: is already there"):
        slower.__exit__(None, None, None)
    assert contents(tmp_path) == NEW


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("kind", ["folder", "empty folder", "file", "folder with a folder of that name"])
def test_what_is_no_run_is_never_replaced(tmp_path, overwrite, kind):
    path = tmp_path / "thesis"
    if kind == "file":
        path.write_text("years of work")
    else:
        path.mkdir()
    if kind == "folder":
        (path / "chapter").write_text("years of work")
    if kind == "folder with a folder of that name":
        (path / MARK).mkdir()
    before = contents(tmp_path)
    with pytest.raises(RunError, match=r"has no config\.json.* is not replaced" if overwrite else "is already there"):
        save_new(path, overwrite)
    assert contents(tmp_path) == before
    assert [each.name for each in tmp_path.iterdir()] == ["thesis"]


def test_a_folder_of_another_kind_is_known_by_its_own_mark(tmp_path, old_run):
    with pytest.raises(RunError, match=r"has no report\.txt"), whole_folder(old_run, True, mark="report.txt"):
        pytest.fail("refused before anything is written")
    assert contents(tmp_path) == OLD
    (old_run / MARK).rename(old_run / "report.txt")
    with whole_folder(old_run, True, mark="report.txt") as folder:
        write_new(folder)
    assert contents(tmp_path) == NEW


def test_a_file_where_a_folder_should_be_is_told_before_the_work(tmp_path):
    (tmp_path / "file").write_text("kept")
    for path in (tmp_path / "file" / "run", tmp_path / "file" / "deeper" / "run"):
        with pytest.raises(RunError, match="file is not a folder one may write to"):
            check_free(path, overwrite=False)
    assert contents(tmp_path) == {"file": "kept"}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_closed_to_us_is_told_before_the_work(tmp_path):
    tmp_path.chmod(0o555)
    with pytest.raises(RunError, match="is not a folder one may write to"):
        check_free(tmp_path / "run", overwrite=False)


def test_asking_whether_a_path_is_free_makes_nothing(tmp_path, old_run):
    check_free(tmp_path / "some" / "where" / "run", overwrite=False)
    check_free(old_run, overwrite=True)
    assert contents(tmp_path) == OLD
    assert [each.name for each in tmp_path.iterdir()] == ["run"]


def test_a_text_is_written_beside_and_then_put_in_place(tmp_path, monkeypatch):
    """At the moment of the rename the old text is still there, and the new one is whole and on the same disk."""
    path, replace, seen = tmp_path / "a.txt", Path.replace, []
    path.write_text("old")

    def watch(self: Path, target: Path) -> Path:
        seen.append((path.read_text(), self.read_text(), self.parent))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", watch)
    write_text(path, "new")
    assert seen == [("old", "new", tmp_path)]
    assert contents(tmp_path) == {"a.txt": "new"}


def test_a_text_that_cannot_be_put_in_place_leaves_the_old_one(tmp_path, monkeypatch):
    def refuse(*_: Path) -> Path:
        raise OSError(errno.EIO, "Input/output error")

    (tmp_path / "a.txt").write_text("old")
    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(RunError, match=r"a\.txt: cannot be written: Input/output error"):
        write_text(tmp_path / "a.txt", "new")
    assert contents(tmp_path) == {"a.txt": "old"}


def test_a_text_that_cannot_be_encoded_leaves_the_old_one(tmp_path):
    """Half of a surrogate pair stands for no byte, and half the text is already written when it comes."""
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises((RunError, UnicodeError)):
        write_text(tmp_path / "a.txt", "new\n" * 10_000 + "\ud800")
    assert contents(tmp_path) == {"a.txt": "old"}


def test_a_text_into_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(RunError, match=r"a\.txt: cannot be written: No such file or directory"):
        write_text(tmp_path / "none" / "a.txt", "new")


def test_lines_are_utf8_with_the_bytes_that_were_not_put_back(tmp_path):
    write_lines(tmp_path / "a.txt", ["naïve", "\udcff\udcfe"])
    assert (tmp_path / "a.txt").read_bytes() == b"na\xc3\xafve\n\xff\xfe\n"


def test_lines_end_at_line_feeds_and_nowhere_else(tmp_path):
    write_lines(tmp_path / "a.txt", ODD_WORDS)
    assert read_lines(tmp_path / "a.txt") == ODD_WORDS


def from_bytes(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape").replace("\n", "")


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.one_of(st.text(st.characters(exclude_categories=["Cs"])), st.binary()).map(
            lambda each: from_bytes(each) if isinstance(each, bytes) else each.replace("\n", "")
        )
    )
)
def test_any_words_come_back_as_they_were(tmp_path_factory, words):
    path = tmp_path_factory.mktemp("words") / "a.txt"
    write_lines(path, words)
    assert read_lines(path) == words


def test_no_lines_are_no_lines_and_one_empty_line_is_one(tmp_path):
    for number, lines in enumerate(([], [""], ["", ""])):
        write_lines(tmp_path / str(number), lines)
        assert read_lines(tmp_path / str(number)) == lines


def test_json_comes_back_as_it_was_in_plain_ascii(tmp_path):
    value = {"naïve": ["\udcff", "a\u2028b", "\ud800"], "n": 3, "x": 0.1, "none": None, "yes": True}
    write_json(tmp_path / "a.json", value)
    assert (tmp_path / "a.json").read_bytes().isascii()
    assert read_json(tmp_path / "a.json") == value


def test_one_line_is_one_line_of_json():
    value = {"word": "a\nb\u2028c\x85d", "n": [1, 2]}
    assert one_line(value).splitlines() == [one_line(value)]
    assert json.loads(one_line(value)) == value


def test_tensors_come_back_as_they_were(tmp_path):
    whole = torch.arange(12.0).reshape(3, 4)
    tensors = {
        "whole": whole,
        "turned": torch.arange(6, dtype=torch.float64).reshape(2, 3).mT,
        "learned": torch.ones(3, requires_grad=True),
        "strided": torch.arange(10)[::2],
        "nothing": torch.zeros(0, 4),
    }
    write_tensors(tmp_path / "a.safetensors", tensors)
    again = read_tensors(tmp_path / "a.safetensors")
    assert again.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert again[name].dtype == tensor.dtype
        assert torch.equal(again[name], tensor.detach())


def test_tensors_that_share_memory_come_back_apart(tmp_path):
    """A map that serves both sides, or a part of another tensor, is nothing unusual."""
    whole = torch.arange(12.0).reshape(3, 4)
    write_tensors(tmp_path / "a.safetensors", {"one": whole, "other": whole, "part": whole[:2]})
    again = read_tensors(tmp_path / "a.safetensors")
    assert torch.equal(again["one"], whole)
    assert torch.equal(again["other"], whole)
    assert torch.equal(again["part"], whole[:2])


def test_tensors_that_cannot_be_written_are_told_in_one_line(tmp_path):
    with pytest.raises(RunError, match=r"a\.safetensors: cannot be written") as caught:
        write_tensors(tmp_path / "none" / "a.safetensors", {"a": torch.ones(2)})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("read", [read_json, read_lines, read_tensors])
@pytest.mark.parametrize("instead", ["nothing", "a folder"])
def test_a_missing_file_is_told_in_one_line(tmp_path, read, instead):
    path = tmp_path / "some.file"
    if instead == "a folder":
        path.mkdir()
    with pytest.raises(RunError, match=r"some\.file: .*expected a run folder made by 'calque align'") as caught:
        read(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", 1),
        (b'{\n  "seed": 1,\n  "recipe', 3),
        (b'{"a": 1}\n{"b": 2}\n', 2),
        (b"\xff\xfe\x00", 1),
        (b"\xef\xbb\xbf{}", 1),
    ],
)
def test_damaged_json_is_told_with_its_line(tmp_path, content, line):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(RunError, match=rf"config\.json:{line}: is not JSON .*; the run folder is damaged$") as caught:
        read_json(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"[" * 100_000, b"9" * 5_000], ids=["deep", "long"])
def test_json_that_python_will_not_read_is_damaged_too(tmp_path, content):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(RunError, match=r"config\.json.*the run folder is damaged"):
        read_json(path)


def test_damaged_tensors_are_told_in_one_line(tmp_path):
    whole, path = tmp_path / "whole.safetensors", tmp_path / "part.safetensors"
    write_tensors(whole, {"a": torch.ones(5, 3), "b": torch.ones(4)})
    content = whole.read_bytes()
    header = b'{"a":\n\n}'
    damaged = [content[:size] for size in range(0, len(content), 7)]
    damaged += [content + b"more", b"PK\x03\x04 a zip", len(header).to_bytes(8, "little") + header, b"\xff" * 40]
    for each in damaged:
        path.write_bytes(each)
        with pytest.raises(
            RunError, match=r"part\.safetensors: cannot be read .*; the run folder is damaged$"
        ) as caught:
            read_tensors(path)
        assert "\n" not in str(caught.value)


def test_a_link_to_nothing_is_refused_before_the_work(tmp_path):
    (tmp_path / "run").symlink_to(tmp_path / "nowhere")
    with pytest.raises(RunError, match="link to nothing"):
        check_free(tmp_path / "run", overwrite=False)


def test_overwriting_through_a_link_replaces_what_it_points_to(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "config.json").write_text("{}")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with whole_folder(tmp_path / "link", overwrite=True) as folder:
        (folder / "config.json").write_text('{"new": 1}')
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "config.json").read_text() == '{"new": 1}'
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "real"]


def test_tensors_that_share_memory_are_kept_apart_and_no_other_is_copied(tmp_path, monkeypatch):
    whole = torch.arange(12.0).view(3, 4)
    given = {"whole": whole, "again": whole, "view": whole[1:], "turned": whole.mT, "own": torch.ones(2)}
    saved, save_file = {}, safetensors.torch.save_file

    def watch(tensors, path):
        saved.update(tensors)
        save_file(tensors, path)

    monkeypatch.setattr(safetensors.torch, "save_file", watch)
    write_tensors(tmp_path / "some.safetensors", given)
    kept = read_tensors(tmp_path / "some.safetensors")
    assert all(torch.equal(kept[name], each) for name, each in given.items())
    assert saved["own"].data_ptr() == given["own"].data_ptr()
    assert saved["whole"].data_ptr() == whole.data_ptr()


@pytest.mark.parametrize("line", ["[1]", "5", '{"path": 5}', '{"path": [1, null]}', '{"cost": NaN}', '{"path": ["a"]}'])
def test_a_log_of_something_else_is_damaged(tmp_path: Path, line: str):
    (tmp_path / "log.jsonl").write_text(f'{{"stage": "search", "path": [1.5, 1]}}\n{line}\n')
    with pytest.raises(RunError, match=r"log.jsonl:2: is no step of a run"):
        read_log(tmp_path / "log.jsonl")


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path):
    with pytest.raises(RunError, match="cannot be written"):
        check_free(tmp_path / ("x" * 300), overwrite=False)
