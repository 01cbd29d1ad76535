from __future__ import annotations

import statistics
from dataclasses import replace

import pytest
import torch

from calque.data.space import Space
from calque.errors import SettingsError, SpaceError
from calque.linear.closed_forms import principal
from calque.linear.maps import unit
from calque.methods.default.alternation import Problem, random_rotation
from calque.methods.default.climb import ClimbSettings
from calque.methods.default.coarse_to_fine import CoarseToFineSettings, coarse_to_fine
from calque.methods.default.contrast import ContrastSettings
from calque.methods.default.deep_search import DeepSearchSettings
from calque.methods.default.refinement import RefinementSettings
from calque.methods.default.search import Finish, SearchSettings, Standing, evidence_of, lift
from calque.methods.default.starts import build_arena
from calque.methods.task import Outcome, Task
from calque.progress import Step
from calque.retrieval.exact import find, neighbours
from calque.transport import uniform

SETTINGS = CoarseToFineSettings(search=SearchSettings(words=(300,), dimensions=(30,), starts=(4, 4)))


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def clustered(count: int, dimension: int = 20, seed: int = 0) -> torch.Tensor:
    """Words in bunches of different sizes, longer in some directions than in others, as in a language."""
    generator, scales = seeded(seed), torch.linspace(1, 0.25, dimension)
    centres = torch.randn(25, dimension, generator=generator) * scales
    member = torch.multinomial(torch.linspace(1, 8, 25), count, replacement=True, generator=generator)
    return centres[member] + 0.5 * scales * torch.randn(count, dimension, generator=generator)


def turned(vectors: torch.Tensor, seed: int = 1) -> torch.Tensor:
    """The same words in other coordinates, blurred a little."""
    generator = seeded(seed)
    blur = 0.03 * torch.randn(vectors.shape, generator=generator)
    return (vectors + blur) @ random_rotation(vectors.shape[1], generator)


def space(vectors: torch.Tensor, prefix: str = "w", counts: torch.Tensor | None = None) -> Space:
    return Space.of([f"{prefix}{row}" for row in range(len(vectors))], vectors, counts, name=prefix)


def translations(outcome: Outcome, source: Space, target: Space) -> torch.Tensor:
    """The row of the best target word of every source word, by CSLS in the common space."""
    there, back = outcome.source.apply(source.vectors), outcome.target.apply(target.vectors)
    kind = find("csls")
    return neighbours(there, back, 1, kind, kind.penalty(there, back)).indices[:, 0]


def accuracy(outcome: Outcome, source: Space, target: Space, truth: torch.Tensor | None = None) -> float:
    truth = torch.arange(len(source)) if truth is None else truth
    return float((translations(outcome, source, target) == truth).float().mean())


@pytest.fixture(scope="module")
def pair() -> tuple[Space, Space]:
    vectors = clustered(600)
    return space(vectors, "s"), space(turned(vectors), "t")


@pytest.fixture(scope="module")
def told() -> list[Step]:
    return []


@pytest.fixture(scope="module")
def outcome(pair, told) -> Outcome:
    return coarse_to_fine(Task(*pair, listen=told.append), SETTINGS)


def test_a_rotated_and_blurred_copy_is_translated(outcome, pair):
    assert accuracy(outcome, *pair) > 0.9
    assert outcome.evidence.confirmed
    assert outcome.notes == ()


def test_the_stages_report_in_order(outcome, told):
    stages = [each.stage for each in told]
    searched = outcome.evidence.starts + 1
    assert stages[:searched] == ["search"] * outcome.evidence.starts + ["alternate"]
    refined = stages[searched:].count("refine")
    assert stages[searched:] == ["refine"] * refined + ["contrast"] * SETTINGS.contrast.steps
    assert SETTINGS.refinement.fewest <= refined <= SETTINGS.refinement.rounds


def test_the_maps_of_earlier_stages_are_kept_and_each_is_nearer_the_truth(outcome, pair):
    assert [each.stage for each in outcome.earlier] == ["search", "alternate", "refine"]
    sides = outcome.source, outcome.target
    ended = [[replace(sides[0], map=each.source), replace(sides[1], map=each.target)] for each in outcome.earlier]
    earlier = [replace(outcome, source=each[0], target=each[1]) for each in ended]
    right = [accuracy(each, *pair) for each in (*earlier, outcome)]
    assert right[0] > 0.5
    assert right == sorted(right)


