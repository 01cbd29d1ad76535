from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from paper_problems import Kept, KilledError, equal, language_pair, named, normal, seeded

from calque.data.space import Space
from calque.errors import SettingsError, SpaceError
from calque.linear.maps import LinearMap, NetworkMap
from calque.methods.paper.gan import GanSettings
from calque.methods.paper.method import PaperSettings, paper, paper_together
from calque.methods.paper.objective import first_transfer
from calque.methods.paper.training import generator_of
from calque.methods.task import Outcome, Task
from calque.progress import Step
from calque.transport.sinkhorn import word_weights

FINDING = PaperSettings(
    batch=150,
    gan=GanSettings(
        starts=6, batch=150, hidden=32, noise=0.1, back_translation=0.3, rate=3e-2, critic_rate=1e-2, steps=100
    ),
    steps=40,
    rate=1e-2,
    look=10,
)
"""For a hundred and fifty words of eight dimensions, which need less noise and longer steps than languages do."""
SHORT = PaperSettings(
    batch=40,
    gan=GanSettings(starts=2, batch=30, hidden=8, critic_steps=2, steps=4, rate=1e-2),
    steps=6,
    rate=1e-2,
    look=2,
)
"""A few steps of everything, for laws that hold from the first."""


@pytest.fixture(scope="module")
def pair() -> tuple[Space, Space, torch.Tensor]:
    return language_pair(150, seed=3, noise=0.003)


@pytest.fixture(scope="module")
def task(pair) -> Task:
    return Task(pair[0], pair[1])


def right(outcome: Outcome, source: Space, target: Space) -> tuple[float, float]:
    """The shares of the words whose nearest word is their own copy, there and back."""
    x, y = outcome.source.apply(source.vectors), outcome.target.apply(target.vectors)
    there = (x @ y.mT).argmax(dim=1)
    assert outcome.back is not None
    x, y = outcome.back[0].apply(source.vectors), outcome.back[1].apply(target.vectors)
    back = (y @ x.mT).argmax(dim=1)
    rows = torch.arange(len(there))
    return float((there == rows).float().mean()), float((back == rows).float().mean())


def parameters(outcome: Outcome) -> tuple[torch.Tensor, ...]:
    """F and G."""
    assert outcome.back is not None
    sides = outcome.target.map, outcome.back[0].map
    return tuple(each for side in sides for each in side.tensors().values())


def matrices(outcome: Outcome) -> tuple[torch.Tensor, torch.Tensor]:
    """G and F of linear maps."""
    assert outcome.back is not None
    g, f = outcome.back[0].map, outcome.target.map
    assert isinstance(g, LinearMap)
    assert isinstance(f, LinearMap)
    return g.matrix, f.matrix


@pytest.fixture(scope="module", params=["tied", "free"])
def result(request, task) -> tuple[str, Outcome, list[Step]]:
    events: list[Step] = []
    settings = replace(FINDING, variant=request.param)
    return request.param, paper(replace(task, listen=events.append), settings), events


def test_a_rotated_copy_is_translated_both_ways(result, pair):
    there, back = right(result[1], pair[0], pair[1])
    assert there > 0.9
    assert back > 0.9


def test_the_rotation_is_recovered(result, pair):
    """In the standardised coordinates in which it was learned: of no map is more known than its direction."""
    g, f = matrices(result[1])
    vectors = result[1].source.preprocessing.apply(pair[0].vectors)
    assert float(torch.cosine_similarity(vectors @ g, vectors @ pair[2]).mean()) > 0.95
    assert float(torch.cosine_similarity(vectors @ g @ f, vectors).mean()) > 0.98
    if result[0] == "tied":
        assert torch.equal(f, g.mT)


def test_queries_stay_and_candidates_are_mapped(result):
    (_, outcome, _), eye = result, torch.eye(8)
    assert torch.equal(outcome.source.map.matrix, eye)
    assert torch.equal(outcome.back[1].map.matrix, eye)
    assert not torch.allclose(outcome.target.map.matrix, eye, atol=0.1)


