from __future__ import annotations

from calque.api import align
from calque.show.views import search_starts
from calque.verdict import Verdict

LOG = (
    {
        "stage": "search",
        "number": 1,
        "seconds": 0.5,
        "cost": 0.7,
        "kind": "profiles",
        "dimensions": 30,
        "path": [1, 0.7],
    },
    {"stage": "search", "number": 2, "seconds": 0.9, "cost": 0.6, "kind": "random", "dimensions": 30, "path": []},
    {"stage": "second look", "number": 1, "seconds": 1.0, "cost": 0.6},
    {"stage": "deep search", "number": 1, "seconds": 2.0, "cost": 0.5, "kind": "fused", "dimensions": 100},
    {"stage": "alternate", "number": 1, "seconds": 3.0, "cost": 0.4, "path": [0.5, 0.4]},
    {"stage": "refine", "number": 1, "seconds": 4.0, "pairs": 30.0},
)


def verdict(*roles: str) -> Verdict:
    return Verdict("aligned", (), {"roles": roles} if roles else {})


def test_starts_are_counted_over_all_stages_and_nothing_else_is_one():
    starts = search_starts(LOG, verdict("other arena", "other arena", "winner"))
    assert [(each.number, each.stage, each.kind, each.cost) for each in starts] == [
        (1, "search", "profiles", 0.7),
        (2, "search", "random", 0.6),
        (3, "deep search", "fused", 0.5),
    ]
    assert [each.role for each in starts] == ["other arena", "other arena", "winner"]
    assert [each.path for each in starts] == [(1.0, 0.7), (), ()]
    assert [each.dimensions for each in starts] == [30, 30, 100]


def test_without_a_verdict_or_with_one_that_tells_of_other_starts_no_role_is_known():
    for given in (None, verdict(), verdict("winner")):
        assert {each.role for each in search_starts(LOG, given)} == {"unknown"}


def test_a_log_that_tells_of_no_start_has_none():
    assert search_starts(LOG[4:], verdict()) == ()


def test_starts_of_a_run_that_was_just_made_have_one_winner_at_the_end_of_its_path(problem):
    made = align(problem.source, problem.target, seed=0)
    starts = search_starts(made.record.log, made.verdict)
    winner = [each for each in starts if each.role == "winner"]
    assert len(winner) == 1
    assert winner[0].cost == made.verdict.evidence["cost"]
    assert sum(each.role == "same" for each in starts) == made.verdict.evidence["agreeing"]
    assert all(round(each.cost, 4) == each.path[-1] for each in starts)
    assert [each.seconds for each in starts] == sorted(each.seconds for each in starts)
