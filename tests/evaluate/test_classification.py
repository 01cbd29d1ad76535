from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import carried

sklearn = pytest.importorskip("sklearn", reason="needs the extra: pip install 'calque-embeddings[sklearn]'")
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.metrics import f1_score  # noqa: E402

from calque.errors import CalqueError, FormatError, SettingsError  # noqa: E402
from calque.evaluate import classification  # noqa: E402
from calque.evaluate.classification import (  # noqa: E402
    AT_HOME,
    CROSS_VALIDATED,
    TOPLINE,
    ClassificationScore,
    ClassificationTask,
    score_labels,
    training_texts,
)
from calque.evaluate.sentences import SentenceRetrievalTask, score_sentences  # noqa: E402
from calque.text import SpaceVectorizer, TextClassifier, train_classifier  # noqa: E402
from calque.text.classifier import Labelled  # noqa: E402


def answers(true: list[str], given: list[str]) -> list[tuple[str, Labelled]]:
    return [(right, Labelled(label, 1.0, 3)) for right, label in zip(true, given, strict=True)]


def drawn(count: int = 300) -> tuple[list[str], list[str]]:
    generator = np.random.default_rng(0)
    true = generator.choice(["a", "b", "c"], count, p=[0.6, 0.3, 0.1])
    given = np.where(generator.random(count) < 0.7, true, generator.choice(["a", "b", "c"], count))
    return true.tolist(), given.tolist()


class TestScore:
    def test_figures_are_those_of_scikit_learn(self):
        true, given = drawn()
        score = score_labels(answers(true, given), {"a": 5, "b": 9, "c": 1})
        assert score.accuracy == pytest.approx(np.mean(np.array(true) == np.array(given)))
        assert score.macro_f1 == pytest.approx(f1_score(true, given, average="macro"))
        for row, name in enumerate("abc"):
            assert score.per_class()[name]["f1"] == pytest.approx(f1_score(true, given, average=None)[row])
        assert (score.chance, score.majority) == (pytest.approx(1 / 3), pytest.approx(true.count("b") / len(true)))

    def test_intervals_are_those_of_drawing_texts_themselves(self):
        true, given = drawn()
        low, high = score_labels(answers(true, given), {"a": 1, "b": 1, "c": 1}).intervals()["accuracy"]
        right, generator = np.array(true) == np.array(given), np.random.default_rng(1)
        means = [right[generator.integers(len(right), size=len(right))].mean() for _ in range(2000)]
        np.testing.assert_allclose([low, high], np.percentile(means, [2.5, 97.5]), atol=0.012)

    def test_a_perfect_score_has_no_spread(self):
        score = score_labels(answers(["a", "b"] * 20, ["a", "b"] * 20), {"a": 1, "b": 1})
        assert score.intervals() == {"accuracy": (1.0, 1.0), "macro_f1": (1.0, 1.0)}

    def test_classes_that_one_side_lacks(self):
        score = score_labels(answers(["a", "Z", "a"], ["a", "a", "b"]), {"a": 2, "b": 2})
        assert score.classes == ("a", "b", "Z")
        assert score.confusion == ((1, 1, 0), (0, 0, 0), (1, 0, 0))
        assert score.macro_f1 == pytest.approx((2 * 1 / (2 + 2) + 0) / 2)  # of a and Z; b has no text

    def test_case_of_a_label_does_not_matter(self):
        assert score_labels(answers(["Sport", "LAW"], ["sport", "law"]), {"sport": 1, "law": 1}).accuracy == 1

    def test_texts_without_a_label_are_left_out_and_none_at_all_is_refused(self):
        assert score_labels(answers(["a", ""], ["a", "a"]), {"a": 1, "b": 1}).texts == 1
        with pytest.raises(SettingsError, match="no test text has a label"):
            score_labels(answers([""], ["a"]), {"a": 1, "b": 1})


