from __future__ import annotations

import contextlib
import io
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from calque.cli.main import main


@dataclass(frozen=True)
class Result:
    """What one command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object that stdout must be."""
        assert self.out.count("\n") == 1
        return json.loads(self.out)


@dataclass(frozen=True)
class Run:
    """A run folder and what `calque align --json` said when it made it."""

    folder: Path
    result: Result


def run_aside(*arguments: object) -> Result:
    """A command outside of any test, for fixtures that live longer."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(each) for each in arguments])
    return Result(code, out.getvalue(), err.getvalue())


@pytest.fixture
def calque(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """The command, in this process."""

    def run(*arguments: object) -> Result:
        capsys.readouterr()
        code = main([str(each) for each in arguments])
        return Result(code, *capsys.readouterr())

    return run


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder, hidden files too."""
    return {str(each.relative_to(folder)): each.read_bytes() if each.is_file() else None for each in folder.rglob("*")}


@pytest.fixture
def refused(calque: Callable[..., Result], tmp_path: Path) -> Callable[..., str]:
    """Run a command that must be refused, in one line and with nothing written below tmp_path; that line."""

    def run(*arguments: object) -> str:
        before = tree(tmp_path)
        result = calque(*arguments)
        assert result.err.startswith("calque: ")
        assert "bug of ours" not in result.err
        assert result.err.count("\n") == 1
        assert result.err.endswith("\n")
        assert (result.code, result.out) == (2, "")
        assert tree(tmp_path) == before
        return result.err

    return run


@pytest.fixture(scope="session")
def aligned(files: Any, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The synthetic problem, aligned by the default recipe. Tests that change the folder copy it."""
    folder = tmp_path_factory.mktemp("runs") / "aligned"
    return Run(folder, run_aside("align", files.source, files.target, "-o", folder, "--json"))


@pytest.fixture(scope="session")
def failed(noise_files: tuple[Path, Path], files: Any, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Noise, which no recipe aligns."""
    folder = tmp_path_factory.mktemp("runs") / "failed"
    return Run(folder, run_aside("align", *noise_files, "-o", folder, "--json", "--recipe", files.quick))


@pytest.fixture
def run_copy(aligned: Run, tmp_path: Path) -> Path:
    """The aligned run, to be changed or damaged."""
    return Path(shutil.copytree(aligned.folder, tmp_path / "run"))
