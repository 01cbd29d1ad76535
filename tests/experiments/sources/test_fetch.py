from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from calque.experiments.sources.catalogue import DataError
from calque.experiments.sources.download import Patience
from calque.experiments.sources.fetch import DownloadResult, FetchOptions, fetch, locked
from calque.experiments.sources.state import Sum, read_sums, survey, write_sums
from calque.progress import Step
from experiments.sources.conftest import file_of, names
from experiments.sources.publisher import Mishap, Page, Publisher, serving

CONTENT = b"1 2\nword 0.5 0.5\n" * 300
OTHER = b"1 2\nWORD 0.5 0.5\n" * 300
WHERE = "vectors/some.vec"

Get = Callable[..., DownloadResult]


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class TestSums:
    def test_the_catalogue_knows_it(self, publisher: Publisher, get: Get, folder: Path) -> None:
        publisher.pages["/a"] = Page(CONTENT)
        outcome = get(publisher.address("/a"), sha256=sha256(CONTENT), size=len(CONTENT))
        assert (outcome.error, outcome.sha256, outcome.size) == ("", sha256(CONTENT), len(CONTENT))
        assert names(folder) == {WHERE}

    def test_a_wrong_one_is_not_kept(self, publisher: Publisher, get: Get, folder: Path) -> None:
        publisher.pages["/a"] = Page(OTHER)
        error = get(publisher.address("/a"), sha256=sha256(CONTENT)).error
        assert "wrong checksum" in error
        assert sha256(CONTENT) in error
        assert sha256(OTHER) in error
        assert names(folder) == set()
        assert read_sums(folder) == {}

    def test_a_file_that_was_there_stays_where_the_new_one_is_wrong(
        self, publisher: Publisher, get: Get, folder: Path
    ) -> None:
        (folder / WHERE).parent.mkdir(parents=True)
        (folder / WHERE).write_bytes(CONTENT[:99])
        publisher.pages["/a"] = Page(OTHER)
        assert get(publisher.address("/a"), sha256=sha256(CONTENT)).error
        assert (folder / WHERE).read_bytes() == CONTENT[:99]

    def test_a_part_gone_bad_is_thrown_away_and_the_next_try_starts_anew(
        self, publisher: Publisher, get: Get, folder: Path
    ) -> None:
        publisher.pages["/a"] = Page(CONTENT, mishaps=[Mishap(cut=1000)])
        assert get(publisher.address("/a"), attempts=1, sha256=sha256(CONTENT)).error
        (folder / f"{WHERE}.part").write_bytes(b"x" * 1000)
        assert "wrong checksum" in get(publisher.address("/a"), sha256=sha256(CONTENT)).error
        assert names(folder) == set()
        assert get(publisher.address("/a"), sha256=sha256(CONTENT)).error == ""
        assert publisher.starts() == [0, 1000, 0]

    def test_the_first_fetch_writes_it_down(self, publisher: Publisher, get: Get, folder: Path) -> None:
        publisher.pages["/a"] = Page(CONTENT)
        get(publisher.address("/a"))
        get(publisher.address("/a"), "other/name.txt")
        known = Sum(sha256(CONTENT), len(CONTENT))
        assert read_sums(folder) == {WHERE: known, "other/name.txt": known}

    @pytest.mark.skipif(shutil.which("sha256sum") is None, reason="there is no sha256sum")
    def test_sha256sum_reads_it(self, publisher: Publisher, get: Get, folder: Path) -> None:
        publisher.pages["/a"] = Page(CONTENT)
        get(publisher.address("/a"))
        command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
        ended = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        assert (ended.returncode, ended.stdout) == (0, f"{WHERE}: OK\n".encode())

    def test_the_same_address_must_give_the_same_from_then_on(
        self, publisher: Publisher, get: Get, folder: Path
    ) -> None:
        publisher.pages["/a"] = Page(CONTENT)
        get(publisher.address("/a"))
        publisher.pages["/a"] = Page(OTHER)
        error = get(publisher.address("/a")).error
        assert str(folder / "SHA256SUMS") in error
        assert "remove its line there" in error
        assert (folder / WHERE).read_bytes() == CONTENT
        write_sums(folder, {})
        assert get(publisher.address("/a")).error == ""
        assert (folder / WHERE).read_bytes() == OTHER

    def test_they_survive_a_round_trip(self, tmp_path: Path) -> None:
        sums = {"a b/c.vec": Sum("0" * 64, 7), "z": Sum("f" * 64), "é": Sum("1" * 64, 0)}
        write_sums(tmp_path, sums)
        assert read_sums(tmp_path) == sums

    def test_lines_of_sha256sum_are_understood(self, tmp_path: Path) -> None:
        (tmp_path / "SHA256SUMS").write_text(f"# mine\n\n{'a' * 64} *one\n{'b' * 64}  two\n")
        assert read_sums(tmp_path) == {"one": Sum("a" * 64), "two": Sum("b" * 64)}

    @pytest.mark.parametrize("line", ["abc  one", "one", f"{'g' * 64}  one", f"{'a' * 64}"])
    def test_other_lines_are_refused(self, tmp_path: Path, line: str) -> None:
        (tmp_path / "SHA256SUMS").write_text(f"{'a' * 64}  one\n{line}\n")
        with pytest.raises(DataError, match="SHA256SUMS:2: found"):
            read_sums(tmp_path)


