from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from calque.errors import SettingsError
from calque.linear.maps import unit
from calque.retrieval import exact as retrieval
from calque.retrieval.exact import RETRIEVALS, find, mutual, nearest, neighbourhood_similarity, neighbours, top

NAMES = ("nn", "csls", "isf")


def draw(count: int, seed: int) -> torch.Tensor:
    """Unit vectors that lean one way, so that some of them are hubs."""
    generator = torch.Generator().manual_seed(seed)
    lean = torch.tensor([1.0, 0, 0, 0, 0, 0], dtype=torch.float64)
    return unit(torch.randn(count, 6, generator=generator, dtype=torch.float64) + lean)


def cosines(left: torch.Tensor, right: torch.Tensor) -> np.ndarray:
    x, y = left.numpy(), right.numpy()
    return (x @ y.T) / np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1))


def scores_by_hand(source: torch.Tensor, target: torch.Tensor, name: str) -> np.ndarray:
    """(source, target), as the papers write it.

    csls: 2 cos(x, y) - r_T(x) - r_S(y), r the mean cosine to the ten nearest on the other side (Conneau et al. 2018).
    isf: exp(β cos(x, y)) / Σ_x' exp(β cos(x', y)), for every target word over all source words (Smith et al. 2017).
    """
    cos = cosines(source, target)
    if name == "nn":
        return cos
    if name == "csls":
        near_targets = np.sort(cos, axis=1)[:, -10:].mean(axis=1)
        near_sources = np.sort(cos, axis=0)[-10:].mean(axis=0)
        return 2 * cos - near_targets[:, None] - near_sources[None, :]
    return np.exp(30 * cos) / np.exp(30 * cos).sum(axis=0)


def best_targets(source: torch.Tensor, target: torch.Tensor, name: str, k: int) -> retrieval.Neighbours:
    return neighbours(source, target, k, find(name), find(name).penalty(source, target))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("n", "m"), [(40, 25), (25, 40), (6, 30), (30, 6)])
def test_ranks_are_those_of_the_formula_in_the_paper(name, n, m):
    source, target = draw(n, 0), draw(m, 1)
    expected = np.argsort(-scores_by_hand(source, target, name), axis=1)[:, :5]
    assert np.array_equal(best_targets(source, target, name, 5).indices.numpy(), expected)


def test_the_three_kinds_rank_differently():
    """Or the test above would say little."""
    source, target = draw(40, 0), draw(25, 1)
    nn, csls, isf = (best_targets(source, target, name, 1).indices for name in NAMES)
    assert not torch.equal(nn, csls)
    assert not torch.equal(csls, isf)
    assert not torch.equal(nn, isf)


def test_scores_are_the_formula_up_to_what_only_depends_on_the_query():
    source, target = draw(40, 0), draw(25, 1)
    cos = cosines(source, target)
    expected = {
        "nn": cos,
        "csls": scores_by_hand(source, target, "csls") + np.sort(cos, axis=1)[:, -10:].mean(axis=1)[:, None],
        "isf": np.log(scores_by_hand(source, target, "isf")),
    }
    for name in NAMES:
        best = best_targets(source, target, name, 25)
        assert np.allclose(
            best.scores.numpy(), np.take_along_axis(expected[name], best.indices.numpy(), axis=1), atol=1e-10
        )
        assert bool((best.scores.diff(dim=1) <= 0).all())


@pytest.mark.parametrize("name", NAMES)
def test_a_hub_is_held_against_itself_by_all_source_words_not_by_the_queries(name):
    """One query asked alone gets what it gets among the others."""
    source, target = draw(40, 0), draw(25, 1)
    penalty = find(name).penalty(source, target)
    alone = neighbours(source[7:8], target, 3, find(name), penalty)
    assert torch.equal(alone.indices, best_targets(source, target, name, 3).indices[7:8])


