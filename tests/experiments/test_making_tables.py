from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch
import world

from calque import recipes
from calque.errors import FormatError, RunError, SettingsError, SpaceError
from calque.experiments.backends import BackendOptions
from calque.experiments.events import Note, RunBroken, RunEnded, RunStarted
from calque.experiments.paper_plan import PaperRequest
from calque.experiments.report import Measure
from calque.experiments.results import ExperimentKey, ResultStore

ALL_OF_IT = [("mikolov2013", seed) for _ in range(4) for seed in (0, 1)] + [
    ("default", seed) for _ in range(2) for seed in (0, 1)
]
"""What `make` runs unless told otherwise: two methods, two pairs, two seeds, the supervised one each way."""


def mean(report, method: str, direction: str, **measure) -> float | None:
    return report.cell(method, direction, Measure(**measure)).mean


class TestResult:
    def test_a_rotation_is_recovered_in_every_cell(self, make, solver):
        report = make()
        assert solver.calls == ALL_OF_IT
        for method in ("mikolov2013", "default"):
            for direction in ("es-en", "en-es", "it-en", "en-it"):
                assert mean(report, method, direction) == mean(report, method, direction, retrieval="csls") == 100.0
            assert mean(report, method, "zh-en") is None

    def test_a_supervised_method_sees_the_training_half_of_its_direction_and_no_other(self, make, solver):
        make(methods=["mikolov2013"], pairs=["es-en"])
        assert set(solver.lexicons) == {("mikolov2013", seed, side) for seed in (0, 1) for side in ("es", "en")}
        for (_, seed, side), lexicon in solver.lexicons.items():
            assert f"(train {seed})" in lexicon.name
            assert all(word.startswith(side) for word in lexicon.answers)
            assert len(lexicon) == world.WORDS / 2

    def test_lex_c_and_similarity_share_their_runs(self, make, solver):
        make("lex-c", pairs=["de-en"])
        made = list(solver.calls)
        report = make("similarity", pairs=["de-en"])
        assert solver.calls == made
        assert mean(report, "default", "de-en") == pytest.approx(1.0, abs=1e-4)
        assert mean(report, "mikolov2013", "de-en") == pytest.approx(1.0, abs=1e-4)

    def test_similarity_first_serves_lex_c_too(self, make, solver):
        make("similarity", methods=["default"], pairs=["de-en"])
        made = list(solver.calls)
        report = make("lex-c", methods=["default"], pairs=["de-en"])
        assert solver.calls == made
        assert mean(report, "default", "en-de") == 100.0

    def test_similarity_is_made_again_where_its_judgements_came_later(self, make, solver, data):
        judged = data / "similarity/semeval17/en-de-SEMEVAL17.txt"
        text = judged.read_text()
        judged.unlink()
        make("lex-c", methods=["default"], pairs=["de-en"])
        judged.write_text(text)
        report = make("similarity", methods=["default"], pairs=["de-en"])
        assert solver.calls == [("default", 0), ("default", 1)] * 2
        assert mean(report, "default", "de-en") == pytest.approx(1.0, abs=1e-4)

    def test_what_sees_no_lexicon_is_judged_by_all_of_them_at_once(self, make, solver):
        make(pairs=["es-en"])
        made = list(solver.calls)
        report = make(pairs=["es-en"], lexicon="omw")
        assert [call for call in solver.calls if call[0] == "default"] == [("default", 0), ("default", 1)]
        assert solver.calls[len(made) :] == [("mikolov2013", seed) for _ in range(2) for seed in (0, 1)]
        assert report.cell("default", "es-en", Measure()).asked == world.WORDS / 4

    def test_rows_made_earlier_stay_in_the_table(self, make, solver):
        make(methods=["mikolov2013"], pairs=["es-en"])
        before = len(solver.calls)
        report = make(methods=["default"], pairs=["es-en"])
        assert [entrant.name for entrant in report.entrants] == ["mikolov2013", "default"]
        assert len(report.cell("mikolov2013", "es-en", Measure()).values) == 2
        assert all(name == "default" for name, _ in solver.calls[before:])

    def test_the_ablation_runs_what_it_says(self, make, solver):
        report = make("ablation", methods=None, pairs=["es-en"], seeds=1)
        told = {recipe.name: recipe.settings for recipe in solver.recipes}
        plain = solver.settings
        assert told["paper"] == plain
        assert told["without-back-translation"].back_translation == 0.0
        assert told["without-gan"].gan.steps == 0
        assert told["without-frequencies"].frequencies is False
        assert told["euclidean"].cost == "euclidean"
        assert told["one-direction"].directions == "forward"
        assert len(set(map(repr, told.values()))) == len(told) == len(report.entrants) == 6

    def test_the_ablation_shares_the_papers_own_run_with_lex_z(self, make, solver):
        make(methods=["paper"])
        make("ablation", methods=["paper"])
        assert solver.calls == [("paper", seed) for _ in range(2) for seed in (0, 1)]