def test_both_sides_are_standardised_in_both_directions(result, pair):
    _, outcome, _ = result
    for side, space in ((outcome.source, pair[0]), (outcome.target, pair[1])):
        prepared = side.preprocessing.apply(space.vectors)
        assert torch.allclose(prepared.mean(dim=0), torch.zeros(8), atol=1e-4)
        assert torch.allclose(prepared.std(dim=0, correction=0), torch.ones(8), atol=1e-4)
    for one, other in zip(outcome.back, (outcome.source, outcome.target), strict=True):
        assert equal(tuple(one.preprocessing.tensors().values()), tuple(other.preprocessing.tensors().values()))


def test_it_tells_both_stages_and_nothing_that_went_wrong(result):
    _, outcome, events = result
    stages = [each.stage for each in events]
    assert stages == ["adversary"] * stages.count("adversary") + ["transport"] * stages.count("transport")
    assert stages.count("adversary") == 10
    assert 1 <= stages.count("transport") <= 4
    assert (outcome.notes, outcome.evidence) == ((), None)
    assert events[-1].values["cost"] < events[10].values["cost"] or stages.count("transport") == 1


def test_the_map_that_the_adversary_left_is_kept(result, task):
    variant, outcome, _ = result
    (earlier,) = outcome.earlier
    assert earlier.stage == "adversary"
    alone = paper(task, replace(FINDING, variant=variant, steps=0))
    assert torch.equal(earlier.target.matrix, alone.target.map.matrix)
    assert not torch.equal(earlier.target.matrix, outcome.target.map.matrix)


def test_maps_with_hidden_layers_translate_far_better_than_chance(task, pair):
    settings = replace(
        FINDING, variant="free", hidden=(24,), steps=20, gan=replace(FINDING.gan, rate=2e-2, back_translation=3.0)
    )
    outcome = paper(task, settings)
    assert isinstance(outcome.target.map, NetworkMap)
    assert isinstance(outcome.back[0].map, NetworkMap)
    assert min(right(outcome, pair[0], pair[1])) > 20 / 150


@pytest.mark.parametrize("variant", ["tied", "free"])
def test_every_seed_of_a_batch_gets_what_it_gets_alone(variant, task):
    """Up to rounding, which a step magnifies where the gradient is nearly zero: so the steps are short."""
    settings = replace(SHORT, variant=variant, rate=1e-3, gan=replace(SHORT.gan, rate=1e-3))
    together = paper_together([replace(task, seed=seed) for seed in (3, 7, 5)], settings)
    for seed, outcome in zip((3, 7, 5), together, strict=True):
        alone = paper(replace(task, seed=seed), settings)
        for one, other in zip(parameters(outcome), parameters(alone), strict=True):
            assert torch.allclose(one, other, atol=1e-5)
    assert not torch.allclose(parameters(together[0])[0], parameters(together[1])[0], atol=0.1)


def test_the_same_seed_gives_the_same_maps_to_the_bit(task):
    assert equal(parameters(paper(task, SHORT)), parameters(paper(task, SHORT)))


def test_what_is_trained_does_not_depend_on_the_callers_wish_for_gradients(task):
    with torch.no_grad():
        without = paper(task, SHORT)
    assert equal(parameters(without), parameters(paper(task, SHORT)))
    assert not any(each.requires_grad for each in parameters(without))


def counted(task: Task) -> Task:
    counts = 1e6 / torch.arange(1, 151, dtype=torch.float64)
    return replace(task, source=replace(task.source, counts=counts), target=replace(task.target, counts=counts))


def test_frequencies_count_where_they_are_known(task):
    plain, weighed = paper(task, SHORT), paper(counted(task), SHORT)
    assert not torch.allclose(parameters(plain)[0], parameters(weighed)[0], atol=1e-3)
    left_out = replace(SHORT, frequencies=False)
    assert equal(parameters(paper(counted(task), left_out)), parameters(plain))
    assert equal(parameters(paper(task, left_out)), parameters(plain))


