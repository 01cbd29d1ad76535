from __future__ import annotations

import pytest
import torch

from calque.linear.closed_forms import TwoWay
from calque.linear.maps import LinearMap, unit
from calque.methods.default.correspondence import LEAST, correspondence
from calque.retrieval.exact import NEIGHBOURHOOD


def normal(*size: int, seed: int) -> torch.Tensor:
    return torch.randn(*size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


SOURCE, TARGET = unit(normal(60, 6, seed=0)), unit(normal(45, 6, seed=1))
MAPS = TwoWay(
    (LinearMap(normal(6, 5, seed=2)), LinearMap(normal(6, 5, seed=3))),
    (LinearMap(normal(6, 4, seed=4)), LinearMap(normal(6, 4, seed=5))),
)


def by_brute_force(temperature: float) -> torch.Tensor:
    """(n, m): p(y | x) p(x | y), from whole matrices of similarities."""
    there = unit(MAPS.there[0].apply(SOURCE)) @ unit(MAPS.there[1].apply(TARGET)).mT
    back = unit(MAPS.back[0].apply(SOURCE)) @ unit(MAPS.back[1].apply(TARGET)).mT
    of_rows = there.topk(NEIGHBOURHOOD, dim=1).values
    of_columns = back.topk(NEIGHBOURHOOD, dim=0).values
    forward = (2 * there - of_columns.mean(dim=0)).masked_fill(there < of_rows[:, -1:], -torch.inf)
    backward = (2 * back - of_rows.mean(dim=1).unsqueeze(1)).masked_fill(back < of_columns[-1:], -torch.inf)
    return torch.softmax(forward / temperature, dim=1) * torch.softmax(backward / temperature, dim=0)


@pytest.mark.parametrize("temperature", [0.02, 0.1, 0.5])
def test_a_pair_counts_as_far_as_both_its_words_trust_it(temperature):
    pairs = correspondence(SOURCE, TARGET, MAPS, temperature)
    dense = torch.zeros(len(SOURCE), len(TARGET), dtype=torch.float64)
    dense[pairs.source, pairs.target] = pairs.scores
    expected = by_brute_force(temperature)
    assert torch.allclose(dense, torch.where(expected >= LEAST, expected, 0.0), atol=1e-12)
    assert len(pairs) == int((expected >= LEAST).sum()) > 0


def test_no_word_is_trusted_more_than_once_in_all():
    pairs = correspondence(SOURCE, TARGET, MAPS, 0.1)
    for words, count in ((pairs.source, len(SOURCE)), (pairs.target, len(TARGET))):
        assert float(torch.zeros(count, dtype=torch.float64).index_add(0, words, pairs.scores).max()) <= 1 + 1e-9


def test_of_a_permuted_copy_it_is_the_permutation():
    order = torch.randperm(60, generator=torch.Generator().manual_seed(6))
    stay = LinearMap(torch.eye(6, dtype=torch.float64))
    pairs = correspondence(SOURCE, SOURCE[order], TwoWay.of(stay, stay), 1e-3)
    assert torch.equal(order[pairs.target], pairs.source)
    assert torch.allclose(pairs.scores, torch.ones_like(pairs.scores), atol=1e-6)
    assert len(pairs) == 60


def test_the_colder_the_fewer_pairs():
    counts = [len(correspondence(SOURCE, TARGET, MAPS, temperature)) for temperature in (0.001, 0.05, 0.5)]
    assert counts[0] < counts[1] < counts[2]


@pytest.mark.parametrize("count", [1, 3, NEIGHBOURHOOD])
def test_fewer_words_than_a_neighbourhood_will_do(count):
    pairs = correspondence(SOURCE[:count], TARGET, MAPS, 0.1)
    assert 0 < len(pairs) <= count * len(TARGET)
    assert bool((pairs.source < count).all())
