from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import carried

pytest.importorskip("sklearn", reason="needs the extra: pip install 'calque-embeddings[sklearn]'")
from calque.data.formats import write
from calque.errors import SettingsError
from calque.experiments.driver import run_plan
from calque.experiments.events import RunEnded
from calque.experiments.render import as_json, file_names, rendered
from calque.experiments.results import read_run
from calque.experiments.text_plan import PAIRS, TextRequest, text_plan


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The data folder of one pair, es-en."""
    folder, run = tmp_path / "data", carried.run()
    for name in ("europarl", "sib", "lexicons/muse"):
        (folder / name).mkdir(parents=True)
    for language, space in (("es", run.source), ("en", run.target)):
        write(space, folder / "europarl" / f"{language}.vec.gz", format="word2vec")
    words = [
        (carried.word("x", topic, row), carried.word("y", topic, row)) for topic in carried.TOPICS for row in range(20)
    ]
    (folder / "lexicons/muse/es-en.train.tsv").write_text("".join(f"{x}\t{y}\n" for x, y in words))
    for language, code in (("x", "spa"), ("y", "eng")):
        for part, count, seed in (("train", 60, 0), ("test", 30, 1)):
            rows = [
                (text, f"{label}\t{number}")
                for number, (text, label) in enumerate(carried.texts(language, count, seed))
            ]
            carried.write_table(folder / "sib" / f"{code}.{part}.tsv", rows, "text\tcategory\tindex_id")
    return folder


def test_a_known_map_carries_topics_and_finds_sentences(data, tmp_path):
    plan = text_plan(TextRequest(data, ["es-en"], ["artetxe2016"], command="as typed"))
    events: list[object] = []
    report = run_plan(plan, tmp_path / "out", report=events.append)
    there, back = as_json(report)["rows"]
    assert (there["from"], there["to"], back["from"], back["to"]) == ("en", "es", "es", "en")
    for row in (there, back):
        assert row["accuracy"] > 0.9
        assert row["topline"] > 0.9
        assert row["home"] > 0.9
        assert row["share_of_topline"] == pytest.approx(row["accuracy"] / row["topline"], abs=1e-3)
        assert row["retrieval_accuracy"] > 0.9
        assert (row["runs"], row["expected"], row["failed"]) == (1, 1, 0)
    assert sum(isinstance(event, RunEnded) for event in events) == 1

    texts = rendered(report)
    assert set(texts) <= set(file_names(report))
    assert len(list(csv.DictReader(io.StringIO(texts["sib.csv"])))) == 2
    assert "en → es" in texts["sib.md"]
    assert "`" not in texts["sib.md"]
    again = json.loads((tmp_path / "out/runs/sib-texts.es-en.artetxe2016.0.json").read_text())
    assert read_run(again).as_json() == again


def test_a_finished_run_is_not_made_again_until_a_text_changes(data, tmp_path):
    request = TextRequest(data, ["es-en"], ["artetxe2016"])

    def made() -> int:
        events: list[object] = []
        run_plan(text_plan(request), tmp_path / "out", report=events.append)
        return sum(isinstance(event, RunEnded) for event in events)

    assert [made(), made()] == [1, 0]
    with (data / "sib/spa.test.tsv").open("a") as stream:
        stream.write("xlawaaa\tlaw\t99\n")
    assert made() == 1


def test_hints_are_the_first_word_pairs(data, monkeypatch):
    monkeypatch.setattr("calque.experiments.text_plan.HINTS", 7)
    (run,) = text_plan(TextRequest(data, ["es-en"], ["hints"], seeds=1)).experiments
    assert run.recipe.supervision != "none"
    assert run.training is not None
    assert run.training.first == 7


def test_what_is_not_there_is_left_out_and_said(data):
    plan = text_plan(TextRequest(data, seeds=2))
    assert [pair.name for pair in plan.pairs] == ["es-en"]
    assert len(plan.notes) == len(PAIRS) - 1
    assert len(plan.experiments) == 5 * 2 + 1  # the supervised map draws nothing at random


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pairs": ["es-fr"]}, "no pair called 'es-fr'"),
        ({"methods": ["magic"]}, "no method called 'magic'"),
        ({"seeds": 0}, "--seeds is 0"),
        ({"pairs": ["de-en"]}, "de-en lacks europarl/de.vec.gz"),
    ],
)
def test_what_cannot_be_made_is_refused(data, changes, message):
    with pytest.raises(SettingsError, match=message):
        text_plan(TextRequest(data, **changes))