def test_equal_frequencies_are_none(task):
    even = torch.full((150,), 7.0, dtype=torch.float64)
    weighed = replace(task, source=replace(task.source, counts=even))
    assert torch.allclose(word_weights(weighed.source, even), torch.full_like(even, 1 / 150))
    for one, other in zip(parameters(paper(weighed, SHORT)), parameters(paper(task, SHORT)), strict=True):
        assert torch.allclose(one, other, atol=1e-4)


def test_only_the_most_frequent_words_are_trained_on(task):
    """What comes after them may be anything."""
    few, noise = replace(SHORT, words=60), 50 * normal(90, 8, seed=1).float()
    changed = [replace(each, vectors=torch.cat((each.vectors[:60], noise))) for each in (task.source, task.target)]
    other = paper(replace(task, source=changed[0], target=changed[1]), few)
    assert equal(parameters(other), parameters(paper(task, few)))


def test_vocabularies_of_other_sizes(task):
    small = replace(task, target=task.target.head(50))
    assert all(bool(each.isfinite().all()) for each in parameters(paper(small, SHORT)))


@pytest.mark.parametrize(
    "change",
    [
        {"gradient": "iterations"},
        {"cost": "euclidean"},
        {"directions": "forward"},
        {"back_translation": 0.0},
        {"sharpness": 100.0},
        {"scalings": 5},
        {"variant": "free"},
        {"variant": "free", "hidden": (6, 5)},
    ],
    ids=lambda each: "-".join(each),
)
def test_every_setting_of_the_second_stage_makes_a_difference(change, task):
    """The first stage is left out: both begin from the same rotation."""
    alone = replace(SHORT, gan=replace(SHORT.gan, steps=0))
    plain, other = paper(task, alone), paper(task, replace(alone, **change))
    assert all(bool(each.isfinite().all()) for each in parameters(other))
    assert len(parameters(other)) != 2 or not equal(parameters(other), parameters(plain))


def test_without_any_steps_the_first_rotation_is_kept(task):
    none = replace(SHORT, steps=0, gan=replace(SHORT.gan, steps=0))
    outcome = paper(replace(task, seed=5), none)
    first = first_transfer(8, "tied", (), [generator_of(5, 0, 0)]).parameters[0][0]
    assert torch.equal(matrices(outcome)[0], first)
    assert torch.equal(matrices(outcome)[1], first.mT)


@pytest.mark.parametrize("stage", ["adversary", "transport"])
def test_either_stage_may_be_left_out(stage, task):
    events: list[Step] = []
    settings = replace(SHORT, steps=0) if stage == "transport" else replace(SHORT, gan=replace(SHORT.gan, steps=0))
    outcome = paper(replace(task, listen=events.append), settings)
    assert {each.stage for each in events} == {"adversary", "transport"} - {stage}
    g, _ = matrices(outcome)
    assert not torch.allclose(g @ g.mT, torch.eye(8), atol=1e-4)


def test_of_several_starts_the_one_of_the_lowest_distance_is_kept(task):
    """More starts can only lower what the first stage ends at, and so does having the best among them."""
    ended = {}
    for starts in (1, 4):
        events: list[Step] = []
        gan = replace(SHORT.gan, starts=starts, steps=2)
        outcome = paper(replace(task, listen=events.append), replace(SHORT, gan=gan, steps=1, look=1, rate=1e-9))
        ended[starts] = events[-1].values["cost"], outcome
    assert ended[4][0] <= ended[1][0] + 1e-6


def test_asked_to_stop_it_returns_the_best_so_far(task):
    events: list[Step] = []
    outcome = paper(replace(task, listen=events.append, stopped=lambda: len(events) > 0), SHORT)
    assert [(each.stage, each.number) for each in events] == [("adversary", 2)]
    assert all(bool(each.isfinite().all()) for each in parameters(outcome))


