from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from known import normal, orthogonal, right_share, task, unit_rows

from calque.errors import SettingsError
from calque.methods.baselines.known_pairs import Artetxe2016Settings, artetxe2016, known_pairs, rotation
from calque.methods.baselines.self_learning import Artetxe2017Settings, artetxe2017, most_similar, self_learn
from calque.progress import Step
from calque.retrieval import exact as retrieval

PUBLISHED = Artetxe2017Settings()
DIMENSION, WORDS, SEEDS = 30, 800, 25
TRUTH = orthogonal(DIMENSION, seed=2)
ORDER = torch.randperm(WORDS, generator=torch.Generator().manual_seed(1))
"""Target word i means source word ORDER[i]."""
ANSWERS = ORDER.argsort()


def turned(noise: float = 0.0, **options):
    """A space, turned by TRUTH, blurred, in another ORDER, of which 25 pairs are known."""
    source = unit_rows(WORDS, DIMENSION, seed=0)
    target = ((source + noise * normal(WORDS, DIMENSION, seed=3) / DIMENSION**0.5) @ TRUTH)[ORDER]
    return task(source, target, (torch.arange(SEEDS), ANSWERS[:SEEDS]), **options)


def test_a_turned_and_shuffled_space_is_recovered_from_25_pairs():
    problem = turned()
    outcome = artetxe2017(problem, PUBLISHED)
    torch.testing.assert_close(outcome.source.map.matrix, TRUTH, atol=1e-5, rtol=0)
    assert right_share(outcome, problem, ANSWERS) == 1.0
    assert outcome.notes == (
        f"the pairs have {SEEDS} different words for {DIMENSION} dimensions: they alone do not settle the map",
    )


def test_it_goes_on_where_its_sibling_without_self_learning_ends():
    problem = turned(noise=0.5)
    before = right_share(artetxe2016(problem, Artetxe2016Settings()), problem, ANSWERS)
    after = right_share(artetxe2017(problem, PUBLISHED), problem, ANSWERS)
    assert before < 0.8
    assert after > 0.95


def test_the_mean_similarity_rises_until_it_gains_less_than_the_threshold():
    steps: list[Step] = []
    artetxe2017(turned(noise=0.5, listen=steps.append), PUBLISHED)
    similarities = [float(step.values["similarity"]) for step in steps]
    gains = [later - earlier for earlier, later in pairwise(similarities)]
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert len(steps) > 3
    assert all(gain >= PUBLISHED.threshold for gain in gains[:-1])
    assert -1e-6 < gains[-1] < PUBLISHED.threshold


def test_it_ends_at_a_map_that_is_the_rotation_of_its_own_dictionary():
    dictionary = known_pairs(turned(noise=0.5), PUBLISHED.preprocessing)
    learned = self_learn(dictionary, PUBLISHED, turned())
    induced = most_similar(learned.map.apply(dictionary.source), dictionary.target)
    assert learned.converged
    assert learned.similarity == pytest.approx(float(induced.scores.mean()), abs=1e-6)
    again = rotation(dictionary.source, dictionary.target[induced.target])
    torch.testing.assert_close(again.matrix, learned.map.matrix, atol=0.02, rtol=0)


def test_every_source_word_is_paired_with_the_target_word_of_the_largest_product():
    source, target = normal(50, 5, seed=0), normal(70, 5, seed=1)
    pairs = most_similar(source, target)
    products = source @ target.mT
    torch.testing.assert_close(pairs.source, torch.arange(50))
    torch.testing.assert_close(pairs.target, products.argmax(dim=1))
    torch.testing.assert_close(pairs.scores, products.amax(dim=1))


def test_the_size_of_a_block_changes_nothing(monkeypatch):
    source, target = normal(50, 5, seed=0), normal(70, 5, seed=1)
    whole = most_similar(source, target)
    monkeypatch.setattr(retrieval, "BLOCK_ENTRIES", 300)
    torch.testing.assert_close(most_similar(source, target).target, whole.target)


def test_rare_words_have_no_say():
    problem, frequent = turned(), Artetxe2017Settings(words=400)
    rows = torch.arange(WORDS)[:400][ANSWERS[:400] < 400][:SEEDS]
    dictionary = replace(known_pairs(problem, ()), rows=(rows, ANSWERS[rows]))
    learned = self_learn(dictionary, frequent, problem)
    dictionary.source[400:], dictionary.target[400:] = 9.0, -9.0
    again = self_learn(dictionary, frequent, problem)
    torch.testing.assert_close(again.map.matrix, learned.map.matrix)
    everyone = self_learn(dictionary, PUBLISHED, problem)
    assert (everyone.map.matrix - learned.map.matrix).norm() > 0.1


def test_who_stops_it_gets_the_rotation_of_the_pairs_given():
    asked = turned(stopped=lambda: True)
    stopped = artetxe2017(asked, PUBLISHED)
    expected = artetxe2016(asked, Artetxe2016Settings())
    torch.testing.assert_close(stopped.source.map.matrix, expected.source.map.matrix)
    assert stopped.notes[-1] == "self-learning ended before it converged (at most 500 steps)"


def test_one_step_is_too_few_and_a_note_says_so():
    outcome = artetxe2017(turned(noise=0.5), Artetxe2017Settings(steps=1))
    assert outcome.notes[-1] == "self-learning ended before it converged (at most 1 steps)"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"words": 0}, "words is 0 and steps 500; expected at least 1 and 0"),
        ({"steps": -1}, "words is 20000 and steps -1; expected at least 1 and 0"),
        ({"threshold": -1.0}, "threshold is -1.0; expected 0 or more"),
        ({"preprocessing": ("whiten",)}, "no preprocessing step is called 'whiten'"),
    ],
)
def test_settings_out_of_range_are_refused(change, message):
    with pytest.raises(SettingsError, match=message):
        Artetxe2017Settings(**change)
