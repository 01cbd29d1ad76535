"""The default method: search for a first map, then make it better in four stages.

`search` finds a rough map on few words in few dimensions. Where it finds nothing, `deep_search` tries fewer and far
stronger starts; hints (known pairs, words spelled alike) are starts of it. `alternate` sharpens the map on more words,
`refine` replaces the rotation by maps that weigh directions, on the whole vocabulary and in all dimensions of both
sides, and `contrast` tells translations from their rivals.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import torch
from torch import Tensor

from calque.errors import SettingsError
from calque.linear.closed_forms import TwoWay, nearest_orthogonal, principal
from calque.linear.maps import LinearMap, Milestone, check_steps, unit
from calque.methods.default.alternation import AlternationSettings, Problem, alternate
from calque.methods.default.climb import ClimbSettings, climb, dictionary
from calque.methods.default.contrast import ContrastSettings, contrast
from calque.methods.default.correspondence import Candidates
from calque.methods.default.deep_search import Attempt, DeepSearchSettings, Leading, deep_search
from calque.methods.default.hints import (
    SHARED_ENOUGH,
    Hints,
    PairReport,
    attempts_by,
    cross_validated,
    spelled_alike,
)
from calque.methods.default.preparing import Prepared, kept_dimensions, prepare
from calque.methods.default.refinement import RefinementSettings, refine
from calque.methods.default.search import SearchSettings, search
from calque.methods.task import Outcome, Task
from calque.progress import Step
from calque.retrieval.exact import Pairs
from calque.transport import word_weights
from calque.verdict import Evidence

EARLY_WORDS = 5000
"""The first rounds of the refinement look at so many words of each side: all 20,000 take sixteen times as long."""
CANDIDATES = 40
"""Then the nearest words are sought among so many for each word, which one pass over all words has found."""


Identical = Literal["auto", "yes", "no"]


@dataclass(frozen=True)
class CoarseToFineSettings:
    """All stages of the default method."""

    preprocessing: tuple[str, ...] = ("unit", "center", "unit")
    """Steps before anything else; they end in unit."""
    identical: Identical = "auto"
    """Whether words that both sides spell alike may start the search. auto: where there are fifty of them."""
    search: SearchSettings = field(default_factory=SearchSettings)
    deep: DeepSearchSettings = field(default_factory=DeepSearchSettings)
    """The search that follows where the first one found nothing."""
    last_climb: ClimbSettings = field(default_factory=lambda: ClimbSettings(rounds=20, power=0.3, temperature=0.1))
    """The climb in all dimensions of a map that the deep search found."""
    words: int = 2000
    """How many of the most frequent words the alternation works on."""
    words_a_dimension: int = 6
    """Dimensions are reduced until there are so many of those words to each: a rotation would fit noise otherwise."""
    alternation: AlternationSettings = field(default_factory=lambda: AlternationSettings(steps=(5, 10, 10), scalings=4))
    refinement: RefinementSettings = field(default_factory=RefinementSettings)
    contrast: ContrastSettings = field(default_factory=ContrastSettings)

    @property
    def most_words(self) -> int:
        """How many of the most frequent words any stage looks at."""
        return max(
            self.words,
            self.refinement.words,
            self.contrast.words,
            self.deep.climb.words,
            self.search.pool,
            *self.search.words,
        )

    def __post_init__(self) -> None:
        check_steps(self.preprocessing)
        if not self.preprocessing or self.preprocessing[-1] != "unit":
            raise SettingsError(f"preprocessing is {list(self.preprocessing)}; expected steps that end in 'unit'")
        if self.identical not in get_args(Identical):
            raise SettingsError(f"identical is {self.identical!r}; expected one of: {', '.join(get_args(Identical))}")
        if self.words < 1 or self.words_a_dimension < 1:
            raise SettingsError("words and words_a_dimension must be at least 1")


@dataclass(frozen=True, eq=False)
class FirstMap:
    """What the search found: a rotation between the leading directions of both sides, and what speaks for it."""

    rotation: Tensor
    evidence: Evidence
    notes: tuple[str, ...] = ()
    climbed: bool = False
    """Whether it comes from a climb in the leading directions alone."""


def coarse_to_fine(task: Task, settings: CoarseToFineSettings) -> Outcome:
    """Maps of both sides into a common space: with no dictionary, or with the help of the task's pairs."""
    dimensions, notes = kept_dimensions((task.source, task.target), settings.words, settings.words_a_dimension)
    source, target = (
        prepare(space, dimension, settings.preprocessing, settings.most_words, task.device)
        for space, dimension in zip((task.source, task.target), dimensions, strict=True)
    )
    # The search is for a rotation, so it needs as many dimensions on both sides: the leading ones of the larger side.
    reductions = [leading_directions(side.vectors, min(dimensions)) for side in (source, target)]
    problem = Problem(
        unit(reductions[0].apply(source.vectors)),
        unit(reductions[1].apply(target.vectors)),
        word_weights(task.source.head(len(source.vectors)), source.vectors),
        word_weights(task.target.head(len(target.vectors)), target.vectors),
    )
    pairs = None if task.pairs is None else Hints(*task.pairs, "pairs")
    first = first_map(problem, task, settings, pairs)

    name, matrix = sharpened(problem, first, task, settings, pairs)
    searched, rotation = (
        TwoWay.of(reductions[0].then(LinearMap(matrix)), reductions[1]) for matrix in (first.rotation, matrix)
    )
    maps, refined, report = last_stages(source, target, rotation, task, settings, pairs)

    stages = {"search": searched, name: rotation, "refine": refined}
    earlier = tuple(
        Milestone(name, source.side(stage.there[0]).map, target.side(stage.there[1]).map)
        for name, stage in stages.items()
    )
    there, back = ((source.side(way[0]), target.side(way[1])) for way in (maps.there, maps.back))
    interrupted = task.stopped() and not first.evidence.confirmed
    evidence = replace(first.evidence, interrupted=interrupted, words=min(len(task.source), len(task.target)))
    hints = None if report is None else report.as_json()
    return Outcome(*there, evidence, (*notes, *first.notes), back, earlier, hints)


