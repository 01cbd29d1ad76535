"""Every code block of README, docs and model cards runs, and prints what the page says."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gensim", reason="needs the extra: pip install 'calque-embeddings[fasttext]'")
pytest.importorskip("matplotlib", reason="needs the extra: pip install 'calque-embeddings[plots]'")
pytest.importorskip("fastapi", reason="needs the extra: pip install 'calque-embeddings[web]'")

import promised_files
import tyro
from blocks import Block, Turn, blocks, commands, turns, unlike
from safetensors import safe_open

from calque.cli.main import COMMANDS, main
from calque.experiments.plan_file import read_plan
from calque.recipes import find

ROOT = promised_files.ROOT
PAGES = ["README.md", *sorted(str(each.relative_to(ROOT)) for each in (ROOT / "docs").rglob("*.md"))]
START = "calque align pt.vec.gz en.vec.gz -o pt-en"
"""What makes the run that most pages go on from."""
ENTRY = [sys.executable, "-c", "from calque.cli.main import entry; entry()"]
ELSEWHERE = {
    "python3 -m venv env": "pip is only asked whether it could install, so there is nothing to keep apart",
    ". env/bin/activate": "as above",
    "pip install notebook": "is no business of ours",
    "jupyter notebook docs/tour.ipynb": "opens a window; tests/test_site.py runs the notebook",
    "ray start --head --port 6379": "leaves a server on this machine",
    "ray start --address HEAD:6379": "needs a second machine",
}
"""Commands of others that are not run, and why."""
PARSED = {
    "calque sweep plan.toml -o out --address auto": "needs a cluster; tests/sweep starts one",
    "calque align es.vec en.vec --recipe free.toml -o es-en": "the published schedule takes most of a day",
    "calque reproduce lex-z --data DIR --pairs es-en,it-en,zh-en --seeds 3 -o tables": "takes hours, and data",
}
"""Commands of ours that are understood, but not carried out, and why."""


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def lines_of(block: Block) -> list[str]:
    if block.language == "console":
        return [each.command for each in turns(block.text)]
    return list(commands(block.text)) if block.language == "sh" else []


@dataclass(frozen=True)
class Told:
    """What a command printed, stdout and stderr together, and how it ended."""

    text: str
    code: int


@dataclass
class Kept:
    """Runs that several pages make, made once."""

    base: Path
    told: dict[str, Told] = field(default_factory=dict)

    def replay(self, command: str, folder: Path) -> Told:
        """As if it had been run in this folder."""
        output = shlex.split(command)[-1]
        if command not in self.told:
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(self.base)
                self.told[command] = _ours(command)
        shutil.copytree(self.base / output, folder / output)
        return self.told[command]


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder = tmp_path_factory.mktemp("world")
    promised_files.make(folder)
    return Kept(folder)


OFTEN = {
    command
    for command, pages in Counter(
        line for page in PAGES for line in {line for block in blocks(text_of(page)) for line in lines_of(block)}
    ).items()
    if pages > 1 and re.match(r"calque (align|align-many|sweep) .* -o [\w-]+$", command) and command not in PARSED
} | {START}
"""Runs that are made on more than one page, from files that no page changes."""


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_runs_and_prints_what_it_shows(page: str, kept: Kept, tmp_path: Path, monkeypatch):
    text = text_of(page)
    monkeypatch.chdir(copied(kept.base, tmp_path / "world"))
    if START not in text:
        kept.replay(START, Path.cwd())
    reader = Reader(kept)
    for block in blocks(text):
        reader.read(block, page)


def copied(base: Path, folder: Path) -> Path:
    """The files of the world, without what was made in it."""
    folder.mkdir()
    for each in base.iterdir():
        if each.is_file() or each.name in ("src", "vectors"):
            (folder / each.name).symlink_to(each.resolve())
    return folder


@dataclass
class Reader:
    """Somebody who types what a page says, from top to bottom, in one folder and one Python."""

    kept: Kept
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})
    code: int = 0
    strict: bool = True
    """Whether an answer that the page does not show is an error."""
    answers: list[tuple[Turn, list[str]]] = field(default_factory=list)
    """What every command of the console blocks printed."""

    def read(self, block: Block, page: str) -> None:
        where = f"{page}:{block.line}"
        if block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block.text, where, "exec"), self.names)
        elif block.language == "console":
            typed = list(turns(block.text))
            for turn, after in zip(typed, [*typed[1:], None], strict=True):
                self._answer(turn, where)
                asked = after is not None and after.command == "echo $?"
                assert self.code == 0 or asked, f"{where}: {turn.command} ended with {self.code}, which is not shown"
        elif block.language == "sh":
            for command in commands(block.text):
                told = self._run(command)
                assert told.code == 0, f"{where}: {command} ended with {told.code}: {told.text}"
        elif block.language == "toml":
            _settings(block.text, where)
        else:
            assert block.language == "text", f"{where}: nobody knows how to run a block of {block.language!r}"

    def _answer(self, turn: Turn, where: str) -> None:
        printed = self._run(turn.command).text.splitlines()
        self.answers.append((turn, printed))
        why = unlike(turn.shown, printed)
        assert not (why and self.strict), f"{where}: {turn.command}: {why}"

    def _run(self, command: str) -> Told:
        if command in ELSEWHERE:
            return Told("", 0)
        if command == "echo $?":
            code, self.code = self.code, 0
            return Told(f"{code}\n", 0)
        told = self._carried_out(command)
        self.code = told.code
        return told

    def _carried_out(self, command: str) -> Told:
        if command in OFTEN:
            return self.kept.replay(command, Path.cwd())
        first, *rest = shlex.split(command)
        if command in PARSED:
            understood(rest)
            return Told("", 0)
        if first == "calque":
            return _served(rest) if first_of(rest) == "explore" or "--watch" in rest else _ours(command)
        if first == "make":
            return _shell(["make", "--dry-run", *rest], ROOT)
        if first == "pip":
            return _installable(rest)
        assert first in ("cp", "cut", "head", "printf", "tail"), f"nobody knows how to run {command!r}"
        return _shell(["sh", "-c", command], Path.cwd())


def first_of(arguments: list[str]) -> str:
    return next(each for each in arguments if not each.startswith("-"))


def understood(arguments: list[str]) -> Any:
    """The command that these words stand for; SystemExit where they stand for none."""
    config = (tyro.conf.FlagCreatePairsOff, tyro.conf.OmitSubcommandPrefixes, tyro.conf.OmitArgPrefixes)
    return tyro.cli(COMMANDS, args=arguments, config=config)


def _ours(command: str) -> Told:
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        code = main(shlex.split(command)[1:])
    return Told(told.getvalue(), code)


def _shell(command: list[str], folder: Path) -> Told:
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return Told(ended.stdout + ended.stderr, ended.returncode)


def _installable(arguments: list[str]) -> Told:
    """Whether pip finds all that is asked for among what is installed here; nothing is fetched or changed."""
    pytest.importorskip("hatchling", reason="needs hatchling, to build without a network")
    offline = ["--dry-run", "--no-index", "--no-build-isolation", "--quiet"]
    return _shell([sys.executable, "-m", "pip", *arguments, *offline], ROOT)


def _served(arguments: list[str]) -> Told:
    """A command that shows a page until Ctrl-C: the page is looked at, and the command is ended so."""
    with subprocess.Popen(
        [*ENTRY, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "BROWSER": ":"},
    ) as command:
        assert command.stdout is not None
        told, address = "", ""
        for line in command.stdout:
            told += line
            address = next(iter(re.findall(r"http://127\.0\.0\.1:\d+/", line)), address)
            if "until Ctrl-C" in line:
                break
        with urllib.request.urlopen(address, timeout=20) as answer:
            assert b"<title>calque</title>" in answer.read()
        command.send_signal(signal.SIGINT)
        told += command.stdout.read()
    return Told(told, command.returncode)


def _settings(text: str, where: str) -> None:
    """A plan whose files are there, or a recipe."""
    path = Path("block.toml")
    path.write_text(text)
    assert read_plan(path).pairs if "[spaces]" in text else find(str(path)).settings, where


def test_what_is_not_run_is_still_on_some_page():
    every = {line for page in PAGES for block in blocks(text_of(page)) for line in lines_of(block)}
    assert {*ELSEWHERE, *PARSED} <= every


def test_a_page_that_is_wrong_is_noticed(kept: Kept, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(copied(kept.base, tmp_path / "world"))
    kept.replay(START, Path.cwd())
    right = "impressora\tprinter 1.013  job 0.579  postscript 0.570"
    asked = "$ calque translate pt-en impressora --k 3"
    Reader(kept).read(Block("console", f"{asked}\n{right}\n", 1), "page")
    for wrong in (right.replace("job", "jobs"), right.replace("0.579", "0.379"), f"{right}\n{right}", "…\nmore"):
        with pytest.raises(AssertionError, match="page:1: calque translate"):
            Reader(kept).read(Block("console", f"{asked}\n{wrong}\n", 1), "page")
    unshown = "$ calque translate nowhere word\n…\n"
    for language, text in (
        ("sh", "calque translate nowhere word"),
        ("console", unshown),
        ("console", f"{unshown}$ echo $?\n0\n"),
        ("python", "assert False"),
        ("ruby", "1"),
    ):
        with pytest.raises(AssertionError):
            Reader(kept).read(Block(language, text, 1), "page")


def test_the_card_of_a_run_does_as_it_says(kept: Kept, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept.replay(START, tmp_path)
    found = blocks((tmp_path / "pt-en" / "README.md").read_text(encoding="utf-8"))
    assert [each.language for each in found] == ["sh", "python"]
    for each in found:
        Reader(kept).read(each, "pt-en/README.md")
    assert (tmp_path / "shared-space" / "source.vec").exists()


def test_the_page_on_the_run_folder_names_every_file_field_and_tensor(kept: Kept, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept.replay(START, tmp_path)
    kept.replay("calque align-many en.vec es.vec de.vec it.vec -o family", tmp_path)
    pair, family = text_of("docs/format.md").split("## A family")
    for folder, text in ((tmp_path / "pt-en", pair), (tmp_path / "family", f"{pair}{family}")):
        config = json.loads((folder / "config.json").read_text())
        fields = {*config, *config["verdict"], *next(iter(config["inputs"].values())), *config["recipe"]}
        fields |= set(config["verdict"]["evidence"]) if "kind" not in config else set(config["pairs"][0])
        files = {path.name for path in folder.iterdir()}
        if "kind" in config:
            files = {re.sub(r"words\.\w+\.txt", "words.NAME.txt", name) for name in files}
        assert [name for name in fields | files if f"`{name}`" not in text] == []
    named = {f"`{name}`" for name in _tensors(tmp_path / "pt-en", "maps", "vectors")}
    assert [name for name in named if name not in pair.replace("back.source.…", "back.source.map")] == []


def _tensors(folder: Path, *files: str) -> set[str]:
    """The names of the tensors of a pair, as the page writes them: step N, and the source for either side."""
    names: set[str] = set()
    for file in files:
        with safe_open(folder / f"{file}.safetensors", "np") as opened:
            names |= set(opened.keys())
    maps = {name for name in names if ".map" in name or ".preprocessing" in name}
    either = {re.sub(r"^(back\.)?target", "source", name).removeprefix("back.") for name in maps}
    return {re.sub(r"\.\d+\.", ".N.", name) for name in either} | (names - maps)


def test_every_picture_is_there_and_every_one_that_is_made_is_shown():
    shown = set()
    for page in PAGES:
        for address in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text_of(page)):
            path = (ROOT / page).parent / address
            assert path.is_file(), f"{page}: {address}"
            shown.add(path.resolve())
    made = {each.resolve() for each in (ROOT / "docs" / "pictures").iterdir()}
    assert made <= shown
