from __future__ import annotations

import pytest
import torch

from calque.data.lexicon import Lexicon
from calque.data.space import Space
from calque.errors import LexiconError, SettingsError
from calque.evaluate import score_translation
from calque.linear.maps import LinearMap, Preprocessing, Side
from calque.runs.alignment import Alignment, Record
from calque.verdict import Verdict


def at(degrees: list[float]) -> torch.Tensor:
    """Unit vectors of the plane at these angles: who is near whom can be read off."""
    angles = torch.deg2rad(torch.tensor(degrees))
    return torch.stack([angles.cos(), angles.sin()], dim=1)


def alignment(source: dict[str, float], target: dict[str, float]) -> Alignment:
    """Words at angles, in the common space as they are."""
    spaces = tuple(
        Space.of(list(each), at(list(each.values())), name=name)
        for each, name in ((source, "es.vec"), (target, "en.vec"))
    )
    side = Side(Preprocessing(()), LinearMap(torch.eye(2)))
    return Alignment.of(spaces, (side, side), Verdict("aligned", (), {}), Record())


SOURCE = {"uno": 0, "dos": 20, "tres": 90, "cuatro": 150}
TARGET = {"one": 2, "two": 25, "three": 70, "four": 100}
"""Nearest first. There: uno: one two three four; dos: two one three four; tres and cuatro: four three two one.
Back: one: uno dos tres cuatro; two: dos uno tres; three: tres dos uno; four: tres cuatro dos uno."""


@pytest.fixture
def made() -> Alignment:
    return alignment(SOURCE, TARGET)


def nn(made: Alignment, lexicon: Lexicon, back: Lexicon | None = None, ks: tuple[int, ...] = (1, 2, 3)):
    score = score_translation(made, lexicon, back, ("nn",), ks)
    return score.forward["nn"], score.backward["nn"]


def test_accuracy_at_k_by_hand(made):
    """Ranks of the right answer: uno 1st, dos 3rd, tres 2nd, cuatro 1st; back: one 1st, three 1st, 2nd; four 2nd."""
    lexicon = Lexicon.of([("uno", "one"), ("dos", "three"), ("tres", "three"), ("cuatro", "four")])
    forward, backward = nn(made, lexicon)
    assert forward.right == {1: 2, 2: 3, 3: 4}
    assert (forward.asked, forward.missing) == (4, 0)
    assert forward.accuracy(1) == 0.5
    assert forward.accuracy(2) == 0.75
    assert backward.right == {1: 2, 2: 3, 3: 3}
    assert backward.accuracy(2) == 1.0


def test_any_of_several_right_answers_will_do_and_counts_once(made):
    """tres: four is 1st and three 2nd, both right; dos: one is 2nd, four 4th."""
    lexicon = Lexicon.of([("tres", "three"), ("tres", "four"), ("dos", "four"), ("dos", "one")])
    forward, _ = nn(made, lexicon)
    assert forward.right == {1: 1, 2: 2, 3: 2}
    assert forward.asked == 2


def test_words_that_cannot_be_answered_are_counted_and_not_asked(made):
    """perro is no source word; tres has no answer among the target words; of dos one of two is there."""
    lexicon = Lexicon.of([("uno", "one"), ("perro", "four"), ("tres", "drei"), ("dos", "zwei"), ("dos", "two")])
    forward, backward = nn(made, lexicon)
    assert (forward.asked, forward.missing, forward.right[1]) == (2, 2, 2)
    assert (backward.asked, backward.missing, backward.right[1]) == (2, 3, 2)


def test_backwards_by_a_lexicon_of_its_own_or_the_same_reversed(made):
    lexicon = Lexicon.of([("uno", "one"), ("dos", "two")])
    own = Lexicon.of([("four", "cuatro"), ("three", "uno"), ("five", "cinco")])
    assert nn(made, lexicon)[1] == nn(made, lexicon, lexicon.reversed())[1]
    forward, backward = nn(made, lexicon, own)
    assert forward.right == {1: 2, 2: 2, 3: 2}
    assert backward.right == {1: 0, 2: 1, 3: 2}
    assert (backward.asked, backward.missing) == (2, 1)


def test_an_empty_lexicon_for_the_way_back_is_not_taken_for_none(made):
    with pytest.raises(LexiconError, match="none of its 0 words"):
        nn(made, Lexicon.of([("uno", "one")]), Lexicon.of([]))


def test_csls_is_not_nearest_neighbour():
    """A hub between the two clusters of queries is nearest to `a`, but near to everything, so CSLS holds it back."""
    source = {"a": 0.0} | {f"s{row}": 40.0 + row for row in range(12)}
    target = {"hub": 20.0, "right": -22.0} | {f"t{row}": 180.0 + row for row in range(3)}
    score = score_translation(alignment(source, target), Lexicon.of([("a", "right")]), ks=(1, 2))
    assert score.forward["nn"].right == {1: 0, 2: 1}
    assert score.forward["csls"].right == {1: 1, 2: 1}


def test_more_candidates_asked_for_than_there_are(made):
    forward, backward = nn(made, Lexicon.of([("cuatro", "one")]), ks=(3, 4, 10))
    assert forward.right == {3: 0, 4: 1, 10: 1}
    assert backward.right == {3: 0, 4: 1, 10: 1}


def test_right_never_falls_as_k_rises_and_never_exceeds_asked():
    generator = torch.Generator().manual_seed(0)
    angles = (360 * torch.rand(2, 40, generator=generator)).tolist()
    source, target = (
        {f"{name}{row}": a for row, a in enumerate(each)} for name, each in zip("st", angles, strict=True)
    )
    lexicon = Lexicon.of((f"s{row}", f"t{row}") for row in range(40))
    score = score_translation(alignment(source, target), lexicon, retrievals=("nn", "csls", "isf"), ks=range(1, 41))
    for direction in (score.forward, score.backward):
        for each in direction.values():
            counts = [each.right[k] for k in range(1, 41)]
            assert counts == sorted(counts)
            assert counts[-1] == each.asked == 40


def test_nothing_to_ask_is_an_error_that_names_the_lexicon_and_the_way(made):
    with pytest.raises(LexiconError, match=r"es-de\.txt: none of its 2 words.*from es\.vec to en\.vec"):
        nn(made, Lexicon.of([("uno", "eins"), ("perro", "one")], "es-de.txt"))
    with pytest.raises(LexiconError, match=r"back\.txt: none of its 1 words.*from en\.vec to es\.vec"):
        nn(made, Lexicon.of([("uno", "one")]), Lexicon.of([("uno", "one")], "back.txt"))


@pytest.mark.parametrize("ks", [(), (0,), (1, -1)])
def test_k_below_one_is_refused(made, ks):
    with pytest.raises(SettingsError, match="at least 1"):
        nn(made, Lexicon.of([("uno", "one")]), ks=ks)


def test_an_unknown_retrieval_is_refused_with_the_choices(made):
    with pytest.raises(SettingsError, match=r"'magic'.*nn, csls"):
        score_translation(made, Lexicon.of([("uno", "one")]), retrievals=("magic",))


def test_json_has_shares_and_counts(made):
    lexicon = Lexicon.of([("uno", "one"), ("dos", "three"), ("tres", "three"), ("perro", "dog")])
    got = score_translation(made, lexicon, retrievals=("nn",), ks=(1, 2)).as_json()
    assert got["forward"]["nn"] == {
        "accuracy": {"1": 0.333333, "2": 0.666667},
        "right": {"1": 1, "2": 2},
        "asked": 3,
        "missing": 1,
    }
    assert set(got) == {"forward", "backward"}
    assert got["backward"]["nn"]["asked"] == 2
