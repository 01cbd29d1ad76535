"""`calque classify`: a classifier of texts learns in one language of a run, and labels texts of the other one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import arg

from calque.cli.common import (
    DONE,
    Common,
    File,
    Pair,
    Run,
    check_files_exist,
    check_output_file,
    check_texts_extra,
    open_alignment,
    warn_unless_aligned,
)
from calque.cli.terminal import print_json, print_table
from calque.errors import FormatError, SettingsError

if TYPE_CHECKING:
    from calque.evaluate.classification import ClassificationScore, ClassificationTask, Learned
    from calque.runs.alignment import Alignment
    from calque.text.classifier import Labelled
    from calque.text.vectorizer import SpaceVectorizer


@dataclass(frozen=True, kw_only=True)
class Classify(Common):
    """Train a text classifier on one language of a run, and label texts of the other one."""

    folder: Run
    """A run folder."""
    train: File = None
    """Labelled texts to learn from: a table with a head, tab-separated, or .csv."""
    test: File = None
    """Texts of the other language. With labels they are scored, without they are only labelled."""
    from_: Annotated[Literal["source", "target"], arg(name="from")] = "target"
    """The side of the run that the training texts are in; the test texts are in the other one."""
    text: str = "text"
    """The column of the texts, by its name in the head or by its number."""
    label: str = "category"
    """The column of the classes, by its name in the head or by its number."""
    pair: Pair = ""
    """Which two languages, of a run that 'calque align-many' made."""
    out: File = None
    """Where to write a line for each test text: the class it was given, its probability, known words."""
    model: File = None
    """Where to write the classifier, as safetensors; without --train, the one to use."""
    topline: File = None
    """Labelled training texts of the test language: what a model of that language would reach."""
    home: File = None
    """Labelled test texts of the training language: what the model reaches there; else it is cross-validated."""
    explain: Annotated[tuple[str, ...], arg(metavar="TEXT")] = ()
    """Texts of the test language: print the words that decided, and their nearest words of the training language."""
    vectors: File = None
    """A fastText .bin of the test language, for words that the run has not seen."""
    weighting: Literal["sif", "idf", "mean"] = "sif"
    """How much a word counts: sif, by how rare it is; idf, by how few texts have it; mean, all alike."""
    components: int = 0
    """How many principal components of the texts are removed from them."""
    translations: int = 10
    """A word of the test language stands halfway to its so many best translations; 0: where the run puts it."""
    strength: float = 3.0
    """How closely the classifier follows its training texts (C of the logistic regression)."""
    overwrite: bool = False
    """Replace the files of --out and --model if they are there."""

    def run(self) -> int:
        """Learn, label, score, explain."""
        self.check()
        check_texts_extra()
        from calque.evaluate.classification import OTHER
        from calque.text.classifier import explain
        from calque.text.table import TextTable

        task, kept = self.task()
        table = None if self.test is None else TextTable(self.test, self.text, self.label)
        has_labels = table is not None and table.check(labelled=False)
        alignment = self.open()
        learned = kept or task.learn(alignment, compare=self.test is not None and self.home is None)
        self.say(*learned.notes)
        vectorizer = task.vectorizer(alignment, OTHER[task.language])
        vectorizer.fit(() if table is None else (text for text, _ in table.unlabelled()))
        score = None
        if table is not None:
            rows = table.labelled() if has_labels else table.unlabelled()
            score = self.label_texts(learned, vectorizer, rows, has_labels)
        if score is not None and table is not None:
            score = replace(score, comparisons=task.comparisons(alignment, learned, table))
        if self.train is not None and self.model is not None:
            about = {"from": task.language, "settings": dict(task.options), "trained": dict(learned.counts)}
            learned.classifier.save(self.model, about)
        reasons = [explain(learned.classifier, vectorizer, text) for text in self.explain]
        self.show(score, reasons)
        return DONE

    def check(self) -> None:
        """Refuse what cannot be done, before anything is read."""
        check_files_exist(self.train, self.test, self.topline, self.home, self.vectors)
        if self.train is None and self.model is not None:
            check_files_exist(self.model)
        if self.train is None and self.model is None:
            raise SettingsError("nothing to label by; name labelled texts with --train, or a classifier with --model")
        if self.test is None and not self.explain and (self.train is None or self.model is None):
            raise SettingsError("nothing to label; name a file with --test, or a text with --explain")
        if self.out is not None and self.test is None:
            raise SettingsError("--out writes the classes of test texts; name them with --test")
        if self.out is not None:
            check_output_file(self.out, self.overwrite)
        if self.train is not None and self.model is not None:
            check_output_file(self.model, self.overwrite)

    def task(self) -> tuple[ClassificationTask, Learned | None]:
        """The same work as a task of `calque.evaluate`; without --train, as the classifier in the file was trained."""
        from calque.evaluate.classification import ClassificationTask, Learned
        from calque.text.classifier import TextClassifier

        options = {"weighting": self.weighting, "components": self.components, "translations": self.translations}
        task = ClassificationTask(
            self.train or Path(), self.from_, self.text, self.label, self.strength, options, self.topline, self.home
        )
        if self.train is not None:
            return task, None
        assert self.model is not None
        classifier, about = TextClassifier.load(self.model)
        try:
            counts = {name: int(about["trained"][name]) for name in classifier.classes}
            task = replace(task, language=about["from"], options=dict(about["settings"]))
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"{self.model}: does not say how it was trained ({error})") from error
        return task, Learned(classifier, counts)

    def open(self) -> Alignment:
        """The run, with vectors for unseen words of the test language where a file makes them."""
        alignment = open_alignment(self.folder, self.pair)
        warn_unless_aligned(self, alignment.verdict.label)
        if self.vectors is None:
            return alignment
        from calque.data.formats import read

        space = read(self.vectors, limit=1, cache=False).space
        if space.subwords is None:
            raise FormatError(f"{self.vectors}: makes no vectors for unseen words; expected a fastText .bin")
        return alignment.with_subwords(space, back=self.from_ == "source")

    def label_texts(
        self,
        learned: Learned,
        vectorizer: SpaceVectorizer,
        rows: Iterable[tuple[str, str]],
        has_labels: bool,
    ) -> ClassificationScore | None:
        """Label the test texts, write them where that is wanted, and score them where they have labels."""
        from calque.evaluate.classification import labelled, score_labels

        answers = labelled(learned.classifier, vectorizer, rows)
        said: Iterator[tuple[str, Labelled]] = ((true, answer) for _, true, answer in answers)
        if self.out is not None:
            said = written(self.out, said)
        if not has_labels:
            unknown, texts = 0, 0
            for _, answer in said:
                texts, unknown = texts + 1, unknown + (answer.known == 0)
            self.say(f"{self.test}: has no column {self.label!r}, so nothing is scored")
            self.say(f"{texts} texts labelled, {unknown} of them without a known word")
            return None
        score = score_labels(said, learned.counts)
        for note in missing_classes(score):
            self.say(f"{self.test}: {note}")
        return score

    def show(self, score: ClassificationScore | None, reasons: list[dict[str, Any]]) -> None:
        """Print the score and the reasons."""
        if self.json:
            print_json({**({} if score is None else score.as_json()), **({"explained": reasons} if reasons else {})})
            return
        if score is not None:
            print("\n".join(score.sentences()))
            print_table(score.rows())
            print_table(score.confusion_rows())
        for reason in reasons:
            print(f"{reason['label']} ({reason['probability']:.2f}): {reason['text']}")
            print_table([[x["word"], f"{x['part']:+.3f}", ", ".join(x["nearest"])] for x in reason["words"]] or [["-"]])


def written(path: Path, said: Iterable[tuple[str, Labelled]]) -> Iterator[tuple[str, Labelled]]:
    """Pass on what is said of each text, and write it to a file that appears whole at the end."""
    from calque.data.files import written_whole

    try:
        with written_whole(path) as stream:
            stream.write(b"line\ttrue\tgiven\tprobability\tknown_words\n")
            for number, (true, answer) in enumerate(said, 1):
                fields = (str(number), true, answer.label, f"{answer.probability:.4f}", str(answer.known))
                stream.write(("\t".join(fields) + "\n").encode("utf-8", "surrogateescape"))
                yield true, answer
    except OSError as error:
        raise FormatError(f"{path}: cannot be written: {error.strerror or error}") from error


def missing_classes(score: ClassificationScore) -> list[str]:
    """Classes that only one of the two files has."""
    texts = {name: int(figures["texts"]) for name, figures in score.per_class().items()}
    absent = [name for name in score.trained if not texts[name]]
    strange = [name for name in texts if name not in score.trained]
    notes = [f"no text has class {', '.join(map(repr, absent))}; macro-F1 leaves it out"] if absent else []
    if strange:
        wrong = sum(texts[name] for name in strange)
        notes.append(f"{wrong} texts have class {', '.join(map(repr, strange))}, which the training texts do not have")
    return notes
