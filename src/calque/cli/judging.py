"""`calque evaluate` and `calque similarity`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from calque.cli import show
from calque.cli.families import alignment_in
from calque.data.lexicon import Lexicon, read_lexicon
from calque.errors import RunError, SettingsError
from calque.evaluate import read_similarity, score_similarity, score_translation
from calque.runs import folder as store
from calque.show.views import learned_from

if TYPE_CHECKING:
    from calque.cli.commands import Common, Evaluate, Similarity


def evaluate(command: Evaluate) -> int:
    """Score a run against one lexicon or two, and keep the score in the run folder."""
    lexicon = gold(command, command.lexicon, command.strict)
    back = None if command.lexicon_back is None else gold(command, command.lexicon_back, command.strict)
    alignment = alignment_in(command.folder, command.pair)
    if learned_from(alignment, lexicon):
        command.say(f"{command.lexicon}: the run has learned from these very pairs, which flatters it")
    retrievals = command.retrieval.split(",")
    score = score_translation(alignment, lexicon, back, retrievals, _numbers(command.k))
    _keep(command, command.folder, f"translation{_of(command)}", {"lexicon": str(command.lexicon), **score.as_json()})
    if command.json:
        show.as_json(score.as_json())
    else:
        show.scores(score)
    return 0


def similarity(command: Similarity) -> int:
    """Score a run against judged pairs, and keep the score in the run folder."""
    judged = read_similarity(command.pairs)
    if command.swap:
        judged = [type(each)(each.target, each.source, each.score) for each in judged]
    score = score_similarity(alignment_in(command.folder, command.pair), judged, command.phrases)
    _keep(command, command.folder, f"similarity{_of(command)}", {"pairs": str(command.pairs), **score.as_json()})
    if command.json:
        show.as_json(score.as_json())
        return 0
    done = "averaged" if command.phrases == "average" else "left out"
    print(f"pearson {score.pearson:.3f}  spearman {score.spearman:.3f}")
    print(f"{score.used} pairs used, {score.missing} not in the vocabularies; {score.phrases} with a phrase, {done}")
    return 0


def _numbers(text: str) -> list[int]:
    """'1,5,10' as numbers."""
    try:
        return [int(each) for each in text.split(",")]
    except ValueError:
        raise SettingsError(f"--k is {text!r}; expected whole numbers separated by commas, such as 1,5,10") from None


def _of(command: Evaluate | Similarity) -> str:
    """Which pair of a family a score is of."""
    return f" {command.pair}" if command.pair else ""


def gold(command: Common, path: Path, strict: bool = False) -> Lexicon:
    """Pairs to judge a run by, with a word on what is odd about them."""
    reading = read_lexicon(path, strict)
    command.say(*reading.notes)
    if reading.induced:
        command.say(
            f"{path}: has confidences, as `calque lexicon` writes them; by a lexicon that it made itself a run is right"
        )
    return reading.lexicon


def _keep(command: Common, folder: Path, kind: str, score: dict[str, Any]) -> None:
    """Put the score into scores.json of the run, beside earlier ones of the other kind."""
    path = folder / "scores.json"
    try:
        earlier = store.read_json(path) if path.exists() else {}
        store.write_json(path, {**(earlier if isinstance(earlier, dict) else {}), kind: score})
    except RunError as error:
        command.say(f"the score was not kept: {error}")