@pytest.mark.parametrize("method", sorted(world.SUPERVISED))
def test_the_recipes_themselves_recover_the_rotation_from_half_the_words(data, tmp_path, method):
    if method not in recipes.RECIPES:
        pytest.skip(f"no recipe {method} yet")
    report = world.reproduce(PaperRequest("lex-z", data, ["es-en"], [method], seeds=1, device="cpu"), tmp_path / "out")
    assert not any(run.score.errors for run in report.runs.values())
    assert mean(report, method, "es-en") == mean(report, method, "en-es") == 100.0


class TestGoingOn:
    def test_finished_runs_are_never_repeated(self, make, solver):
        first = make()
        again = make()
        assert solver.calls == ALL_OF_IT
        assert again.runs == first.runs

    def test_a_killed_table_goes_on_where_it_was(self, make, solver):
        class Killed(BaseException):
            pass

        solver.diverging["default"] = Killed()  # type: ignore[assignment]
        with pytest.raises(Killed):
            make()
        del solver.diverging["default"]
        solver.calls.clear()
        make()
        assert solver.calls == [("default", seed) for _ in range(2) for seed in (0, 1)]

    def test_more_seeds_run_only_the_new_ones(self, make, solver):
        make(methods=["default"], pairs=["es-en"], seeds=1)
        make(methods=["default"], pairs=["es-en"], seeds=3)
        assert solver.calls == [("default", 0), ("default", 1), ("default", 2)]

    def test_changed_settings_run_again(self, make, solver):
        make()
        other = solver.changed(strength=2)
        make(by=other)
        assert other.calls == ALL_OF_IT
        make(by=other)
        assert other.calls == ALL_OF_IT

    def test_a_changed_input_runs_again_what_it_concerns(self, make, solver, data):
        make()
        solver.calls.clear()
        path = data / "lexicons/muse/es-en.tsv"
        path.write_text(path.read_text() + "es000\ten001\n")
        make()
        assert solver.calls == [("mikolov2013", 0), ("mikolov2013", 1), ("default", 0), ("default", 1)]

    def test_a_file_only_touched_runs_nothing_again(self, make, solver, data):
        make()
        (data / "lexicons/muse/es-en.tsv").touch()
        make()
        assert solver.calls == ALL_OF_IT

    @pytest.mark.parametrize("damage", ["{", "[]", '{"format": 2}', "", '{"format": 1, "scores": {"es-en": 3}}'])
    def test_a_damaged_run_is_named_and_made_again(self, make, solver, tmp_path, damage):
        make(methods=["default"], pairs=["es-en"])
        (tmp_path / "out/runs/we-z-muse.es-en.default.1.json").write_text(damage)
        events = []
        make(methods=["default"], pairs=["es-en"], events=events)
        assert solver.calls == [("default", 0), ("default", 1), ("default", 1)]
        notes = [event.text for event in events if isinstance(event, Note)]
        assert len(notes) == 1
        assert "we-z-muse.es-en.default.1.json" in notes[0]
        assert "run again" in notes[0]

    def test_a_run_under_another_name_is_not_taken_for_it(self, make, solver, tmp_path):
        make(methods=["default"], pairs=["es-en"])
        runs = tmp_path / "out/runs"
        (runs / "we-z-muse.es-en.default.0.json").replace(runs / "we-z-muse.es-en.default.1.json")
        make(methods=["default"], pairs=["es-en"])
        assert solver.calls == [("default", 0), ("default", 1)] * 2

    def test_impossible_counts_are_damage(self, make, tmp_path):
        make(methods=["default"], pairs=["es-en"], seeds=1)
        path = tmp_path / "out/runs/we-z-muse.es-en.default.0.json"
        found = json.loads(path.read_text())
        found["scores"]["es-en"]["nn"]["right"]["1"] = 10**6
        path.write_text(json.dumps(found))
        with pytest.raises(RunError, match="run again"):
            ResultStore(path.parent).find(ExperimentKey("es-en", "default", 0, "we-z", "muse"))

    @pytest.mark.parametrize("lost", [("es-en",), ("en-es",), ("es-en", "csls")])
    def test_a_run_that_lost_a_score_is_made_again(self, make, solver, tmp_path, lost):
        make(methods=["default"], pairs=["es-en"], seeds=1)
        path = tmp_path / "out/runs/we-z-muse.es-en.default.0.json"
        found = json.loads(path.read_text())
        *outer, last = lost
        place = found["scores"]
        for name in outer:
            place = place[name]
        del place[last]
        path.write_text(json.dumps(found))
        make(methods=["default"], pairs=["es-en"], seeds=1)
        assert solver.calls == [("default", 0)] * 2
        assert set(json.loads(path.read_text())["scores"]["es-en"]) == {"nn", "csls"}

    def test_what_is_kept_comes_back_the_same(self, make, tmp_path):
        report = make("lex-c", pairs=["de-en"])
        assert len(report.runs) == 4
        for key, run in report.runs.items():
            kept = ResultStore(tmp_path / "out/runs").find(key)
            assert (kept.key, kept.provenance, kept.score.translation) == (
                run.key,
                run.provenance,
                run.score.translation,
            )
            assert kept.score.similarity.pearson == pytest.approx(run.score.similarity.pearson, abs=1e-6)


