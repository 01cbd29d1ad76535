from __future__ import annotations

import pytest
import world

from calque.evaluate import DirectionScore, SimilarityScore
from calque.experiments.claims import claims
from calque.experiments.paper_plan import PaperRequest, paper_plan
from calque.experiments.paper_tables import LEX_Z
from calque.experiments.report import Cell, Measure, Report
from calque.experiments.results import ExperimentKey, FinishedRun, Provenance, Score
from calque.experiments.wording import beside, plain

ASKED = 10_000


def scored(share: float) -> dict[str, DirectionScore]:
    """So many per cent by nearest neighbour, one more by CSLS."""
    right = round(share * ASKED / 100)
    counts = {1: right, 5: min(ASKED, right + 500), 10: min(ASKED, right + 1000)}
    return {
        "nn": DirectionScore(counts, ASKED, 7),
        "csls": DirectionScore({k: min(ASKED, n + 100) for k, n in counts.items()}, ASKED, 7),
    }


def finished(method: str, pair: str, seed: int, verdict: str = "aligned", **shares: float) -> FinishedRun:
    """A run with these accuracies: es_en=57.1."""
    translation = {direction.replace("_", "-"): scored(share) for direction, share in shares.items()}
    return FinishedRun(
        ExperimentKey(pair, method, seed, "we-z", "muse"), Score(translation), Provenance("", {}, verdict)
    )


def raised(method: str, pair: str, seed: int) -> FinishedRun:
    return FinishedRun(
        ExperimentKey(pair, method, seed, "we-z", "muse"), Score(errors={"run": "diverged"}), Provenance("", {})
    )


def report_of(data, runs: list[FinishedRun], **options) -> Report:
    request = PaperRequest("lex-z", data, **{"pairs": ["es-en"], "seeds": 3, **options})
    return Report(paper_plan(request), {run.key: run for run in runs})


def cell_of(report: Report, method: str, direction: str, **measure) -> Cell:
    return report.cell(method, direction, Measure(**measure))


class TestCell:
    def test_mean_and_deviation_of_the_sample(self, data):
        runs = [finished("paper", "es-en", seed, es_en=share, en_es=40) for seed, share in enumerate((56, 57, 58))]
        cell = cell_of(report_of(data, runs), "paper", "es-en")
        assert (cell.mean, cell.deviation, cell.failed, cell.pending) == (pytest.approx(57), pytest.approx(1), 0, 0)
        assert cell.paper == (73.05,)
        assert (cell.asked, cell.missing) == (ASKED, 7)
        assert plain(cell, "translation") == "57.0 ± 1.0"
        assert beside(plain(cell, "translation"), cell) == "57.0 ± 1.0 (73.05)"

    def test_other_measures_of_the_same_runs_have_no_published_figure(self, data):
        report = report_of(data, [finished("paper", "es-en", 0, es_en=57, en_es=40)], seeds=1)
        assert cell_of(report, "paper", "es-en", retrieval="csls").mean == pytest.approx(58)
        assert cell_of(report, "paper", "es-en", k=5).mean == pytest.approx(62)
        assert cell_of(report, "paper", "es-en", k=10).paper == ()

    def test_failures_are_counted_and_never_averaged_in(self, data):
        runs = [
            finished("paper", "es-en", 0, es_en=57, en_es=4.9),
            finished("paper", "es-en", 1, es_en=1.2, en_es=5.0),
            raised("paper", "es-en", 2),
        ]
        report = report_of(data, runs)
        forward, back = cell_of(report, "paper", "es-en"), cell_of(report, "paper", "en-es")
        assert (forward.values, forward.failed) == (pytest.approx((57.0,)), 2)
        assert plain(forward, "translation") == "57.0, failed 2 of 3"
        # the threshold itself is a success, and each direction is judged alone
        assert (back.values, back.failed) == (pytest.approx((5.0,)), 2)

    def test_all_failed(self, data):
        report = report_of(data, [raised("paper", "es-en", seed) for seed in range(3)])
        cell = cell_of(report, "paper", "es-en")
        assert (cell.mean, cell.deviation) == (None, None)
        assert plain(cell, "translation") == "failed 3 of 3"

    def test_what_is_not_yet_run_and_what_never_can_be(self, data):
        report = report_of(data, [finished("paper", "es-en", 0, es_en=57, en_es=40)], pairs=["es-en", "zh-en"])
        begun = cell_of(report, "paper", "es-en")
        assert (begun.pending, plain(begun, "translation")) == (2, "57.0 …")
        assert plain(cell_of(report, "mikolov2013", "es-en"), "translation") == "…"
        nothing = cell_of(report, "paper", "zh-en")
        assert plain(nothing, "translation") == "no data"
        assert beside("no data", nothing) == "no data (49.03)"

    def test_a_dash_in_the_paper_is_shown(self):
        assert beside("…", Cell((), 0, 1, paper=(None,))) == "… (-)"

    def test_supervised_cells_come_from_the_run_of_their_own_direction(self, data):
        runs = [finished("xing2015", "es-en", 0, es_en=70), finished("xing2015", "en-es", 0, en_es=30)]
        report = report_of(data, runs, seeds=1)
        assert cell_of(report, "xing2015", "es-en").mean == pytest.approx(70)
        assert cell_of(report, "xing2015", "en-es").mean == pytest.approx(30)

    def test_the_verdict_is_held_against_the_figures(self, data):
        runs = [
            finished("paper", "es-en", 0, "aligned", es_en=1, en_es=50),
            finished("paper", "es-en", 1, "failed", es_en=50, en_es=1),
            finished("paper", "es-en", 2, "doubtful", es_en=1, en_es=50),
        ]
        report = report_of(data, runs)
        assert cell_of(report, "paper", "es-en").disagreed == 2
        assert cell_of(report, "paper", "en-es").disagreed == 0

    def test_a_correlation_fails_under_a_tenth(self, data):
        def judged(seed: int, pearson: float) -> FinishedRun:
            score = SimilarityScore(pearson, pearson, 30, 2, 0)
            key = ExperimentKey("de-en", "paper", seed, "europarl", "muse")
            return FinishedRun(key, Score(similarity=score), Provenance("", {}, "aligned"))

        request = PaperRequest("similarity", data, pairs=["de-en"], methods=["paper"], seeds=3)
        runs = [judged(0, 0.7), judged(1, 0.09), judged(2, 0.72)]
        cell = cell_of(Report(paper_plan(request), {run.key: run for run in runs}), "paper", "de-en")
        assert plain(cell, "similarity") == "0.710 ± 0.014, failed 1 of 3"
        assert (cell.asked, cell.missing, cell.paper) == (30, 2, (0.71,))

    def test_the_best_of_each_category_and_ties_as_printed(self, data):
        runs = [
            finished("mikolov2013", "es-en", 0, es_en=70.04),
            finished("zhang2016", "es-en", 0, es_en=70.0),
            finished("xing2015", "es-en", 0, es_en=69.9),
            finished("paper", "es-en", 0, es_en=60, en_es=50),
            finished("default", "es-en", 0, es_en=61, en_es=1),
        ]
        report = report_of(data, runs, seeds=1)
        assert report.best("es-en") == {"mikolov2013", "zhang2016", "default"}
        assert report.best("en-es") == {"paper"}