def test_killed_at_every_state_it_goes_on_to_the_same_maps_to_the_bit(task):
    whole = Kept()
    expected = parameters(paper(replace(task, checkpoint=whole), SHORT))
    assert whole.finished == ["adversary", "transport"]
    for number in range(1, whole.saves + 1):
        kept = Kept(killed_at=number)
        with pytest.raises(KilledError):
            paper(replace(task, checkpoint=kept), SHORT)
        again = paper(replace(task, checkpoint=Kept(kept.states)), SHORT)
        assert equal(parameters(again), expected)


@pytest.mark.parametrize("stage", ["adversary", "transport"])
def test_a_state_is_gone_on_from_where_a_stage_is_left_out(stage, task):
    settings = replace(SHORT, steps=0) if stage == "transport" else replace(SHORT, gan=replace(SHORT.gan, steps=0))
    kept = Kept(killed_at=2)
    with pytest.raises(KilledError):
        paper(replace(task, checkpoint=kept), settings)
    again = paper(replace(task, checkpoint=Kept(kept.states)), settings)
    assert equal(parameters(again), parameters(paper(task, settings)))


@pytest.mark.parametrize(
    ("stage", "settings"),
    [
        ("adversary", replace(SHORT, gan=replace(SHORT.gan, rate=1e30))),
        ("transport", replace(SHORT, rate=1e30)),
    ],
)
def test_a_stage_that_diverges_is_noted_and_its_best_is_kept(stage, settings, task):
    outcome = paper(task, settings)
    assert any(f"the {stage} stage diverged" in each for each in outcome.notes)
    assert all("\n" not in each for each in outcome.notes)
    assert all(bool(each.isfinite().all()) for each in parameters(outcome))


def test_words_all_alike_do_no_harm(task):
    """Standardised they are zeros, which have no direction; a column without extent is zero too."""
    same = named(torch.ones(150, 8), "s")
    assert all(bool(each.isfinite().all()) for each in parameters(paper(replace(task, source=same), SHORT)))
    flat = task.source.vectors.clone()
    flat[:, 3] = 2.0
    outcome = paper(replace(task, source=named(flat, "s")), SHORT)
    assert all(bool(each.isfinite().all()) for each in parameters(outcome))


@pytest.mark.parametrize("words", [1, 2, 7])
def test_a_handful_of_words_is_no_error(words):
    spaces = [named(torch.randn(words, 4, generator=seeded(each)), "s") for each in (1, 2)]
    assert all(bool(each.isfinite().all()) for each in parameters(paper(Task(*spaces), SHORT)))


def test_unequal_dimensions_are_refused_in_one_line(pair):
    wide = named(torch.randn(150, 9, generator=seeded(1)), "w")
    with pytest.raises(SpaceError, match=r"8 dimensions against 9.*'default'") as caught:
        paper(Task(pair[0], wide), SHORT)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"variant": "tide"}, "variant is 'tide'; expected one of tied, free"),
        ({"gradient": "magic"}, "gradient is 'magic'; expected one of iterations, fixed-point"),
        ({"cost": "cosine"}, "cost is 'cosine'; expected one of sqrt-cosine, euclidean"),
        ({"directions": "back"}, "directions is 'back'; expected one of both, forward"),
        ({"words": 0}, "words"),
        ({"batch": 0}, "batch"),
        ({"steps": -1}, "steps"),
        ({"patience": 0}, "patience"),
        ({"look": 0}, "look"),
        ({"variant": "free", "hidden": (5, 0)}, "hidden"),
        ({"hidden": (5,)}, "set variant to 'free'"),
        ({"rate": 0.0}, "rate"),
        ({"rate": math.nan}, "rate"),
        ({"back_translation": -0.1}, "back_translation"),
        ({"back_translation": math.nan}, "back_translation"),
        ({"sharpness": 0.0}, "sharpness"),
        ({"scalings": 0}, "at least 1"),
    ],
)
def test_settings_out_of_range_are_refused(wrong, message):
    with pytest.raises(SettingsError, match=message):
        PaperSettings(**wrong)
