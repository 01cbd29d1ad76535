from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import calque as library
from calque.cli.recipes import Recipes

COMMANDS = [
    "demo",
    "align",
    "translate",
    "lexicon",
    "export",
    "evaluate",
    "similarity",
    "sentences",
    "classify",
    "inspect",
    "convert",
    "recipes",
    "data",
    "reproduce",
    "sweep",
]


def python(code: str, *arguments: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, check=False, **options
    )


class TestHelp:
    def test_it_lists_every_command(self, calque: Callable[..., Any]) -> None:
        result = calque("--help")
        assert (result.code, result.err) == (0, "")
        assert all(f" {name} " in result.out for name in COMMANDS)

    def test_it_is_what_no_arguments_give(self, calque: Callable[..., Any]) -> None:
        assert calque() == calque("--help")

    @pytest.mark.parametrize("command", COMMANDS)
    def test_every_command_has_help_and_the_common_options(self, calque: Callable[..., Any], command: str) -> None:
        result = calque(command, "--help")
        assert (result.code, result.err) == (0, "")
        assert all(option in result.out for option in ("--json", "-q", "--quiet", "-v", "--verbose"))

    def test_the_options_of_align_are_those_of_the_contract(self, calque: Callable[..., Any]) -> None:
        told = calque("align", "--help").out
        options = ("-o", "--recipe", "--lexicon", "--seed", "--limit", "--device", "--overwrite")
        assert all(each in told for each in (*options, "--source-counts", "--target-counts"))
        assert "{auto,cpu,cuda}" in told

    @pytest.mark.parametrize("arguments", [["--help"], ["align", "--help"], ["--version"], ["alogn"]])
    def test_it_waits_for_nothing_heavy(self, arguments: list[str]) -> None:
        heavy = ("torch", "numpy", "scipy", "safetensors", "gensim")
        ended = python(
            f"import sys; from calque.cli.main import main; main({arguments!r}); "
            f"print([name for name in {heavy!r} if name in sys.modules])"
        )
        assert ended.stdout.decode().splitlines()[-1] == "[]"

    @pytest.mark.parametrize("option", ["--version", "-V"])
    def test_the_version(self, calque: Callable[..., Any], option: str) -> None:
        assert calque(option).out == f"calque {library.__version__}\n"


