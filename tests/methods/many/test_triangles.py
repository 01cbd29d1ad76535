"""Known answers of what three dictionaries say of each other."""

from __future__ import annotations

import pytest
import torch

from calque.methods.many.triangles import (
    FEWEST,
    Finding,
    pairs_of,
    pairs_to_keep,
    round_trip_share,
    strengthened,
    triangles_of,
)
from calque.retrieval.exact import Pairs

WORDS = 60
ABC = ("a", "b", "c")
SIZES = dict.fromkeys("abcd", WORDS)


def dictionary(source: list[int], target: list[int], scores: list[float] | None = None) -> Pairs:
    return Pairs(torch.tensor(source), torch.tensor(target), torch.tensor(scores or [1.0] * len(source)))


def right() -> dict[tuple[str, str], Pairs]:
    """Word i of one language is word i + 1 of b and word 2 i of c, going round."""
    rows = list(range(WORDS))
    return {
        ("a", "b"): dictionary(rows, [(row + 1) % WORDS for row in rows]),
        ("a", "c"): dictionary(rows, [(7 * row) % WORDS for row in rows]),
        ("b", "c"): dictionary([(row + 1) % WORDS for row in rows], [(7 * row) % WORDS for row in rows]),
    }


def finding(label: str, clearance: float = 8.0) -> Finding:
    return Finding(label, clearance)  # type: ignore[arg-type]


class TestRoundTripShare:
    def test_dictionaries_that_agree_bring_every_word_home(self):
        assert round_trip_share(right(), ABC, SIZES) == 1.0

    def test_one_wrong_side_brings_none_home(self):
        wrong = right() | {("b", "c"): dictionary(list(range(WORDS)), [(7 * row + 3) % WORDS for row in range(WORDS)])}
        assert round_trip_share(wrong, ABC, SIZES) == 0.0

    def test_words_that_cannot_go_round_are_not_counted(self):
        some = right()
        half = some["a", "b"]
        some["a", "b"] = Pairs(half.source[:30], half.target[:30], half.scores[:30])
        assert round_trip_share(some, ABC, SIZES) == 1.0

    def test_the_most_trusted_translation_is_taken(self):
        rows = list(range(WORDS))
        two = dictionary(rows + rows, [(row + 1) % WORDS for row in rows] + [5] * WORDS, [0.6] * WORDS + [0.4] * WORDS)
        assert round_trip_share(right() | {("a", "b"): two}, ABC, SIZES) == 1.0
        worse = Pairs(two.source, two.target, 1 - two.scores)
        assert round_trip_share(right() | {("a", "b"): worse}, ABC, SIZES) < 0.05

    def test_a_few_words_that_come_home_say_nothing(self):
        few = {pair: Pairs(*(x[:FEWEST] for x in (p.source, p.target, p.scores))) for pair, p in right().items()}
        assert round_trip_share(few, ABC, SIZES) == 0.0

    def test_dictionaries_by_chance_bring_too_few_home(self):
        """About one word of a vocabulary comes back however small it is, and then it is a large share."""
        for seed in range(30):
            generator = torch.Generator().manual_seed(seed)
            chance = {
                pair: Pairs(torch.arange(WORDS), torch.randperm(WORDS, generator=generator), torch.ones(WORDS))
                for pair in pairs_of(ABC)
            }
            assert round_trip_share(chance, ABC, SIZES) == 0.0


