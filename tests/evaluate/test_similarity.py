from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
from scipy import stats

from calque.data.space import Space
from calque.errors import LexiconError
from calque.evaluate import read_similarity, score_similarity
from calque.evaluate.similarity import Judged
from calque.linear.maps import LinearMap, Preprocessing, Side
from calque.runs.alignment import Alignment, Record
from calque.verdict import Verdict

DEGREES = {"gato": 0.0, "perro": 30.0, "casa": 90.0, "auto": 140.0, "gato negro": 75.0}
OTHER = {
    "cat": 10.0,
    "dog": 20.0,
    "house": 100.0,
    "car": 170.0,
    "black": 60.0,
    "New": 45.0,
    "new": -31.0,
    "york": 135.0,
}


def at(degrees: dict[str, float], name: str) -> Space:
    """Words as unit vectors of the plane: the cosine of two is that of the angle between them."""
    angles = torch.deg2rad(torch.tensor(list(degrees.values())))
    return Space.of(list(degrees), torch.stack([angles.cos(), angles.sin()], dim=1), name=name)


def plain(source: Space, target: Space) -> Alignment:
    side = Side(Preprocessing(()), LinearMap(torch.eye(2)))
    return Alignment.of((source, target), (side, side), Verdict("aligned", (), {}), Record())


@pytest.fixture
def made() -> Alignment:
    return plain(at(DEGREES, "es"), at(OTHER, "en"))


def cosine(source: float, target: float) -> float:
    return math.cos(math.radians(source - target))


JUDGED = [
    Judged("gato", "cat", 4.0),
    Judged("perro", "cat", 3.1),
    Judged("casa", "car", 0.3),
    Judged("auto", "dog", 1.0),
]
COSINES = [cosine(0, 10), cosine(30, 10), cosine(90, 170), cosine(140, 20)]


def test_correlations_are_those_of_the_cosines(made):
    got = score_similarity(made, JUDGED)
    scores = [each.score for each in JUDGED]
    assert got.pearson == pytest.approx(stats.pearsonr(COSINES, scores).statistic, abs=1e-5)
    assert got.spearman == pytest.approx(stats.spearmanr(COSINES, scores).statistic, abs=1e-9)
    assert (got.used, got.missing, got.phrases) == (4, 0, 0)


def test_spearman_by_hand_and_pearson_of_a_straight_line(made):
    """Ranks of the cosines 4 3 2 1 against those of the judgements 4 3 1 2: 1 - 6·2 / (4·15)."""
    assert score_similarity(made, JUDGED).spearman == pytest.approx(1 - 6 * 2 / (4 * 15))
    line = [Judged(each.source, each.target, 2 - 3 * c) for each, c in zip(JUDGED, COSINES, strict=True)]
    assert score_similarity(made, line).pearson == pytest.approx(-1, abs=1e-5)


def test_pairs_with_an_unknown_word_are_counted_and_left_out(made):
    more = [Judged("gato", "dragon", 9.0), *JUDGED, Judged("dragón", "cat", 9.0), Judged("dragón", "dragon", 9.0)]
    got, without = score_similarity(made, more), score_similarity(made, JUDGED)
    assert (got.used, got.missing, got.phrases) == (4, 3, 0)
    assert (got.pearson, got.spearman) == (without.pearson, without.spearman)


def test_a_phrase_is_the_mean_of_its_words(made):
    """cat at 10 and black at 60 degrees: the mean points to 35."""
    judged = [*JUDGED, Judged("perro", "black cat", 2.0)]
    got = score_similarity(made, judged)
    expected = stats.pearsonr([*COSINES, cosine(30, 35)], [each.score for each in judged]).statistic
    assert got.pearson == pytest.approx(expected, abs=1e-5)
    assert (got.used, got.missing, got.phrases) == (5, 0, 1)


def test_a_phrase_that_is_a_word_of_the_vocabulary_is_that_word(made):
    judged = [*JUDGED, Judged("gato negro", "house", 2.0)]
    expected = stats.pearsonr([*COSINES, cosine(75, 100)], [each.score for each in judged]).statistic
    assert score_similarity(made, judged).pearson == pytest.approx(expected, abs=1e-5)


def test_a_phrase_with_an_unknown_word_is_missing(made):
    got = score_similarity(made, [*JUDGED, Judged("gato", "black dragon", 2.0)])
    assert (got.used, got.missing) == (4, 1)


