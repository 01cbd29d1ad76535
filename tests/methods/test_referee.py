from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace

import pytest
import torch

from calque.data.space import Space
from calque.linear.maps import LinearMap, NetworkMap, Preprocessing, Side
from calque.methods.default.alternation import random_rotation
from calque.methods.referee import referee
from calque.methods.task import FEWEST_WORDS, Task
from calque.progress import Step
from calque.verdict import KEPT, Evidence, judge

DIMENSION = 10


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """On problems as small as these, threads wait for each other longer than they work."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def clustered(count: int, dimension: int = DIMENSION) -> torch.Tensor:
    """Words in bunches of different sizes, longer in some directions than in others, as in a language."""
    generator, scales = seeded(0), torch.linspace(1, 0.25, dimension)
    centres = torch.randn(25, dimension, generator=generator) * scales
    member = torch.multinomial(torch.linspace(1, 8, 25), count, replacement=True, generator=generator)
    return centres[member] + 0.5 * scales * torch.randn(count, dimension, generator=generator)


def space(vectors: torch.Tensor, prefix: str) -> Space:
    return Space.of([f"{prefix}{row}" for row in range(len(vectors))], vectors, name=prefix)


def by(matrix: torch.Tensor) -> Side:
    return Side(Preprocessing(()), LinearMap(matrix))


TRUTH, STAY = random_rotation(DIMENSION, seeded(1)), by(torch.eye(DIMENSION))


def copied(words: int) -> Task:
    """A space and its copy, turned and blurred a little."""
    vectors = clustered(words)
    blur = 0.03 * torch.randn(vectors.shape, generator=seeded(2))
    return Task(space(vectors, "s"), space((vectors + blur) @ TRUTH, "t"))


@pytest.fixture(scope="module")
def task() -> Task:
    return copied(160)


@pytest.fixture(scope="module")
def true(task) -> Evidence:
    evidence = referee(task, by(TRUTH), STAY)
    assert evidence is not None
    return evidence


def test_the_true_rotation_is_called_aligned(true):
    assert judge(true).label == "aligned"
    assert true.confirmed
    assert true.agreeing >= 1
    assert true.kept is not None
    assert true.kept > 0.9
    assert (true.gave_up, true.words) == ("", 160)


def test_it_need_not_be_a_rotation_nor_of_any_length(task, true):
    """Both sides in another common space, stretched: translations are the same, and so is the evidence."""
    stretch = torch.diag(torch.linspace(0.9, 1.1, DIMENSION)) @ random_rotation(DIMENSION, seeded(5))
    evidence = referee(task, by(7 * TRUTH @ stretch), by(7 * stretch))
    assert judge(evidence).label == "aligned"
    assert evidence.cost == pytest.approx(true.cost, abs=1e-3)


@pytest.fixture(scope="module")
def events() -> list[Step]:
    return []


@pytest.fixture(scope="module")
def false(task, events) -> Evidence:
    """Of any other rotation."""
    evidence = referee(replace(task, listen=events.append), by(random_rotation(DIMENSION, seeded(11))), STAY)
    assert evidence is not None
    return evidence


def test_any_other_rotation_is_called_failed(false, true):
    assert judge(false).label == "failed"
    assert false.cost > true.cost or false.kept < KEPT
    assert false.gave_up == "no independent start confirmed it in 2 rounds"


def right(task: Task, matrix: torch.Tensor) -> float:
    x, y = by(matrix).apply(task.source.vectors), STAY.apply(task.target.vectors)
    return float(((x @ y.mT).argmax(dim=1) == torch.arange(len(x))).float().mean())


def test_a_map_of_which_half_is_scrambled_is_not_called_aligned(task):
    """Polished, it may well become the true one; but that is not the map that was given."""
    scrambled = TRUTH.clone()
    scrambled[:5] = TRUTH[[1, 2, 3, 4, 0]]
    evidence = referee(task, by(scrambled), STAY)
    assert right(task, scrambled) < KEPT
    assert judge(evidence).label == "failed"


def test_a_map_that_is_a_little_off_is_still_the_true_one(task):
    """Turned away so far that it misses a part of the words, it says how many it keeps."""
    halves = 0.06 * torch.randn(DIMENSION, DIMENSION, generator=seeded(3))
    off = TRUTH @ torch.linalg.matrix_exp(halves - halves.mT)
    evidence = referee(task, by(off), STAY)
    assert 0.3 < right(task, off) < 0.99
    assert judge(evidence).label == "aligned"
    assert evidence.kept == pytest.approx(right(task, off), abs=0.1)


def test_where_half_the_words_have_no_counterpart_the_true_map_is_not_called_failed(task):
    """Their vectors are another's: half the vocabulary still speaks for the map."""
    vectors, order = task.target.vectors.clone(), torch.randperm(80, generator=seeded(4))
    vectors[80:] = clustered(400)[160:][:80][order] @ TRUTH
    evidence = referee(replace(task, target=space(vectors, "t")), by(TRUTH), STAY)
    assert judge(evidence).label in ("aligned", "doubtful")