def test_without_contrast_the_refined_maps_are_the_last(pair):
    got = coarse_to_fine(Task(*pair), replace(SETTINGS, contrast=replace(SETTINGS.contrast, steps=0)))
    assert torch.equal(got.earlier[-1].source.matrix, got.source.map.matrix)
    assert torch.equal(got.earlier[-1].target.matrix, got.target.map.matrix)


def test_another_word_order_on_one_side_is_found_out(pair):
    order = torch.randperm(600, generator=seeded(4))
    shuffled = space(pair[1].vectors[order], "t")
    got = coarse_to_fine(Task(pair[0], shuffled), SETTINGS)
    assert accuracy(got, pair[0], shuffled, torch.argsort(order)) > 0.9


def test_unequal_dimensions_meet_in_the_smaller_number_and_no_side_is_cut():
    """The source has ten dimensions more, in which there is nothing: rotated, so that none of them is empty."""
    vectors = clustered(600)
    padded = torch.cat([vectors, torch.zeros(600, 10)], dim=1)
    source, target = space(padded @ random_rotation(30, seeded(3))), space(turned(vectors))
    got = coarse_to_fine(Task(source, target), SETTINGS)
    assert accuracy(got, source, target) > 0.9
    assert got.source.map.matrix.shape == (30, 20)
    assert got.target.map.matrix.shape == (20, 20)
    assert got.notes == ()


def test_what_only_the_wider_side_tells_is_used():
    """Half of the words differ only in directions that are short on the wider side: a cut to its longest loses them."""
    vectors = clustered(900)
    stretched = torch.cat([vectors, 1.5 * clustered(900, 20, seed=9)], dim=1)
    source, target = space(stretched @ random_rotation(40, seeded(3))), space(turned(vectors))
    rows = torch.arange(0, 900, 3)
    got = coarse_to_fine(Task(source, target, pairs=(rows, rows)), SETTINGS)
    cut = principal(stretched, 20).apply(stretched)
    best = coarse_to_fine(Task(space(cut), target, pairs=(rows, rows)), SETTINGS)
    assert accuracy(got, source, target) > accuracy(best, space(cut), target) + 0.1


def test_unequal_sizes():
    """Twice the words on one side: every word of the smaller side has its counterpart among them."""
    vectors = clustered(1200)
    source, target = space(vectors[:600]), space(turned(vectors))
    got = coarse_to_fine(Task(source, target), SETTINGS)
    assert accuracy(got, source, target) > 0.9
    assert got.evidence.words == 600


def test_two_hundred_words():
    vectors = clustered(200, 10)
    source, target = space(vectors), space(turned(vectors))
    got = coarse_to_fine(Task(source, target), SETTINGS)
    assert accuracy(got, source, target) > 0.9
    assert got.notes == ()


def test_few_words_for_many_dimensions_reduce_them_and_say_so():
    """Six words to a dimension: 120 words leave 20 of 24."""
    vectors = clustered(120, 24)
    source, target = space(vectors), space(turned(vectors))
    got = coarse_to_fine(Task(source, target), SETTINGS)
    assert got.source.map.matrix.shape == got.target.map.matrix.shape == (24, 20)
    (note,) = got.notes
    assert "24 and 24" in note
    assert "to at most 20 leading" in note
    assert "120 words" in note
    assert accuracy(got, source, target) > 0.9


def test_counts_weigh_the_words_and_the_answer_is_still_found(pair):
    counts = 1e6 / torch.arange(1, 601, dtype=torch.float64)
    counts[-50:] = 0
    weighed = tuple(replace(each, counts=counts) for each in pair)
    got = coarse_to_fine(Task(*weighed), SETTINGS)
    assert accuracy(got, *weighed) > 0.9


