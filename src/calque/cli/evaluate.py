"""`calque evaluate`, `calque similarity` and `calque sentences`: judge a run by what it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from calque.cli.common import DONE, Common, File, Pair, Run, check_files_exist, check_texts_extra, open_alignment
from calque.cli.terminal import print_json, print_table
from calque.errors import RunError, SettingsError

if TYPE_CHECKING:
    from calque.evaluate import EvaluationTask, TaskScore


@dataclass(frozen=True, kw_only=True)
class Evaluate(Common):
    """Score a run against a lexicon: accuracy@k in both directions, with coverage."""

    folder: Run
    """A run folder."""
    lexicon: Path
    """Lines of 'source<TAB>target'; several right answers a word are allowed."""
    lexicon_back: File = None
    """Lines of 'target<TAB>source' for the reverse direction; without it, the lexicon reversed."""
    retrieval: str = "nn,csls"
    """Any of nn, csls, isf, separated by commas."""
    k: str = "1,5,10"
    """How many candidates may hold the right answer."""
    pair: Pair = ""
    """Which two languages, of a run that 'calque align-many' made."""
    strict: bool = False
    """Refuse a lexicon with a malformed line instead of leaving the line out."""

    def run(self) -> int:
        """Score the run."""
        try:
            ks = tuple(int(number) for number in self.k.split(","))
        except ValueError:
            raise SettingsError(
                f"--k is {self.k!r}; expected whole numbers separated by commas, such as 1,5,10"
            ) from None
        from calque.evaluate import TranslationTask

        task = TranslationTask(tuple(self.retrieval.split(",")), ks, self.lexicon_back, self.strict)
        return judge(self, task, self.lexicon)


@dataclass(frozen=True, kw_only=True)
class Similarity(Common):
    """Compare a run with human judgements of similarity: Pearson and Spearman, with coverage."""

    folder: Run
    """A run folder."""
    pairs: Path
    """Lines of 'source word<TAB>target word<TAB>score'."""
    phrases: Literal["average", "skip"] = "average"
    """Average the words of a phrase, or leave pairs with phrases out."""
    pair: Pair = ""
    """Which two languages, of a run that 'calque align-many' made."""
    swap: bool = False
    """The file has the target word first."""

    def run(self) -> int:
        """Score the run."""
        from calque.evaluate import SimilarityTask

        return judge(self, SimilarityTask(self.phrases, self.swap), self.pairs)


@dataclass(frozen=True, kw_only=True)
class Sentences(Common):
    """Score how often a sentence finds its translation among all sentences of the other language."""

    folder: Run
    """A run folder."""
    source: Path
    """Texts of the source language: a table with a head, tab-separated, or .csv."""
    target: Path
    """Texts of the target language; those of the same number are translations."""
    text: str = "text"
    """The column of the texts, by its name in the head or by its number."""
    number: str = "index_id"
    """The column by which texts correspond."""
    retrieval: Literal["nn", "csls"] = "csls"
    """How sentences are ranked."""
    weighting: Literal["sif", "idf", "mean"] = "idf"
    """How much a word counts."""
    components: int = 1
    """How many principal components of the texts are removed from them."""
    pair: Pair = ""
    """Which two languages, of a run that 'calque align-many' made."""

    def run(self) -> int:
        """Score the run."""
        check_files_exist(self.source, self.target)
        check_texts_extra()
        from calque.evaluate.sentences import SentenceRetrievalTask

        options = {"weighting": self.weighting, "components": self.components}
        task = SentenceRetrievalTask(self.target, self.text, self.number, self.retrieval, options)
        return judge(self, task, self.source)


def judge(command: Evaluate | Similarity | Sentences, task: EvaluationTask[Any, TaskScore], gold_file: Path) -> int:
    """Score a run by an evaluation task, keep the score in the run folder, and print it."""
    gold = task.load(gold_file)
    command.say(*gold.notes)
    alignment = open_alignment(command.folder, command.pair)
    remarks = task.remarks(alignment, gold.data)
    score = task.score(alignment, gold.data)
    command.say(*remarks)
    result = {**score.as_json(), "notes": [*gold.notes, *remarks]}
    keep_score(command, task.name, {task.gold_name: str(gold_file), **result})
    if command.json:
        print_json(result)
    else:
        print_table(score.rows())
    return DONE


def keep_score(command: Evaluate | Similarity | Sentences, task: str, score: dict[str, Any]) -> None:
    """Put the score into ``scores.json`` of the run, beside those of other tasks and other pairs of languages."""
    from calque.runs.folder import read_json, write_json

    path = command.folder / "scores.json"
    name = f"{task} {command.pair}" if command.pair else task
    try:
        earlier = read_json(path) if path.exists() else {}
        write_json(path, {**(earlier if isinstance(earlier, dict) else {}), name: score})
    except RunError as error:
        command.say(f"the score was not kept: {error}")
