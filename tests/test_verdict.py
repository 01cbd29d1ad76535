from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from calque.verdict import Evidence, judge

GOOD = Evidence(
    cost=0.512,
    crowd_cost=0.845,
    clearance=9.4,
    cycle=0.61,
    crowd_cycle=0.43,
    starts=32,
    crowd=25,
    agreeing=3,
    confirmed=True,
    gave_up="",
    words=5000,
)
LOST = replace(GOOD, confirmed=False, gave_up="no start was confirmed in 9 rounds", agreeing=0, clearance=2.5)


@pytest.mark.parametrize(
    ("evidence", "label"),
    [
        (GOOD, "aligned"),
        (replace(GOOD, cycle=0.05, crowd_cycle=0.4), "aligned"),
        (replace(GOOD, cycle=0.0499, crowd_cycle=0.01), "failed"),
        (replace(GOOD, crowd=0, clearance=0.0, agreeing=31, cycle=0.6, crowd_cycle=0.6), "aligned"),
        (LOST, "failed"),
        (replace(LOST, clearance=4.99), "failed"),
        (replace(LOST, clearance=5.0), "doubtful"),
        (replace(LOST, agreeing=1, clearance=2.99), "failed"),
        (replace(LOST, agreeing=1, clearance=3.0), "doubtful"),
        (replace(LOST, agreeing=0, clearance=3.0), "failed"),
        (replace(LOST, cycle=0.99, crowd_cycle=0.1), "failed"),
        (replace(LOST, crowd=1, starts=5, clearance=0.0, agreeing=3, interrupted=True), "doubtful"),
        (replace(LOST, crowd=4, starts=5, clearance=0.0, interrupted=True), "failed"),
        (replace(LOST, crowd=0, starts=1, clearance=0.0, gave_up="it was interrupted"), "failed"),
    ],
)
def test_labels_on_each_side_of_each_threshold(evidence, label):
    verdict = judge(evidence)
    assert verdict.label == label
    assert str(verdict) == label


def test_reasons_name_the_figures_and_what_was_asked_for():
    spread, agreed, cycle = judge(GOOD).reasons
    expected = (
        "the best of 32 starts is 9.4 deviations better than the rest (6 needed); its cost is 0.512, the rest's 0.845"
    )
    assert spread == expected
    assert agreed == "3 of 31 other starts found the same map (1 needed)"
    assert cycle == (
        "61 % of frequent words come back to themselves when translated there and back (failed starts: 43 %)"
    )


@pytest.mark.parametrize(("starts", "words"), [(3, "0 of 2 other starts found"), (2, "0 of 1 other start found")])
def test_one_start_is_spoken_of_as_one(starts, words):
    assert any(each.startswith(words) for each in judge(replace(GOOD, agreeing=0, starts=starts)).reasons)


@pytest.mark.parametrize("evidence", [GOOD, replace(GOOD, crowd=0, agreeing=31)])
def test_an_aligned_pair_gets_no_advice(evidence):
    assert judge(evidence).label == "aligned"
    assert not any("would help" in each for each in judge(evidence).reasons)


@pytest.mark.parametrize("evidence", [LOST, replace(LOST, clearance=7.0), replace(GOOD, cycle=0.02)])
def test_all_others_get_advice_last(evidence):
    reasons = judge(evidence).reasons
    assert judge(evidence).label != "aligned"
    assert ["would help" in each for each in reasons] == [False] * (len(reasons) - 1) + [True]


def test_advice_asks_for_words_where_there_are_few_and_for_text_where_there_are_not():
    assert "more words (1999 in the smaller vocabulary)" in judge(replace(LOST, words=1999)).reasons[-1]
    assert "more text" in judge(replace(LOST, words=2000)).reasons[-1]


@pytest.mark.parametrize("crowd", [25, 0])
@pytest.mark.parametrize("gave_up", ["it was interrupted", "no start was confirmed in 9 rounds"])
def test_why_the_search_gave_up_is_among_the_reasons(crowd, gave_up):
    """Also where no start went elsewhere: interrupted after the first one, there is no crowd."""
    evidence = replace(LOST, crowd=crowd, starts=crowd + 1, gave_up=gave_up)
    assert any(gave_up in each for each in judge(evidence).reasons)


def test_nothing_is_said_of_giving_up_where_it_was_confirmed():
    assert not any("search ended" in each for each in judge(GOOD).reasons)


def test_where_all_ended_alike_no_crowd_is_spoken_of():
    reasons = judge(replace(GOOD, crowd=0, agreeing=31, clearance=0.0)).reasons
    assert reasons[0] == "all 32 starts found the same map (cost 0.512)"
    assert not any("elsewhere" in each or "deviations" in each for each in reasons)


