from __future__ import annotations

import csv
import functools
import importlib.util
import io
import json
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from calque.cli import watching
from calque.errors import SpaceError
from calque.experiments import driver, paper_plan
from calque.experiments.events import Progress, RunEnded, RunStarted
from calque.experiments.results import ExperimentKey, FinishedRun, Provenance, Score
from calque.progress import Step

HERE = Path(__file__).resolve()


def load_world() -> ModuleType:
    """The small world of the tests of the library."""
    if "world" in sys.modules:
        return sys.modules["world"]
    spec = importlib.util.spec_from_file_location("world", HERE.parents[1] / "experiments" / "world.py")
    assert spec
    assert spec.loader
    module = sys.modules["world"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


world = load_world()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for language in ("es", "it"):
        world.put_we_z(tmp_path / "data", language)
    world.put_europarl(tmp_path / "data", "de")
    return tmp_path / "data"


@pytest.fixture
def solver(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the command runs recipes by."""
    made = world.Solver()
    monkeypatch.setattr(driver, "run_plan", functools.partial(driver.run_plan, engine=made.engine()))
    monkeypatch.setattr(paper_plan, "paper_plan", functools.partial(paper_plan.paper_plan, find=made.find))
    return made


class TestTable:
    def test_a_table_for_people(self, calque: Callable[..., Any], data: Path, tmp_path: Path, solver: Any) -> None:
        out = tmp_path / "out"
        result = calque("reproduce", "lex-z", "--data", data, "-o", out, "--methods", "xing2015,paper", "--seeds", 2)
        assert result.code == 0
        lines = result.out.splitlines()
        assert lines[0] == "Table 2: accuracy@1 on LEX-Z"
        assert lines[1].split() == ["method", "tr-en", "en-tr", "es-en", "en-es"]
        row = next(line for line in lines if line.startswith("  Xing"))
        assert row.split("  ")[-2:] == ["100.0 ± 0.0 (71.92)", "100.0 ± 0.0 (41.02)"]
        assert "no data (24.00)" in row
        assert "above both unsupervised rivals in every direction: not known yet" in result.out
        assert str(out / "lex-z-muse.md") in lines[-1]
        assert all((out / f"lex-z-muse.{each}").is_file() for each in ("md", "csv", "tex", "json"))
        assert len(solver.calls) == 12

    def test_lines_say_what_was_run_and_what_is_missing(
        self, calque: Callable[..., Any], data: Path, tmp_path: Path, solver: Any
    ) -> None:
        asked = ("reproduce", "lex-z", "--data", data, "-o", tmp_path / "out", "--methods", "paper", "--seeds", 1)
        lines = calque(*asked).err.splitlines()
        assert all(line.startswith("calque: ") for line in lines)
        assert lines[0].startswith("calque: tr-en: has cells without data, for want of we-z/tr-en/word2vec.tr, ")
        assert "'calque data lex-z --data " in lines[0]
        assert lines[2].startswith("calque: 1 of 2: paper es-en seed 0: es-en 100.0 %, en-es 100.0 %, ")
        assert len(lines) == 4
        assert len(solver.calls) == 2

    @pytest.mark.usefixtures("solver")
    def test_quiet_says_nothing(self, calque: Callable[..., Any], data: Path, tmp_path: Path) -> None:
        asked = ("reproduce", "lex-z", "--data", data, "-o", tmp_path / "out", "--methods", "paper", "-q")
        assert calque(*asked).err == ""

    @pytest.mark.usefixtures("solver")
    def test_json_is_the_file(self, calque: Callable[..., Any], data: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        asked = (
            "reproduce",
            "similarity",
            "--data",
            data,
            "-o",
            out,
            "--methods",
            "paper",
            "--pairs",
            "de-en",
            "--json",
        )
        told = calque(*asked).json
        assert told == json.loads((out / "similarity.json").read_text())
        assert told["cells"][0]["pearson"]["mean"] == pytest.approx(1, abs=1e-3)
        assert told["command"] == f"calque reproduce similarity --data {data} --pairs de-en --methods paper -o {out}"

    @pytest.mark.usefixtures("solver")
    def test_the_command_in_the_table_makes_the_same_table(
        self, calque: Callable[..., Any], data: Path, tmp_path: Path
    ) -> None:
        out = tmp_path / "a place"
        asked = ("reproduce", "lex-z", "--data", data, "-o", out, "--methods", "paper", "--seeds", 1)
        first = calque(*asked, "--lexicon", "omw", "--retrieval", "csls", "--device", "cpu", "--json").json
        _, *again = shlex.split(first["command"])
        assert calque(*again, "--json").json == first
        assert (out / "lex-z-omw-csls.tex").is_file()

    def test_it_goes_on_and_repeats_nothing(
        self, calque: Callable[..., Any], data: Path, tmp_path: Path, solver: Any
    ) -> None:
        asked = ("reproduce", "lex-c", "--data", data, "-o", tmp_path / "out", "--pairs", "de-en", "--seeds", 1)
        first = calque(*asked, "--methods", "paper,default")
        assert len(solver.calls) == 2
        assert calque(*asked, "--methods", "paper,default").out == first.out
        assert len(solver.calls) == 2
        calque(*asked)
        assert len(solver.calls) == 5 + 7 * 2

    def test_a_failed_method_is_a_result_and_no_error(
        self, calque: Callable[..., Any], data: Path, tmp_path: Path, solver: Any
    ) -> None:
        solver.diverging["paper"] = SpaceError("nowhere to go")
        asked = ("reproduce", "lex-z", "--data", data, "-o", tmp_path / "out", "--methods", "paper", "--pairs", "es-en")
        result = calque(*asked)
        assert result.code == 0
        assert "failed 3 of 3 (73.05)" in result.out
        assert "3 of 3: paper es-en seed 2: nowhere to go, " in result.err

    def test_a_bug_is_told_and_the_others_go_on(
        self, calque: Callable[..., Any], data: Path, tmp_path: Path, solver: Any
    ) -> None:
        solver.diverging["paper"] = TypeError("of ours")
        asked = (
            "reproduce",
            "lex-z",
            "--data",
            data,
            "-o",
            tmp_path / "out",
            "--methods",
            "paper,default",
            "--seeds",
            1,
        )
        result = calque(*asked, "--pairs", "es-en")
        assert result.code == 1
        assert "paper es-en seed 0 broke off and is tried again the next time (TypeError: of ours)" in result.err
        rows = list(csv.DictReader((tmp_path / "out/lex-z-muse.csv").open()))
        told = {(row["method"], row["direction"], row["retrieval"]): row for row in rows}
        assert told["default", "es-en", "nn"]["mean"] == "100.0"
        assert told["paper", "es-en", "nn"]["pending"] == "1"


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "line"),
        [
            (["lex-y"], "no table is called 'lex-y'; there are: lex-z, lex-c, similarity, ablation"),
            (["lex-z", "--pairs", "es-en,xx-en"], "lex-z has no pair 'xx-en'; there are: tr-en, es-en, zh-en, it-en"),
            (["lex-z", "--methods", "magic"], "lex-z has no method called 'magic'; there are: mikolov2013, "),
            (["lex-z", "--seeds", "0"], "--seeds is 0; expected at least 1"),
            (["lex-z", "--pairs", ","], "--pairs is ','; expected names separated by commas"),
            (["lex-c", "--lexicon", "omw"], "lex-c has no lexicon 'omw'; there are: muse"),
            (["similarity", "--retrieval", "csls"], "similarity is measured by cosine"),
            (["lex-z", "--pairs", "zh-en", "--methods", "default"], "'calque data lex-z --data "),
        ],
        ids=lambda each: " ".join(each) if isinstance(each, list) else "",
    )
    def test_in_one_line(
        self, refused: Callable[..., str], data: Path, tmp_path: Path, options: list[str], line: str
    ) -> None:
        assert line in refused("reproduce", *options, "--data", data, "-o", tmp_path / "out")

    def test_no_data_folder(self, refused: Callable[..., str], tmp_path: Path) -> None:
        told = refused("reproduce", "lex-z", "--data", tmp_path / "none", "-o", tmp_path / "out")
        assert f"{tmp_path / 'none'}: is not a folder" in told

    @pytest.mark.parametrize("place", ["file", "file/below"])
    def test_a_file_in_the_way(self, refused: Callable[..., str], data: Path, tmp_path: Path, place: str) -> None:
        (tmp_path / "file").write_text("mine")
        told = refused("reproduce", "lex-z", "--data", data, "-o", tmp_path / place, "--methods", "default")
        assert str(tmp_path / "file") in told


class TestWatching:
    def test_time_left_is_said_as_far_as_it_is_known(self) -> None:
        assert watching.time_left(Progress(1, 3, 80.0, 0)) == "; about 80 s left"
        assert watching.time_left(Progress(1, 3, 600.0, 1)) == "; at least 10 min left"
        assert watching.time_left(Progress(1, 3, 9000.0, 0)) == "; about 2.5 h left"
        assert watching.time_left(Progress(1, 3, 0.0, 2)) == ""
        assert watching.time_left(Progress(3, 3, 0.0, 0)) == ""

    def test_the_board_on_a_terminal(self, data: Path, tmp_path: Path) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bars

        from calque.cli.reproduce import Reproduce

        command = Reproduce(table="lex-z", data=data, output=tmp_path / "out")
        console = Console(force_terminal=True, width=120, record=True, file=io.StringIO())
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[text]}"))
        with Bars(*columns, console=console, auto_refresh=False) as bars:
            board = watching.Board(command, bars, "lex-z")
            board.hear(RunStarted("paper", "es-en", (0, 1), Progress(3, 8, 120.0, 0)))
            board.listen(Step("search", 4, 16))
            told = [(task.description, task.completed, task.total, task.fields["text"]) for task in bars.tasks]
            key = ExperimentKey("es-en", "paper", 0, "we-z", "muse")
            board.hear(
                RunEnded(
                    FinishedRun(key, Score(errors={"run": "diverged"}), Provenance("", {})), Progress(4, 8, 0.0, 0)
                )
            )
            bars.refresh()
        assert told == [
            ("lex-z", 3, 8, "3 of 8; about 2 min left"),
            ("paper es-en seeds 0, 1", 4, 16, "searching 4 of 16"),
        ]
        assert "4 of 8: paper es-en seed 0: diverged" in console.export_text()


SLOW = """
import functools, importlib.util, sys, time
spec = importlib.util.spec_from_file_location("world", sys.argv[1])
world = sys.modules["world"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(world)
from calque.cli.main import main
from calque.experiments import driver, paper_plan

class Slow(world.Solver):
    def run(self, recipe, *rest, stopped, **options):
        print("began", recipe.name, flush=True)
        while recipe.name == "paper" and not stopped():
            time.sleep(0.01)
        return super().run(recipe, *rest, **options)

driver.run_plan = functools.partial(driver.run_plan, engine=Slow().engine())
paper_plan.paper_plan = functools.partial(paper_plan.paper_plan, find=Slow().find)
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_ctrl_c_drops_the_run_at_hand_and_writes_what_is_finished(
    calque: Callable[..., Any], data: Path, tmp_path: Path, solver: Any
) -> None:
    chosen = ["--methods", "default,paper", "--pairs", "es-en", "--seeds", "1"]
    asked = ["reproduce", "lex-z", "--data", str(data), "-o", str(tmp_path / "out"), *chosen]
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(HERE.parents[1] / "experiments" / "world.py"), *asked],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "began default\n"
    assert process.stdout.readline() == "began paper\n"
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "leaving after this step, with what is finished" in err
    assert "… (73.05)" in out
    told = json.loads((tmp_path / "out/lex-z-muse.json").read_text())
    assert (told["done"], told["total"]) == (1, 2)
    assert calque(*asked).code == 0
    assert solver.calls == [("paper", 0)]
