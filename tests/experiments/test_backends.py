"""The same jobs by either backend: in this process, and by Ray."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
import torch
import work

from calque.errors import CalqueError, MissingExtraError, SettingsError
from calque.experiments import backends, ray_backend
from calque.experiments.backends import BackendOptions, LocalBackend, assign_device, choose_backend
from calque.experiments.jobs import (
    Backend,
    FileMended,
    Job,
    JobDone,
    JobLost,
    JobStarted,
    Resources,
    SpaceFile,
    Watch,
)
from calque.experiments.ray_backend import RayBackend


@pytest.fixture(params=["local", "ray"])
def backend(request: pytest.FixtureRequest) -> Backend:
    if request.param == "local":
        return LocalBackend()
    request.getfixturevalue("ray")
    return RayBackend(workers=2)


def found(backend: Backend, jobs, kind):
    return {event.job.name: event for event in backend.work(jobs) if isinstance(event, kind)}


class TestEither:
    def test_jobs_are_given_the_spaces_they_need(self, backend, file_of):
        one, other = file_of("one"), file_of("other", 4)
        jobs = [Job("both", work.look, (one, other)), Job("second", work.look, (other,)), Job("none", work.look)]
        done = found(backend, jobs, JobDone)
        assert done["both"].result.words == ("one0", "one1", "one2", "other0", "other1", "other2", "other3")
        assert done["both"].result.total == sum(range(6)) + sum(range(8))
        assert (done["second"].result.total, done["none"].result.words) == (28.0, ())

    def test_each_is_told_when_it_starts_and_when_it_ends(self, backend, file_of):
        jobs = [Job(f"job {number}", work.look, (file_of("one"),)) for number in range(4)]
        happened = list(backend.work(jobs))
        for job in jobs:
            kinds = [type(event) for event in happened if event.job is job]
            assert kinds == [JobStarted, JobDone]

    def test_threads_are_those_of_the_share_and_come_back(self, backend):
        before = torch.get_num_threads()
        jobs = [Job(str(cpus), work.look, resources=Resources(cpus)) for cpus in (1, 2)]
        done = found(backend, jobs, JobDone)
        assert {name: each.result.threads for name, each in done.items()} == {"1": 1, "2": 2}
        assert torch.get_num_threads() == before

    def test_a_file_that_cannot_be_read_leaves_its_jobs_undone_and_no_other(self, backend, file_of, tmp_path):
        broken = SpaceFile(tmp_path / "broken.vec")
        broken.path.write_text("no vectors\n")
        jobs = [Job("a", work.look, (broken,)), Job("b", work.look, (file_of("one"), broken)), Job("c", work.look)]
        happened = list(backend.work(jobs))
        undone = [event for event in happened if isinstance(event, JobLost) and event.unreadable]
        assert sorted(event.job.name for event in undone) == ["a", "b"]
        assert all(isinstance(event.error, CalqueError) and "broken.vec" in str(event.error) for event in undone)
        assert [event.job.name for event in happened if isinstance(event, JobDone)] == ["c"]

    def test_what_was_mended_in_a_file_is_told_once(self, backend, tmp_path):
        file = SpaceFile(tmp_path / "odd.vec")
        file.path.write_text("3 2\nq 1 0\nr 0 1\nq 1 1\n")
        jobs = [Job(f"job {number}", work.look, (file,)) for number in range(3)]
        notes = [event.note for event in backend.work(jobs) if isinstance(event, FileMended)]
        assert len(notes) == 1
        assert "odd.vec" in notes[0]

    def test_what_raises_is_lost_and_holds_nothing_up(self, backend):
        happened = list(backend.work([Job("bad", work.fail), Job("good", work.look)]))
        (lost,) = [event for event in happened if isinstance(event, JobLost)]
        assert (lost.job.name, lost.trial, lost.again) == ("bad", 1, 0)
        assert "full" in str(lost.error)
        assert [event.job.name for event in happened if isinstance(event, JobDone)] == ["good"]

    def test_nothing_is_begun_once_asked_to_stop(self, backend):
        stopped = (
            LocalBackend(Watch(stopped=lambda: True))
            if isinstance(backend, LocalBackend)
            else RayBackend(2, stopped=lambda: True)
        )
        assert list(stopped.work([Job("job", work.look)])) == []


@pytest.mark.usefixtures("ray")
class TestOnRay:
    def test_two_at_once_in_two_processes(self, tmp_path):
        def release() -> None:
            while not all((tmp_path / each).exists() for each in "ab"):
                time.sleep(0.02)
            for each in "ab":
                os.kill(int((tmp_path / each).read_text()), signal.SIGKILL)

        threading.Thread(target=release, daemon=True).start()
        jobs = [Job(each, work.Waits(tmp_path / each)) for each in "ab"]
        # Each waits for the other to have begun: one after the other would never end.
        done = found(RayBackend(2, retries=1), jobs, JobDone)
        assert set(done) == {"a", "b"}
        assert len({(tmp_path / each).read_text() for each in "ab"}) == 2

    def test_a_killed_worker_costs_its_own_job_one_trial(self, file_of, tmp_path):
        jobs = [Job("killed", work.Waits(tmp_path / "pid"), (file_of("one"),)), Job("other", work.look)]
        happened = []
        for each in RayBackend(2, retries=2).work(jobs):
            happened.append(each)
            if isinstance(each, JobDone) and each.job.name == "other":
                while not (tmp_path / "pid").exists():
                    time.sleep(0.02)
                os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
        (lost,) = [event for event in happened if isinstance(event, JobLost)]
        assert (lost.job.name, lost.trial, lost.again) == ("killed", 1, 2)
        assert "worker died" in str(lost.error)
        assert [event.result for event in happened if isinstance(event, JobDone) and event.job.name == "killed"] == [1]
        assert [event.job.name for event in happened if isinstance(event, JobStarted)].count("other") == 1

    def test_trials_are_bounded(self):
        lost = [each for each in RayBackend(1, retries=2).work([Job("bad", work.fail)]) if isinstance(each, JobLost)]
        assert [(lost_run.trial, lost_run.again) for lost_run in lost] == [(1, 2), (2, 1), (3, 0)]
        assert all(str(lost_run.error).startswith("MemoryError: full") for lost_run in lost)

    def test_those_at_hand_are_dropped_when_asked_to_stop(self, tmp_path):
        place = tmp_path / "pid"
        backend = RayBackend(2, stopped=place.exists)
        assert [type(event) for event in backend.work([Job("endless", work.Waits(place))])] == [JobStarted]
        _gone(int(place.read_text()))

    def test_few_held_spaces_give_the_same(self, file_of):
        files = [file_of(name) for name in "abcde"]
        jobs = [Job(f"{one.path} {two.path}", work.look, (one, two)) for one in files for two in files if one != two]
        words = [
            {name: each.result.words for name, each in found(RayBackend(2, hold=hold), jobs, JobDone).items()}
            for hold in (2, None)
        ]
        assert words[0] == words[1]
        assert len(words[0]) == 20


def _gone(process: int, seconds: float = 30.0) -> None:
    """Wait until a process has ended."""
    until = time.monotonic() + seconds
    while Path(f"/proc/{process}").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not Path(f"/proc/{process}").exists()


class TestChoosing:
    @pytest.mark.parametrize(
        ("wrong", "line"),
        [
            ({"workers": -1}, "--workers is -1; expected at least 0"),
            ({"retries": -1}, "--retries is -1; expected at least 0"),
            ({"hold": 1}, "--hold is 1; expected at least 2"),
            ({"address": "ray://host:1"}, "--address is 'ray://host:1'; expected 'auto' or HOST:PORT"),
            ({"address": "auto", "workers": 0}, "--workers is 0, which is this process, but --address names a cluster"),
        ],
    )
    def test_options_that_make_no_sense(self, wrong, line):
        with pytest.raises(SettingsError, match=line):
            BackendOptions(**wrong)

    def test_this_process_where_ray_is_missing_unless_workers_are_wanted(self, monkeypatch):
        monkeypatch.setattr(backends, "has_ray", lambda: False)
        with choose_backend(BackendOptions(), 1, Watch()) as (backend, _):
            assert isinstance(backend, LocalBackend)
        for options in (BackendOptions(workers=2), BackendOptions(address="auto")):
            with (
                pytest.raises(MissingExtraError, match=r"calque-embeddings\[sweep\]"),
                choose_backend(options, 1, Watch()),
            ):
                pass

    @pytest.mark.parametrize("address", ["nowhere", "there:", ":1", "127.0.0.1:1", "127.0.0.1:99999999"])
    def test_an_address_where_nobody_is_is_refused_at_once(self, address):
        pytest.importorskip("ray", reason="needs the extra: pip install 'calque-embeddings[sweep]'")
        with pytest.raises(SettingsError, match=r"(HOST:PORT|could be reached)"):
            ray_backend.check_address_answers(address)

    @pytest.mark.usefixtures("ray")
    def test_a_share_that_fits_nowhere_is_refused_before_anything_waits_for_it(self):
        with (
            pytest.raises(SettingsError, match="a run takes 3 cpus, but the largest node has 2"),
            choose_backend(BackendOptions(workers=2), 3, Watch()),
        ):
            pass

    @pytest.mark.parametrize(
        ("device", "gpus", "there", "expected"),
        [
            ("cpu", None, 8, ("cpu", Resources(3, 0.0))),
            ("auto", None, 0, ("cpu", Resources(3, 0.0))),
            ("auto", None, 1, ("cuda", Resources(3, 0.25))),
            ("auto", 0.5, 1, ("cuda", Resources(3, 0.5))),
            ("auto", 0.5, 0, ("cpu", Resources(3, 0.0))),
            ("auto", 0.0, 1, ("cpu", Resources(3, 0.0))),
            ("cuda", None, 1, ("cuda", Resources(3, 0.25))),
        ],
    )
    def test_the_device_follows_from_the_share_and_from_what_is_there(self, device, gpus, there, expected):
        assert assign_device(device, Resources(3, gpus), there) == expected

    def test_a_gpu_that_is_not_there(self):
        with pytest.raises(SettingsError, match="there is no GPU"):
            assign_device("cuda", Resources(), 0)
