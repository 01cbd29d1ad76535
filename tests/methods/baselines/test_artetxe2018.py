from __future__ import annotations

import numpy as np
import pytest
import torch

from calque.data.space import Space
from calque.errors import SettingsError
from calque.linear.closed_forms import reweighted
from calque.linear.maps import fit, unit
from calque.methods.baselines.self_learning import (
    TELL_EVERY,
    Artetxe2018Settings,
    artetxe2018,
    best_maps,
    draw_ranks,
    first_pairs,
    induce,
    induce_from_matrix,
)
from calque.methods.default.alternation import random_rotation
from calque.methods.task import Outcome, Task
from calque.progress import Step
from calque.retrieval import exact as retrieval

WORDS, DIMENSION = 600, 10
QUICK = Artetxe2018Settings(patience=5)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def clustered(count: int, dimension: int = DIMENSION, seed: int = 0) -> torch.Tensor:
    """Uneven bunches of words, longer in some directions than in others."""
    generator, scales = seeded(seed), torch.linspace(1, 0.3, dimension)
    centres = torch.randn(25, dimension, generator=generator) * scales
    member = torch.multinomial(torch.linspace(1, 8, 25), count, replacement=True, generator=generator)
    return centres[member] + 0.4 * scales * torch.randn(count, dimension, generator=generator)


def space(vectors: torch.Tensor, prefix: str) -> Space:
    return Space.of([f"{prefix}{row}" for row in range(len(vectors))], vectors, name=prefix)


def make_pair(noise: float = 0.0, seed: int = 0) -> tuple[Space, Space, torch.Tensor]:
    """A space, the same turned, blurred and in another order, and which source word each target word is."""
    vectors, generator = clustered(WORDS, seed=seed), seeded(seed + 100)
    order = torch.randperm(WORDS, generator=generator)
    blurred = vectors + noise * torch.randn(vectors.shape, generator=generator)
    turned = blurred @ random_rotation(DIMENSION, generator)
    return space(vectors, "s"), space(turned[order], "t"), order


def unit_pair(count: int = 70, other: int = 50) -> tuple[torch.Tensor, torch.Tensor]:
    return unit(clustered(count, 5, 1).double()), unit(clustered(other, 5, 2).double())


def ones(count: int) -> torch.Tensor:
    return torch.ones(count, dtype=torch.long)


def right_share(outcome: Outcome, source: Space, target: Space, order: torch.Tensor) -> float:
    cosines = outcome.source.apply(source.vectors) @ outcome.target.apply(target.vectors).mT
    return float((order[cosines.argmax(dim=1)] == torch.arange(WORDS)).double().mean())


def csls_by_hand(source: torch.Tensor, target: torch.Tensor, k: int) -> np.ndarray:
    """2 cos(x, y) - r(x) - r(y), entry by entry (Conneau et al. 2018)."""
    cosines = source.numpy() @ target.numpy().T
    there, back = np.sort(cosines, axis=1)[:, -k:].mean(axis=1), np.sort(cosines, axis=0)[-k:].mean(axis=0)
    return 2 * cosines - there[:, None] - back[None, :]


def test_nothing_thinned_it_is_the_best_by_csls_of_both_directions():
    source, target = unit_pair()
    scores = csls_by_hand(source, target, 10)
    result = induce(source, target, (ones(70), ones(50)), 10)
    assert result.source.tolist() == [*range(70), *scores.argmax(axis=0).tolist()]
    assert result.target.tolist() == [*scores.argmax(axis=1).tolist(), *range(50)]
    kind = retrieval.find("csls")
    there = retrieval.neighbours(source, target, 1, kind, kind.penalty(source, target)).indices[:, 0]
    assert torch.equal(result.target[:70], there)


def test_the_objective_is_the_mean_cosine_to_the_nearest_word_of_both_sides():
    source, target = unit_pair()
    cosines = source @ target.mT
    expected = (float(cosines.amax(dim=1).mean()) + float(cosines.amax(dim=0).mean())) / 2
    for ranks in ((ones(70), ones(50)), (3 * ones(70), 2 * ones(50))):
        assert induce(source, target, ranks, 10).objective == pytest.approx(expected, abs=1e-12)


