from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from known import common, normal, orthogonal, right_share, task, unit_rows
from torch import Tensor

from calque.errors import SettingsError
from calque.methods.baselines.joulin2018 import (
    Joulin2018Settings,
    into_unit_ball,
    joulin2018,
    mean_of_nearest,
    minimise,
    rcsls,
)
from calque.methods.baselines.known_pairs import KnownPairs, Xing2015Settings, known_pairs, xing2015
from calque.progress import Step
from calque.retrieval import exact as retrieval
from calque.retrieval.exact import find, neighbours

PUBLISHED = Joulin2018Settings()
SMALL = Joulin2018Settings(neighbourhood=3, words=60)


def small_dictionary() -> KnownPairs:
    """A few pairs in double precision, some words in several of them, some rarer than the words that count."""
    vectors = unit_rows(80, 6, seed=0).double(), unit_rows(90, 5, seed=1).double()
    rows = torch.tensor([0, 0, 3, 7, 7, 7, 75]), torch.tensor([1, 4, 4, 0, 2, 8, 89])
    return KnownPairs(*vectors, rows, known_pairs(task(*map(Tensor.float, vectors), rows), ()).preprocessing)


def as_written(matrix: Tensor, dictionary: KnownPairs, k: int, words: int) -> Tensor:
    """The formula of the module, term by term."""
    source, target = dictionary.source[:words], dictionary.target[:words]
    terms = []
    for x, y in zip(*dictionary.paired(), strict=True):
        by_target = sorted(((x @ matrix) @ other for other in target), key=Tensor.item, reverse=True)[:k]
        by_source = sorted(((other @ matrix) @ y for other in source), key=Tensor.item, reverse=True)[:k]
        terms.append(-2 * (x @ matrix) @ y + sum(by_target) / k + sum(by_source) / k)
    return sum(terms) / len(terms)


def noisy_problem(**options):
    """Half of the pairs of two spaces that agree, more or less, in twenty directions, and in ten others not at all."""
    meaning = normal(600, 20, seed=0)
    source, target = (
        torch.cat([meaning + 0.4 * normal(600, 20, seed=seed), normal(600, 10, seed=10 + seed)], dim=1)
        for seed in (1, 2)
    )
    return task(source, target @ orthogonal(30, seed=3), pairs=300, **options)


def csls_share(outcome, problem) -> float:
    """Of the words outside the dictionary, those that CSLS translates right."""
    source, target = common(outcome, problem)
    csls = find("csls")
    result = neighbours(source, target, 1, csls, csls.penalty(source, target)).indices[:, 0]
    return float((result == torch.arange(len(result)))[300:].double().mean())


def test_criterion_and_gradient_are_those_of_the_formula():
    dictionary, matrix = small_dictionary(), normal(6, 5, seed=4).double().requires_grad_()
    expected = as_written(matrix, dictionary, 3, 60)
    (gradient,) = torch.autograd.grad(expected, matrix)
    result = rcsls(matrix.detach(), dictionary, SMALL)
    assert result.value == pytest.approx(expected.item(), abs=1e-12)
    torch.testing.assert_close(result.gradient, gradient, atol=1e-12, rtol=0)


def test_the_gradient_agrees_with_finite_differences():
    dictionary, matrix = small_dictionary(), normal(6, 5, seed=4).double()
    gradient = rcsls(matrix, dictionary, SMALL).gradient
    for seed in range(10):
        small = 1e-6 * normal(6, 5, seed=20 + seed).double()
        change = rcsls(matrix + small, dictionary, SMALL).value - rcsls(matrix - small, dictionary, SMALL).value
        assert change / 2 == pytest.approx(float((gradient * small).sum()), rel=1e-4, abs=1e-12)


def test_the_criterion_is_convex_and_grows_in_proportion_to_the_map():
    dictionary = small_dictionary()
    for seed in range(10):
        one, other = normal(6, 5, seed=seed).double(), normal(6, 5, seed=50 + seed).double()
        ends = [rcsls(each, dictionary, SMALL).value for each in (one, other, 3 * one)]
        assert rcsls((one + other) / 2, dictionary, SMALL).value <= (ends[0] + ends[1]) / 2
        assert ends[2] == pytest.approx(3 * ends[0])


def test_the_mean_is_that_of_the_values_of_the_nearest_words_whatever_the_size_of_a_block(monkeypatch):
    queries, words, values = normal(20, 4, seed=0), normal(30, 4, seed=1), normal(30, 6, seed=2)
    nearest = (queries @ words.mT).argsort(dim=1, descending=True)[:, :5]
    expected = values[nearest].mean(dim=1)
    torch.testing.assert_close(mean_of_nearest(queries, words, values, 5), expected)
    monkeypatch.setattr(retrieval, "BLOCK_ENTRIES", 70)
    torch.testing.assert_close(mean_of_nearest(queries, words, values, 5), expected)
    torch.testing.assert_close(mean_of_nearest(queries, words, values, 99), values.mean(dim=0).expand(20, 6))