class TestSeveralFiles:
    def test_one_that_fails_does_not_stop_the_others(self, publisher: Publisher, folder: Path) -> None:
        publisher.pages |= {"/a": Page(CONTENT), "/c": Page(OTHER)}
        files = [file_of(publisher.address(f"/{name}"), name) for name in "abc"]
        outcomes = list(fetch(files, FetchOptions(folder, Patience(first_pause=0))))
        assert [bool(outcome.error) for outcome in outcomes] == [False, True, False]
        assert names(folder) == {"a", "c"}

    def test_a_server_that_is_down_is_tried_once_and_others_still_are(
        self, publisher: Publisher, folder: Path, pauses: list[float]
    ) -> None:
        with serving() as gone:
            down = gone.address("/a")
        publisher.pages["/a"] = Page(CONTENT)
        files = [file_of(down, "one"), file_of(f"{down}2", "two"), file_of(publisher.address("/a"), "three")]
        outcomes = list(fetch(files, FetchOptions(folder, Patience(attempts=2), pause=pauses.append)))
        assert "cannot be reached" in outcomes[0].error
        assert f"{down}2: not tried, since " in outcomes[1].error
        assert outcomes[2].error == ""
        assert pauses == [1.0]

    def test_without_an_address(self, folder: Path) -> None:
        (outcome,) = fetch([file_of("")], FetchOptions(folder))
        assert outcome.error == f"{WHERE}: no program can fetch it; ask the author (http://publisher.example/page)"

    def test_progress_is_told(self, publisher: Publisher, folder: Path) -> None:
        publisher.pages["/a"] = Page(CONTENT, mishaps=[Mishap(cut=1000)])
        steps: list[Step] = []
        patience = Patience(first_pause=0, block=500)
        list(fetch([file_of(publisher.address("/a"))], FetchOptions(folder, patience, steps.append)))
        fetching = [step for step in steps if step.values.get("doing") == "fetching"]
        numbers = [step.number for step in fetching]
        assert numbers == sorted(set(numbers))
        assert (numbers[-1], {step.total for step in fetching}) == (len(CONTENT), {len(CONTENT)})
        assert steps[-1] == Step(WHERE, len(CONTENT), len(CONTENT), {"doing": "checking"})
        (trouble,) = [step.values["trouble"] for step in steps if "trouble" in step.values]
        assert trouble == "the connection was lost after 1.0 kB of 5.1 kB; trying again in 0 s"