def sharpened(
    problem: Problem, first: FirstMap, task: Task, settings: CoarseToFineSettings, pairs: Hints | None
) -> tuple[str, Tensor]:
    """The first map after a stage on more words, and the name of that stage."""
    if first.climbed:
        # Half of such a map is still wrong, and the alternation would follow its wrong half.
        generator = torch.Generator().manual_seed(task.seed % 2**63)
        known = None if pairs is None else pairs.within(settings.last_climb.words, problem).rows()
        sides = problem.source, problem.target
        gram = climb(*sides, first.rotation, settings.last_climb, generator, known, task.stopped)
        task.listen(Step("climb", 1, 1))
        return "climb", nearest_orthogonal(gram)
    ended = alternate(problem.head(settings.words), first.rotation, settings.alternation, task.stopped)
    path = tuple(round(cost, 4) for cost in ended.path.tolist())
    task.listen(Step("alternate", 1, 1, {"cost": float(ended.cost), "path": path}))
    return "alternate", ended.matrix


def leading_directions(vectors: Tensor, dimension: int) -> LinearMap:
    """Onto so many leading directions; the map that changes nothing where there are no more."""
    if dimension == vectors.shape[1]:
        return LinearMap.identity(dimension, vectors)
    return principal(vectors, dimension)


def first_map(problem: Problem, task: Task, settings: CoarseToFineSettings, pairs: Hints | None) -> FirstMap:
    """By the pairs where they suffice, else by the quick search, else by words spelled alike and the deep search."""
    leading = Leading.of(problem, settings.deep.dimensions)
    by_pairs: list[Attempt] = []
    by_spelling: list[Attempt] = []
    notes: tuple[str, ...] = ()
    words = min(len(task.source), len(task.target))

    def hear(attempts: list[Attempt], before: int) -> list[Attempt]:
        for number, attempt in enumerate(attempts, before + 1):
            task.listen(Step("deep search", number, before + len(attempts), attempt.values()))
        return attempts

    if pairs is not None:
        by_pairs = hear(attempts_by(leading, pairs, settings.deep.climb, task.seed, task.stopped), 0)
        none = replace(settings.deep, rounds=0)
        found = deep_search(leading, none, task.seed, by_pairs, task.listen, task.stopped)
        if found is not None and found.evidence.confirmed:
            return FirstMap(lifted(leading, found.leader.gram), found.evidence, climbed=True)

    quick = search(problem, settings.search, task.seed, task.listen, task.stopped)
    evidence = quick.evidence(words)
    if quick.confirmed or task.stopped():
        roles = (*("other arena",) * len(by_pairs), *evidence.roles)
        return FirstMap(quick.lifted(), replace(evidence, starts=len(roles), roles=roles))

    if settings.identical != "no":
        shared = spelled_alike(task.source.words[: len(problem.source)], task.target.words[: len(problem.target)])
        if len(shared) >= (1 if settings.identical == "yes" else SHARED_ENOUGH):
            attempts = attempts_by(leading, shared, settings.deep.climb, task.seed, task.stopped)
            by_spelling = hear(attempts, len(by_pairs))
            notes = (f"{len(shared)} words that both sides spell alike were starts of the search",)
    hinted = [*by_pairs, *by_spelling]
    found = deep_search(leading, settings.deep, task.seed, hinted, task.listen, task.stopped)
    if found is None:
        return FirstMap(quick.lifted(), evidence, notes)

    # Every start is told of, in the order in which they ran: pairs, the quick search, the rest.
    if quick.standing.clearance > found.evidence.clearance and not found.evidence.confirmed:
        others = ("other arena",) * (len(found.attempts) - len(by_pairs))
        roles = (*("other arena",) * len(by_pairs), *evidence.roles, *others)
        return FirstMap(quick.lifted(), replace(evidence, starts=len(roles), roles=roles), notes)
    deep = found.evidence.roles
    roles = (*deep[: len(by_pairs)], *("other arena",) * len(quick.finishes), *deep[len(by_pairs) :])
    evidence = replace(found.evidence, starts=len(roles), roles=roles)
    return FirstMap(lifted(leading, found.leader.gram), evidence, notes, climbed=True)


