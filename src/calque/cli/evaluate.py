"""`calque evaluate` and `calque similarity`: judge a run by what it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from calque.cli.common import DONE, Common, File, Pair, Run, open_alignment, read_gold
from calque.cli.terminal import print_json, print_table
from calque.errors import RunError, SettingsError

if TYPE_CHECKING:
    from calque.evaluate import TranslationScore


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
        """Score the run, and keep the score in the run folder."""
        try:
            ks = [int(number) for number in self.k.split(",")]
        except ValueError:
            raise SettingsError(
                f"--k is {self.k!r}; expected whole numbers separated by commas, such as 1,5,10"
            ) from None
        lexicon = read_gold(self, self.lexicon, self.strict)
        back = None if self.lexicon_back is None else read_gold(self, self.lexicon_back, self.strict)
        alignment = open_alignment(self.folder, self.pair)
        from calque.evaluate import score_translation
        from calque.show.views import learned_from

        if learned_from(alignment, lexicon):
            self.say(f"{self.lexicon}: the run has learned from these very pairs, which flatters it")
        score = score_translation(alignment, lexicon, back, self.retrieval.split(","), ks)
        keep_score(self, "translation", {"lexicon": str(self.lexicon), **score.as_json()})
        if self.json:
            print_json(score.as_json())
        else:
            print_scores(score)
        return DONE


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
        """Score the run, and keep the score in the run folder."""
        from calque.evaluate import read_similarity, score_similarity

        judged = read_similarity(self.pairs)
        if self.swap:
            judged = [type(pair)(pair.target, pair.source, pair.score) for pair in judged]
        score = score_similarity(open_alignment(self.folder, self.pair), judged, self.phrases)
        keep_score(self, "similarity", {"pairs": str(self.pairs), **score.as_json()})
        if self.json:
            print_json(score.as_json())
            return DONE
        used = "averaged" if self.phrases == "average" else "left out"
        print(f"pearson {score.pearson:.3f}  spearman {score.spearman:.3f}")
        print(
            f"{score.used} pairs used, {score.missing} not in the vocabularies; {score.phrases} with a phrase, {used}"
        )
        return DONE


def keep_score(command: Evaluate | Similarity, task: str, score: dict[str, Any]) -> None:
    """Put the score into ``scores.json`` of the run, beside those of other tasks and other pairs of languages."""
    from calque.runs.folder import read_json, write_json

    path = command.folder / "scores.json"
    name = f"{task} {command.pair}" if command.pair else task
    try:
        earlier = read_json(path) if path.exists() else {}
        write_json(path, {**(earlier if isinstance(earlier, dict) else {}), name: score})
    except RunError as error:
        command.say(f"the score was not kept: {error}")


def print_scores(score: TranslationScore) -> None:
    """Accuracy@k in per cent, with how many words were asked and how many could not be."""
    ks = list(next(iter(score.forward.values())).right)
    rows = [["direction", "retrieval", *(f"acc@{k}" for k in ks), "asked", "not asked"]]
    for direction, by_retrieval in (("forward", score.forward), ("backward", score.backward)):
        for retrieval, counts in by_retrieval.items():
            shares = [f"{100 * counts.accuracy(k):.1f} %" for k in ks]
            rows.append([direction, retrieval, *shares, str(counts.asked), str(counts.missing)])
    print_table(rows)
