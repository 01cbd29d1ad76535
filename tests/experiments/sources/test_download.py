from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calque.errors import CalqueError
from calque.experiments.sources.download import Download, Patience, download
from calque.experiments.sources.fetch import DownloadResult
from calque.experiments.sources.state import DiskError
from calque.experiments.sources.web import check_redirect
from experiments.sources.conftest import names
from experiments.sources.publisher import Mishap, Page, Publisher, serving

CONTENT = bytes(range(256)) * 40
WHERE = "vectors/some.vec"

Get = Callable[..., DownloadResult]


class TestALostConnection:
    def test_it_goes_on_where_it_broke(self, publisher: Publisher, get: Get, folder: Path, pauses: list[float]) -> None:
        publisher.pages["/a"] = Page(CONTENT, mishaps=[Mishap(cut=3000), Mishap(cut=500), Mishap(cut=2000)])
        outcome = get(publisher.address("/a"))
        assert (outcome.error, outcome.size) == ("", len(CONTENT))
        assert (folder / WHERE).read_bytes() == CONTENT
        assert publisher.starts() == [0, 3000, 3500, 5500]
        assert {request.headers["If-Range"] for request in publisher.asked[1:]} == {'"one"'}
        assert pauses == [1.0, 2.0, 4.0]

    def test_no_byte_is_sent_twice(self, publisher: Publisher, get: Get) -> None:
        publisher.pages["/a"] = Page(CONTENT, mishaps=[Mishap(cut=1), Mishap(cut=9000), Mishap(silent=True)])
        assert get(publisher.address("/a")).error == ""
        assert sum(request.sent for request in publisher.asked) == len(CONTENT)

    def test_half_a_file_with_a_full_length_never_counts_as_whole(
        self, publisher: Publisher, get: Get, folder: Path, pauses: list[float]
    ) -> None:
        publisher.pages["/a"] = Page(CONTENT, ranges=False, always=Mishap(cut=len(CONTENT) // 2))
        outcome = get(publisher.address("/a"), attempts=3)
        assert "lost after 5.1 kB of 10 kB, tried 3 times" in outcome.error
        assert outcome.error.count("\n") == 0
        assert publisher.address("/a") in outcome.error
        assert names(folder) == {f"{WHERE}.part", f"{WHERE}.part.json"}
        assert len(publisher.asked) == 3
        assert pauses == [1.0, 2.0]

    def test_what_has_arrived_is_kept_for_the_next_time(self, publisher: Publisher, get: Get, folder: Path) -> None:
        publisher.pages["/a"] = Page(CONTENT, mishaps=[Mishap(cut=4000)], always=Mishap(cut=0))
        assert "4.0 kB are kept: run it again to go on" in get(publisher.address("/a"), attempts=2).error
        publisher.pages["/a"].always = Mishap()
        assert get(publisher.address("/a")).error == ""
        assert publisher.starts() == [0, 4000, 4000]
        assert names(folder) == {WHERE}
        assert (folder / WHERE).read_bytes() == CONTENT

    def test_a_stream_of_unknown_length_must_be_ended_by_the_server(
        self, publisher: Publisher, get: Get, folder: Path
    ) -> None:
        publisher.pages["/a"] = Page(CONTENT, chunked=True, mishaps=[Mishap(cut=3000)])
        assert get(publisher.address("/a")).error == ""
        assert (folder / WHERE).read_bytes() == CONTENT
        assert publisher.starts()[1] <= 3000

    def test_silence_counts_as_lost(self, publisher: Publisher, folder: Path) -> None:
        gate = threading.Event()
        publisher.pages["/a"] = Page(CONTENT, gate=gate)
        patience = Patience(attempts=2, first_pause=0, timeout=0.2)
        job = Download("a", publisher.address("/a"), folder / "a.part")
        download(job, patience, pause=lambda _: gate.set())
        assert (folder / "a.part").read_bytes() == CONTENT
        assert publisher.starts() == [0, len(CONTENT) // 2]

    @settings(max_examples=20, deadline=None)
    @given(st.integers(1, 5000), st.lists(st.integers(0, 2500), max_size=5), st.integers(1, 4096))
    def test_any_cuts_give_the_same_file(self, size: int, cuts: list[int], block: int) -> None:
        content = os.urandom(size)
        with serving() as publisher, tempfile.TemporaryDirectory() as folder:
            publisher.pages["/a"] = Page(content, mishaps=[Mishap(cut=cut) for cut in cuts])
            patience = Patience(attempts=len(cuts) + 1, first_pause=0, block=block)
            download(Download("a", publisher.address("/a"), Path(folder, "a.part")), patience)
            assert Path(folder, "a.part").read_bytes() == content
            # The server notes what it sent after sending it, and the client may be done before.
            _until(lambda: sum(request.sent for request in publisher.asked) >= size)
            assert sum(request.sent for request in publisher.asked) == size


class TestAKilledProcess:
    def test_its_part_is_continued(self, publisher: Publisher, get: Get, folder: Path) -> None:
        gate = threading.Event()
        publisher.pages["/a"] = Page(CONTENT, gate=gate)
        code = (
            "import sys; from pathlib import Path; from calque.experiments.sources.catalogue import *; "
            "from calque.experiments.sources.fetch import *; "
            "file = DataFile('vectors/some.vec', ('t',), 'l', sys.argv[1], source=Source('s', 'p', 'l')); "
            "list(fetch([file], FetchOptions(Path(sys.argv[2]), Patience(block=100))))"
        )
        process = subprocess.Popen([sys.executable, "-c", code, publisher.address("/a"), folder])
        part = folder / f"{WHERE}.part"
        _until(lambda: part.exists() and part.stat().st_size > 0)
        process.send_signal(signal.SIGKILL)
        process.wait()
        arrived = part.stat().st_size
        gate.set()
        publisher.pages["/a"].gate = None
        assert get(publisher.address("/a")).error == ""
        assert publisher.starts() == [0, arrived]
        assert (folder / WHERE).read_bytes() == CONTENT
        assert names(folder) == {WHERE}

    def test_a_part_that_is_whole_is_not_asked_for_again(self, publisher: Publisher, get: Get, folder: Path) -> None:
        _leave(folder, CONTENT, publisher.address("/a"), size=len(CONTENT))
        assert get(publisher.address("/a")).error == ""
        assert publisher.asked == []
        assert (folder / WHERE).read_bytes() == CONTENT


def _until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def _leave(folder: Path, content: bytes, url: str, validator: str = '"one"', size: int | None = len(CONTENT)) -> None:
    """What a killed process leaves behind."""
    part = folder / f"{WHERE}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(content)
    part.with_name(f"{part.name}.json").write_text(json.dumps({"url": url, "validator": validator, "size": size}))


ODD_NOTES = [json.dumps({"url": "URL", "validator": "b", "size": "big"}), '{"url": "URL", "validator": 7, "size": 1}']
ODD_NOTES += [json.dumps({"url": "URL", "validator": "b\r\nX: y", "size": None})]


class TestAPartThatDoesNotFit:
    """The result is the server's file, never a mixture."""

    OLD = b"x" * 4000

    @pytest.mark.parametrize(
        ("left", "page"),
        [
            pytest.param({"validator": '"zero"'}, {}, id="the file changed in between"),
            pytest.param({"validator": '"zero"'}, {"conditions": False}, id="changed, and If-Range is not heeded"),
            pytest.param({"size": 99_999}, {"conditions": False}, id="another length"),
            pytest.param({"validator": "yesterday"}, {"tag": "", "modified": "today"}, id="another date"),
            pytest.param({"validator": ""}, {"tag": ""}, id="nothing names the version"),
            pytest.param({}, {"ranges": False, "tag": '"two"'}, id="the server knows no ranges"),
            pytest.param({"size": 10}, {"tag": '"two"'}, id="longer than the whole"),
            pytest.param({"size": None, "validator": '"zero"'}, {}, id="of unknown length"),
            pytest.param({"url": "http://elsewhere/a"}, {}, id="of another address"),
        ],
    )
    def test_it_starts_anew(
        self, publisher: Publisher, get: Get, folder: Path, left: dict[str, object], page: dict[str, object]
    ) -> None:
        publisher.pages["/a"] = Page(CONTENT, **page)
        _leave(folder, self.OLD, **{"url": publisher.address("/a"), **left})
        assert get(publisher.address("/a")).error == ""
        assert (folder / WHERE).read_bytes() == CONTENT
        assert names(folder) == {WHERE}

    def test_more_than_the_server_has(self, publisher: Publisher, get: Get, folder: Path) -> None:
        publisher.pages["/a"] = Page(CONTENT)
        _leave(folder, CONTENT * 2, publisher.address("/a"), size=None)
        assert get(publisher.address("/a")).error == ""
        assert (folder / WHERE).read_bytes() == CONTENT

    @pytest.mark.parametrize(
        "note", ["", "{", "[]", '{"url": 3}', '{"url": "a", "validator": "b", "size": 1, "x": 2}', *ODD_NOTES]
    )
    def test_a_note_that_cannot_be_read(self, publisher: Publisher, get: Get, folder: Path, note: str) -> None:
        publisher.pages["/a"] = Page(CONTENT)
        _leave(folder, self.OLD, publisher.address("/a"))
        (folder / f"{WHERE}.part.json").write_text(note.replace("URL", publisher.address("/a")))
        assert get(publisher.address("/a")).error == ""
        assert publisher.starts() == [0]
        assert (folder / WHERE).read_bytes() == CONTENT

    def test_it_changes_while_it_is_fetched(self, publisher: Publisher, get: Get, folder: Path) -> None:
        publisher.pages["/a"] = Page(self.OLD, mishaps=[Mishap(cut=2500)])
        outcome = get(publisher.address("/a"), attempts=1)
        assert outcome.error
        publisher.pages["/a"] = Page(CONTENT, tag='"two"')
        assert get(publisher.address("/a")).error == ""
        assert publisher.starts() == [0, 2500]
        assert (folder / WHERE).read_bytes() == CONTENT


class TestWhatAServerMaySay:
    @pytest.mark.parametrize("status", [403, 404, 410])
    def test_no_is_no(self, publisher: Publisher, get: Get, folder: Path, status: int) -> None:
        publisher.pages["/a"] = Page(CONTENT, always=Mishap(status=status))
        assert f"the server answered {status} " in get(publisher.address("/a")).error
        assert len(publisher.asked) == 1
        assert names(folder) == set()

    @pytest.mark.parametrize("status", [429, 500, 503])
    def test_perhaps_later(self, publisher: Publisher, get: Get, folder: Path, status: int) -> None:
        publisher.pages["/a"] = Page(CONTENT, mishaps=[Mishap(status=status)] * 2)
        assert get(publisher.address("/a")).error == ""
        assert len(publisher.asked) == 3
        assert (folder / WHERE).read_bytes() == CONTENT

    def test_perhaps_never(self, publisher: Publisher, get: Get, pauses: list[float]) -> None:
        publisher.pages["/a"] = Page(CONTENT, always=Mishap(status=500))
        assert "the server answered 500 Internal Server Error, tried 5 times" in get(publisher.address("/a")).error
        assert pauses == [1.0, 2.0, 4.0, 8.0]

    @pytest.mark.parametrize(
        ("page", "told"),
        [
            ({"kind": "text/html; charset=utf-8"}, "a web page instead of the file"),
            ({"headers": {"Content-Encoding": "gzip"}}, "the encoding 'gzip'"),
            ({"length": False}, "the server does not say how long it is"),
        ],
    )
    def test_something_else_than_the_file(
        self, publisher: Publisher, get: Get, folder: Path, page: dict[str, object], told: str
    ) -> None:
        publisher.pages["/a"] = Page(CONTENT, **page)
        assert told in get(publisher.address("/a")).error
        assert names(folder) == set()

    def test_nothing(self, publisher: Publisher, get: Get, folder: Path) -> None:
        publisher.pages["/a"] = Page(b"")
        assert "sent nothing" in get(publisher.address("/a")).error
        assert names(folder) == set()

    def test_another_size_than_the_catalogue_knows(self, publisher: Publisher, get: Get, folder: Path) -> None:
        publisher.pages["/a"] = Page(CONTENT)
        assert "has 10240 bytes now, expected 7" in get(publisher.address("/a"), size=7).error
        assert names(folder) == set()

    def test_it_is_down(self, get: Get, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("no_proxy", "*")
        url = f"http://127.0.0.1:{_free_port()}/a"
        error = get(url, attempts=2).error
        assert error.startswith(f"{url}: 127.0.0.1:")
        assert "cannot be reached (Connection refused), tried 2 times" in error
        assert names(folder) == set()

    def test_a_name_that_nobody_knows(self, get: Get, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("no_proxy", "*")
        assert "nowhere.invalid cannot be reached" in get("https://nowhere.invalid/a", attempts=1).error


def _free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


class TestRedirects:
    def test_on_the_web_they_are_followed_with_the_range(self, publisher: Publisher, get: Get, folder: Path) -> None:
        publisher.pages["/a"] = Page(b"", redirect=publisher.address("/b"))
        publisher.pages["/b"] = Page(CONTENT, mishaps=[Mishap(cut=700)])
        assert get(publisher.address("/a")).error == ""
        assert (folder / WHERE).read_bytes() == CONTENT
        assert publisher.starts() == [0, 0, 700, 700]

    @pytest.mark.parametrize("other", ["file:///etc/passwd", "ftp://127.0.0.1/a", "data:text/plain,a"])
    def test_elsewhere_they_are_not(self, publisher: Publisher, get: Get, folder: Path, other: str) -> None:
        publisher.pages["/a"] = Page(b"", redirect=other)
        error = get(publisher.address("/a")).error
        assert other in error
        assert "not followed" in error or "not allowed" in error
        assert len(publisher.asked) == 1
        assert names(folder) == set()

    def test_in_a_circle_they_end(self, publisher: Publisher, get: Get) -> None:
        publisher.pages["/a"] = Page(b"", redirect=publisher.address("/a"))
        error = get(publisher.address("/a")).error
        assert "infinite loop" in error
        assert "\n" not in error

    def test_encryption_is_not_given_up(self) -> None:
        check_redirect("http://a.example/x", "https://b.example/x")
        check_redirect("https://a.example/x", "https://b.example/x")
        with pytest.raises(CalqueError, match="not followed"):
            check_redirect("https://a.example/x", "http://a.example/x")


class TestCertificates:
    @pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl to make a certificate with")
    def test_one_that_nobody_vouches_for_is_refused_at_once(
        self, publisher: Publisher, get: Get, folder: Path, tmp_path: Path
    ) -> None:
        files = ["-keyout", tmp_path / "key", "-out", tmp_path / "certificate"]
        made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", *files]
        subprocess.run(made, check=True, capture_output=True)
        publisher.encrypt(tmp_path / "certificate", tmp_path / "key")
        error = get(publisher.address("/a").replace("http:", "https:")).error
        assert "its certificate is not trusted (self" in error
        assert publisher.asked == []
        assert names(folder) == set()


class TestProxies:
    def test_the_environment_names_them(
        self, publisher: Publisher, get: Get, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("http_proxy", publisher.address(""))
        publisher.pages["http://publisher.invalid/a"] = Page(CONTENT)
        assert get("http://publisher.invalid/a").error == ""
        assert (folder / WHERE).read_bytes() == CONTENT


class TestTheDisk:
    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full to write to")
    def test_it_is_full(self, publisher: Publisher, get: Get, folder: Path) -> None:
        publisher.pages["/a"] = Page(CONTENT)
        (folder / WHERE).parent.mkdir(parents=True)
        (folder / f"{WHERE}.part").symlink_to("/dev/full")
        with pytest.raises(DiskError, match="No space left on device") as raised:
            get(publisher.address("/a"))
        assert str(raised.value).startswith(str(folder / f"{WHERE}.part"))
        assert not (folder / WHERE).exists()

    def test_it_has_no_room(
        self, publisher: Publisher, get: Get, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        publisher.pages["/a"] = Page(CONTENT)
        monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 5000})())
        assert "has room for 5.0 kB, but 10 kB of vectors/some.vec are to come" in get(publisher.address("/a")).error
        assert not (folder / WHERE).exists()

    def test_the_folder_cannot_be_made(self, publisher: Publisher, get: Get, folder: Path) -> None:
        folder.write_text("a file")
        with pytest.raises(DiskError, match="cannot be written"):
            get(publisher.address("/a"))
        assert publisher.asked == []
