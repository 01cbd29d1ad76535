from __future__ import annotations

import pytest
import torch

from calque.data.space import Space
from calque.errors import SettingsError
from calque.linear.maps import LinearMap, NetworkMap, Preprocessing, Side, unit
from calque.runs.alignment import Alignment, Record
from calque.show.figures.spectra import spectra
from calque.show.views import undo_map
from calque.verdict import Verdict


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def made(source: torch.Tensor, target: torch.Tensor, maps: tuple[object, object]) -> Alignment:
    spaces = [Space.of([f"w{row}" for row in range(len(each))], each) for each in (source, target)]
    sides = [Side(Preprocessing((None,)), each) for each in maps]
    return Alignment.of((spaces[0], spaces[1]), (sides[0], sides[1]), Verdict("aligned", (), {}), Record())


SPACE = torch.randn(200, 5, generator=seeded(0)) * torch.tensor([5.0, 3.0, 2.0, 1.0, 0.5])
TURN = torch.linalg.qr(torch.randn(5, 5, generator=seeded(1)))[0]


def test_a_rotated_space_has_the_same_spectrum_and_the_rotation_stretches_nothing():
    got = spectra(made(SPACE @ TURN.T, SPACE, (LinearMap(TURN), LinearMap(torch.eye(5)))))
    assert torch.allclose(got.source, got.target, atol=1e-6)
    assert got.gap == pytest.approx(0.0, abs=1e-6)
    assert torch.allclose(got.source_map, torch.ones(5).double(), atol=1e-6)


def test_shares_are_the_variances_of_the_principal_directions_whatever_the_map():
    stretch = torch.diag(torch.tensor([8.0, 4.0, 2.0, 1.0, 0.5]))
    got = spectra(made(SPACE, SPACE, (LinearMap(TURN @ stretch), LinearMap(torch.eye(5)))))
    centred = unit(SPACE) - unit(SPACE).mean(dim=0)
    expected = torch.linalg.svdvals(centred.double()).square()
    assert torch.allclose(got.source, expected / expected.sum(), atol=1e-5)
    assert torch.allclose(got.source, got.target, atol=1e-5)
    ratios = got.source_map / got.source_map[-1]
    assert torch.allclose(ratios, torch.tensor([16.0, 8.0, 4.0, 2.0, 1.0]).double(), rtol=1e-4)
    assert float(got.source_map.square().mean()) == pytest.approx(1.0)


def test_the_gap_grows_with_how_differently_two_spaces_are_stretched():
    identity = LinearMap(torch.eye(5)), LinearMap(torch.eye(5))
    gaps = [spectra(made(SPACE * torch.tensor([1, 1, 1, 1, more]), SPACE, identity)).gap for more in (1, 2, 6)]
    assert gaps[0] == 0.0
    assert gaps == sorted(gaps)
    assert gaps[2] > gaps[1] > 0.01


def test_a_map_that_lost_dimensions_gives_back_what_it_kept():
    kept = LinearMap(torch.eye(5)[:, :3])
    alignment = made(SPACE, SPACE, (kept, kept))
    assert torch.allclose(
        undo_map(alignment.source.vectors, alignment.source_side)[:, :3], unit(SPACE[:, :3]), atol=1e-5
    )
    assert spectra(alignment).gap == pytest.approx(0.0, abs=1e-9)


def test_maps_with_hidden_layers_have_no_spectrum():
    network = NetworkMap((torch.eye(5), torch.eye(5)), (torch.zeros(5), torch.zeros(5)))
    with pytest.raises(SettingsError, match="hidden layers"):
        spectra(made(SPACE, SPACE, (network, LinearMap(torch.eye(5)))))