class TestClaims:
    @pytest.fixture
    def published(self, data):
        """Runs with exactly the accuracies that the paper prints."""
        for language in ("tr", "zh"):
            world.put_we_z(data, language)
        runs = []
        for method, row in LEX_Z.figures.items():
            figures = {each.replace("-", "_"): share for each, share in zip(LEX_Z.directions, row, strict=True)}
            for pair in ("tr-en", "es-en", "zh-en", "it-en"):
                there, back = pair.replace("-", "_"), f"en_{pair[:2]}"
                if method in world.SUPERVISED:
                    runs.append(finished(method, pair, 0, **{there: figures[there]}))
                    runs.append(finished(method, back.replace("_", "-"), 0, **{back: figures[back]}))
                else:
                    runs.append(finished(method, pair, 0, **{there: figures[there], back: figures[back]}))
        return runs

    def test_the_papers_own_figures_bear_them_out(self, data, published):
        above, competitive = claims(report_of(data, published, pairs=None, seeds=1))
        assert (above.holds, above.answer) == (True, "yes")
        assert len(above.evidence) == len(competitive.evidence) == 8
        assert all(": yes: " in line for line in above.evidence)
        # "the best or the second-best scores on four out of eight language pairs"
        best = [line.split(":")[0] for line in competitive.evidence if ": yes: " in line]
        assert best == ["es-en", "en-es", "zh-en", "en-zh"]
        assert competitive.holds is True
        assert "conneau2017 60.2; zhang2017 63.4" in above.evidence[2]

    def test_one_rival_above_it_in_one_direction_is_enough_for_no(self, data, published):
        runs = [run for run in published if run.key != ExperimentKey("it-en", "zhang2017", 0, "we-z", "muse")]
        runs.append(finished("zhang2017", "it-en", 0, it_en=61.5, en_it=30))
        above, _ = claims(report_of(data, runs, pairs=None, seeds=1))
        assert above.holds is False
        assert [line.split(":")[0] for line in above.evidence if ": no: " in line] == ["it-en"]

    def test_a_rival_that_failed_is_below_and_a_failure_of_ours_is_last(self, data, published):
        failing = {("conneau2017", "it-en"): True, ("paper", "es-en"): True}
        runs = [
            raised(run.key.method, run.key.pair, 0) if (run.key.method, run.key.pair) in failing else run
            for run in published
        ]
        above, competitive = claims(report_of(data, runs, pairs=None, seeds=1))
        assert [line.split(":")[0] for line in above.evidence if ": no: " in line] == ["es-en", "en-es"]
        assert [line.split(":")[0] for line in competitive.evidence if ": yes: " in line] == ["zh-en", "en-zh"]
        assert competitive.holds is False
        assert "failed 1 of 1" in above.evidence[2]

    def test_as_long_as_a_cell_is_missing_nobody_knows(self, data, published):
        above, competitive = claims(report_of(data, published[:-1], pairs=None, seeds=1))
        assert above.holds is competitive.holds is None
        assert above.answer == "not known yet"
        assert len(above.evidence) == 6

    def test_other_tables_have_none(self, data):
        plan = paper_plan(PaperRequest("lex-c", data, pairs=["de-en"]))
        assert claims(Report(plan, {})) == ()
