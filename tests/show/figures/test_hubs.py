from __future__ import annotations

import torch

from calque.data.space import Space
from calque.linear.maps import LinearMap, Side, fit, unit
from calque.runs.alignment import Alignment, Record
from calque.show.figures.hubs import hubs
from calque.verdict import Verdict


def made(source: torch.Tensor, target: torch.Tensor) -> Alignment:
    sides = [Side(fit(each, ("unit",))[0], LinearMap(torch.eye(each.shape[1]))) for each in (source, target)]
    spaces = [
        Space.of([f"{name}{row}" for row in range(len(each))], each, name=name)
        for name, each in (("s", source), ("t", target))
    ]
    return Alignment.of((spaces[0], spaces[1]), (sides[0], sides[1]), Verdict("aligned", (), {}), Record())


def noise(count: int, seed: int) -> torch.Tensor:
    return torch.randn(count, 8, generator=torch.Generator().manual_seed(seed))


def test_counts_are_those_of_a_search_through_everything():
    alignment = made(noise(70, 0), noise(50, 1))
    cosines = unit(noise(70, 0)) @ unit(noise(50, 1)).T
    there, back = (each.topk(10, dim=1).values.mean(dim=1) for each in (cosines, cosines.T))
    csls = 2 * cosines - there[:, None] - back[None, :]
    for retrieval, scores in (("nn", cosines), ("csls", csls)):
        counted = [0] * 50
        for line in scores.tolist():
            for column in sorted(range(50), key=lambda each, line=line: -line[each])[:10]:
                counted[column] += 1
        got = hubs(alignment, retrieval)
        assert got.counts.tolist() == counted
        assert (got.queries, got.k) == (70, 10)


def test_a_word_in_the_midst_of_all_is_everybodys_neighbour_and_nobodys_by_csls():
    """Words at e₀ + 10 eᵢ ask; others lie at e₀ - 10 eⱼ, and one at e₀: nearest to all, and held against it."""
    around = 10 * torch.eye(8)[1:]
    source, target = torch.eye(8)[:1] + around, torch.cat([torch.eye(8)[:1] - around, torch.eye(8)[:1]])
    plain, corrected = (hubs(made(source, target), each, k=1) for each in ("nn", "csls"))
    assert plain.counts.tolist() == [0] * 7 + [7]
    assert plain.worst(1) == (7,)
    assert int(corrected.counts[7]) == 0
    assert corrected.skewness < plain.skewness


def test_every_word_is_asked_and_the_counts_add_up_in_both_directions():
    alignment = made(noise(30, 4), noise(20, 5))
    for back, asking in ((False, 30), (True, 20)):
        got = hubs(alignment, "csls", back, k=4)
        assert (int(got.counts.sum()), len(got.counts)) == (4 * asking, 20 if not back else 30)


def test_where_every_word_is_chosen_as_often_there_is_no_skew():
    got = hubs(made(torch.eye(8), torch.eye(8)), "nn", k=1)
    assert got.counts.tolist() == [1] * 8
    assert got.skewness == 0.0
    assert got.worst(3) == (0, 1, 2)