def test_starts_that_neither_agreed_nor_went_elsewhere_did_not_end_alike():
    """Twelve starts, of which nobody went far and nobody found the same: saying that all did would be untrue."""
    reasons = judge(replace(LOST, crowd=0, starts=12, agreeing=0)).reasons
    assert not any("all 12 starts" in each for each in reasons)


def test_an_aligned_pair_with_a_small_crowd_is_not_said_to_miss_what_was_asked_for():
    """Nearly all starts agreed, so the search was confirmed without a clearance: 0 deviations were never measured."""
    verdict = judge(replace(GOOD, crowd=3, agreeing=28, clearance=0.0))
    assert verdict.label == "aligned"
    assert not any("0.0 deviations" in each for each in verdict.reasons)


def test_the_evidence_is_kept_whole():
    assert judge(GOOD).evidence == asdict(GOOD)
    assert Evidence(**judge(LOST).evidence) == LOST


def test_where_all_words_go_to_the_same_few_nothing_else_counts():
    assert judge(replace(GOOD, cycle=0.04, crowd_cycle=0.01)).label == "failed"


def test_one_or_two_starts_are_not_called_all():
    assert "all" not in judge(replace(LOST, crowd=0, starts=2, agreeing=1, clearance=0.0)).reasons[0]


@pytest.mark.parametrize(
    ("kept", "label"),
    [
        (None, "aligned"),
        (1.0, "aligned"),
        (0.4, "aligned"),
        (0.3999, "doubtful"),
        (0.2, "doubtful"),
        (0.1999, "failed"),
    ],
)
def test_a_map_that_its_polished_form_does_not_speak_for_has_failed(kept, label):
    assert judge(replace(GOOD, kept=kept)).label == label


@pytest.mark.parametrize("kept", [0.0, 0.5, 1.0])
def test_a_map_that_is_kept_is_no_better_for_it(kept):
    assert judge(replace(LOST, kept=kept)).label == "failed"
    assert judge(replace(LOST, clearance=6.0, kept=kept)).label == ("failed" if kept == 0.0 else "doubtful")


def test_how_much_was_kept_is_said_with_what_is_asked_for():
    reasons = judge(replace(GOOD, kept=0.456)).reasons
    (told,) = (each for each in reasons if "polished" in each)
    assert "46 %" in told
    assert "(40 % needed)" in told
    assert not any("polished" in each for each in judge(GOOD).reasons)


def test_a_map_that_was_given_is_not_called_the_best_of_the_starts():
    """One of 32 is the map itself."""
    first, second, *_ = judge(replace(GOOD, kept=0.9)).reasons
    assert first == "this map is 9.4 deviations better than the rest (6 needed); its cost is 0.512, the rest's 0.845"
    assert second == "3 of 31 other starts found the same map (1 needed)"


def test_without_evidence_it_is_doubtful_for_one_reason():
    verdict = judge(None)
    assert verdict.label == str(verdict) == "doubtful"
    assert verdict.evidence == {}
    (reason,) = verdict.reasons
    assert "too small" in reason
    assert "1000 words would do" in reason


def test_what_was_kept_stays_in_the_evidence():
    evidence = replace(GOOD, kept=0.25)
    assert Evidence(**judge(evidence).evidence) == evidence


def test_half_the_clearance_is_something_for_a_map_that_came_from_elsewhere():
    """That no blind start finds it says little against a map that was learned from a dictionary."""
    unfound = replace(LOST, agreeing=0, clearance=3.0)
    assert judge(replace(unfound, kept=0.5)).label == "doubtful"
    assert judge(replace(unfound, kept=0.5, clearance=2.99)).label == "failed"
    assert judge(unfound).label == "failed"


def test_evidence_that_was_cut_short_condemns_no_map():
    short = replace(LOST, crowd=0, starts=2, clearance=0.0, gave_up="it was interrupted", interrupted=True)
    assert judge(replace(short, kept=0.9)).label == "doubtful"
    assert judge(replace(short, kept=0.1)).label == "failed"
    assert judge(short).label == "failed"


def test_a_poor_likeness_is_told_what_would_help_it():
    assert "more word pairs" in judge(replace(GOOD, kept=0.3)).reasons[-1]


def test_a_cost_above_the_crowds_is_not_told_in_deviations():
    told = judge(replace(LOST, clearance=-126447.6)).reasons[0]
    assert told == "the best of 32 starts is worse than the rest: its cost is 0.512, the rest's 0.845"
    assert "deviations" not in told


def test_of_an_interrupted_search_it_is_asked_to_finish():
    assert judge(replace(LOST, agreeing=3, interrupted=True)).reasons[-1] == "what would help: to let it finish"
