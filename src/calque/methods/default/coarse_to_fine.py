"""The default method: search coarsely, lift the winner to all dimensions, alternate, refine, contrast.

Each stage hands the next a map good enough for it to succeed: `search` finds the basin on few words in few dimensions,
`lift` carries the winner's transport plan to all dimensions, `alternation` sharpens it on more words, `refinement`
leaves the orthogonal maps for re-weighted ones on the whole vocabulary, and `contrast` tells translations from rivals.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from torch import Tensor

from calque.errors import SettingsError
from calque.linear.closed_forms import TwoWay
from calque.linear.maps import LinearMap, Milestone, check_steps
from calque.methods.default.alternation import Alternated, AlternationSettings, Problem, alternate
from calque.methods.default.confirmation import WORDS as CARRIED_WORDS
from calque.methods.default.confirmation import second_look
from calque.methods.default.contrast import ContrastSettings, contrast
from calque.methods.default.lifting import lift
from calque.methods.default.preparing import Prepared, common_dimension, prepare
from calque.methods.default.refinement import RefinementSettings, refine
from calque.methods.default.search import Found, SearchSettings, evidence_of, search
from calque.methods.task import Outcome, Task
from calque.progress import Step
from calque.transport.sinkhorn import word_weights


@dataclass(frozen=True)
class CoarseToFineSettings:
    """All stages of the default method."""

    preprocessing: tuple[str, ...] = ("unit", "center", "unit")
    """Steps before anything else; they end in unit."""
    search: SearchSettings = field(default_factory=SearchSettings)
    widen: bool = True
    """Whether a second look and a wider search follow a search that found nothing."""
    wider: SearchSettings = field(
        default_factory=lambda: SearchSettings((2000,), (100,), 8000, ("learned", "random"), (4, 4), rounds=3)
    )
    """It has more words, more dimensions, and starts that learn before they compete."""
    words: int = 2000
    """How many of the most frequent words the alternation in all dimensions works on."""
    words_a_dimension: int = 6
    """Dimensions are reduced until there are so many of those words to each: a rotation would fit noise otherwise."""
    alternation: AlternationSettings = field(default_factory=lambda: AlternationSettings(steps=(5, 10, 10), scalings=4))
    refinement: RefinementSettings = field(default_factory=RefinementSettings)
    contrast: ContrastSettings = field(default_factory=ContrastSettings)

    @property
    def most_words(self) -> int:
        """How many of the most frequent words any stage looks at."""
        pools = [each for search in (self.search, self.wider) for each in (search.pool, *search.words)]
        return max(self.words, self.refinement.words, self.contrast.words, CARRIED_WORDS, *pools)

    def __post_init__(self) -> None:
        check_steps(self.preprocessing)
        if not self.preprocessing or self.preprocessing[-1] != "unit":
            raise SettingsError(f"preprocessing is {list(self.preprocessing)}; expected steps that end in 'unit'")
        if self.words < 1 or self.words_a_dimension < 1:
            raise SettingsError("words and words_a_dimension must be at least 1")


def coarse_to_fine(task: Task, settings: CoarseToFineSettings) -> Outcome:
    """Maps of both sides into a common space, with no dictionary."""
    source, target, notes = _prepared(task, settings)
    dimension = int(source.vectors.shape[1])
    problem = Problem(
        source.vectors,
        target.vectors,
        word_weights(task.source.head(len(source.vectors)), source.vectors),
        word_weights(task.target.head(len(target.vectors)), target.vectors),
    )
    found = _found(problem, task, settings)
    first = _rotation(found)
    ended = alternate(problem.head(settings.words), first, settings.alternation, task.stopped)
    task.listen(Step("alternate", 1, 1, _told(ended)))
    searched, rotation = (
        TwoWay.of(LinearMap(each), LinearMap.identity(dimension, each)) for each in (first, ended.matrix)
    )
    refined = refine(source.vectors, target.vectors, rotation, settings.refinement, task.listen, task.stopped)
    maps = contrast(source.vectors, target.vectors, refined, settings.contrast, task.listen, task.stopped)
    stages = {"search": searched, "alternate": rotation, "refine": refined}
    earlier = tuple(
        Milestone(name, source.side(each.there[0]).map, target.side(each.there[1]).map) for name, each in stages.items()
    )
    there, back = ((source.side(each[0]), target.side(each[1])) for each in (maps.there, maps.back))
    words = min(len(task.source), len(task.target))
    evidence = evidence_of(found.standing, found.finishes, words, found.confirmed, found.gave_up)
    evidence = replace(evidence, interrupted=task.stopped() and not found.confirmed)
    return Outcome(*there, evidence, notes, back, earlier)


def _prepared(task: Task, settings: CoarseToFineSettings) -> tuple[Prepared, Prepared, tuple[str, ...]]:
    """Both sides in as many dimensions, and a word on it where those are fewer than the vectors have."""
    spaces = task.source, task.target
    dimension, notes = common_dimension(spaces, settings.words, settings.words_a_dimension)
    source, target = (
        prepare(each, dimension, settings.preprocessing, settings.most_words, task.device) for each in spaces
    )
    return source, target, notes


def _found(problem: Problem, task: Task, settings: CoarseToFineSettings) -> Found:
    """By the cheap search where that is confirmed, else by a wider one; a second look at the best ends either."""
    found = search(problem, settings.search, task.seed, task.listen, task.stopped)
    if not settings.widen or found.confirmed or task.stopped():
        return found
    found = second_look(problem, found, settings.search, task.listen, task.stopped)
    if found.confirmed or task.stopped():
        return found
    earlier = settings.search.rounds
    wider = search(problem, settings.wider, task.seed, task.listen, task.stopped, "wider search", earlier)
    if task.stopped() and not wider.confirmed:
        return replace(found, gave_up=wider.gave_up)
    found = found.joined(wider, settings.wider.clear)
    if found.confirmed:
        return found
    return second_look(problem, found, settings.wider, task.listen, task.stopped)


def _told(ended: Alternated) -> dict[str, float | tuple[float, ...]]:
    return {"cost": float(ended.cost), "path": tuple(round(each, 4) for each in ended.path.tolist())}


def _rotation(found: Found) -> Tensor:
    """The winner in all dimensions."""
    return lift(found.arena, found.standing.leader.matrix) if found.rotation is None else found.rotation