class TestTwoAtOnce:
    def test_the_second_is_refused_until_the_first_has_ended(self, publisher: Publisher, folder: Path) -> None:
        publisher.pages["/a"] = Page(CONTENT)
        files = [file_of(publisher.address("/a"), name) for name in ("one", "two")]
        first = fetch(files, FetchOptions(folder))
        assert next(first).error == ""
        with pytest.raises(DataError, match="another process is fetching into it"):
            next(fetch(files, FetchOptions(folder)))
        assert next(first).error == ""
        assert list(first) == []
        assert [result.error for result in fetch(files, FetchOptions(folder))] == ["", ""]

    def test_across_processes_and_after_a_kill(self, publisher: Publisher, folder: Path) -> None:
        code = (
            "import sys, time; from pathlib import Path; from calque.experiments.sources.fetch import locked\n"
            "with locked(Path(sys.argv[1])): print('mine', flush=True); time.sleep(60)"
        )
        process = subprocess.Popen([sys.executable, "-c", code, folder], stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"mine\n"
        with pytest.raises(DataError, match="wait for it to end"), locked(folder):
            pass
        process.kill()
        process.communicate()
        publisher.pages["/a"] = Page(CONTENT)
        assert [result.error for result in fetch([file_of(publisher.address("/a"))], FetchOptions(folder))] == [""]

    def test_many_threads_leave_whole_files_and_a_whole_record(self, publisher: Publisher, folder: Path) -> None:
        paths = [f"{number}.vec" for number in range(6)]
        publisher.pages |= {f"/{path}": Page(CONTENT) for path in paths}

        def patiently(path: str) -> None:
            while True:
                try:
                    assert [
                        result.error
                        for result in fetch([file_of(publisher.address(f"/{path}"), path)], FetchOptions(folder))
                    ]
                except DataError:
                    continue
                return

        threads = [threading.Thread(target=patiently, args=(path,)) for path in paths]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert names(folder) == set(paths)
        assert read_sums(folder) == dict.fromkeys(paths, Sum(sha256(CONTENT), len(CONTENT)))


class TestSurvey:
    def test_what_is_missing_and_what_is_begun(self, publisher: Publisher, get: Get, folder: Path) -> None:
        file = file_of(publisher.address("/a"))
        (state,) = survey([file], folder)
        assert (state.state, state.present, state.begun, state.by_hand) == ("missing", "", 0, False)
        publisher.pages["/a"] = Page(CONTENT, always=Mishap(cut=100))
        get(file.url, attempts=1)
        (state,) = survey([file], folder)
        assert (state.state, state.begun) == ("missing", 100)
        assert survey([file_of("")], folder)[0].by_hand

    def test_what_is_there(self, publisher: Publisher, get: Get, folder: Path) -> None:
        publisher.pages["/a"] = Page(CONTENT)
        get(publisher.address("/a"))
        (state,) = survey([file_of(publisher.address("/a"))], folder, check=True)
        assert (state.state, state.present, state.size) == ("present", WHERE, len(CONTENT))

    @pytest.mark.parametrize(
        ("content", "unchecked", "checked"),
        [(CONTENT[:-1], "damaged", "damaged"), (OTHER, "present", "damaged"), (b"", "damaged", "damaged")],
        ids=["cut", "changed", "empty"],
    )
    @pytest.mark.parametrize("known", [True, False], ids=["by the catalogue", "by the record"])
    def test_what_is_damaged(
        self, publisher: Publisher, get: Get, folder: Path, content: bytes, unchecked: str, checked: str, known: bool
    ) -> None:
        publisher.pages["/a"] = Page(CONTENT)
        get(publisher.address("/a"))
        (folder / WHERE).write_bytes(content)
        told = {"size": len(CONTENT), "sha256": sha256(CONTENT)} if known else {}
        file = file_of(publisher.address("/a"), **told)
        if known:
            write_sums(folder, {})
        assert survey([file], folder)[0].state == unchecked
        (state,) = survey([file], folder, check=True)
        assert (state.state, "expected" in state.reason) == (checked, True)
        assert get(publisher.address("/a"), **told).error == ""
        assert survey([file], folder, check=True)[0].state == "present"

    def test_nothing_is_held_against_a_file_of_which_nothing_is_known(self, folder: Path) -> None:
        (folder / WHERE).parent.mkdir(parents=True)
        (folder / WHERE).write_bytes(OTHER)
        assert survey([file_of("", about=7)], folder, check=True)[0].state == "present"

    def test_other_names_and_substitutes(self, folder: Path) -> None:
        folder.mkdir()
        file = file_of("http://a.example/b", also="train.tsv", substitute="smaller.vec", size=5)
        (folder / "smaller.vec").write_text("abc")
        (state,) = survey([file], folder)
        assert (state.state, state.present, state.size) == ("substituted", "smaller.vec", 3)
        (folder / "train.tsv").write_text("abcdefg")
        (state,) = survey([file], folder)
        assert (state.state, state.present, state.size) == ("present", "train.tsv", 7)

    def test_a_file_is_no_folder(self, tmp_path: Path) -> None:
        (tmp_path / "data").write_text("")
        with pytest.raises(DataError, match="is not a folder"):
            survey([file_of("")], tmp_path / "data")


INSIDE = {"archive": "downloads/all.zip", "columns": ("in/words.txt", "in/gold.txt")}


class TestArchives:
    def pack(self, path: Path, **members: bytes) -> bytes:
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(f"in/{name}.txt", content)
        return path.read_bytes()

    def test_columns_are_put_side_by_side(self, publisher: Publisher, get: Get, folder: Path, tmp_path: Path) -> None:
        words, gold = "\ufeffperro\tdog\r\naño\tyear\r\n".encode(), b"4.0\n3.5"
        publisher.pages["/z"] = Page(self.pack(tmp_path / "z.zip", words=words, gold=gold), mishaps=[Mishap(cut=50)])
        outcome = get(publisher.address("/z"), "pairs.txt", **INSIDE)
        assert outcome.error == ""
        content = "perro\tdog\t4.0\naño\tyear\t3.5\n".encode()
        assert (folder / "pairs.txt").read_bytes() == content
        assert read_sums(folder)["pairs.txt"] == Sum(sha256(content), len(content))
        assert names(folder) == {"pairs.txt", "downloads/all.zip"}

    def test_an_archive_is_fetched_once(self, publisher: Publisher, get: Get, tmp_path: Path) -> None:
        publisher.pages["/z"] = Page(self.pack(tmp_path / "z.zip", words=b"a\tb\n", gold=b"1\n"))
        assert get(publisher.address("/z"), "one.txt", **INSIDE).error == ""
        assert get(publisher.address("/z"), "two.txt", **INSIDE).error == ""
        assert len(publisher.asked) == 1

    @pytest.mark.parametrize(
        ("members", "told"),
        [
            ({"words": b"a\tb\n"}, "has no 'in/gold.txt' in it"),
            ({"words": b"a\tb\nc\td\n", "gold": b"1\n"}, "[2, 1] lines"),
            ({"words": b"", "gold": b""}, "sent nothing"),
        ],
    )
    def test_one_that_does_not_hold_it(
        self, publisher: Publisher, get: Get, folder: Path, tmp_path: Path, members: dict[str, bytes], told: str
    ) -> None:
        publisher.pages["/z"] = Page(self.pack(tmp_path / "z.zip", **members))
        assert told in get(publisher.address("/z"), "one.txt", **INSIDE).error
        assert not (folder / "one.txt").exists()

    def test_one_that_is_none(self, publisher: Publisher, get: Get, folder: Path) -> None:
        publisher.pages["/z"] = Page(b"PK, but not much more")
        error = get(publisher.address("/z"), "one.txt", **INSIDE).error
        assert error.startswith(f"{folder / 'downloads/all.zip'}: is not a zip archive")
        assert not (folder / "one.txt").exists()
