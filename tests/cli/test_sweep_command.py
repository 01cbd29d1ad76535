from __future__ import annotations

import csv
import functools
import importlib.util
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from calque.cli import sweep as sweep_command
from calque.cli import watching
from calque.experiments import backends, driver
from calque.experiments.events import Note, Progress, RunBroken, RunEnded, RunStarted
from calque.experiments.results import ExperimentKey, FinishedRun, Provenance, Score
from calque.experiments.worker import Engine


def load_small() -> ModuleType:
    """The small languages of the tests of the library."""
    if "small" in sys.modules:
        return sys.modules["small"]
    place = Path(__file__).resolve().parents[1] / "experiments" / "small.py"
    spec = importlib.util.spec_from_file_location("small", place)
    assert spec
    assert spec.loader
    module = sys.modules["small"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


small = load_small()
PLAN = small.PLAN.replace(', "quick.toml"', "").replace('"all"', '["es-en", "es-de"]').replace("seeds = 2", "seeds = 1")
"""Two runs, one of which nothing judges."""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = Path(small.put(tmp_path / "data") / "plan.toml")
    path.write_text(PLAN)
    return path


@pytest.fixture
def sweep(calque: Callable[..., Any], plan: Path, tmp_path: Path) -> Callable[..., Any]:
    """`calque sweep` of the plan, in this process."""

    def run(*options: object) -> Any:
        return calque("sweep", plan, "-o", tmp_path / "out", "--workers", 0, *options)

    return run


class TestTable:
    def test_a_table_for_people_and_lines_on_the_way(self, sweep: Callable[..., Any], tmp_path: Path) -> None:
        result = sweep()
        assert result.code == 0
        head, *rows, last = result.out.splitlines()
        assert head.split() == [
            "direction",
            "recipe",
            "accuracy@1,",
            "csls",
            "asked",
            "not",
            "asked",
            "verdicts",
            "seeds",
            "seconds",
        ]
        assert [row.split()[0] for row in rows] == ["es-en", "en-es", "es-de", "de-es"]
        assert rows[0].split()[3:][:3] == ["%", "190", "50"]
        assert rows[2].split()[2:5] == ["-", "-", "-"]
        assert last == f"tables: {', '.join(str(tmp_path / 'out' / f'table.{each}') for each in ('md', 'csv', 'json'))}"
        lines = result.err.splitlines()
        assert lines[0].startswith("calque: 1 of 2: xing2015 es-en seed 0: es-en ")
        assert "; about " in lines[0]
        assert lines[1].startswith("calque: 2 of 2: xing2015 es-de seed 0: ")

    def test_json_is_the_file(self, sweep: Callable[..., Any], tmp_path: Path) -> None:
        told = sweep("--json").json
        assert told == json.loads((tmp_path / "out/table.json").read_text())
        assert (told["done"], told["total"]) == (2, 2)

    def test_quiet_says_nothing_and_verbose_says_what_runs(self, sweep: Callable[..., Any]) -> None:
        assert "running xing2015 es-en seed 0" in sweep("-v").err
        assert sweep("-q").err == ""

    def test_the_cells_line_up_with_the_csv(self, sweep: Callable[..., Any], tmp_path: Path) -> None:
        out = sweep().out
        rows = [row for row in csv.DictReader((tmp_path / "out/table.csv").open()) if row["retrieval"] == "csls"]
        shown = {line.split()[0]: line.split()[2] for line in out.splitlines()[1:-1]}
        for row in rows:
            assert shown[row["direction"]] == (f"{float(row['mean']):.1f}" if row["mean"] else "-")

    def test_of_a_long_table_the_first_rows_are_shown_and_the_files_have_all(
        self, sweep: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sweep_command, "MOST_ROWS", 3)
        lines = sweep().out.splitlines()
        assert [line.split()[0] for line in lines[1:4]] == ["es-en", "en-es", "es-de"]
        assert lines[4] == "and 1 more rows"
        assert len((tmp_path / "out/table.csv").read_text().splitlines()) == 1 + 2 * 4


class TestExitCodes:
    def test_a_method_that_fails_is_a_result(self, sweep: Callable[..., Any], plan: Path) -> None:
        plan.write_text(PLAN.replace("es-en.train.tsv", "foreign.tsv"))
        result = sweep()
        assert result.code == 0
        assert "es-en xing2015: " in result.out
        assert "none of its 2 words has both itself and a translation" in result.out

    def test_a_file_that_breaks_off_is_wrong_but_holds_nothing_up(self, sweep: Callable[..., Any], plan: Path) -> None:
        path = plan.parent / "de.vec"
        path.write_text(path.read_text()[:2000] + " nonsense here\n")
        result = sweep()
        assert result.code == 2
        assert "1 of 2: xing2015 es-en seed 0" in result.err
        assert "de.vec" in result.out

    def test_a_bug_of_ours_is_one(self, sweep: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: object, **__: object) -> Any:
            raise TypeError("of ours")

        monkeypatch.setattr(driver, "run_plan", functools.partial(driver.run_plan, engine=Engine(run=broken)))
        result = sweep()
        assert result.code == 1
        assert "xing2015 es-en seed 0 broke off and is tried again the next time (TypeError: of ours)" in result.err
        assert "es-en xing2015: broke off: of ours" in result.out


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "line"),
        [
            (["--workers", "-1"], "--workers is -1; expected at least 0"),
            (["--retries", "-1"], "--retries is -1; expected at least 0"),
            (["--hold", "1"], "--hold is 1; expected at least 2"),
            (["--address", "ray://there:1"], "--address is 'ray://there:1'; expected 'auto' or HOST:PORT"),
            (["--workers", "0", "--address", "auto"], "--workers is 0, which is this process"),
        ],
        ids=lambda each: " ".join(each) if isinstance(each, list) else "",
    )
    def test_options(
        self, refused: Callable[..., str], plan: Path, tmp_path: Path, options: list[str], line: str
    ) -> None:
        assert line in refused("sweep", plan, "-o", tmp_path / "out", *options)

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("seeds = 0\n" + PLAN.replace("seeds = 1\n", ""), "plan.toml: seeds is 0; expected how many"),
            (PLAN.replace('"de.vec"', '"none.vec"'), "plan.toml: spaces.de is 'none.vec', but "),
            (PLAN.replace("xing2015", "magic"), "plan.toml: recipes: no recipe is called 'magic'"),
            (PLAN.replace('"cpu"', '"cuda"'), "device is 'cuda', but there is no GPU"),
        ],
        ids=["seeds", "file", "recipe", "device"],
    )
    def test_plans(
        self,
        refused: Callable[..., str],
        plan: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        text: str,
        line: str,
    ) -> None:
        monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
        plan.write_text(text)
        assert line in refused("sweep", plan, "-o", tmp_path / "out", "--workers", 0)

    def test_workers_without_the_extra(
        self, refused: Callable[..., str], plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(backends, "has_ray", lambda: False)
        assert "pip install 'calque-embeddings[sweep]'" in refused(
            "sweep", plan, "-o", tmp_path / "out", "--workers", 2
        )

    def test_without_the_extra_and_without_workers_this_process_does_it(
        self, calque: Callable[..., Any], plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(backends, "has_ray", lambda: False)
        result = calque("sweep", plan, "-o", tmp_path / "out")
        assert result.code == 0
        assert "one run after the other, for want of Ray: pip install 'calque-embeddings[sweep]'" in result.err


def test_the_board_says_how_many_run_beside_each_other(tmp_path: Path) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    command = sweep_command.Sweep(plan=tmp_path / "plan.toml", output=tmp_path / "out")
    console = Console(force_terminal=True, width=140, record=True, file=io.StringIO())
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[text]}"))
    with Bars(*columns, console=console, auto_refresh=False) as bars:
        board = watching.Board(command, bars, "plan.toml", "csls")

        def described() -> str:
            return str(bars.tasks[1].description)

        for seed in range(3):
            board.hear(RunStarted("default", "es-en", (seed,), Progress(0, 4, 0.0, 4)))
        assert described() == "default es-en seed 2 and 2 more"
        board.hear(RunBroken(ExperimentKey("es-en", "default", 1), RuntimeError("its worker died"), again=2))
        board.hear(
            RunEnded(
                FinishedRun(ExperimentKey("es-en", "default", 0), Score(), Provenance("", {}, "aligned")),
                Progress(1, 4, 90.0, 0),
            )
        )
        board.hear(Note("a note"))
        board.hear(RunStarted("default", "es-en", (3,), Progress(1, 4, 90.0, 0)))
        assert described() == "default es-en seed 3 and 1 more"
        assert (bars.tasks[0].description, bars.tasks[0].fields["text"]) == (
            "plan.toml",
            "1 of 4; about 2 min left",
        )
    told = console.export_text()
    assert "default es-en seed 1 broke off and is tried again, 2 times at most (RuntimeError: its worker died)" in told
    assert "1 of 4: default es-en seed 0: aligned, 0.0 s; about 2 min left" in told