class TestPairsToKeep:
    def test_one_wrong_pair_of_six_goes_alone(self):
        names = list("abcd")
        shares = {each: 0.0 if {"a", "b"} <= set(each) else 0.3 for each in triangles_of(names, pairs_of(names))}
        stay = pairs_to_keep(names, {pair: finding("aligned") for pair in pairs_of(names)}, shares)
        assert set(pairs_of(names)) - set(stay) == {("a", "b")}

    def test_of_a_broken_triangle_the_doubtful_pair_goes(self):
        findings = {
            ("a", "b"): finding("aligned", 7.0),
            ("a", "c"): finding("doubtful", 9.0),
            ("b", "c"): finding("aligned"),
        }
        assert pairs_to_keep(ABC, findings, {ABC: 0.0}) == (("a", "b"), ("b", "c"))

    def test_of_equally_sure_pairs_the_least_clear_goes(self):
        clear = {("a", "b"): 7.0, ("a", "c"): 9.0, ("b", "c"): 8.0}
        stay = pairs_to_keep(ABC, {pair: finding("aligned", each) for pair, each in clear.items()}, {ABC: 0.0})
        assert stay == (("a", "c"), ("b", "c"))

    def test_a_language_of_noise_keeps_no_doubtful_pair(self):
        names = list("abcn")
        findings = {pair: finding("doubtful" if "n" in pair else "aligned") for pair in pairs_of(names)}
        shares = {each: 0.0 if "n" in each else 0.3 for each in triangles_of(names, pairs_of(names))}
        assert set(pairs_to_keep(names, findings, shares)) == {("a", "b"), ("a", "c"), ("b", "c")}

    def test_what_failed_does_not_stay_and_is_in_no_triangle(self):
        findings = {("a", "b"): finding("failed"), ("a", "c"): finding("aligned"), ("b", "c"): finding("doubtful")}
        assert pairs_to_keep(ABC, findings, {}) == (("a", "c"), ("b", "c"))

    def test_a_triangle_that_holds_keeps_even_the_doubtful(self):
        assert len(pairs_to_keep(ABC, {pair: finding("doubtful") for pair in pairs_of(ABC)}, {ABC: 0.3})) == 3


class TestStrengthening:
    def test_a_third_language_adds_what_both_its_pairs_say(self):
        one = {
            ("a", "b"): dictionary([0, 1], [0, 1], [0.5, 0.5]),
            ("a", "c"): dictionary([0, 1], [3, 4], [1.0, 0.5]),
            ("b", "c"): dictionary([0, 2], [3, 4], [1.0, 0.5]),
        }
        stronger = strengthened(one, SIZES, weight=2.0)["a", "b"]
        said = {
            (x, y): s
            for x, y, s in zip(
                stronger.source.tolist(), stronger.target.tolist(), stronger.scores.tolist(), strict=True
            )
        }
        assert said == pytest.approx({(0, 0): 0.5 + 2.0 * 1.0 * 1.0, (1, 1): 0.5, (1, 2): 2.0 * 0.5 * 0.5})

    def test_weak_pairs_have_little_to_say_to_a_strong_one(self):
        weak = dictionary([0], [0], [0.5])
        one = {("a", "b"): dictionary([0, 1], [1, 2], [1.0, 1.0]), ("a", "c"): weak, ("b", "c"): weak}
        stronger = strengthened(one, SIZES, weight=8.0)["a", "b"]
        heed = (0.5 * 0.5 / 2.0**2) ** 2
        assert stronger.scores[(stronger.source == 0) & (stronger.target == 0)].tolist() == pytest.approx(
            [8.0 * heed * 0.25]
        )

    def test_two_third_languages_share_the_weight(self):
        same = dictionary([0], [0], [1.0])
        stronger = strengthened(dict.fromkeys(pairs_of("abcd"), same), SIZES, weight=3.0)
        assert all(each.scores.tolist() == pytest.approx([4.0]) for each in stronger.values())

    @pytest.mark.parametrize("names", [ABC, ("a", "b")])
    def test_without_weight_or_thirds_nothing_changes(self, names):
        dictionaries = {pair: each for pair, each in right().items() if set(pair) <= set(names)}
        stronger = strengthened(dictionaries, SIZES, weight=0.0 if len(names) == 3 else 4.0)
        for pair, each in dictionaries.items():
            order = each.source.argsort()
            assert torch.equal(stronger[pair].source, each.source[order])
            assert torch.equal(stronger[pair].target, each.target[order])
            assert torch.equal(stronger[pair].scores, each.scores[order])