class TestTraining:
    def test_labels_that_differ_by_case_are_one_class(self, tmp_path):
        rows = [("t", "Sport"), ("t", "sport"), ("t", "Sport"), ("t", "law"), ("t", "")]
        _, labels, notes = training_texts(carried.write_table(tmp_path / "a.tsv", rows), "text", "category")
        assert labels == ["Sport", "Sport", "Sport", "law"]
        assert [note.split(": ", 1)[1] for note in notes] == [
            "1 lines have no label, and are left out",
            "labels that differ by case alone are one class: 'sport' as 'Sport'",
        ]

    def test_of_a_long_file_every_text_has_the_same_chance(self, tmp_path, monkeypatch):
        monkeypatch.setattr(classification, "MOST_TRAINING", 100)
        table = carried.write_table(tmp_path / "a.tsv", [(str(row), "ab"[row % 2]) for row in range(1000)])
        firsts = [np.mean([int(text) < 500 for text in training_texts(table, "1", "2", seed)[0]]) for seed in range(20)]
        assert np.mean(firsts) == pytest.approx(0.5, abs=0.04)
        texts, _, notes = training_texts(table, "text", "category")
        assert (len(texts), len(set(texts)), texts) == (100, 100, sorted(texts, key=int))
        assert "has 1,000 texts, of which 100 drawn at random" in notes[0]

    def test_probabilities_are_those_of_scikit_learn(self):
        generator = np.random.default_rng(0)
        for classes in ("abc", "ab"):
            vectors = generator.normal(size=(90, 5)).astype(np.float32)
            labels = generator.choice(list(classes), 90).tolist()
            made = train_classifier(vectors, labels, 2.0)
            other = LogisticRegression(C=2.0, max_iter=3000).fit(vectors, labels)
            np.testing.assert_allclose(made.probabilities(vectors), other.predict_proba(vectors), atol=1e-4)

    def test_a_text_without_a_known_word_gets_the_prior(self):
        vectors = np.eye(4, dtype=np.float32)
        made = train_classifier(vectors, ["a", "b", "b", "b"])
        np.testing.assert_allclose(made.probabilities(np.zeros((1, 4), np.float32)), [[0.25, 0.75]])

    @pytest.mark.parametrize("labels", [["a"] * 4, []])
    def test_one_class_cannot_be_learned(self, labels):
        with pytest.raises(SettingsError, match="expected two or more"):
            train_classifier(np.eye(4, dtype=np.float32)[: len(labels)], labels)

    def test_a_class_without_a_known_word_is_named(self):
        vectors = np.eye(4, dtype=np.float32)
        vectors[3] = 0
        with pytest.raises(SettingsError, match="no training text of class 'b' has a known word"):
            train_classifier(vectors, ["a", "a", "c", "b"])


class TestModelFile:
    def model(self) -> TextClassifier:
        return train_classifier(np.eye(3, dtype=np.float32), ["b", "a", "c"])

    def test_what_is_saved_is_read_again(self, tmp_path):
        self.model().save(tmp_path / "m.safetensors", {"trained": {"a": 1}})
        again, about = TextClassifier.load(tmp_path / "m.safetensors")
        vectors = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
        np.testing.assert_array_equal(again.probabilities(vectors), self.model().probabilities(vectors))
        assert (again.classes, about) == (("a", "b", "c"), {"trained": {"a": 1}})

    @pytest.mark.parametrize("content", [b"", b"cbuiltins\neval\n", b"\x08\0\0\0\0\0\0\0{}      "])
    def test_other_files_are_refused(self, tmp_path, content):
        path = tmp_path / "m.safetensors"
        path.write_bytes(content)
        with pytest.raises(FormatError, match=r"m\.safetensors"):
            TextClassifier.load(path)

    def test_vectors_of_another_run_are_refused(self):
        with pytest.raises(CalqueError, match="use the run that it was trained with"):
            self.model().probabilities(np.ones((1, 4), np.float32))


def test_the_words_parts_add_up_to_the_score():
    run = carried.run()
    texts, labels = zip(*carried.texts("y", 90, 0), strict=True)
    vectorizer = SpaceVectorizer(run, "target").fit([])
    model = train_classifier(vectorizer.transform(texts), labels)
    text = f"{carried.word('y', 'law', 1)} {carried.word('y', 'law', 1)} {carried.word('y', 'food', 2)}"
    reasons = model.reasons(vectorizer, text, "law")
    assert reasons[0].word == carried.word("y", "law", 1)
    scores = (vectorizer.transform([text]) @ model.coefficients.T)[0]
    expected = scores[model.classes.index("law")] - scores.mean()
    assert sum(reason.part for reason in reasons) == pytest.approx(expected, abs=1e-5)


