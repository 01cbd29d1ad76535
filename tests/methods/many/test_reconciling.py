"""Laws of reconciling: missing pairs are found, weak ones are helped, and one language can stay where it is."""

from __future__ import annotations

import pytest
import torch

from calque.errors import SettingsError
from calque.linear.closed_forms import TwoWay, nearest_orthogonal
from calque.linear.maps import unit
from calque.methods.default.contrast import ContrastSettings
from calque.methods.default.correspondence import correspondence
from calque.methods.default.refinement import RefinementSettings
from calque.methods.many.reconciling import Reconciled, ReconcilingSettings, reconcile
from calque.methods.many.triangles import pairs_of
from calque.progress import Step
from calque.retrieval.exact import Pairs, find, neighbours

NAMES = list("abcd")
WORDS, DIMENSION = 700, 14
NOISE = {"a": 0.5, "b": 0.5, "c": 0.5, "d": 1.1}
"""The last one is badly known."""
SETTINGS = ReconcilingSettings(contrast=ContrastSettings(steps=5), shared=ContrastSettings(steps=10))


def normal(*size: int, seed: int) -> torch.Tensor:
    return torch.randn(*size, generator=torch.Generator().manual_seed(seed))


TURNS = {name: nearest_orthogonal(normal(DIMENSION, DIMENSION, seed=seed)) for seed, name in enumerate(NAMES)}
BASE = normal(WORDS, DIMENSION, seed=20)
VECTORS = {
    name: unit(BASE + NOISE[name] * normal(WORDS, DIMENSION, seed=30 + number)) @ TURNS[name]
    for number, name in enumerate(NAMES)
}


def rotated(pair: tuple[str, str]) -> TwoWay:
    from calque.linear.maps import LinearMap

    return TwoWay.of(LinearMap(TURNS[pair[0]].mT), LinearMap(TURNS[pair[1]].mT))


KNOWN = {pair: correspondence(VECTORS[pair[0]], VECTORS[pair[1]], rotated(pair), 0.05) for pair in pairs_of(NAMES)}


def right(maps: TwoWay, pair: tuple[str, str]) -> float:
    """The share of words whose best translation is their own, both ways."""
    x, y = VECTORS[pair[0]], VECTORS[pair[1]]
    shares = []
    for asking, asked in (
        (maps.there[0].apply(x), maps.there[1].apply(y)),
        (maps.back[1].apply(y), maps.back[0].apply(x)),
    ):
        csls = find("csls")
        result = neighbours(asking, asked, 1, csls, csls.penalty(asking, asked)).indices[:, 0]
        shares.append(float((result == torch.arange(WORDS)).float().mean()))
    return sum(shares) / 2


@pytest.fixture(scope="module")
def outcome() -> Reconciled:
    return reconcile(VECTORS, KNOWN, SETTINGS)


def test_every_pair_has_maps_and_every_language_one(outcome):
    assert list(outcome.pairs) == pairs_of(NAMES)
    assert list(outcome.shared) == NAMES


def test_third_languages_help(outcome):
    alone = reconcile(
        VECTORS, KNOWN, ReconcilingSettings(weight=0.0, contrast=SETTINGS.contrast, shared=SETTINGS.shared)
    )
    helped, unhelped = ({pair: right(each, pair) for pair, each in some.pairs.items()} for some in (outcome, alone))
    assert sum(helped.values()) > sum(unhelped.values()) + 0.06
    assert all(helped[pair] >= unhelped[pair] - 0.005 for pair in helped)


def test_a_pair_that_nobody_aligned_is_found_by_way_of_the_others():
    some = {pair: each for pair, each in KNOWN.items() if pair != ("a", "b")}
    result = reconcile(VECTORS, some, SETTINGS)
    assert right(result.pairs["a", "b"], ("a", "b")) > right(rotated(("a", "b")), ("a", "b")) - 0.02


def test_the_shared_space_translates_about_as_well(outcome):
    for pair in pairs_of(NAMES):
        shared = TwoWay.of(outcome.shared[pair[0]], outcome.shared[pair[1]])
        assert right(shared, pair) > right(outcome.pairs[pair], pair) - 0.06


def test_into_leaves_one_language_as_it_is_and_turns_the_others():
    turned = reconcile(VECTORS, KNOWN, SETTINGS, "c").shared
    assert torch.equal(turned["c"].matrix, torch.eye(DIMENSION))
    for name in NAMES:
        matrix = turned[name].matrix
        assert torch.allclose(matrix @ matrix.mT, torch.eye(DIMENSION), atol=1e-5)
        assert float((matrix - TURNS[name].mT @ TURNS["c"]).norm()) < 1.0  # unrelated rotations are 5.3 apart


def test_the_same_every_time(outcome):
    again = reconcile(VECTORS, KNOWN, SETTINGS)
    for pair, each in outcome.pairs.items():
        assert torch.equal(each.there[0].matrix, again.pairs[pair].there[0].matrix)
    assert all(torch.equal(outcome.shared[name].matrix, again.shared[name].matrix) for name in NAMES)


def test_words_beyond_the_limit_say_nothing():
    few = ReconcilingSettings(rounds=2, refinement=RefinementSettings(words=300), contrast=ContrastSettings(steps=0))
    frequent = {
        pair: Pairs(*(each[(p.source < 300) & (p.target < 300)] for each in (p.source, p.target, p.scores)))
        for pair, p in KNOWN.items()
    }
    one = reconcile(VECTORS, frequent, few, "a")
    other = reconcile({name: each[:300] for name, each in VECTORS.items()}, frequent, few, "a")
    assert all(torch.equal(one.pairs[pair].there[1].matrix, other.pairs[pair].there[1].matrix) for pair in frequent)


def test_one_pair_alone_has_nobody_to_help_it():
    pair = ("a", "b")
    result = reconcile({name: VECTORS[name] for name in pair}, {pair: KNOWN[pair]}, SETTINGS)
    assert right(result.pairs[pair], pair) > right(rotated(pair), pair) - 0.02


def test_asked_to_stop_it_ends_with_what_it_has():
    events: list[Step] = []
    result = reconcile(VECTORS, KNOWN, SETTINGS, "", events.append, lambda: len(events) >= 2)
    assert [step.stage for step in events] == ["reconcile", "reconcile"]
    assert right(result.pairs["a", "b"], ("a", "b")) > 0.5
    assert list(result.shared) == NAMES


@pytest.mark.parametrize("wrong", [{"rounds": 0}, {"weight": -1.0}, {"weight": float("nan")}])
def test_settings_that_cannot_be(wrong):
    with pytest.raises(SettingsError, match="expected at least 1, and 0"):
        ReconcilingSettings(**wrong)
