"""Evidence for a map of any origin: it competes with starts that do not know it.

The map is put into an arena of the search (few words, few dimensions) and polished there by the same alternation as
every start. Then it must do what a winner of the search must do: stand clear of the crowd that ended elsewhere, and be
found again by an independent start. A dictionary, if there was one, plays no part.
"""

from __future__ import annotations

from dataclasses import replace

from calque.linear.closed_forms import nearest_orthogonal, principal
from calque.linear.maps import Side, fit, unit
from calque.methods.default.alternation import Problem, alternate
from calque.methods.default.search import SearchSettings, evidence_of, finish_of, rounds_of_starts, standing_of
from calque.methods.default.starts import build_arena
from calque.methods.task import FEWEST_WORDS, Task
from calque.progress import Step
from calque.retrieval.exact import find, mutual
from calque.transport.sinkhorn import word_weights
from calque.verdict import Evidence

ROUNDS = 2
"""The second round of starts runs only where the first has not confirmed the map."""


def referee(task: Task, source: Side, target: Side) -> Evidence | None:
    """The evidence for these two sides; None where there are too few words to judge."""
    smallest = min(len(task.source), len(task.target))
    if smallest < FEWEST_WORDS:
        return None
    settings = SearchSettings(words=(1000,), dimensions=(30,), rounds=ROUNDS)

    # An arena as the search builds it: the frequent words of both sides, reduced to equally many dimensions.
    spaces = task.source, task.target
    vectors = [fit(space.vectors.to(task.device), ("unit", "center", "unit"))[1] for space in spaces]
    shared = min(int(side.shape[1]) for side in vectors)
    vectors = [side if side.shape[1] == shared else unit(principal(side, shared).apply(side)) for side in vectors]
    problem = Problem(*vectors, *(word_weights(space, vectors[0]) for space in spaces))
    arena = build_arena(problem.head(settings.pool), min(settings.dimensions[0], shared), settings.words[0])

    # The map enters as one more start: the rotation that fits the words which choose each other under the map.
    x = source.apply(task.source.vectors[: len(arena.problem.source)]).to(task.device)
    y = target.apply(task.target.vectors[: len(arena.problem.target)]).to(task.device)
    pairs = mutual(x, y, find("csls"))
    rotation = nearest_orthogonal(arena.problem.source[pairs.source].mT @ arena.problem.target[pairs.target])
    polished = alternate(arena.problem, rotation, settings.alternation)
    judged = finish_of(arena, 0, "given", polished.matrix, polished.path.tolist())

    finishes, standing = [judged], standing_of([judged], judged)
    most = 1 + ROUNDS * sum(settings.starts)
    task.listen(Step("judge", 1, most, judged.told()))
    for finished in rounds_of_starts(arena, settings, task.seed, task.stopped):
        for finish in finished:
            finishes.append(finish)
            task.listen(Step("judge", len(finishes), most, finish.told()))
        standing = standing_of(finishes, judged)
        if standing.confirmed(settings.clear) or task.stopped():
            break

    confirmed, stopped = standing.confirmed(settings.clear), task.stopped()
    gave_up = "it was interrupted" if stopped else f"no independent start confirmed it in {ROUNDS} rounds"
    evidence = evidence_of(standing, finishes, smallest, confirmed, "" if confirmed else gave_up)
    # The share of the arena's words that the map itself translates as its polished form does.
    kept = float(((x @ y.mT).argmax(dim=1) == judged.choices).float().mean())
    return replace(evidence, kept=kept, interrupted=stopped and not confirmed)
