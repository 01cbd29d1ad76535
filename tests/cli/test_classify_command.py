from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import carried

pytest.importorskip("sklearn", reason="needs the extra: pip install 'calque-embeddings[sklearn]'")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    carried.run().save(tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def train(tmp_path: Path) -> Path:
    return carried.write_table(tmp_path / "y.train.tsv", carried.texts("y", 90, 0))


@pytest.fixture
def test(tmp_path: Path) -> Path:
    return carried.write_table(tmp_path / "x.test.tsv", carried.texts("x", 60, 1))


def test_the_contract_of_json(calque: Callable[..., Any], run: Path, train: Path, test: Path) -> None:
    result = calque("classify", run, "--train", train, "--test", test, "--json")
    assert (result.code, result.err) == (0, "")
    assert result.json["accuracy"] > 0.95
    assert result.json["macro_f1"] > 0.95
    assert (result.json["texts"], result.json["unknown"]) == (60, 0)
    low, high = result.json["accuracy_interval"]
    assert low <= result.json["accuracy"] <= high
    assert result.json["chance"] == pytest.approx(1 / 3, abs=1e-6)
    assert sum(map(sum, result.json["confusion"]["counts"])) == 60


def test_the_other_direction_and_columns_by_number(calque: Callable[..., Any], run: Path, tmp_path: Path) -> None:
    train = carried.write_table(tmp_path / "x.tsv", carried.texts("x", 90, 0), "a\tb")
    test = carried.write_table(tmp_path / "y.tsv", carried.texts("y", 60, 1), "c\td")
    asked = ("--from", "source", "--text", 1, "--label", 2, "--json")
    assert calque("classify", run, "--train", train, "--test", test, *asked).json["accuracy"] > 0.95


def test_a_person_sees_intervals_classes_confusion_and_comparisons(
    calque: Callable[..., Any], run: Path, train: Path, test: Path
) -> None:
    out = calque("classify", run, "--train", train, "--test", test, "--topline", test, "--home", train).out
    for part in ("95 % interval", "macro-F1", "chance 33.3 %", "the commonest class 33.3 %", "in the training language",
                 "trained in the test language", "precision", "true \\ given"):  # fmt: skip
        assert part in out


def test_predictions_and_model_are_written_and_used_again(
    calque: Callable[..., Any], run: Path, train: Path, test: Path, tmp_path: Path
) -> None:
    out, model = tmp_path / "p.tsv", tmp_path / "m.safetensors"
    first = calque("classify", run, "--train", train, "--test", test, "--out", out, "--model", model, "--json")
    lines = [line.split("\t") for line in out.read_text().splitlines()]
    assert lines[0] == ["line", "true", "given", "probability", "known_words"]
    assert len(lines) == 61
    right = sum(true == given for _, true, given, *_ in lines[1:])
    assert right / 60 == pytest.approx(first.json["accuracy"], abs=1e-6)

    again = calque("classify", run, "--model", model, "--test", test, "--json")
    assert again.json["confusion"] == first.json["confusion"]
    assert again.json["majority"] == first.json["majority"]


def test_nothing_is_overwritten_unasked(
    calque: Callable[..., Any], run: Path, train: Path, test: Path, tmp_path: Path
) -> None:
    out = tmp_path / "p.tsv"
    out.write_text("mine")
    asked = ("classify", run, "--train", train, "--test", test, "--out", out)
    result = calque(*asked)
    assert (result.code, out.read_text()) == (2, "mine")
    assert "--overwrite" in result.err
    assert calque(*asked, "--overwrite").code == 0
    assert out.read_text() != "mine"


def test_texts_without_labels_are_labelled_and_not_scored(
    calque: Callable[..., Any], run: Path, train: Path, tmp_path: Path
) -> None:
    rows = [*(text for text, _ in carried.texts("x", 5, 1)), "unheard", ""]
    test = tmp_path / "x.tsv"
    test.write_text("id\ttext\n" + "".join(f"{number}\t{text}\n" for number, text in enumerate(rows)))
    out = tmp_path / "p.tsv"
    result = calque("classify", run, "--train", train, "--test", test, "--out", out)
    assert (result.code, result.out) == (0, "")
    assert "7 texts labelled, 2 of them without a known word" in result.err
    lines = [line.split("\t") for line in out.read_text().splitlines()[1:]]
    assert [line[2] for line in lines[:5]] == [label for _, label in carried.texts("x", 5, 1)]
    assert {line[4] for line in lines[5:]} == {"0"}
    assert {line[2] for line in lines[5:]} <= set(carried.TOPICS)


def test_words_that_decided_are_shown_with_their_nearest_words(
    calque: Callable[..., Any], run: Path, train: Path
) -> None:
    word = carried.word("x", "law", 2)
    result = calque("classify", run, "--train", train, "--explain", f"{word} nowhere", "", "--json")
    known, nothing = result.json["explained"]
    assert (known["label"], known["words"][0]["word"]) == ("law", word)
    assert carried.word("y", "law", 2) in known["words"][0]["nearest"]
    assert nothing["words"] == []
    assert "law" in calque("classify", run, "--train", train, "--explain", word).out


def test_odd_labels_are_said(calque: Callable[..., Any], run: Path, train: Path, tmp_path: Path) -> None:
    rows = [(text, label.upper()) for text, label in carried.texts("x", 9, 1) if label != "food"]
    test = carried.write_table(tmp_path / "x.tsv", [*rows, (rows[0][0], "other")])
    result = calque("classify", run, "--train", train, "--test", test, "--json")
    assert "no text has class 'food'" in result.err
    assert "1 texts have class 'other', which the training texts do not have" in result.err
    assert result.json["accuracy"] == pytest.approx(6 / 7, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing to label by"),
        (("--train", "TRAIN"), "nothing to label; name a file with --test"),
        (("--train", "TRAIN", "--out", "p.tsv", "--explain", "a"), "--out writes the classes of test texts"),
        (("--train", "nowhere.tsv", "--test", "TRAIN"), "nowhere.tsv: no such file"),
        (("--train", "TRAIN", "--test", "TRAIN", "--text", "words"), "no column 'words'; the head has text, category"),
        (("--train", "ONE", "--test", "TRAIN"), "have 1 classes (all 30 are 'law'); expected two or more"),
        (("--train", "EMPTY", "--test", "TRAIN"), "no line has a text and a label"),
        (("--train", "TRAIN", "--test", "TRAIN", "--pair", "a-b"), "holds one pair already"),
    ],
)
def test_what_cannot_be_done_is_refused(
    calque: Callable[..., Any], run: Path, train: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    names = {
        "TRAIN": train,
        "ONE": carried.write_table(tmp_path / "one.tsv", [(text, "law") for text, _ in carried.texts("y", 30, 0)]),
        "EMPTY": carried.write_table(tmp_path / "empty.tsv", []),
    }
    result = calque("classify", run, *(names.get(argument, argument) for argument in arguments))
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1


def test_parallel_sentences_find_each_other(calque: Callable[..., Any], run: Path, tmp_path: Path) -> None:
    tables = []
    for language in "xy":
        rows = [(text, str(number)) for number, (text, _) in enumerate(carried.texts(language, 30, 9))]
        tables.append(carried.write_table(tmp_path / f"{language}.tsv", rows, "text\tindex_id"))
    result = calque("sentences", run, "--source", tables[0], "--target", tables[1], "--json")
    assert result.code == 0
    assert result.json["forward"]["accuracy"] > 0.9
    assert (run / "scores.json").exists()


def test_a_long_file_takes_no_more_memory(run: Path, train: Path, tmp_path: Path) -> None:
    def peak(times: int) -> int:
        test = carried.write_table(tmp_path / f"{times}.tsv", carried.texts("x", 3_000, 1) * times)
        code = (
            "import resource, sys; from calque.cli.main import main; "
            f"assert main(['classify', {str(run)!r}, '--train', {str(train)!r}, '--test', {str(test)!r}, "
            f"'--out', {str(tmp_path / 'p.tsv')!r}, '--overwrite', '--json']) == 0; "
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return int(done.stdout.splitlines()[-1])

    assert peak(30) < peak(3) + 20_000  # kilobytes; ten times as many texts
