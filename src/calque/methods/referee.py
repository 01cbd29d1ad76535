"""Evidence for a map that was found in any way at all: it competes with starts that know nothing of it.

The map is put into an arena of the search (few words, few dimensions), polished there by the same alternation as every
start, and must then do what a winner of the search must do: stand clear of the crowd that ended elsewhere, and be
found again by an independent start. A dictionary, if there was one, plays no part.
"""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from calque.data.preprocess import fit, unit
from calque.linear.closed_forms import nearest_orthogonal, principal
from calque.linear.side import Side
from calque.methods.default.alternation import Problem, alternate
from calque.methods.default.search import Finish, SearchSettings, evidence_of, finish_of, rounds_of_starts, standing_of
from calque.methods.default.starts import Arena, build_arena
from calque.methods.task import FEWEST_WORDS, Task, word_weights
from calque.progress import Step
from calque.retrieval.exact import find, mutual
from calque.verdict import Evidence

ROUNDS = 2
"""The second round of starts runs only where the first has not confirmed the map."""


def witness(task: Task, source: Side, target: Side) -> Evidence | None:
    """What speaks for these two sides; None where there are too few words to tell."""
    settings = SearchSettings(words=(1000,), dimensions=(30,), rounds=ROUNDS)
    fewest = min(len(task.source), len(task.target))
    if fewest < FEWEST_WORDS:
        return None
    arena = _arena(task, settings)
    mapped = _mapped(task, source, target, len(arena.problem.source), len(arena.problem.target))
    given = _polished(arena, *mapped, settings)
    finishes, standing = [given], standing_of([given], given)
    most = 1 + ROUNDS * sum(settings.starts)
    task.listen(Step("judge", 1, most, given.told()))
    for found in rounds_of_starts(arena, settings, task.seed, task.stopped):
        for each in found:
            finishes.append(each)
            task.listen(Step("judge", len(finishes), most, each.told()))
        standing = standing_of(finishes, given)
        if standing.confirmed(settings.clear) or task.stopped():
            break
    confirmed, words = standing.confirmed(settings.clear), min(len(task.source), len(task.target))
    evidence = evidence_of(standing, finishes, words, confirmed, "" if confirmed else _why(task))
    return replace(evidence, kept=_kept(given, *mapped), interrupted=task.stopped() and not confirmed)


def _arena(task: Task, settings: SearchSettings) -> Arena:
    """An arena of the search, on the frequent words of both sides."""
    sides = [fit(each.vectors.to(task.device), ("unit", "center", "unit"))[1] for each in (task.source, task.target)]
    shared = min(int(each.shape[1]) for each in sides)
    sides = [each if each.shape[1] == shared else unit(principal(each, shared).apply(each)) for each in sides]
    full = Problem(*sides, *(word_weights(each, sides[0]) for each in (task.source, task.target)))
    return build_arena(full.head(settings.pool), min(settings.dimensions[0], shared), settings.words[0])


def _mapped(task: Task, source: Side, target: Side, rows: int, columns: int) -> tuple[Tensor, Tensor]:
    """The arena's words in the common space of the map."""
    sides = (source.apply(task.source.vectors[:rows]), target.apply(task.target.vectors[:columns]))
    return sides[0].to(task.device), sides[1].to(task.device)


def _polished(arena: Arena, source: Tensor, target: Tensor, settings: SearchSettings) -> Finish:
    """The arena's map that follows the words which choose each other, alternated as every start is."""
    pairs = mutual(source, target, find("csls"))
    gram = arena.problem.source[pairs.source].mT @ arena.problem.target[pairs.target]
    ended = alternate(arena.problem, nearest_orthogonal(gram), settings.alternation)
    return finish_of(arena, 0, "given", ended.matrix, ended.path.tolist())


def _kept(given: Finish, source: Tensor, target: Tensor) -> float:
    """The share of the arena's words that the map itself translates as its polished form does."""
    return float(((source @ target.mT).argmax(dim=1) == given.choices).float().mean())


def _why(task: Task) -> str:
    return "it was interrupted" if task.stopped() else f"no independent start confirmed it in {ROUNDS} rounds"
