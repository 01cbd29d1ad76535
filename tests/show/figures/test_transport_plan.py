from __future__ import annotations

import pytest
import torch

from calque.api import align
from calque.errors import UnknownWordError
from calque.show.figures.transport_plan import SETTINGS, plan_of
from calque.show.views import mutual_translations
from calque.transport import sqrt_cosine_cost


@pytest.fixture(scope="module")
def made(problem):
    return align(problem.source, problem.target, seed=0)


def test_the_rows_are_those_of_the_plan_that_pot_finds(made):
    ot = pytest.importorskip("ot")
    words = ["fuente0011", "palabra"]
    got = plan_of(made, words, best=3)
    cost = sqrt_cosine_cost(made.source.vectors, made.target.vectors).double()
    even = torch.full((600,), 1 / 600).double()
    exact = ot.sinkhorn(even, even, cost, 1 / SETTINGS.sharpness, method="sinkhorn_log", stopThr=1e-5)
    rows = exact[[made.source.index[word] for word in words]] * 600
    columns = [made.target.index[word] for word in got.target]
    assert torch.allclose(got.shares.double(), rows[:, columns], atol=5e-3)
    assert got.words == (600, 600)
    assert got.converged


def test_a_word_sends_most_to_its_translation(made, problem):
    words = ["fuente0020", "fuente0100", "palabra"]
    got = plan_of(made, words)
    assert [got.target[row.argmax()] for row in got.shares] == [problem.pairs[word] for word in words]
    assert bool((got.shares.max(dim=1).values > 0.5).all())
    assert torch.allclose(got.shares.sum(dim=1) + got.elsewhere, torch.ones(3))


def test_an_unknown_word_is_named_with_one_like_it(made):
    with pytest.raises(UnknownWordError, match=r"'fuente001x' is not among the 600 words; did you mean fuente\d+"):
        plan_of(made, ["fuente001x"])


def test_translations_choose_each_other(made):
    rows = [3, 30, 300]
    told = mutual_translations(made, rows)
    mutual = {each.source: each.target for each in made.lexicon()}
    expected = {row: mutual.get(made.source.words[row]) for row in rows}
    assert {row: made.target.words[told[row]] if row in told else None for row in rows} == expected
    assert len(told) > 0
    assert mutual_translations(made, []) == {}