class TestTask:
    def tables(self, folder: Path) -> tuple[Path, Path, Path]:
        return (
            carried.write_table(folder / "y.train.tsv", carried.texts("y", 90, 0)),
            carried.write_table(folder / "x.test.tsv", carried.texts("x", 60, 1)),
            carried.write_table(folder / "x.train.tsv", carried.texts("x", 90, 2)),
        )

    @pytest.mark.parametrize("translations", [0, 5])
    def test_topics_are_carried_over(self, tmp_path, translations):
        train, test, topline = self.tables(tmp_path)
        task = ClassificationTask(train, topline=topline, options={"translations": translations})
        score = task.score(carried.run(), task.load(test).data)
        assert score.accuracy > 0.95
        assert score.comparisons[CROSS_VALIDATED] > 0.95
        assert score.comparisons[TOPLINE] > 0.95
        other = replace(task, home=carried.write_table(tmp_path / "y.test.tsv", carried.texts("y", 30, 3)))
        assert other.score(carried.run(), task.load(test).data).comparisons[AT_HOME] > 0.95

    def test_a_wrong_map_carries_nothing(self, tmp_path):
        train, test, _ = self.tables(tmp_path)
        run = carried.run()
        run.source.vectors.copy_(run.source.vectors.roll(carried.PER_TOPIC, 0))  # every topic where another one is
        task = ClassificationTask(train)
        score = task.score(run, task.load(test).data)
        assert score.accuracy < 0.2
        assert score.comparisons[CROSS_VALIDATED] > 0.95

    def test_both_directions_work(self, tmp_path):
        train = carried.write_table(tmp_path / "x.tsv", carried.texts("x", 90, 0))
        test = carried.write_table(tmp_path / "y.tsv", carried.texts("y", 60, 1))
        task = ClassificationTask(train, "source")
        assert task.score(carried.run(), task.load(test).data).accuracy > 0.95

    def test_what_flatters_is_remarked(self, tmp_path):
        train, *_ = self.tables(tmp_path)
        task = ClassificationTask(train)
        assert task.remarks(carried.run(), task.load(train).data) == (
            f"{train}: is the training file as well, which flatters the score",
        )


class TestSentences:
    def test_a_turned_list_finds_its_places(self):
        vectors = np.eye(6, dtype=np.float32)
        score = score_sentences(vectors, vectors, "nn")
        assert (score.accuracy, score.mean_reciprocal_rank) == (1, 1)

    def test_ranks_are_counted_and_ties_are_lost(self):
        queries = np.array([[1, 0], [1, 0], [0, 0]], np.float32)
        candidates = np.array([[1, 0], [0.8, 0.6], [1, 0]], np.float32)
        score = score_sentences(queries, candidates, "nn")
        # The first ties with the third one (rank 2); the second is behind both (rank 3); the third asks for nothing.
        assert (score.right, score.asked, score.unknown) == (0, 3, 1)
        assert score.reciprocal_ranks == pytest.approx(1 / 2 + 1 / 3)

    def test_sentences_are_matched_by_number(self, tmp_path):
        numbers = list(range(30))
        tables = []
        for language, order in (("x", numbers), ("y", numbers[::-1])):
            rows = carried.texts(language, 30, 9)
            lines = [(rows[number][0], str(number)) for number in order]
            tables.append(carried.write_table(tmp_path / f"{language}.tsv", lines, "text\tindex_id"))
        task = SentenceRetrievalTask(tables[1])
        gold = task.load(tables[0])
        assert gold.notes == ()
        score = task.score(carried.run(), gold.data)
        assert score.forward.accuracy > 0.9
        assert score.backward.mean_reciprocal_rank > 0.9

    def test_texts_without_a_counterpart_are_left_out(self, tmp_path):
        one = carried.write_table(tmp_path / "a.tsv", [("t", "1"), ("u", "2"), ("v", "3")], "text\tindex_id")
        other = carried.write_table(tmp_path / "b.tsv", [("t", "2"), ("u", "3"), ("v", "9")], "text\tindex_id")
        gold = SentenceRetrievalTask(other).load(one)
        assert (gold.data.source, gold.data.target) == (["u", "v"], ["t", "u"])
        assert gold.notes == ("2 texts have no translation in the other file, and are left out",)


def test_rows_are_strings_of_equal_width():
    true, given = drawn(50)
    score: ClassificationScore = score_labels(answers(true, given), {"a": 1, "b": 1, "c": 1})
    for table in (score.rows(), score.confusion_rows()):
        assert len({len(row) for row in table}) == 1
        assert all(isinstance(cell, str) for row in table for cell in row)