def test_noise_is_called_failed_whatever_the_map():
    noise = [space(torch.randn(120, DIMENSION, generator=seeded(each)), "n") for each in (6, 7)]
    assert judge(referee(Task(*noise), by(TRUTH), STAY)).label == "failed"


@pytest.mark.parametrize("words", [5, FEWEST_WORDS - 1])
def test_few_words_are_not_judged(words):
    few = copied(words)
    assert referee(few, by(TRUTH), STAY) is None
    verdict = judge(None)
    assert verdict.label == "doubtful"
    assert len(verdict.reasons) == 1
    assert "too small" in verdict.reasons[0]
    assert "\n" not in verdict.reasons[0]


def test_the_smaller_vocabulary_counts():
    task = replace(copied(FEWEST_WORDS), stopped=lambda: True)
    assert referee(task, by(TRUTH), STAY) is not None
    assert referee(replace(task, target=task.target.head(FEWEST_WORDS - 1)), by(TRUTH), STAY) is None


def test_unequal_dimensions(task):
    """Ten more in which there is nothing, hidden by a rotation, and a map that leaves them out."""
    hidden = random_rotation(20, seeded(8))
    wide = space(torch.nn.functional.pad(task.source.vectors, (0, 10)) @ hidden, "w")
    back = hidden.mT[:, :DIMENSION]
    evidence = referee(replace(task, source=wide), by(back @ TRUTH), STAY)
    assert judge(evidence).label == "aligned"


def test_a_map_with_hidden_layers_is_judged_like_any_other(task):
    """tanh is a straight line near zero."""
    small = 1e-3
    network = NetworkMap((small * TRUTH, torch.eye(DIMENSION)), (torch.zeros(DIMENSION), torch.zeros(DIMENSION)))
    assert judge(referee(task, Side(Preprocessing(()), network), STAY)).label == "aligned"


def test_a_map_that_sends_all_words_to_one_is_called_failed(task):
    flat = torch.zeros(DIMENSION, DIMENSION)
    flat[0, 0] = 1.0
    assert judge(referee(task, by(flat), STAY)).label == "failed"


def test_it_is_the_same_again_and_leaves_torch_its_threads(task, true):
    threads, steps = torch.get_num_threads(), list[Step]()
    again = referee(replace(task, listen=steps.append), by(TRUTH), STAY)
    assert again.roles == true.roles
    figures = [{name: each for name, each in asdict(one).items() if name != "roles"} for one in (again, true)]
    assert figures[0] == pytest.approx(figures[1], abs=1e-4)
    assert torch.get_num_threads() == threads
    assert [(each.stage, each.number, each.total) for each in steps] == [("judge", row + 1, 25) for row in range(13)]
    assert [each.values["kind"] for each in steps] == ["given"] + ["profiles"] * 4 + ["random"] * 8
    assert steps[0].values["cost"] == pytest.approx(true.cost, abs=1e-4)
    assert true.roles[0] == "winner"


def test_a_second_round_runs_where_the_first_does_not_confirm(false, events):
    assert [(each.stage, each.number) for each in events] == [("judge", row + 1) for row in range(25)]
    assert false.starts == 25


def test_interrupted_it_says_so(task):
    evidence = referee(replace(task, stopped=lambda: True), by(TRUTH), STAY)
    assert not evidence.confirmed
    assert evidence.gave_up == "it was interrupted"
    assert any("it was interrupted" in each for each in judge(evidence).reasons)
