"""The supervised baselines on the paper's own vectors. Needs the data folder; skipped where it is absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

import calque
from calque.data.lexicon import Lexicon, read_lexicon
from calque.evaluate import score_translation
from calque.experiments.gold import split
from calque.recipes import find, run

DATA = Path(os.environ.get("CALQUE_DATA", Path(__file__).parents[2] / "shared" / "data"))
pytestmark = pytest.mark.skipif(not (DATA / "we-z").is_dir(), reason="no WE-Z vectors in $CALQUE_DATA")

AT_LEAST = {
    "mikolov2013": 75,
    "zhang2016": 75,
    "xing2015": 75,
    "shigeto2015": 77,
    "artetxe2016": 75,
    "artetxe2017": 75,
    "joulin2018": 75,
}


@pytest.fixture(scope="module")
def spaces() -> tuple[calque.Space, calque.Space]:
    folder = DATA / "we-z" / "es-en"
    return calque.load(folder / "word2vec.es"), calque.load(folder / "word2vec.en")


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return read_lexicon(DATA / "lexicons" / "muse" / "es-en.tsv").lexicon


@pytest.mark.parametrize("name", AT_LEAST)
def test_half_a_lexicon_teaches_the_other_half(name, spaces, lexicon):
    train, test = split(lexicon, seed=0)
    alignment = run(find(name), *spaces, lexicon=train, judged=False)
    score = score_translation(alignment, test, retrievals=("nn",), ks=(1,))
    assert 100 * score.forward["nn"].accuracy(1) >= AT_LEAST[name]


def test_a_true_dictionary_gives_an_alignment_that_is_believed(spaces, lexicon):
    assert calque.align(*spaces, recipe="xing2015", lexicon=lexicon).verdict.label == "aligned"


def test_a_dictionary_of_nonsense_does_not(spaces, lexicon):
    """The same words, each with the answers of another."""
    order = torch.randperm(len(lexicon), generator=torch.Generator().manual_seed(0)).tolist()
    answers = list(lexicon.answers.values())
    nonsense = Lexicon({word: answers[place] for word, place in zip(lexicon.answers, order, strict=True)})
    assert calque.align(*spaces, recipe="xing2015", lexicon=nonsense).verdict.label == "failed"