class TestFailing:
    def test_a_method_that_raises_is_kept_as_failed_and_holds_nothing_up(self, make, solver):
        solver.diverging["mikolov2013"] = SpaceError("the vectors\nran away")
        events = []
        report = make(pairs=["es-en"], events=events)
        cell = report.cell("mikolov2013", "es-en", Measure())
        assert (cell.values, cell.failed, cell.finished) == ((), 2, 2)
        assert mean(report, "default", "es-en") == 100.0
        assert {run.score.errors["run"] for run in report.runs.values() if run.key.method == "mikolov2013"} == {
            "the vectors ran away"
        }
        solver.calls.clear()
        make(pairs=["es-en"])
        assert solver.calls == []

    @pytest.mark.parametrize(
        "error",
        [ZeroDivisionError("by nothing"), torch.linalg.LinAlgError("no svd")],
        ids=lambda each: type(each).__name__,
    )
    def test_numbers_that_break_down_are_its_failure_too(self, make, solver, error):
        solver.diverging["default"] = error
        report = make(methods=["default"], pairs=["es-en"], seeds=1)
        (run,) = report.runs.values()
        assert run.score.errors == {"run": f"{type(error).__name__}: {error}"}

    @pytest.mark.parametrize("error", [MemoryError("full"), TypeError("ours")], ids=lambda each: type(each).__name__)
    def test_what_is_not_its_doing_is_told_and_tried_again(self, make, solver, error):
        solver.diverging["mikolov2013"] = error
        events = []
        report = make(pairs=["es-en"], seeds=1, events=events)
        assert [event.error for event in events if isinstance(event, RunBroken)] == [error, error]
        assert {run.key.method for run in report.runs.values()} == {"default"}
        del solver.diverging["mikolov2013"]
        assert mean(make(pairs=["es-en"], seeds=1), "mikolov2013", "es-en") == 100.0

    def test_a_file_that_cannot_be_read_is_told_once_the_other_pairs_are_done(self, make, data, solver, tmp_path):
        (data / "we-z/es-en/word2vec.es").write_text("no vectors\n")
        events = []
        report = make(methods=["default"], events=events)
        errors = list(report.lost.values())
        assert [(key.pair, key.seed) for key in report.lost] == [("es-en", 0), ("es-en", 1)]
        assert all(lost.unreadable and isinstance(lost.error, FormatError) for lost in errors)
        assert [event.text for event in events if isinstance(event, Note) and "word2vec.es" in event.text] == [
            str(errors[0])
        ]
        assert solver.calls == [("default", 0), ("default", 1)]
        kept = [path.name for path in (tmp_path / "out" / "runs").iterdir()]
        assert any("it-en" in name for name in kept)
        assert not any("es-en" in name for name in kept)

    def test_a_judge_that_cannot_be_used_does_not_hold_up_the_other(self, make, data):
        (data / "similarity/semeval17/en-de-SEMEVAL17.txt").write_text("nobody\tniemand\t1\n")
        report = make("lex-c", methods=["default"], pairs=["de-en"])
        assert mean(report, "default", "de-en") == 100.0
        similar = make("similarity", methods=["default"], pairs=["de-en"])
        cell = similar.cell("default", "de-en", Measure())
        assert (cell.values, cell.failed) == ((), 2)