def test_phrases_are_skipped_where_asked_and_counted_apart_from_missing_words(made):
    judged = [
        *JUDGED,
        Judged("perro", "black cat", 9.0),
        Judged("gato negro", "cat", 9.0),
        Judged("gato", "dragon", 9.0),
    ]
    got = score_similarity(made, judged, phrases="skip")
    assert (got.used, got.missing, got.phrases) == (4, 1, 2)
    assert got.pearson == score_similarity(made, JUDGED).pearson


def test_capitals_are_tried_small_where_the_vocabulary_has_only_those(made):
    judged = [Judged("Gato", "CAT", 4.0), *JUDGED[1:]]
    assert score_similarity(made, judged) == score_similarity(made, JUDGED)


@pytest.mark.parametrize(("phrase", "degrees"), [("New York", 90), ("new york", 52)])
def test_capitals_are_tried_word_by_word_and_not_made_small_where_the_vocabulary_has_them(made, phrase, degrees):
    """New at 45 and new at -31, each as it is written; York only small, at 135: the means point to 90 and 52."""
    judged = [*JUDGED, Judged("perro", phrase, 2.0)]
    expected = stats.pearsonr([*COSINES, cosine(30, degrees)], [each.score for each in judged]).statistic
    assert score_similarity(made, judged).pearson == pytest.approx(expected, abs=1e-5)


def test_a_phrase_in_capitals_is_tried_small_as_a_whole(made):
    one = score_similarity(made, [*JUDGED, Judged("Gato Negro", "house", 2.0)])
    other = score_similarity(made, [*JUDGED, Judged("gato negro", "house", 2.0)])
    assert one == other


def test_fewer_than_three_pairs_are_refused(made):
    with pytest.raises(LexiconError, match="only 2 of 3 judged pairs"):
        score_similarity(made, [*JUDGED[:2], Judged("gato", "dragon", 1.0)])
    assert score_similarity(made, JUDGED[:3]).used == 3


@pytest.mark.filterwarnings("ignore")
def test_judgements_that_are_all_equal_have_no_correlation_and_give_no_figure_that_is_not_json(made):
    flat = [Judged(each.source, each.target, 2.0) for each in JUDGED]
    try:
        got = score_similarity(made, flat).as_json()
    except LexiconError:
        return
    assert json.loads(json.dumps(got, allow_nan=False)) == got


def test_json_has_the_figures_and_the_counts(made):
    got = score_similarity(made, [*JUDGED, Judged("gato", "dragon", 1.0)])
    assert got.as_json() == {
        "pearson": pytest.approx(got.pearson, abs=1e-6),
        "spearman": pytest.approx(0.8),
        "used": 4,
        "missing": 1,
        "phrases": 0,
    }


@pytest.fixture
def write(tmp_path):
    def written(data: bytes) -> Path:
        path = tmp_path / "pairs.tsv"
        path.write_bytes(data)
        return path

    return written


@pytest.mark.parametrize(
    "data",
    [
        b"gato\tblack cat\t3.5\nperro\tdog\t-1\n",
        b"\xef\xbb\xbfgato\tblack cat\t3.5\r\nperro\tdog\t-1\r\n",
        b"\n gato \t black cat \t 3.5\n\nperro\tdog\t-1e0",
    ],
)
def test_the_same_two_pairs_however_they_are_written(write, data):
    assert read_similarity(write(data)) == [Judged("gato", "black cat", 3.5), Judged("perro", "dog", -1.0)]


@pytest.mark.parametrize("line", ["perro dog 2", "perro\tdog", "perro\tdog\tmuch", "perro\tdog\t2\t3", "perro\tdog\t"])
def test_a_line_that_is_no_judged_pair_is_refused_with_its_number(write, line):
    with pytest.raises(LexiconError) as caught:
        read_similarity(write(f"gato\tcat\t3.5\n\n{line}\n".encode()))
    assert "pairs.tsv:3: found" in str(caught.value)
    assert repr(line) in str(caught.value)


@pytest.mark.parametrize("line", ["perro\tdog\tnan", "perro\tdog\tinf", "\tdog\t2", "perro\t\t2"])
def test_a_judgement_that_is_no_number_or_a_word_that_is_empty_is_refused_with_its_number(write, line):
    """One NaN would make both correlations NaN without a word."""
    with pytest.raises(LexiconError, match=r"pairs\.tsv:2"):
        read_similarity(write(f"gato\tcat\t3.5\n{line}\n".encode()))


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(LexiconError, match=r"nowhere\.tsv: cannot be read"):
        read_similarity(tmp_path / "nowhere.tsv")
    with pytest.raises(LexiconError, match="cannot be read"):
        read_similarity(tmp_path)
