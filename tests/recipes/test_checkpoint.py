from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import calque.recipes.checkpoint as checkpoints
from calque.errors import RunError
from calque.recipes.checkpoint import SECONDS, FileCheckpoint, forget

STATE = {
    "step": torch.tensor(7),
    "best.loss": torch.tensor([0.5, float("inf"), float("nan")]),
    "diverged": torch.zeros(0, dtype=torch.long),
    "0.parameter.0": torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0)),
    "turned": torch.arange(6.0).view(2, 3).mT,
}


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(checkpoints, "time", made)
    return made


def assert_same(found: dict[str, torch.Tensor] | None, expected: dict[str, torch.Tensor]) -> None:
    assert found is not None
    assert set(found) == set(expected)
    for name, each in expected.items():
        assert (found[name].dtype, found[name].shape) == (each.dtype, each.shape)
        assert torch.equal(found[name].nan_to_num(9.0), each.nan_to_num(9.0))


def test_what_is_saved_is_loaded_by_a_later_run(tmp_path):
    FileCheckpoint(tmp_path / "run.checkpoint", "key", 0.0).save("transport", lambda: STATE)
    assert_same(FileCheckpoint(tmp_path / "run.checkpoint", "key").load("transport"), STATE)


def test_stages_do_not_get_into_each_others_way(tmp_path):
    kept = FileCheckpoint(tmp_path, "key", 0.0)
    kept.save("adversary", lambda: {"step": torch.tensor(1)})
    kept.save("transport", lambda: {"step": torch.tensor(2)})
    assert_same(kept.load("adversary"), {"step": torch.tensor(1)})
    assert_same(kept.load("transport"), {"step": torch.tensor(2)})


def test_of_nothing_nothing_comes(tmp_path):
    assert FileCheckpoint(tmp_path / "none", "key").load("transport") is None
    assert not (tmp_path / "none").exists()


def test_no_task_takes_the_state_of_another_for_its_own(tmp_path):
    FileCheckpoint(tmp_path, "key", 0.0).save("transport", lambda: STATE)
    assert FileCheckpoint(tmp_path, "another").load("transport") is None


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff" * 100, "half"])
def test_a_damaged_state_is_none(tmp_path, content):
    kept = FileCheckpoint(tmp_path, "key", 0.0)
    kept.save("transport", lambda: STATE)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if content == "half" else content)
    assert kept.load("transport") is None


def test_one_flipped_bit_makes_a_state_none(tmp_path):
    kept = FileCheckpoint(tmp_path, "key", 0.0)
    kept.save("transport", lambda: STATE)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert kept.load("transport") is None
    path.write_bytes(whole)
    assert kept.load("transport") is not None


def test_a_file_of_tensors_without_a_key_is_none(tmp_path):
    FileCheckpoint(tmp_path, "key", 0.0).save("transport", lambda: STATE)
    (path,) = tmp_path.iterdir()
    save_file({"step": torch.tensor(1)}, path)
    assert FileCheckpoint(tmp_path, "key").load("transport") is None


def test_a_state_is_asked_for_and_written_only_after_its_seconds(tmp_path, clock):
    asked: list[float] = []

    def state() -> dict[str, torch.Tensor]:
        asked.append(clock.now)
        return {"step": torch.tensor(len(asked))}

    kept = FileCheckpoint(tmp_path, "key")
    for seconds in (0.0, SECONDS - 0.1, SECONDS, SECONDS + 1, 2 * SECONDS):
        clock.now = 100.0 + seconds
        kept.save("transport", state)
    assert asked == [100.0 + SECONDS, 100.0 + 2 * SECONDS]
    assert_same(kept.load("transport"), {"step": torch.tensor(2)})


def test_what_is_finished_is_always_kept(tmp_path, clock):
    kept = FileCheckpoint(tmp_path, "key")
    kept.save("adversary", lambda: STATE, finished=True)
    assert_same(kept.load("adversary"), STATE)
    clock.now += SECONDS - 1
    kept.save("transport", lambda: STATE)
    assert kept.load("transport") is None


def test_killed_while_writing_the_earlier_state_is_still_whole(tmp_path, monkeypatch):
    kept = FileCheckpoint(tmp_path, "key", 0.0)
    kept.save("transport", lambda: STATE)

    def killed(_: dict[str, torch.Tensor], path: Path, *__: object) -> None:
        Path(path).write_bytes(b"half a st")
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoints, "save_file", killed)
    with pytest.raises(KeyboardInterrupt):
        kept.save("transport", lambda: {"step": torch.tensor(8)})
    assert_same(FileCheckpoint(tmp_path, "key").load("transport"), STATE)


def test_what_is_kept_does_not_follow_the_training(tmp_path):
    parameter = torch.zeros(3, requires_grad=True)
    kept = FileCheckpoint(tmp_path, "key", 0.0)
    kept.save("transport", lambda: {"parameter": parameter, "same": parameter})
    with torch.no_grad():
        parameter.fill_(1.0)
    assert_same(kept.load("transport"), {"parameter": torch.zeros(3), "same": torch.zeros(3)})


def test_where_nothing_can_be_written_one_line_says_so(tmp_path):
    (tmp_path / "run.checkpoint").write_text("a file")
    with pytest.raises(RunError, match="cannot be written") as caught:
        FileCheckpoint(tmp_path / "run.checkpoint", "key", 0.0).save("transport", lambda: STATE)
    assert "\n" not in str(caught.value)


def test_nothing_that_runs_when_read_is_written(tmp_path):
    FileCheckpoint(tmp_path, "key", 0.0).save("transport", lambda: STATE)
    (path,) = tmp_path.iterdir()
    assert set(load_file(path)) == set(STATE)


def test_what_is_forgotten_is_gone(tmp_path):
    folder = tmp_path / "run.checkpoint"
    kept = FileCheckpoint(folder, "key", 0.0)
    kept.save("adversary", lambda: STATE)
    kept.save("transport", lambda: STATE)
    (half,) = [each for each in folder.iterdir() if each.name.startswith("transport")]
    half.rename(half.with_name(f".{half.name}.0a1b2c3d.part"))
    forget(folder)
    assert not folder.exists()


def test_forgetting_what_was_never_kept_is_no_error(tmp_path):
    forget(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_someone_else_that_has_the_name_is_left_alone(tmp_path):
    folder = tmp_path / "run.checkpoint"
    (folder / "inside").mkdir(parents=True)
    for name in ("model.safetensors", "notes.txt", "inside/chapter.part"):
        (folder / name).write_text("years of work")
    FileCheckpoint(folder, "key", 0.0).save("transport", lambda: STATE)
    forget(folder)
    assert sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()) == [
        "inside/chapter.part",
        "model.safetensors",
        "notes.txt",
    ]