class TestWrongUsage:
    @pytest.mark.parametrize(
        "arguments",
        [
            ["alogn"],
            ["align"],
            ["align", "one.vec"],
            ["align", "one.vec", "two.vec"],
            ["align", "one.vec", "two.vec", "-o", "run", "--device", "tpu"],
            ["align", "one.vec", "two.vec", "-o", "run", "--seed", "x"],
            ["align", "one.vec", "two.vec", "-o", "run", "--limit", "many"],
            ["align", "one.vec", "two.vec", "-o", "run", "--fast"],
            ["translate"],
            ["translate", "run", "word", "--k", "x"],
            ["export", "run", "-o", "out", "--format", "doc"],
            ["similarity", "run", "--pairs", "file", "--phrases", "guess"],
            ["convert", "one.vec"],
        ],
        ids=" ".join,
    )
    def test_it_exits_with_2_and_writes_nothing(
        self, calque: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        result = calque(*arguments)
        assert (result.code, result.out) == (2, "")
        assert result.err
        assert list(tmp_path.iterdir()) == []

    def test_what_was_meant_is_suggested(self, calque: Callable[..., Any]) -> None:
        assert "align" in calque("alogn").err
        assert "--seed" in calque("align", "a", "b", "-o", "c", "--sede", "3").err


class TestOurBugs:
    @pytest.fixture
    def broken(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(command: Recipes) -> int:
            raise ZeroDivisionError(command.name)

        monkeypatch.setattr(Recipes, "run", fail)

    @pytest.mark.usefixtures("broken")
    def test_they_are_ours_and_exit_with_1(self, calque: Callable[..., Any]) -> None:
        result = calque("recipes", "odd")
        assert (result.code, result.out) == (1, "")
        assert result.err.startswith("calque: this is a bug of ours: ZeroDivisionError('odd')")
        assert result.err.count("\n") == 1

    @pytest.mark.usefixtures("broken")
    def test_verbose_shows_where(self, calque: Callable[..., Any]) -> None:
        with pytest.raises(ZeroDivisionError):
            calque("recipes", "odd", "-v")

    def test_ctrl_c_outside_of_a_search(self, calque: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupted(command: Recipes) -> int:
            raise KeyboardInterrupt(command.name)

        monkeypatch.setattr(Recipes, "run", interrupted)
        result = calque("recipes")
        assert (result.code, result.out, result.err) == (130, "", "calque: interrupted\n")


class TestProcess:
    def test_the_installed_script_gives_the_exit_code(self, tmp_path: Path) -> None:
        script = Path(sys.executable).with_name("calque")
        if not script.exists():
            pytest.skip("calque is not installed as a script")
        ended = subprocess.run([script, "inspect", tmp_path / "none.vec"], capture_output=True, check=False)
        assert (ended.returncode, ended.stdout) == (2, b"")
        assert ended.stderr.startswith(b"calque: ")
        assert ended.stderr.count(b"\n") == 1

    def test_a_reader_that_leaves_early_is_no_error(self, aligned: Any) -> None:
        entry = "from calque.cli.main import entry; entry()"
        read, write = os.pipe()
        os.close(read)
        process = subprocess.Popen(
            [sys.executable, "-c", entry, "lexicon", str(aligned.folder)], stdout=write, stderr=subprocess.PIPE
        )
        os.close(write)
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, b"")

    @pytest.mark.parametrize("encoding", ["ascii", "utf-8:strict"])
    def test_words_are_bytes_whatever_the_locale(self, aligned: Any, encoding: str) -> None:
        ended = python(
            "from calque.cli.main import entry; entry()",
            "translate",
            aligned.folder,
            "-",
            "-q",
            input="東京\n".encode() + b"\xff\xfe\n",
            env={**os.environ, "PYTHONIOENCODING": encoding},
        )
        assert ended.returncode == 0, ended.stderr
        lines = ended.stdout.splitlines()
        assert lines[0].startswith("東京\tTōkyō ".encode())
        assert lines[1].startswith(b"\xff\xfe\tcaf\xe9 ")


class TestWrongNames:
    """A wrong name is answered by the nearest right one, whatever else the line lacks."""

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            (("algin", "a.vec", "b.vec"), "no command is called 'algin' (did you mean align?); there are: demo, align"),
            (("xyzzy",), "no command is called 'xyzzy'; there are: demo, "),
            (("align", "--sed", "3", "a.vec", "b.vec"), "calque align has no option '--sed' (did you mean --seed?)"),
            (("align", "--sed=3", "a.vec"), "calque align has no option '--sed' (did you mean --seed?)"),
            (("translate", "run", "word", "--retreival", "nn"), "(did you mean --retrieval?); see calque translate"),
            (("align", "a.vec", "b.vec", "-o", "x", "--recipe", "xing2105"), "no such file"),
        ],
    )
    def test_the_nearest_name_is_said(self, refused: Callable[..., str], line: tuple[str, ...], said: str) -> None:
        assert said in refused(*line)

    def test_a_recipe(self, refused: Callable[..., str]) -> None:
        assert "no recipe is called 'xing2105' (did you mean xing2015?); there are: " in refused("recipes", "xing2105")

    @pytest.mark.parametrize("command", COMMANDS)
    def test_every_option_of_the_help_is_known(self, calque: Callable[..., Any], command: str) -> None:
        options = set(re.findall(r"(?<![\w-])--[a-z][\w-]+", calque(command, "--help").out))
        for option in options - {"--help"}:
            assert "has no option" not in calque(command, option, "--help").err

    def test_shell_completion_is_in_the_help(self, calque: Callable[..., Any], tmp_path: Path) -> None:
        assert "--tyro-write-completion bash" in " ".join(calque("--help").out.replace("│", "").split())
        assert calque("--tyro-write-completion", "bash", tmp_path / "calque").code == 0
        assert "align-many" in (tmp_path / "calque").read_text()


def test_python_dash_m_is_the_command() -> None:
    shown = subprocess.run([sys.executable, "-m", "calque", "--version"], capture_output=True, check=False, text=True)
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, f"calque {library.__version__}\n", "")
    wrong = subprocess.run([sys.executable, "-m", "calque", "inspect", "none.vec"], capture_output=True, check=False)
    assert wrong.returncode == 2