def lifted(leading: Leading, gram: Tensor) -> Tensor:
    """The rotation in all dimensions that follows the dictionary of a map between the leading ones."""
    x, y = leading.source[:EARLY_WORDS], leading.target[:EARLY_WORDS]
    pairs = dictionary(x, y, gram, 0.0, 0.1)
    full = leading.full
    return nearest_orthogonal(full.source[pairs.source].mT @ (pairs.scores.unsqueeze(1) * full.target[pairs.target]))


def last_stages(
    source: Prepared,
    target: Prepared,
    rotation: TwoWay,
    task: Task,
    settings: CoarseToFineSettings,
    pairs: Hints | None,
) -> tuple[TwoWay, TwoWay, PairReport | None]:
    """The maps at the end, those before the contrast, and what is known of the given pairs."""
    x, y, how = source.vectors, target.vectors, settings.refinement
    known, report = None, None
    if pairs is not None:
        inside = pairs.some((pairs.source < len(x)) & (pairs.target < len(y)))
        report = cross_validated(x, y, rotation, inside, how, task.seed, task.stopped)
        task.listen(Step("pairs", 1, 1, {"pairs": float(report.weights.sum()), "accuracy": report.accuracy[0]}))
        known = Pairs(inside.source.to(x.device), inside.target.to(x.device), report.weights.to(x))
    few = replace(how, words=min(how.words, EARLY_WORDS))
    early = refine(x, y, rotation, few, task.listen, task.stopped, known)
    if max(len(x), len(y)) <= EARLY_WORDS or how.words <= EARLY_WORDS or task.stopped():
        refined, near = early, None
    else:
        head = x[: how.words], y[: how.words]
        candidates = Candidates.of(*head, early, CANDIDATES)
        refined = refine(
            *head, early, how, task.listen, task.stopped, known, lambda maps: candidates.lists(*head, maps, 10)
        )
        same = settings.contrast.words == how.words
        near = candidates.lists(*head, refined, settings.contrast.rivals) if same else None
    maps = contrast(x, y, refined, settings.contrast, task.listen, task.stopped, known, near)
    return maps, refined, report