class TestTogether:
    @pytest.fixture
    def batching(self, monkeypatch):
        """The default method can run seeds as a batch, and there is a GPU."""
        kind = recipes.MethodEntry(None, world.FakeSettings, together=lambda *_: [])
        monkeypatch.setitem(recipes.METHODS, "fake-default", kind)
        monkeypatch.setattr(recipes, "choose_device", lambda name: torch.device("cuda" if name == "auto" else name))

    @pytest.mark.usefixtures("batching")
    def test_missing_seeds_run_as_one_batch_on_a_gpu(self, make, solver, tmp_path):
        make(methods=["default"], pairs=["es-en"], seeds=1)
        events = []
        report = make(methods=["default"], pairs=["es-en"], seeds=4, events=events)
        assert [event.seeds for event in events if isinstance(event, RunStarted)] == [(1, 2, 3)]
        assert [event.run.key.seed for event in events if isinstance(event, RunEnded)] == [1, 2, 3]
        assert solver.calls == [("default", seed) for seed in range(4)]
        assert {run.key.seed: run.provenance.together for run in report.runs.values()} == {0: 1, 1: 3, 2: 3, 3: 3}
        assert len(list((tmp_path / "out/runs").glob("we-z-muse.*"))) == 4

    @pytest.mark.usefixtures("batching")
    def test_a_batch_that_fails_as_a_whole_is_tried_seed_by_seed(self, make):
        class OnlyTogether(world.Solver):
            def run_seeds(self, *_, **__):
                raise SettingsError("too many at once")

        alone = OnlyTogether()
        report = make(by=alone, methods=["default"], pairs=["es-en"], seeds=3)
        assert alone.calls == [("default", 0), ("default", 1), ("default", 2)]
        assert mean(report, "default", "es-en") == 100.0

    @pytest.mark.usefixtures("batching")
    def test_one_after_the_other_elsewhere(self, make):
        events = []
        make(methods=["default"], pairs=["es-en"], seeds=3, device="cpu", events=events)
        assert [event.seeds for event in events if isinstance(event, RunStarted)] == [(0,), (1,), (2,)]


