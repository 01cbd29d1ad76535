"""Which translations are shown where nobody chose any, and what the languages are called."""

from __future__ import annotations

import pytest
import torch

from calque.data.formats import bare_name
from calque.data.space import Space
from calque.linear.maps import LinearMap, Preprocessing, Side
from calque.runs.alignment import Alignment, Record
from calque.show.views import language_names, mutual_translations, translations_to_show
from calque.verdict import Verdict


def matched(ours: list[str], theirs: list[str], names: tuple[str, str] = ("a", "b")) -> Alignment:
    """Word i of one language is word i of the other, beyond doubt."""
    vectors = torch.randn(len(ours), 12, generator=torch.Generator().manual_seed(1))
    side = Side(Preprocessing((None,)), LinearMap(torch.eye(12)))
    spaces = Space.of(ours, vectors, name=names[0]), Space.of(theirs, vectors, name=names[1])
    return Alignment.of(spaces, (side, side), Verdict("aligned", ("made",), {}), Record())


def test_words_of_content_that_are_spelled_otherwise_are_worth_showing():
    ours = ["de", "casa", "macro", "http://x", "perro", "Ende", "位置", "的", "क्षेत्र"]
    theirs = ["of", "house", "Macro", "link", "dog", "finish", "position", "particle", "region"]
    alignment = matched(ours, theirs)
    assert mutual_translations(alignment, range(9)) == {row: row for row in range(9)}
    assert [alignment.source.words[row] for row in translations_to_show(alignment, 4)] == [
        "casa",
        "Ende",
        "位置",
        "क्षेत्र",
    ]
    assert all(row == target for row, target in translations_to_show(alignment, 4).items())


def test_where_there_are_too_few_any_translations_are_shown():
    alignment = matched(["1", "casa", "3"], ["1", "house", "3"])
    assert translations_to_show(alignment, 1) == {1: 1}
    assert translations_to_show(alignment, 2) == {0: 0, 1: 1, 2: 2}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("pt.vec.gz", "pt"),
        ("some/where/wiki.es.vec", "wiki.es"),
        ("word2vec.zh", "word2vec.zh"),
        ("model.BIN", "model"),
        ("es", "es"),
        (".vec", ".vec"),
        ("", ""),
    ],
)
def test_a_language_is_called_as_its_file_without_folder_and_endings(path, name):
    assert bare_name(path) == name


def test_languages_of_the_same_name_or_none_are_told_apart():
    words = ["one", "two"]
    assert language_names(matched(words, words, ("x/pt.vec", "y/en.vec.gz"))) == ("pt", "en")
    assert language_names(matched(words, words, ("x/v.vec", "y/v.vec"))) == ("v (source)", "v (target)")
    assert language_names(matched(words, words, ("", ""))) == ("source", "target")