@pytest.mark.parametrize("constraint", ["none", "spectral", "orthogonal"])
@pytest.mark.parametrize("step_size", [0.02, 5.0])
def test_the_criterion_never_rises_however_large_the_step(constraint, step_size):
    steps: list[Step] = []
    problem = noisy_problem(listen=steps.append)
    dictionary = known_pairs(problem, ("unit",))
    settings = Joulin2018Settings(constraint=constraint, step_size=step_size, steps=20)
    start = rcsls(xing2015(problem, Xing2015Settings()).source.map.matrix, dictionary, settings).value
    steps.clear()
    end = minimise(dictionary, settings, problem)
    criteria = [start, *(float(step.values["criterion"]) for step in steps)]
    assert all(later <= earlier for earlier, later in pairwise(criteria[1:]))
    assert criteria[1] <= start + 1e-6
    assert criteria[-1] == end.value < start - 0.002


def test_a_step_that_is_too_long_is_halved_until_it_helps():
    steps: list[Step] = []
    problem = noisy_problem(listen=steps.append)
    minimise(known_pairs(problem, ("unit",)), Joulin2018Settings(constraint="orthogonal", step_size=64.0), problem)
    sizes = [64.0, *(float(step.values["step_size"]) for step in steps)]
    values = [float(step.values["criterion"]) for step in steps]
    assert sizes[-1] < 64.0
    assert all(later in (earlier, earlier / 2) for earlier, later in pairwise(sizes))
    unchanged = [later == earlier for earlier, later in pairwise(values)]
    assert unchanged == [later < earlier for earlier, later in pairwise(sizes[1:])]


def test_what_is_asked_of_the_map_holds():
    problem, dictionary = noisy_problem(), known_pairs(noisy_problem(), ("unit",))
    values = {
        constraint: torch.linalg.svdvals(
            minimise(dictionary, Joulin2018Settings(constraint=constraint, step_size=0.1), problem).matrix
        )
        for constraint in ("none", "spectral", "orthogonal")
    }
    torch.testing.assert_close(values["orthogonal"], torch.ones(30), atol=1e-5, rtol=0)
    assert values["spectral"].max() <= 1 + 1e-5
    assert values["spectral"].min() < 0.9
    assert values["none"].max() > 1.05


def test_the_ball_gives_back_the_nearest_matrix_in_it():
    matrix = 2 * normal(6, 4, seed=0)
    inside = into_unit_ball(matrix)
    torch.testing.assert_close(into_unit_ball(inside), inside, atol=1e-6, rtol=0)
    for seed in range(20):
        other = normal(6, 4, seed=10 + seed)
        other = other / torch.linalg.matrix_norm(other, ord=2)
        # Nearest in a convex set: the way on to the matrix makes no sharp angle with the way to any other member.
        assert ((matrix - inside) * (other - inside)).sum() <= 1e-4


def test_more_words_outside_the_dictionary_are_translated_right_than_by_the_rotation_it_starts_from():
    problem = noisy_problem()
    better, start = joulin2018(problem, PUBLISHED), xing2015(problem, Xing2015Settings())
    assert csls_share(better, problem) > csls_share(start, problem) + 0.03
    assert right_share(better, problem) > right_share(start, problem) + 0.03


def test_a_rotation_is_kept_where_it_is_the_answer():
    source, truth = unit_rows(400, 20, seed=0), orthogonal(20, seed=1)
    problem = task(source, source @ truth, pairs=60)
    assert right_share(joulin2018(problem, PUBLISHED), problem) == 1.0
    outcome = joulin2018(problem, Joulin2018Settings(steps=0))
    torch.testing.assert_close(outcome.source.map.matrix, truth, atol=1e-5, rtol=0)


def test_who_stops_it_gets_the_rotation_it_starts_from():
    problem = noisy_problem(stopped=lambda: True)
    expected = xing2015(problem, Xing2015Settings())
    torch.testing.assert_close(joulin2018(problem, PUBLISHED).source.map.matrix, expected.source.map.matrix)


def test_it_ends_when_nothing_improves():
    steps: list[Step] = []
    problem = noisy_problem(listen=steps.append)
    minimise(
        known_pairs(problem, ("unit",)), Joulin2018Settings(constraint="orthogonal", steps=1000, step_size=0.1), problem
    )
    assert 10 < len(steps) < 900


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"preprocessing": ()}, r"preprocessing is \[\]; expected steps that end in 'unit'"),
        ({"preprocessing": ("unit", "center")}, "expected steps that end in 'unit'"),
        ({"neighbourhood": 0}, "neighbourhood is 0, words 50000 and steps 10; expected at least 1, 1 and 0"),
        ({"words": 0}, "words 0 and steps 10"),
        ({"steps": -1}, "steps -1"),
        ({"step_size": 0.0}, "step_size is 0.0; expected above 0"),
        ({"constraint": "round"}, "constraint is 'round'; expected one of: none, spectral, orthogonal"),
    ],
)
def test_settings_out_of_range_are_refused(change, message):
    with pytest.raises(SettingsError, match=message):
        Joulin2018Settings(**change)
