from __future__ import annotations

import torch

from calque.data.space import Space
from calque.linear.maps import LinearMap, NetworkMap, Side, fit, unit
from calque.runs.alignment import Alignment, Record
from calque.show.views import fit_projection, positions
from calque.show.views.positions import before_the_maps
from calque.verdict import Verdict

STEPS = ("unit", "center", "unit")
EVERY = slice(None)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def space(name: str, vectors: torch.Tensor) -> Space:
    return Space.of([f"{name}{row}" for row in range(len(vectors))], vectors, name=name)


def aligned(source: torch.Tensor, target: torch.Tensor, maps: tuple[object, object]) -> Alignment:
    sides = [Side(fit(each, STEPS)[0], map) for each, map in zip((source, target), maps, strict=True)]
    return Alignment.of(
        (space("s", source), space("t", target)), (sides[0], sides[1]), Verdict("aligned", (), {}), Record()
    )


def rotated() -> tuple[Alignment, torch.Tensor]:
    """A space against itself turned; both are mapped by matrices that are anything but orthogonal."""
    target = torch.randn(80, 6, generator=seeded(0)) * torch.tensor([4.0, 3.0, 1.0, 1.0, 0.5, 0.5])
    turn = torch.linalg.qr(torch.randn(6, 6, generator=seeded(1)))[0]
    stretch = torch.randn(6, 6, generator=seeded(2)) + 2 * torch.eye(6)
    return aligned(target @ turn.T, target, (LinearMap(turn @ stretch), LinearMap(stretch))), stretch


def test_after_the_words_of_a_rotated_space_lie_on_those_it_was_made_of():
    got = positions(rotated()[0], EVERY, EVERY)
    assert torch.allclose(got.after, got.target, atol=1e-5)
    assert got.before is not None
    assert not torch.allclose(got.before, got.target, atol=0.1)
    assert got.why_not == ""


def test_before_they_lie_where_their_own_vectors_would_if_they_were_the_targets():
    alignment, stretch = rotated()
    raw = torch.randn(80, 6, generator=seeded(0)) * torch.tensor([4.0, 3.0, 1.0, 1.0, 0.5, 0.5])
    turn = torch.linalg.qr(torch.randn(6, 6, generator=seeded(1)))[0]
    prepared = fit(raw @ turn.T, STEPS)[1]
    assert torch.allclose(before_the_maps(alignment, alignment.source.vectors), unit(prepared @ stretch), atol=1e-4)


def test_the_plane_is_where_the_target_varies_most():
    alignment, _ = rotated()
    places = fit_projection(alignment).apply(alignment.target.vectors)
    spread = torch.linalg.svdvals(alignment.target.vectors - alignment.target.vectors.mean(dim=0))
    assert torch.allclose(places.norm(dim=0), spread[:2], rtol=1e-4)
    assert torch.allclose(places.mean(dim=0), torch.zeros(2), atol=1e-6)


def test_rows_may_be_chosen_and_each_keeps_its_place():
    alignment, _ = rotated()
    whole, some = positions(alignment, EVERY, EVERY), positions(alignment, torch.tensor([5, 2]), slice(3, 4))
    assert torch.equal(some.after, whole.after[[5, 2]])
    assert torch.equal(some.target, whole.target[3:4])
    assert some.before is not None
    assert whole.before is not None
    assert torch.allclose(some.before, whole.before[[5, 2]], atol=1e-6)


def test_languages_of_different_dimensions_are_cut_or_filled_up():
    small, large = torch.randn(40, 3, generator=seeded(3)), torch.randn(50, 5, generator=seeded(4))
    wide = aligned(small, large, (LinearMap(torch.eye(3, 5)), LinearMap(torch.eye(5))))
    assert torch.allclose(before_the_maps(wide, wide.source.vectors), wide.source.vectors, atol=1e-6)
    narrow = aligned(large, small, (LinearMap(torch.eye(5)), LinearMap(torch.eye(3, 5))))
    cut = fit(large, STEPS)[1][:, :3]
    assert torch.allclose(before_the_maps(narrow, narrow.source.vectors)[:, :3], unit(cut), atol=1e-5)


def test_a_map_with_hidden_layers_has_no_before_and_says_why():
    vectors = torch.randn(40, 4, generator=seeded(5))
    network = NetworkMap((torch.eye(4), torch.eye(4)), (torch.zeros(4), torch.zeros(4)))
    got = positions(aligned(vectors, vectors, (network, LinearMap(torch.eye(4)))), EVERY, EVERY)
    assert got.before is None
    assert "hidden layers" in got.why_not


def test_preprocessing_that_moves_the_mean_is_not_undone():
    """'Before' is before any map is known, not before vectors are made comparable."""
    vectors = torch.randn(40, 4, generator=seeded(6)) + 5
    identity = LinearMap(torch.eye(4))
    same = aligned(vectors, vectors, (identity, identity))
    got = positions(same, EVERY, EVERY)
    assert got.before is not None
    assert torch.allclose(got.before, got.after, atol=1e-6)
