from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from calque.cli import data as data_command
from calque.experiments.sources.download import Patience
from experiments.sources.publisher import Mishap, Page, Publisher, serving

ONE, TWO, THREE = b"1 2\none 1 0\n" * 200, b"1 2\ntwo 0 1\n" * 300, b"1 2\nthree 1 1\n" * 100
ENTRY = "from calque.cli.main import entry; entry()"


@pytest.fixture
def publisher(monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    """A publisher of three files, whose mishaps need no waiting."""
    monkeypatch.setattr(data_command, "PATIENCE", Patience(attempts=3, first_pause=0, timeout=5))
    monkeypatch.setenv("no_proxy", "*")
    with serving() as made:
        made.pages |= {"/one.vec": Page(ONE), "/two.vec": Page(TWO), "/three.txt": Page(THREE)}
        yield made


@pytest.fixture
def catalogue(publisher: Publisher, tmp_path: Path) -> Path:
    """Two tables: 'a' needs one.vec, with its sum known, and three.txt; 'b' needs two.vec and a file by hand."""
    path = tmp_path / "catalogue.toml"
    path.write_text(
        f"""
        [tables]
        a = "Table A"
        b = "Table B"
        [[sources]]
        title = "vectors"
        page = "http://publisher.example"
        licence = "CC BY 4.0"
        tables = ["a"]
        base = "{publisher.address("/")}"
        files = [
            {{ path = "vectors/one.vec", size = {len(ONE)}, sha256 = "{hashlib.sha256(ONE).hexdigest()}" }},
            {{ path = "vectors/two.vec", tables = ["b"], about = 3_500, substitute = "small/two.vec" }},
            {{ path = "words/three.txt", about = 1_400, also = "words/three.tsv" }},
        ]
        [[sources]]
        title = "lexicons"
        page = "http://author.example"
        licence = "none stated"
        tables = ["b"]
        by_hand = "ask the author for it"
        files = [{{ path = "words/four.txt", about = 100 }}]
        [[absent]]
        name = "the fifth file"
        tables = ["a"]
        reason = "it was never published"
        """
    )
    return path


@pytest.fixture
def data(calque: Callable[..., Any], catalogue: Path, folder: Path) -> Callable[..., Any]:
    """`calque data` with this catalogue and folder."""

    def run(*arguments: object) -> Any:
        return calque("data", *arguments, "--data", folder, "--catalogue", catalogue)

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


def states(result: Any) -> dict[str, str]:
    return {value["path"]: value["state"] for value in result.json["files"]}


class TestListing:
    def test_everything_is_missing_where_there_is_no_folder(self, data: Callable[..., Any], folder: Path) -> None:
        result = data()
        assert result.code == 0
        assert "a  0 of 2 files  Table A" in result.out
        assert "licence: CC BY 4.0; http://publisher.example" in result.out
        assert "missing  about 3.5 kB  vectors/two.vec  http://127.0.0.1:" in result.out
        assert "by hand  about 100 bytes  words/four.txt" in result.out
        assert "by hand: ask the author for it" in result.out
        assert "not to be had: the fifth file\n  it was never published" in result.out
        assert "3 files (about 7.3 kB) can be fetched: calque data --data" in result.err
        assert not folder.exists()

    def test_what_is_there(self, data: Callable[..., Any], folder: Path) -> None:
        for path, content in {"vectors/one.vec": ONE[:-1], "small/two.vec": b"x", "words/three.tsv": THREE}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        lines = data().out.splitlines()
        assert any(line.split()[:4] == ["damaged", "2.4", "kB", "vectors/one.vec"] for line in lines)
        assert any(
            line.startswith("  substituted  about 3.5 kB  vectors/two.vec  by small/two.vec; ") for line in lines
        )
        assert any("words/three.txt  as words/three.tsv" in line for line in lines)
        assert states(data("--json")) == {
            "vectors/one.vec": "damaged",
            "vectors/two.vec": "substituted",
            "words/three.txt": "present",
            "words/four.txt": "missing",
        }

    def test_json_says_everything(self, data: Callable[..., Any], publisher: Publisher, folder: Path) -> None:
        told = data("a", "--json").json
        assert (told["data"], told["tables"]) == (str(folder), {"a": "Table A"})
        assert [table["path"] for table in told["files"]] == ["vectors/one.vec", "words/three.txt"]
        one = told["files"][0]
        assert (one["licence"], one["page"]) == ("CC BY 4.0", "http://publisher.example")
        assert (one["url"], one["size"], one["bytes"]) == (publisher.address("/one.vec"), len(ONE), None)
        assert told["not to be had"] == [
            {"name": "the fifth file", "tables": ["a"], "reason": "it was never published"}
        ]

    def test_sums_are_compared_only_if_asked_for(self, data: Callable[..., Any], folder: Path) -> None:
        (folder / "vectors").mkdir(parents=True)
        (folder / "vectors/one.vec").write_bytes(ONE[::-1])
        assert states(data("a", "--json"))["vectors/one.vec"] == "present"
        assert states(data("a", "--json", "--check"))["vectors/one.vec"] == "damaged"

    def test_the_shipped_catalogue(self, calque: Callable[..., Any], folder: Path) -> None:
        result = calque("data", "similarity", "--data", folder, "-q")
        assert (result.code, result.err) == (0, "")
        assert "about 6.6 GB  fasttext/wiki.en.vec" in result.out
        assert "0 of 13 files" in result.out

    def test_nothing_heavy_is_waited_for(self, catalogue: Path, folder: Path) -> None:
        code = (
            "import sys; from calque.cli.main import main; main(sys.argv[1:]); "
            "print([name for name in ('torch', 'numpy', 'scipy') if name in sys.modules])"
        )
        command = [sys.executable, "-c", code, "data", "--data", folder, "--catalogue", catalogue]
        ended = subprocess.run(command, capture_output=True, check=True)
        assert ended.stdout.decode().splitlines()[-1] == "[]"


class TestFetching:
    def test_all_goes_well(self, data: Callable[..., Any], folder: Path) -> None:
        result = data("a", "--fetch")
        assert result.code == 0
        assert (folder / "vectors/one.vec").read_bytes() == ONE
        assert (folder / "words/three.txt").read_bytes() == THREE
        assert result.out.splitlines() == [
            f"fetched vectors/one.vec: 2.4 kB, SHA-256 {hashlib.sha256(ONE).hexdigest()}",
            f"fetched words/three.txt: 1.4 kB, SHA-256 {hashlib.sha256(THREE).hexdigest()}",
        ]
        assert result.err.splitlines()[-1] == "calque: 2 of 2 files are there"

    def test_what_is_there_is_not_fetched_again(self, data: Callable[..., Any], publisher: Publisher) -> None:
        data("a", "--fetch")
        result = data("a", "--fetch")
        assert (result.code, result.out) == (0, "")
        assert "nothing to fetch" in result.err
        assert len(publisher.asked) == 2

    def test_a_substitute_does_not_keep_the_real_one_away(self, data: Callable[..., Any], folder: Path) -> None:
        (folder / "small").mkdir(parents=True)
        (folder / "small/two.vec").write_bytes(b"x")
        assert states(data("--fetch", "--json", "--only", "two"))["vectors/two.vec"] == "present"
        assert (folder / "vectors/two.vec").read_bytes() == TWO

    def test_only(self, data: Callable[..., Any], folder: Path) -> None:
        assert data("--fetch", "--only", "three").code == 0
        assert not (folder / "vectors").exists()

    def test_quiet(self, data: Callable[..., Any], publisher: Publisher) -> None:
        publisher.pages["/one.vec"].mishaps = [Mishap(cut=7)]
        result = data("a", "--fetch", "-q")
        assert (result.code, result.err) == (0, "")

    def test_a_dropped_connection_is_told(self, data: Callable[..., Any], publisher: Publisher, folder: Path) -> None:
        publisher.pages["/one.vec"].mishaps = [Mishap(cut=700), Mishap(silent=True)]
        result = data("a", "--fetch")
        assert result.code == 0
        assert "vectors/one.vec: the connection was lost after 700 bytes of 2.4 kB; trying again" in result.err
        assert (folder / "vectors/one.vec").read_bytes() == ONE

    def test_a_wrong_checksum(self, data: Callable[..., Any], publisher: Publisher, folder: Path) -> None:
        publisher.pages["/one.vec"] = Page(ONE[::-1])
        result = data("a", "--fetch", "-q")
        assert result.code == 2
        assert result.err.startswith("calque: vectors/one.vec is missing: http://127.0.0.1:")
        assert "wrong checksum" in result.err
        assert result.err.count("\n") == 1
        assert list((folder / "vectors").iterdir()) == []
        assert (folder / "words/three.txt").read_bytes() == THREE

    def test_half_a_file(self, data: Callable[..., Any], publisher: Publisher, folder: Path) -> None:
        publisher.pages["/one.vec"] = Page(ONE, ranges=False, always=Mishap(cut=len(ONE) // 2))
        result = data("a", "--fetch", "-q")
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert "lost after 1.2 kB of 2.4 kB, tried 3 times; 1.2 kB are kept: run it again to go on" in result.err
        assert not (folder / "vectors/one.vec").exists()
        assert "(1.2 kB of it begun)" in data("a").out

    def test_no_network(self, calque: Callable[..., Any], catalogue: Path, folder: Path, publisher: Publisher) -> None:
        with serving() as gone:
            pass
        text = catalogue.read_text().replace(f":{publisher.port}/", f":{gone.port}/")
        catalogue.write_text(text)
        result = calque("data", "--data", folder, "--catalogue", catalogue, "--fetch", "-q")
        lines = result.err.splitlines()
        assert (result.code, result.out, len(lines)) == (2, "", 4)
        for path, line in zip(("vectors/one.vec", "vectors/two.vec", "words/three.txt"), lines, strict=False):
            assert line.startswith(f"calque: {path} is missing: {gone.address('/' + path.split('/')[1])}")
        assert lines[3] == (
            "calque: words/four.txt is missing, and no program can fetch that: "
            "ask the author for it; see http://author.example"
        )

    def test_what_only_a_person_can_bring_is_no_success(self, data: Callable[..., Any], folder: Path) -> None:
        result = data("b", "--fetch")
        assert result.code == 2
        assert "words/four.txt is missing, and no program can fetch that" in result.err
        (folder / "words").mkdir()
        (folder / "words/four.txt").write_text("uno one\n")
        assert data("b", "--fetch").code == 0

    def test_json(self, data: Callable[..., Any], publisher: Publisher) -> None:
        publisher.pages["/one.vec"].always = Mishap(status=404)
        result = data("a", "--fetch", "--json")
        assert result.code == 2
        assert states(result) == {"vectors/one.vec": "missing", "words/three.txt": "present"}
        errors = {value["path"]: value["error"] for value in result.json["files"]}
        assert "404" in errors["vectors/one.vec"]
        assert errors["words/three.txt"] is None

    def test_damage_is_mended(self, data: Callable[..., Any], folder: Path) -> None:
        data("a", "--fetch")
        (folder / "words/three.txt").write_bytes(THREE[::-1])
        assert data("a", "--fetch").out == ""
        assert data("a", "--fetch", "--check").code == 0
        assert (folder / "words/three.txt").read_bytes() == THREE

    def test_damage_that_cannot_be_mended(self, data: Callable[..., Any], publisher: Publisher, folder: Path) -> None:
        data("a", "--fetch")
        (folder / "words/three.txt").write_bytes(THREE[1:])
        publisher.pages.clear()
        result = data("a", "--fetch", "-q")
        assert (result.code, result.err[: len("calque: words/three.txt is damaged: ")]) == (
            2,
            "calque: words/three.txt is damaged: ",
        )
        assert (folder / "words/three.txt").read_bytes() == THREE[1:]


class TestWhatIsRefused:
    def test_in_one_line_with_nothing_written(
        self, refused: Callable[..., str], catalogue: Path, folder: Path, tmp_path: Path
    ) -> None:
        mine = ("--data", folder, "--catalogue", catalogue)
        assert "'lexz'; there are: lex-z, lex-c, similarity, ablation" in refused("data", "lexz", "--data", folder)
        assert "no file of a has 'two' in its path" in refused("data", "a", *mine, "--only", "two")
        assert "none.toml" in refused("data", "--data", folder, "--catalogue", tmp_path / "none.toml")
        assert "is not a folder" in refused("data", "--data", catalogue)
        assert "is not a folder" in refused("data", "--data", catalogue, "--fetch")

    def test_a_folder_that_cannot_be_written_to(self, calque: Callable[..., Any], catalogue: Path) -> None:
        result = calque("data", "a", "--data", "/proc/none/data", "--catalogue", catalogue, "--fetch", "-q")
        assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
        assert result.err.startswith("calque: /proc/none/data: cannot be written: ")

    def test_a_record_that_cannot_be_read(self, refused: Callable[..., str], catalogue: Path, folder: Path) -> None:
        folder.mkdir()
        (folder / "SHA256SUMS").write_text("nonsense\n")
        assert "SHA256SUMS:1: found 'nonsense'" in refused("data", "--data", folder, "--catalogue", catalogue)


class TestProcess:
    def command(self, catalogue: Path, folder: Path, *more: str) -> list[str]:
        return [sys.executable, "-c", ENTRY, "data", "a", "--data", str(folder), "--catalogue", str(catalogue), *more]

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
    def test_one_that_was_stopped_goes_on(
        self, catalogue: Path, folder: Path, publisher: Publisher, number: int, code: int
    ) -> None:
        gate = publisher.pages["/one.vec"].gate = threading.Event()
        process = subprocess.Popen(self.command(catalogue, folder, "--fetch"), stderr=subprocess.PIPE)
        part, end = folder / "vectors/one.vec.part", time.monotonic() + 20
        while not (part.exists() and part.stat().st_size) and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(number)
        process.communicate()
        assert process.returncode == code
        assert part.stat().st_size == len(ONE) // 2
        gate.set()
        publisher.pages["/one.vec"].gate = None
        ended = subprocess.run(self.command(catalogue, folder, "--fetch", "--json"), capture_output=True, check=True)
        assert {each["state"] for each in json.loads(ended.stdout)["files"]} == {"present"}
        assert publisher.starts()[:2] == [0, len(ONE) // 2]
        assert (folder / "vectors/one.vec").read_bytes() == ONE

    def test_a_terminal_sees_a_bar_and_a_file_sees_the_results(
        self, catalogue: Path, folder: Path, publisher: Publisher
    ) -> None:
        publisher.pages["/one.vec"].mishaps = [Mishap(cut=700)]
        master, terminal = pytest.importorskip("pty").openpty()
        command = self.command(catalogue, folder, "--fetch")
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "160"}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, env=environment)
        os.close(terminal)
        seen = _drained(master)
        out, _ = process.communicate()
        assert process.returncode == 0
        assert [line.split(b":")[0] for line in out.splitlines()] == [
            b"fetched vectors/one.vec",
            b"fetched words/three.txt",
        ]
        assert b"fetching vectors/one.vec" in seen
        assert b"the connection was lost after 700 bytes of 2.4 kB" in seen
        assert b"fetched" not in seen


def _drained(terminal: int) -> bytes:
    """All that is written to a terminal until its other end is closed."""
    seen = b""
    try:
        while more := os.read(terminal, 65536):
            seen += more
    except OSError:
        pass
    os.close(terminal)
    return seen