def test_counts_enter_the_cost(pair, outcome):
    """Weights of one side that no other side has must be carried elsewhere: transport costs more."""
    counts = torch.ones(600, dtype=torch.float64)
    counts[:30] = 1000
    got = coarse_to_fine(Task(replace(pair[0], counts=counts), pair[1]), SETTINGS)
    assert got.evidence.cost > outcome.evidence.cost + 0.05


@pytest.mark.parametrize("change", ["scale", "rotation"])
def test_scaled_or_rotated_vectors_get_the_same_translations(change, pair, outcome):
    vectors = pair[0].vectors
    moved = 1000 * vectors if change == "scale" else vectors @ random_rotation(20, seeded(9))
    source = space(moved, "s")
    got = coarse_to_fine(Task(source, pair[1]), SETTINGS)
    alike = translations(got, source, pair[1]) == translations(outcome, *pair)
    assert float(alike.float().mean()) > 0.99


def test_shifted_vectors_get_the_same_translations_where_the_mean_is_taken_off_first(pair):
    settings = replace(SETTINGS, preprocessing=("center", "unit"))
    shifted = space(pair[0].vectors + torch.linspace(-5, 5, 20), "s")
    plain, moved = (coarse_to_fine(Task(each, pair[1]), settings) for each in (pair[0], shifted))
    assert accuracy(plain, *pair) > 0.9
    alike = translations(moved, shifted, pair[1]) == translations(plain, *pair)
    assert float(alike.float().mean()) > 0.99


def test_a_mean_that_all_words_share_does_no_harm(pair):
    """Lengths differ before the mean is taken off, so translations may; most must stay right."""
    shifted = space(pair[0].vectors + 0.3 * torch.linspace(-1, 1, 20), "s")
    assert accuracy(coarse_to_fine(Task(shifted, pair[1]), SETTINGS), shifted, pair[1]) > 0.9


def test_the_same_seed_gives_the_same_maps_bit_for_bit(pair, outcome):
    again = coarse_to_fine(Task(*pair), SETTINGS)
    assert torch.equal(again.source.map.matrix, outcome.source.map.matrix)
    assert torch.equal(again.target.map.matrix, outcome.target.map.matrix)
    assert again.evidence == outcome.evidence


def test_noise_is_not_confirmed_and_says_why():
    generator = seeded(0)
    one, other = (space(torch.randn(120, 10, generator=generator)) for _ in range(2))
    deep = DeepSearchSettings(rounds=2, climb=ClimbSettings(rounds=5))
    quick = replace(SETTINGS, search=SearchSettings(words=(120,), dimensions=(30,), starts=(2, 2), rounds=3), deep=deep)
    told: list[str] = []
    got = coarse_to_fine(Task(one, other, listen=lambda step: told.append(step.stage)), quick)
    assert not got.evidence.confirmed
    assert got.evidence.gave_up.startswith("no start was confirmed")
    end = told.index("alternate") if "alternate" in told else told.index("climb")
    assert told[:end] == ["search"] * 12 + ["deep search"] * 4
    assert got.evidence.starts in (12, 16)
    assert len(got.evidence.roles) == 16


def test_interrupted_it_still_gives_maps_of_the_right_shape(pair):
    got = coarse_to_fine(Task(*pair, stopped=lambda: True), SETTINGS)
    assert got.evidence.starts == 1
    assert got.evidence.gave_up == "it was interrupted"
    rotation = got.source.map.matrix
    assert torch.allclose(rotation @ rotation.mT, torch.eye(20), atol=1e-4)
    assert torch.equal(got.target.map.matrix, torch.eye(20))


@pytest.mark.parametrize(("source", "target"), [(99, 150), (150, 99)])
def test_too_few_words_are_refused_by_name(source, target):
    spaces = space(clustered(source, 5), "es.vec"), space(clustered(target, 5), "en.vec")
    small = "es.vec" if source == 99 else "en.vec"
    with pytest.raises(SpaceError, match=rf"{small}: 99 words are too few.*at least 100"):
        coarse_to_fine(Task(*spaces), SETTINGS)