def test_csls_passes_over_a_hub_that_plain_nearest_neighbours_all_choose():
    """Three words and their translations, each a bit nearer to the one hub between them."""
    source = unit(torch.eye(3, dtype=torch.float64) + 1.2)
    hub = torch.ones(1, 3, dtype=torch.float64)
    target = torch.cat([unit(torch.eye(3, dtype=torch.float64) + 0.2), unit(hub)])
    assert best_targets(source, target, "nn", 1).indices[:, 0].tolist() == [3, 3, 3]
    assert best_targets(source, target, "csls", 1).indices[:, 0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("entries", [1, 7, 60, 101])
def test_the_size_of_a_block_cannot_change_the_answer(monkeypatch, name, entries):
    source, target = draw(40, 0), draw(25, 1)
    whole, pairs = best_targets(source, target, name, 4), mutual(source, target, find(name))
    monkeypatch.setattr(retrieval, "BLOCK_ENTRIES", entries)
    assert len(list(retrieval.blocks(40, 25))) > 1
    parts, part_pairs = best_targets(source, target, name, 4), mutual(source, target, find(name))
    assert torch.equal(parts.indices, whole.indices)
    assert torch.allclose(parts.scores, whole.scores, atol=1e-12)
    assert torch.equal(part_pairs.source, pairs.source)
    assert torch.equal(part_pairs.target, pairs.target)


@pytest.mark.parametrize("entries", [1, 10, 29, 30, 31, 1000])
def test_blocks_cover_every_row_once_within_bounds(monkeypatch, entries):
    monkeypatch.setattr(retrieval, "BLOCK_ENTRIES", entries)
    parts = list(retrieval.blocks(11, 10))
    assert [row for part in parts for row in range(part.start, part.stop)] == list(range(11))
    assert all((part.stop - part.start) * 10 <= max(10, entries) for part in parts)


class Largest(TorchDispatchMode):
    """Remembers how many numbers the largest tensor had that anything in it made."""

    entries = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self.entries = max([self.entries, *(value.numel() for value in (result,) if isinstance(value, torch.Tensor))])
        return result


@pytest.mark.parametrize("name", NAMES)
def test_no_more_similarities_than_a_block_are_held_at_once(monkeypatch, name):
    source, target = draw(90, 0), draw(70, 1)
    monkeypatch.setattr(retrieval, "BLOCK_ENTRIES", 90 * 6)
    with Largest() as largest:
        mutual(source, target, find(name))
    assert 0 < largest.entries <= 90 * 6


@pytest.mark.parametrize("name", NAMES)
def test_the_length_of_a_query_does_not_matter(name):
    source, target = draw(40, 0), draw(25, 1)
    penalty = find(name).penalty(source, target)
    plain = neighbours(source, target, 4, find(name), penalty)
    longer = neighbours(source * torch.linspace(0.1, 50, 40).unsqueeze(1), target, 4, find(name), penalty)
    assert torch.equal(longer.indices, plain.indices)
    assert torch.allclose(longer.scores, plain.scores, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_length_of_no_vector_matters(name):
    """Everything is about cosines, so the penalty too must be taken of directions."""
    source, target = draw(40, 0), draw(25, 1)
    long_source = source * torch.linspace(0.1, 50, 40).unsqueeze(1)
    long_target = target * torch.linspace(9, 0.2, 25).unsqueeze(1)
    plain, longer = best_targets(source, target, name, 4), best_targets(long_source, long_target, name, 4)
    assert torch.equal(longer.indices, plain.indices)
    assert torch.allclose(longer.scores, plain.scores, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_more_neighbours_than_candidates_are_all_candidates(name):
    best = best_targets(draw(4, 0), draw(3, 1), name, 10)
    assert best.indices.shape == best.scores.shape == (4, 3)
    assert best.indices.sort(dim=1).values.tolist() == [[0, 1, 2]] * 4


@pytest.mark.parametrize("name", NAMES)
def test_no_queries_have_no_neighbours(name):
    source, target = draw(4, 0), draw(9, 1)
    best = neighbours(source[:0], target, 3, find(name), find(name).penalty(source, target))
    assert best.indices.shape == best.scores.shape == (0, 3)
    assert best.indices.dtype == torch.long
    assert best.scores.dtype == source.dtype


def test_neighbourhood_similarity_averages_over_ten_or_over_all_there_are():
    target = draw(25, 1)
    many, few = draw(40, 0), draw(6, 0)
    expected = np.sort(cosines(target, many), axis=1)[:, -10:].mean(axis=1)
    assert np.allclose(neighbourhood_similarity(many, target).numpy(), expected, atol=1e-12)
    assert np.allclose(neighbourhood_similarity(few, target).numpy(), cosines(target, few).mean(axis=1), atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("n", "m"), [(40, 25), (25, 40)])
def test_mutual_pairs_are_all_that_choose_each_other(name, n, m):
    source, target = draw(n, 0), draw(m, 1)
    there = scores_by_hand(source, target, name).argmax(axis=1)
    back = scores_by_hand(target, source, name).argmax(axis=1)
    expected = [(row, int(column)) for row, column in enumerate(there) if back[column] == row]
    pairs = mutual(source, target, find(name))
    assert 0 < len(expected) < min(n, m)
    assert list(zip(pairs.source.tolist(), pairs.target.tolist(), strict=True)) == expected
    assert len(pairs) == len(expected)
    best = best_targets(source, target, name, 1).scores[pairs.source, 0]
    assert torch.allclose(pairs.scores, best, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_mutual_pairs_of_a_permuted_copy_are_the_permutation(name):
    source = draw(30, 0)
    order = torch.randperm(30, generator=torch.Generator().manual_seed(1))
    pairs = mutual(source, source[order] * 3, find(name))
    assert torch.equal(order[pairs.target], pairs.source)
    assert len(pairs) == 30


def test_mutual_is_the_same_pairs_from_the_other_side():
    source, target = draw(40, 0), draw(25, 1)
    there, back = mutual(source, target, find("csls")), mutual(target, source, find("csls"))
    assert set(zip(there.source.tolist(), there.target.tolist(), strict=True)) == set(
        zip(back.target.tolist(), back.source.tolist(), strict=True)
    )


def test_every_name_finds_its_own():
    assert tuple(RETRIEVALS) == NAMES
    assert all(find(name).name == name for name in NAMES)


def test_an_unknown_name_lists_the_choices():
    with pytest.raises(SettingsError, match=r"'cosine'; there are: nn, csls, isf"):
        find("cosine")


@pytest.mark.parametrize("k", [0, -3])
def test_fewer_than_one_neighbour_is_refused(k):
    with pytest.raises(SettingsError, match=f"k is {k}; expected a whole number of at least 1"):
        best_targets(draw(4, 0), draw(3, 1), "nn", k)


@pytest.mark.parametrize(("columns", "k"), [(5, 5), (63, 1), (64, 1), (200, 3), (641, 10), (1000, 10), (1007, 1)])
def test_the_largest_of_each_row_are_those_of_a_plain_search(columns, k):
    values = torch.randn(7, columns, generator=torch.Generator().manual_seed(columns), dtype=torch.float64)
    best, plain = top(values, k), values.topk(k, dim=1)
    assert torch.equal(best.scores, plain.values)
    assert torch.equal(best.indices, plain.indices)


def test_equal_similarities_are_each_found_once():
    best = top(torch.ones(2, 500), 10)
    assert torch.equal(best.scores, torch.ones(2, 10))
    assert all(len(set(row)) == 10 for row in best.indices.tolist())


def test_nearest_are_the_largest_inner_products():
    queries, candidates = draw(30, 0), draw(700, 1)
    best = nearest(queries, candidates, 4)
    assert torch.equal(best.indices, (queries @ candidates.mT).topk(4, dim=1).indices)
    assert nearest(queries[:0], candidates, 4).indices.shape == (0, 4)
    assert nearest(queries, candidates[:2], 4).indices.shape == (30, 2)


def test_densities_are_sought_among_frequent_words_alone(monkeypatch):
    """What a rare source word looks like changes no penalty."""
    monkeypatch.setattr(retrieval, "FREQUENT", 40)
    generator = torch.Generator().manual_seed(0)
    source, target = torch.randn(60, 5, generator=generator), torch.randn(30, 5, generator=generator)
    kind, changed = retrieval.find("csls"), source.clone()
    changed[40:] = torch.randn(20, 5, generator=generator)
    cosines = torch.nn.functional.normalize(target) @ torch.nn.functional.normalize(source[:40]).mT
    assert torch.allclose(kind.penalty(source, target), cosines.topk(10, dim=1).values.mean(dim=1), atol=1e-6)
    assert torch.equal(kind.penalty(source, target), kind.penalty(changed, target))
