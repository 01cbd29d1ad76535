"""Real runs on small spaces, in this process and by Ray, with workers and the command itself killed in the middle."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import small

from calque import recipes
from calque.data.lexicon import Lexicon
from calque.errors import RunError, SettingsError
from calque.experiments.backends import BackendOptions
from calque.experiments.driver import run_plan
from calque.experiments.events import Note, RunBroken, RunEnded, RunStarted
from calque.experiments.plan_file import read_plan
from calque.experiments.report import Report
from calque.experiments.results import ExperimentKey
from calque.experiments.worker import Engine
from calque.progress import Step
from calque.runs.alignment import Alignment

ONE_RECIPE = small.PLAN.replace('"xing2015", ', "").replace('pairs = "all"', 'pairs = ["es-en", "de-en"]')
"""Four runs, and none that learns from pairs."""
HERE = BackendOptions(workers=0)


def lines(folder: Path) -> list[dict[str, str]]:
    """The table without what a clock measured."""
    found = list(csv.DictReader((folder / "table.csv").open()))
    assert found
    return [{name: value for name, value in row.items() if name != "seconds"} for row in found]


def markdown(folder: Path) -> list[str]:
    """The same of the Markdown: without the last cell of each row."""
    return [line.rsplit("|", 2)[0] for line in (folder / "table.md").read_text().splitlines()]


def finished(folder: Path) -> dict[str, int]:
    """Every kept run, and when its file was written."""
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in (folder / "runs").glob("*/*.json")}


def written(folder: Path) -> dict[str, tuple[int, str]]:
    """The files of the table: when each was written, and its text."""
    return {path.name: (path.stat().st_mtime_ns, path.read_text()) for path in folder.glob("table.*")}


def at_once(_, source, target, listen, **__) -> Alignment:
    """A run without search and verdict, for tests of what is around it."""
    known = Lexicon.of((f"{source.words[0][:2]}{row}", f"{target.words[0][:2]}{row}") for row in range(small.TRAINED))
    listen(Step("search", 1, 1))
    return recipes.run(recipes.find("xing2015"), source, target, device="cpu", lexicon=known, judged=False)


def made(events: list[object]) -> list[ExperimentKey]:
    return [event.run.key for event in events if isinstance(event, RunEnded)]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory) -> tuple[Report, Path]:
    """The plan, with every run saved, and its folder."""
    folder = small.put(tmp_path_factory.mktemp("table") / "data")
    (folder / "plan.toml").write_text(small.PLAN.replace("seeds = 2", "seeds = [0, 7]\nsave = true"))
    return run_plan(read_plan(folder / "plan.toml"), folder / "out", HERE), folder / "out"


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> tuple[Path, Path]:
    """A plan of which half the runs fail at once, and what one process makes of it."""
    folder = small.put(tmp_path_factory.mktemp("ray") / "data")
    text, number = re.subn(r'"[\w-]+\.train\.tsv"', '"foreign.tsv"', small.PLAN)
    assert number == 3
    (folder / "plan.toml").write_text(text)
    run_plan(read_plan(folder / "plan.toml"), folder / "here", HERE)
    return folder / "plan.toml", folder / "here"


class TestTable:
    def test_a_row_for_each_direction_and_recipe(self, outcome):
        report, folder = outcome
        cells = [cell for _, _, cell in report.rows()]
        directions = ["en-es", "es-en", "en-de", "de-en", "es-de", "de-es"]
        assert [(way.name, recipe) for way, recipe, _ in report.rows()] == [
            (direction, recipe) for direction in directions for recipe in ("xing2015", "quick")
        ]
        assert all((cell.finished, cell.expected, cell.errors) == (2, 2, ()) for cell in cells)
        assert all(sum(cell.verdicts.values()) == 2 for cell in cells)
        assert len(lines(folder)) == 2 * len(cells)

    def test_most_words_are_found_and_not_all(self, outcome):
        for way, _, cell in outcome[0].rows():
            if "es-de" in (way.name, way.back):
                assert (cell.values, cell.mean) == ((), None)
            else:
                assert len(cell.values) == 2
                assert all(20 < value < 100 for value in cell.values)

    def test_coverage_stands_beside_accuracy(self, outcome):
        by_direction = {way.name: cell for way, _, cell in outcome[0].rows()}
        # of the 240 words of the lexicon, es has the first 250 rows alone
        assert (by_direction["es-en"].asked, by_direction["es-en"].missing) == (190, 50)
        assert (by_direction["de-en"].asked, by_direction["de-en"].missing) == (240, 0)
        row = next(line for line in (outcome[1] / "table.md").read_text().splitlines() if line.startswith("| es-en"))
        assert "| 190 | 50 |" in row

    def test_the_files_say_the_same(self, outcome):
        report, folder = outcome
        told = json.loads((folder / "table.json").read_text())
        assert (told["done"], told["total"], told["seeds"], told["failures"]) == (12, 12, [0, 7], [])
        rows = [*report.rows("nn"), *report.rows("csls")]
        for row, line, (way, _, cell) in zip(told["rows"], lines(folder), rows, strict=True):
            assert row["direction"] == line["direction"] == way.name
            assert line["mean"] == ("" if cell.mean is None else str(round(cell.mean, 4)))
            assert row["values"] == [round(value, 4) for value in cell.values]
            assert int(line["aligned"]) == cell.verdicts.get("aligned", 0)

    def test_what_is_saved_is_the_run_that_was_judged(self, outcome):
        report, folder = outcome
        alignment = Alignment.load(folder / "runs" / "en-es" / "quick.7")
        key = ExperimentKey("en-es", "quick", 7)
        assert (alignment.record.seed, alignment.verdict.label) == (7, report.runs[key].provenance.verdict)
        assert len(alignment.target) == 250

    def test_counts_and_what_learned_are_on_record(self, outcome):
        inputs = outcome[0].runs[ExperimentKey("en-es", "xing2015", 0)].provenance.inputs
        assert set(inputs) == {"source", "target", "target counts", "target limit", "training", "there", "back"}
        assert (inputs["target limit"], inputs["training"].endswith("turned")) == ("250", True)


class TestGoingOn:
    @pytest.fixture
    def begun(self, plan_file, tmp_path) -> Callable[..., list[object]]:
        """Sweep, as a whole or again; the events of it."""

        def run(text: str = ONE_RECIPE, **options: object) -> list[object]:
            events: list[object] = []
            plan = read_plan(plan_file(text))
            run_plan(plan, tmp_path / "out", HERE, events.append, engine=Engine(run=at_once), **options)
            return events

        return run

    def test_nothing_is_repeated(self, begun, tmp_path):
        assert len(made(begun())) == 4
        before, tables = finished(tmp_path / "out"), written(tmp_path / "out")
        assert made(begun()) == []
        assert finished(tmp_path / "out") == before
        assert len(tables) == 3
        assert written(tmp_path / "out") == tables

    def test_more_seeds_run_only_the_new_ones(self, begun):
        begun()
        assert {key.seed for key in made(begun(ONE_RECIPE.replace("seeds = 2", "seeds = 3")))} == {2}

    @pytest.mark.parametrize(
        ("name", "again"),
        [("es.vec", {"es-en"}), ("de-en.tsv", {"de-en"}), ("quick.toml", {"es-en", "de-en"}), ("es.freq", {"es-en"})],
    )
    def test_what_changed_is_run_again_where_it_counts(self, begun, folder, name, again):
        begun()
        path = folder / name
        text = path.read_text()
        changed = text.replace("rounds = 1", "rounds = 2") if name == "quick.toml" else text.replace("9", "8", 1)
        assert changed != text
        path.write_text(changed)
        assert {key.pair for key in made(begun())} == again

    def test_another_limit_runs_again(self, begun):
        begun()
        assert {key.pair for key in made(begun(ONE_RECIPE.replace("limit = 250", "limit = 240")))} == {"es-en"}

    def test_a_damaged_run_is_named_and_made_again(self, begun, tmp_path):
        begun()
        (tmp_path / "out/runs/es-en/quick.1.json").write_text("{")
        events = begun()
        assert made(events) == [ExperimentKey("es-en", "quick", 1)]
        assert any("quick.1.json" in event.text for event in events if isinstance(event, Note))

    def test_wanting_them_saved_runs_again_what_was_not(self, begun, tmp_path):
        begun()
        assert len(made(begun("save = true\n" + ONE_RECIPE))) == 4
        assert made(begun("save = true\n" + ONE_RECIPE)) == []
        assert (tmp_path / "out/runs/de-en/quick.0/config.json").is_file()

    def test_a_folder_of_an_earlier_run_is_not_taken_for_that_of_a_later_one(self, begun, folder, tmp_path):
        saved = "save = true\n" + ONE_RECIPE
        begun(saved)
        config = tmp_path / "out/runs/de-en/quick.0/config.json"
        before = json.loads(config.read_text())["inputs"]["source"]["sha256"]
        text = (folder / "de.vec").read_text()
        (folder / "de.vec").write_text(text.replace("9", "8", 1))
        begun(ONE_RECIPE)
        assert {key.pair for key in made(begun(saved))} == {"de-en"}
        assert json.loads(config.read_text())["inputs"]["source"]["sha256"] != before

    def test_what_cannot_be_saved_is_told_and_does_not_stop_the_others(self, begun, tmp_path):
        stranger = tmp_path / "out/runs/es-en/quick.0"
        stranger.mkdir(parents=True)
        (stranger / "precious").write_text("mine")
        events = begun("save = true\n" + ONE_RECIPE)
        assert len(made(events)) == 3
        told = [event.text for event in events if isinstance(event, Note)]
        assert any("was not made by calque and is not replaced" in table for table in told)
        assert (stranger / "precious").read_text() == "mine"

    def test_being_asked_to_stop_drops_the_run_at_hand(self, begun, tmp_path):
        events: list[object] = []
        begun(listen=events.append, stopped=lambda: len(finished(tmp_path / "out")) >= 1 and len(events) > 0)
        assert len(finished(tmp_path / "out")) == 1
        assert "1 of 4 runs" in (tmp_path / "out/table.md").read_text()

    def test_the_time_left_is_known_from_the_first_run_on(self, begun):
        standing = [event.progress for event in begun() if isinstance(event, RunEnded)]
        assert [(entry.done, entry.total, entry.unknown) for entry in standing] == [(n, 4, 0) for n in (1, 2, 3, 4)]
        assert standing[-1].seconds == 0

    def test_a_file_where_the_folder_should_be(self, plan_file, tmp_path):
        (tmp_path / "out").write_text("mine")
        with pytest.raises(RunError, match="is not a folder"):
            run_plan(read_plan(plan_file(ONE_RECIPE)), tmp_path / "out", HERE)

    def test_a_gpu_that_is_not_there_is_said_before_anything_is_written(self, plan_file, tmp_path, monkeypatch):
        monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
        plan = read_plan(plan_file(ONE_RECIPE.replace('"cpu"', '"cuda"')))
        with pytest.raises(SettingsError, match="no GPU"):
            run_plan(plan, tmp_path / "out", HERE)
        assert not (tmp_path / "out").exists()


class TestFailing:
    def test_a_method_that_fails_is_in_the_table_with_its_error_and_is_not_tried_again(self, plan_file, tmp_path):
        text = small.PLAN.replace('"es-en.train.tsv"', '"foreign.tsv"').replace(', "quick.toml"', "")
        text = text.replace('"all"', '["es-en", "de-en"]')
        events: list[object] = []
        report = run_plan(read_plan(plan_file(text)), tmp_path / "out", HERE, events.append)
        rows = {way.name: cell for way, _, cell in report.rows()}
        for direction in ("es-en", "en-es"):
            (line,) = rows[direction].errors
            assert "none of its 2 words has both itself and a translation" in line
            assert (rows[direction].values, rows[direction].finished) == ((), 2)
        assert len(rows["de-en"].values) == 2
        assert line in (tmp_path / "out/table.md").read_text()
        assert line in {row["error"] for row in lines(tmp_path / "out")}
        events.clear()
        run_plan(read_plan(plan_file(text)), tmp_path / "out", HERE, events.append)
        assert made(events) == []

    def test_a_lexicon_of_other_words_leaves_the_verdict(self, plan_file, tmp_path):
        text = small.PLAN.replace('"es-en.tsv"', '"foreign.tsv"').replace(', "quick.toml"', "")
        text = text.replace('"all"', '["es-en"]')
        report = run_plan(read_plan(plan_file(text.replace("seeds = 2", "seeds = 1"))), tmp_path / "out", HERE)
        row = next(cell for way, _, cell in report.rows() if way.name == "es-en")
        assert sum(row.verdicts.values()) == 1
        assert "none of its 2 words can be asked" in row.errors[0]

    def test_what_is_not_its_doing_is_in_the_table_and_tried_again_the_next_time(self, plan_file, tmp_path):
        def full(*_: object, **__: object) -> None:
            raise MemoryError("full")

        text = small.PLAN.replace(', "quick.toml"', "").replace("seeds = 2", "seeds = 1")
        events: list[object] = []
        plan = read_plan(plan_file(text))
        report = run_plan(plan, tmp_path / "out", HERE, events.append, engine=Engine(run=full))
        assert {cell.errors for _, _, cell in report.rows()} == {("broke off: full",)}
        assert (len(report.lost), finished(tmp_path / "out")) == (3, {})
        assert len([event for event in events if isinstance(event, RunBroken)]) == 3
        again = run_plan(read_plan(plan_file(text)), tmp_path / "out", HERE)
        assert (len(again.runs), again.lost) == (3, {})

    def test_a_file_that_breaks_off_costs_its_own_pairs(self, plan_file, folder, tmp_path):
        text = small.PLAN.replace(', "quick.toml"', "").replace("seeds = 2", "seeds = 1")
        (folder / "de.vec").write_text((folder / "de.vec").read_text()[:2000] + " nonsense here\n")
        events: list[object] = []
        report = run_plan(read_plan(plan_file(text)), tmp_path / "out", HERE, events.append)
        assert {lost_run.pair for lost_run in report.lost} == {"en-de", "es-de"}
        assert all(value.unreadable and "de.vec" in str(value.error) for value in report.lost.values())
        assert len([event for event in events if isinstance(event, Note) and "de.vec" in event.text]) == 1


@pytest.mark.usefixtures("ray")
class TestOnRay:
    @pytest.mark.parametrize("workers", [1, 2])
    def test_the_number_of_workers_changes_nothing_but_time(self, expected, tmp_path, workers):
        plan, here = expected
        run_plan(read_plan(plan), tmp_path / "out", BackendOptions(workers, hold=2 * workers))
        assert lines(tmp_path / "out") == lines(here)
        assert markdown(tmp_path / "out") == markdown(here)

    def test_a_worker_killed_in_the_middle_costs_one_trial_and_changes_nothing(self, expected, tmp_path):
        plan, here = expected
        events: list[object] = []
        killed: list[int] = []

        def tell(each: object) -> None:
            events.append(each)
            if (
                isinstance(each, RunStarted)
                and (each.method, each.pair, each.seeds) == ("quick", "en-de", (1,))
                and not killed
            ):
                threading.Thread(target=kill, args=("en-de/quick.1.json", killed), daemon=True).start()

        report = run_plan(read_plan(plan), tmp_path / "out", BackendOptions(2), tell)
        assert (len(killed), report.lost) == (1, {})
        (broke,) = [event for event in events if isinstance(event, RunBroken)]
        assert (broke.key, broke.again) == (ExperimentKey("en-de", "quick", 1), 2)
        assert len(made(events)) == len(set(made(events))) == 12
        assert lines(tmp_path / "out") == lines(here)
        assert markdown(tmp_path / "out") == markdown(here)

    def test_a_killed_command_goes_on_with_what_was_under_way(self, expected, tmp_path):
        plan, here = expected
        process = command(plan, tmp_path / "out")
        wait(lambda: (tmp_path / "out/runs/en-es/quick.0.json").exists())
        process.kill()
        process.wait(timeout=60)
        before = finished(tmp_path / "out")
        assert 1 <= len(before) < 12
        events: list[object] = []
        run_plan(read_plan(plan), tmp_path / "out", BackendOptions(2), events.append)
        assert len(made(events)) == 12 - len(before)
        assert before.items() <= finished(tmp_path / "out").items()
        assert lines(tmp_path / "out") == lines(here)

    def test_ctrl_c_keeps_what_is_finished(self, expected, tmp_path):
        plan, _ = expected
        process = command(plan, tmp_path / "out")
        wait(lambda: (tmp_path / "out/runs/en-es/quick.0.json").exists())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        assert "leaving, with what is finished" in err
        told = json.loads((tmp_path / "out/table.json").read_text())
        assert told["done"] == len(finished(tmp_path / "out"))
        assert 1 <= told["done"] < 12
        assert json.loads(out) == told


def kill(name: str, killed: list[int]) -> None:
    """Wait for the worker at this run, and kill it."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                title = path.read_bytes()
            except OSError:
                continue
            if title.startswith(f"ray::calque {name}".encode()):
                killed.append(int(path.parent.name))
                os.kill(killed[0], signal.SIGKILL)
                return
        time.sleep(0.005)


def command(plan: Path, output: Path) -> subprocess.Popen[str]:
    """`calque sweep` with two workers of its own."""
    code = "from calque.cli.main import entry; entry()"
    asked = ["sweep", str(plan), "-o", str(output), "--workers", "2", "--json"]
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    return subprocess.Popen(
        [sys.executable, "-c", code, *asked],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def wait(there: Callable[[], bool], seconds: float = 120.0) -> None:
    until = time.monotonic() + seconds
    while not there() and time.monotonic() < until:
        time.sleep(0.02)
    assert there()