def test_a_rank_takes_the_candidate_of_that_rank():
    source, target = unit_pair()
    scores = csls_by_hand(source, target, 10)
    ranks = draw_ranks(70, 0.2, seeded(0)).clamp_max(50), draw_ranks(50, 0.2, seeded(1)).clamp_max(70)
    result = induce(source, target, ranks, 10)
    forward = [np.argsort(-row)[rank - 1] for row, rank in zip(scores, ranks[0].tolist(), strict=True)]
    backward = [np.argsort(-row)[rank - 1] for row, rank in zip(scores.T, ranks[1].tolist(), strict=True)]
    assert result.target.tolist() == [*forward, *range(50)]
    assert result.source.tolist() == [*range(70), *backward]


def test_a_word_that_keeps_no_candidate_is_left_out():
    source, target = unit_pair()
    ranks = ones(70), ones(50)
    ranks[0][[3, 69]] = 51
    ranks[1][0] = 71
    result = induce(source, target, ranks, 10)
    everyone = induce(source, target, (ones(70), ones(50)), 10)
    kept = [row for row in range(120) if row not in (3, 69, 70)]
    assert result.source.tolist() == everyone.source[kept].tolist()
    assert result.target.tolist() == everyone.target[kept].tolist()


def test_drawing_ranks_is_as_thinning_the_whole_matrix():
    """How often each candidate is taken, by ranks and by masks, against the closed form p (1 - p)^(r - 1)."""
    keep, tries, scores = 0.3, 20_000, torch.arange(8.0).flip(0)
    expected = keep * (1 - keep) ** torch.arange(8.0)
    ranks = draw_ranks(tries, keep, seeded(0))
    by_rank = torch.bincount(ranks[ranks <= 8] - 1, minlength=8) / tries
    kept = torch.rand(tries, 8, generator=seeded(1)) < keep
    best = torch.where(kept, scores, -1.0).argmax(dim=1)[kept.any(dim=1)]
    by_mask = torch.bincount(best, minlength=8) / tries
    assert torch.allclose(by_rank, expected, atol=0.012)
    assert torch.allclose(by_mask, expected, atol=0.012)


def test_ranks_with_everything_kept_are_all_the_first():
    assert torch.equal(draw_ranks(9, 1.0, seeded(0)), ones(9))
    assert int(draw_ranks(5000, 0.1, seeded(0)).min()) == 1


def test_the_size_of_blocks_changes_nothing(monkeypatch):
    source, target = unit_pair()
    ranks = draw_ranks(70, 0.2, seeded(0)), draw_ranks(50, 0.2, seeded(1))
    whole = induce(source, target, ranks, 10)
    for entries in (1, 16 * 50 * 3, 16 * 70 * 7):
        monkeypatch.setattr(retrieval, "BLOCK_ENTRIES", entries)
        assert induce(source, target, ranks, 10).same_pairs(whole)


def test_a_neighbourhood_larger_than_the_vocabulary_is_all_of_it():
    source, target = unit_pair(6, 4)
    cosines = (source @ target.mT).numpy()
    scores = 2 * cosines - cosines.mean(axis=1)[:, None] - cosines.mean(axis=0)[None, :]
    result = induce(source, target, (ones(6), ones(4)), 10)
    assert result.target[:6].tolist() == scores.argmax(axis=1).tolist()
    assert result.source[6:].tolist() == scores.argmax(axis=0).tolist()


def test_from_similarities_that_are_there_it_is_the_same():
    source, target = unit_pair()
    result, reference = induce_from_matrix(source @ target.mT, 10), induce(source, target, (ones(70), ones(50)), 10)
    assert result.same_pairs(reference)
    assert result.objective == pytest.approx(reference.objective, abs=1e-12)


def test_the_first_dictionary_sees_through_a_rotation():
    """Profiles do not change when a space is turned: every word finds itself, whatever the order."""
    source, target, order = make_pair()
    spaces = [fit(each.vectors, ("unit", "center", "unit"))[1] for each in (source, target)]
    result = first_pairs(*spaces, Artetxe2018Settings())
    assert float((order[result.target] == result.source).double().mean()) > 0.99
    assert len(result) == 2 * WORDS


def test_the_first_dictionary_is_of_as_many_words_of_each_side():
    source, target, _ = make_pair()
    result = first_pairs(source.vectors, target.vectors[:300], Artetxe2018Settings(start_words=400))
    assert len(result) == 600
    assert int(result.source.max()) < 300


def test_the_maps_of_a_dictionary_make_the_sides_agree_as_far_as_orthogonal_maps_can():
    source, target = unit_pair(70, 70)
    maps = best_maps(source, target)
    for each in maps:
        assert torch.allclose(each.mT @ each, torch.eye(5, dtype=torch.float64), atol=1e-12)
    reached = float(((source @ maps[0]) * (target @ maps[1])).sum())
    assert reached == pytest.approx(float(torch.linalg.svdvals(source.mT @ target).sum()), abs=1e-9)