def test_a_hundred_words_are_enough():
    vectors = clustered(100, 8)
    source, target = space(vectors), space(turned(vectors))
    assert accuracy(coarse_to_fine(Task(source, target), SETTINGS), source, target) > 0.9


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"preprocessing": ()}, "end in 'unit'"),
        ({"preprocessing": ("unit", "center")}, "end in 'unit'"),
        ({"preprocessing": ("whiten", "unit")}, "'whiten'"),
        ({"identical": "maybe"}, "auto, yes, no"),
        ({"words": 0}, "words"),
        ({"words_a_dimension": 0}, "words_a_dimension"),
    ],
)
def test_settings_out_of_range_are_refused(wrong, message):
    with pytest.raises(SettingsError, match=message):
        CoarseToFineSettings(**wrong)


def arena_of(count: int, dimension: int, kept: int):
    source = unit(clustered(count, dimension, 5))
    truth = random_rotation(dimension, seeded(6))
    problem = Problem(source, source @ truth, uniform(count, source), uniform(count, source))
    return build_arena(problem, kept, count), truth


def test_lift_carries_a_right_map_of_few_dimensions_to_all():
    """The arena's truth is known: the rotation between the two bases of leading directions."""
    arena, truth = arena_of(300, 12, 6)
    bases = [principal(each, 6).matrix for each in (arena.full.source, arena.full.target)]
    lifted = lift(arena, bases[0].mT @ truth @ bases[1])
    assert lifted.shape == (12, 12)
    assert torch.allclose(lifted @ lifted.mT, torch.eye(12), atol=1e-4)
    choices = (arena.full.source @ lifted @ arena.full.target.mT).argmax(dim=1)
    assert float((choices == torch.arange(300)).float().mean()) > 0.95


def finish(cost: float, cycle: float) -> Finish:
    return Finish("random", 0, cost, torch.eye(2), torch.arange(3), cycle)


def test_evidence_is_the_leader_beside_the_medians_of_its_crowd():
    leader = finish(0.5, 0.8)
    crowd = tuple(finish(cost, cycle) for cost, cycle in ((0.9, 0.1), (0.7, 0.4), (0.6, 0.3), (0.8, 0.2)))
    same = tuple(finish(cost, 0.8) for cost in (0.51, 0.52, 0.53))
    started = [crowd[0], same[0], leader, *same[1:], *crowd[1:], replace(leader, arena=1)]
    got = evidence_of(Standing(leader, same, crowd, 7.5), started, 400, True, "")
    assert (got.cost, got.cycle, got.clearance) == (0.5, 0.8, 7.5)
    assert got.crowd_cost == pytest.approx(statistics.median([0.9, 0.7, 0.6, 0.8])) == pytest.approx(0.75)
    assert got.crowd_cycle == pytest.approx(0.25)
    assert (got.starts, got.crowd, got.agreeing) == (9, 4, 3)
    assert got.roles == ("elsewhere", "same", "winner", "same", "same", *["elsewhere"] * 3, "other arena")
    assert (got.confirmed, got.gave_up, got.words) == (True, "", 400)


def test_without_a_crowd_the_leader_stands_for_it():
    alone = finish(0.5, 0.8)
    got = evidence_of(Standing(alone, (), (), 0.0), [alone], 400, False, "it was interrupted")
    assert (got.crowd, got.crowd_cost, got.crowd_cycle) == (0, 0.5, 0.8)
    assert got.gave_up == "it was interrupted"


def test_words_that_no_stage_looks_at_change_nothing(pair):
    """Nothing is measured on all words here, so that ten times as many lead to the same maps."""
    few = CoarseToFineSettings(
        preprocessing=("unit",),
        search=SearchSettings(words=(300,), dimensions=(30,), pool=400, starts=(4, 4)),
        deep=DeepSearchSettings(rounds=0, climb=ClimbSettings(words=400)),
        words=400,
        refinement=RefinementSettings(words=400),
        contrast=ContrastSettings(words=400),
    )
    assert few.most_words == 400
    rare = clustered(5000, seed=7)
    longer = tuple(
        space(torch.cat([each.vectors, rare[:, torch.randperm(20, generator=seeded(row))]]), "x")
        for row, each in enumerate(pair)
    )
    short, long = (coarse_to_fine(Task(*each), few) for each in (pair, longer))
    assert torch.allclose(short.source.map.matrix, long.source.map.matrix, atol=1e-5)