class TestWatching:
    def test_how_far_it_is_and_what_is_left(self, make):
        events = []
        make(pairs=["es-en"], seeds=2, events=events)
        ended = [event.progress for event in events if isinstance(event, RunEnded)]
        assert [event.done for event in ended] == [1, 2, 3, 4, 5, 6]
        assert {event.total for event in ended} == {6}
        # two runs of the other method are left, of which none has finished yet
        assert [event.unknown for event in ended] == [2, 2, 2, 2, 0, 0]
        assert ended[-1].seconds == 0.0

    def test_the_files_are_true_after_every_run(self, make, tmp_path):
        done = []

        def look(events):
            if isinstance(events, RunStarted) and (tmp_path / "out/lex-z-muse.json").exists():
                done.append((events.progress.done, json.loads((tmp_path / "out/lex-z-muse.json").read_text())["done"]))

        class Looking(list):
            append = staticmethod(look)

        make(events=Looking())
        assert done == [(number, number) for number in range(12)]

    def test_being_asked_to_stop_drops_the_run_at_hand(self, make, solver, tmp_path):
        report = make(stopped=lambda: len(solver.calls) >= 3)
        assert len(solver.calls) == 3
        assert len(report.runs) == 2
        assert json.loads((tmp_path / "out/lex-z-muse.json").read_text())["done"] == 2
        make()
        assert solver.calls[3:] == ALL_OF_IT[2:]


class TestRefusing:
    def test_nothing_is_written_for_a_request_that_cannot_be_met(self, make, tmp_path):
        for options in ({"pairs": ["zh-en"]}, {"methods": ["none"]}, {"device": "tpu"}, {"seeds": -1}):
            with pytest.raises(SettingsError):
                make(**options)
        assert not (tmp_path / "out").exists()

    def test_a_recipe_that_is_not_there_is_said_before_anything_is_run(self, data, tmp_path):
        def find(name):
            raise SettingsError(f"no recipe is called {name!r}")

        with pytest.raises(SettingsError, match="no recipe is called 'default'"):
            world.reproduce(
                PaperRequest("lex-z", data, methods=["default"]),
                tmp_path / "out",
                world.Solver().engine().__class__(find=find),
            )
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize("place", ["out", "out/below"])
    def test_a_file_where_the_folder_should_be(self, data, tmp_path, solver, place):
        (tmp_path / "out").write_text("mine")
        with pytest.raises(RunError, match=r"out.*folder"):
            world.reproduce(PaperRequest("lex-z", data, methods=["default"]), tmp_path / place, solver.engine())
        assert (tmp_path / "out").read_text() == "mine"


class TestOnRay:
    @pytest.mark.usefixtures("ray")
    def test_workers_make_the_table_that_one_process_makes(self, data, tmp_path):
        made = {}
        for workers in (0, 1, 2):
            folder = tmp_path / str(workers)
            request = PaperRequest("similarity", data, ["de-en"], ["xing2015"], seeds=1, device="cpu")
            report = world.reproduce(request, folder, options=BackendOptions(workers))
            made[workers] = (folder / "similarity.csv").read_text()
            assert mean(report, "xing2015", "de-en") == pytest.approx(1.0, abs=1e-3)
        assert made[0] == made[1] == made[2]

    @pytest.mark.usefixtures("ray")
    def test_finished_runs_are_not_repeated_by_workers(self, data, tmp_path):
        request = PaperRequest("lex-z", data, ["es-en"], ["xing2015"], seeds=2, device="cpu")
        world.reproduce(request, tmp_path / "out")
        events = []
        options = BackendOptions(2)
        world.reproduce(replace(request, seeds=3), tmp_path / "out", report=events.append, options=options)
        assert sorted((event.run.key.pair, event.run.key.seed) for event in events if isinstance(event, RunEnded)) == [
            ("en-es", 2),
            ("es-en", 2),
        ]