def test_maps_of_unequal_dimensions_meet_in_the_smaller():
    source, target = unit_pair(70, 70)
    maps = best_maps(source, target[:, :3])
    assert maps[0].shape == (5, 3)
    assert maps[1].shape == (3, 3)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_turned_and_shuffled_space_is_translated(seed):
    source, target, order = make_pair(noise=0.05, seed=seed)
    outcome = artetxe2018(Task(source, target, seed), QUICK)
    assert right_share(outcome, source, target, order) > 0.95
    assert outcome.notes == ()
    assert outcome.evidence is None


def test_it_ends_in_the_published_last_step():
    """From an exact copy every pair is right, and the maps are those of the true pairs, re-weighted."""
    source, target, order = make_pair()
    outcome = artetxe2018(Task(source, target), QUICK)
    x, z = (fit(each.vectors, ("unit", "center", "unit"))[1] for each in (source, target))
    back = order.argsort()
    reference = reweighted(torch.cat([x, x[order]]), torch.cat([z[back], z]))
    there = unit(reference[0].apply(x)) @ unit(reference[1].apply(z)).mT
    product = outcome.source.apply(source.vectors) @ outcome.target.apply(target.vectors).mT
    assert torch.allclose(product, there, atol=1e-4)


def test_unequal_dimensions_and_vocabularies_work():
    source, _, _ = make_pair()
    smaller = space(clustered(400)[:, :7], "t")
    outcome = artetxe2018(Task(source, smaller), Artetxe2018Settings(patience=1, keep=1.0))
    assert outcome.source.apply(source.vectors).shape == (WORDS, 7)
    assert outcome.target.apply(smaller.vectors).shape == (400, 7)


def test_the_share_kept_doubles_up_to_all_and_then_the_run_ends():
    events: list[Step] = []
    source, target, _ = make_pair(noise=0.1)
    artetxe2018(Task(source, target, listen=events.append), Artetxe2018Settings(patience=TELL_EVERY))
    keeps = [step.values["keep"] for step in events]
    assert sorted(set(keeps)) == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.0])
    assert keeps == sorted(keeps)
    assert [step.number for step in events[:-1]] == list(range(1, events[-1].number, TELL_EVERY))[: len(events) - 1]
    assert all(step.total == 5000 for step in events)


def test_a_seed_decides_the_result():
    source, target, _ = make_pair(noise=0.3)
    settings = Artetxe2018Settings(patience=2, iterations=6)
    first, again, other = (artetxe2018(Task(source, target, seed), settings) for seed in (3, 3, 4))
    assert torch.equal(first.source.map.matrix, again.source.map.matrix)
    assert not torch.allclose(first.source.map.matrix, other.source.map.matrix, atol=1e-4)
    assert first.notes == ("self-learning was still improving after 6 iterations",)


def test_it_stops_when_asked_with_what_it_has():
    source, target, order = make_pair()
    events: list[Step] = []
    outcome = artetxe2018(Task(source, target, listen=events.append, stopped=lambda: len(events) > 0), QUICK)
    assert len(events) == 1
    assert outcome.notes == ("self-learning was interrupted after 1 iterations",)
    assert right_share(outcome, source, target, order) > 0.9


def test_few_words_are_noted():
    source, target, _ = make_pair()
    small = source.head(4), target.head(4)
    assert artetxe2018(Task(*small), QUICK).notes == ("8 pairs were induced for 10 dimensions",)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"start_words": 0}, "start_words is 0"),
        ({"words": 0}, "words is 0"),
        ({"neighbourhood": 0}, "neighbourhood is 0"),
        ({"patience": 0}, "patience is 0"),
        ({"iterations": 0}, "iterations is 0"),
        ({"keep": 0.0}, "keep is 0"),
        ({"keep": 1.5}, "keep is 1.5"),
        ({"growth": 1.0}, "growth is 1.0"),
        ({"threshold": -1.0}, "threshold is -1"),
        ({"threshold": float("nan")}, "threshold is nan"),
        ({"power": 2.0}, "power is 2"),
    ],
)
def test_settings_out_of_range_are_refused(wrong, named):
    with pytest.raises(SettingsError, match=named):
        Artetxe2018Settings(**wrong)
