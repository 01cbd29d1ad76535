"""Every task keeps to the protocol, so that a command or an experiment can use one without knowing which."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from calque.data.space import Space
from calque.errors import FormatError, LexiconError
from calque.evaluate import TASKS, SimilarityTask, TranslationTask, score_similarity, score_translation
from calque.linear.maps import LinearMap, Preprocessing, Side
from calque.runs.alignment import Alignment, Record
from calque.verdict import Verdict

TEXTS = "text\tcategory\tindex_id\n" + "".join(f"{line}\n" for line in ("dos\ta\t1", "tres\tb\t2") * 6)
TRAINING = TEXTS.replace("dos", "two").replace("tres", "three")
GOLD = {
    "classification": TEXTS,
    "retrieval": TEXTS,
    "translation": "uno\tone\ndos\ttwo\ntres\tthree\ncuatro\tone\n",
    "similarity": "uno\tone\t4\ndos\tthree\t1\ntres\tthree\t3.5\n",
}
OTHER_FILE = {"classification": "train", "retrieval": "target"}
"""The option that names a second file, for tasks that need one."""


def aligned(record: Record | None = None) -> Alignment:
    side = Side(Preprocessing(()), LinearMap(torch.eye(3)))
    noise = 0.1 * torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    source = Space.of(["uno", "dos", "tres", "cuatro"], torch.cat([torch.eye(3), torch.ones(1, 3)]) + noise)
    target = Space.of(["one", "two", "three"], torch.eye(3))
    return Alignment.of((source, target), (side, side), Verdict("aligned", (), {}), record or Record())


@pytest.fixture
def gold_file(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "gold.tsv"
    path.write_text(GOLD[request.param])
    return path


REVERSED = "backward is scored by the lexicon reversed, which lacks right answers; --lexicon-back FILE is fairer"


@pytest.mark.parametrize(("name", "gold_file"), [(name, name) for name in TASKS], indirect=["gold_file"])
def test_every_task_loads_scores_and_summarises(name, gold_file):
    options = {}
    if name in OTHER_FILE:
        pytest.importorskip("sklearn", reason="needs the extra: pip install 'calque-embeddings[sklearn]'")
        options[OTHER_FILE[name]] = gold_file.with_name("training.tsv")
        options[OTHER_FILE[name]].write_text(TRAINING)
    task = TASKS[name](**options)
    gold = task.load(gold_file)
    score = task.score(aligned(), gold.data)
    assert task.name == name
    assert json.loads(json.dumps(score.as_json(), allow_nan=False)) == score.as_json()
    assert score.rows()
    assert all(isinstance(cell, str) for row in score.rows() for cell in row)
    assert list(task.remarks(aligned(), gold.data)) == [REVERSED] * (name == "translation")


@pytest.mark.parametrize("name", TASKS)
def test_every_task_names_a_file_that_is_not_there(name, tmp_path):
    if name in OTHER_FILE:
        pytest.importorskip("sklearn", reason="needs the extra: pip install 'calque-embeddings[sklearn]'")
    with pytest.raises((LexiconError, FormatError), match=r"none\.tsv: cannot be read"):
        TASKS[name]().load(tmp_path / "none.tsv")


@pytest.mark.parametrize("gold_file", ["translation"], indirect=True)
def test_translation_is_scored_as_its_function_does(gold_file, tmp_path):
    back = tmp_path / "back.tsv"
    back.write_text("one\tuno\n")
    task = TranslationTask(("nn",), (1, 2), back)
    lexicon, returning = task.load(gold_file).data
    assert task.score(aligned(), (lexicon, returning)) == score_translation(
        aligned(), lexicon, returning, ("nn",), (1, 2)
    )
    head, forward, backward = task.score(aligned(), (lexicon, returning)).rows()
    assert head == ["direction", "retrieval", "acc@1", "acc@2", "asked", "not asked"]
    assert (forward[:2], forward[4:], backward[4:]) == (["forward", "nn"], ["4", "0"], ["1", "0"])


@pytest.mark.parametrize("gold_file", ["translation"], indirect=True)
def test_what_flatters_a_translation_is_remarked(gold_file, tmp_path):
    gold = TranslationTask().load(gold_file)
    taught = aligned(Record(inputs={"lexicon": {"sha256": gold.data[0].digest}}))
    remark, reversed_lexicon = TranslationTask().remarks(taught, gold.data)
    assert reversed_lexicon == REVERSED
    assert TranslationTask().remarks(taught, (gold.data[0], gold.data[0])) == (remark,)
    assert remark == f"{gold_file}: the run has learned from these very pairs, which flatters it"
    induced = tmp_path / "induced.tsv"
    induced.write_text("uno\tone\t0.9000\n")
    assert "by a lexicon that it made itself a run is right" in TranslationTask().load(induced).notes[-1]


@pytest.mark.parametrize("gold_file", ["similarity"], indirect=True)
def test_similarity_is_scored_as_its_function_does(gold_file):
    pairs = SimilarityTask().load(gold_file).data
    score = SimilarityTask().score(aligned(), pairs)
    assert score == score_similarity(aligned(), pairs)
    (first,), (second,) = score.rows()
    assert first == f"pearson {score.pearson:.3f}  spearman {score.spearman:.3f}"
    assert second == "3 pairs used, 0 not in the vocabularies; 0 with a phrase, averaged"
    assert SimilarityTask("skip").score(aligned(), pairs).rows()[1][0].endswith("left out")


@pytest.mark.parametrize("gold_file", ["similarity"], indirect=True)
def test_a_file_with_the_target_word_first_is_swapped(gold_file):
    swapped = SimilarityTask(swap=True).load(gold_file).data
    assert [pair.swapped() for pair in swapped] == SimilarityTask().load(gold_file).data
