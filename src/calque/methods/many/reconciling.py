"""From independent alignments of pairs to maps that know of each other, and one space for all languages.

1. **Triangles** tell which pairs are wrong; those are dropped (triangles.py).
2. **Synchronisation** of the rest gives every pair a rotation, the dropped and the missing ones too.
3. **Rounds** as in the refinement: each pair's dictionary, strengthened by what third languages say, makes its maps.
4. **Contrast** makes each pair's maps surer, with the same strengthened dictionary.
5. **The shared space**: from all dictionaries together one map per language, and the same contrast with all at once.
   Where it shall be the space of one language, which then stays as it is, the maps are rotations into that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from calque.errors import SettingsError
from calque.linear.closed_forms import TwoWay
from calque.linear.maps import LinearMap
from calque.methods.default.contrast import ContrastSettings, Entries, entries_of, slopes, stepped, surer
from calque.methods.default.correspondence import correspondence, lists, trusted
from calque.methods.default.refinement import RefinementSettings, enough, from_pairs
from calque.methods.many.synchronisation import Vectors, rotation, shared_maps, synchronise
from calque.methods.many.triangles import Dictionaries, Pair, pairs_of, strengthened
from calque.progress import Listen, Step, never, quiet
from calque.retrieval.exact import Pairs


@dataclass(frozen=True)
class ReconcilingSettings:
    """How pairs help each other."""

    rounds: int = 4
    """How often dictionaries and maps of all pairs are made anew."""
    weight: float = 4.0
    """How much third languages count beside the pair itself."""
    refinement: RefinementSettings = field(default_factory=RefinementSettings)
    """Words, temperature and shrinkage of each pair's dictionary and maps."""
    contrast: ContrastSettings = field(default_factory=ContrastSettings)
    """The last steps of each pair."""
    shared: ContrastSettings = field(default_factory=lambda: ContrastSettings(steps=40))
    """The last steps of the shared space: more than a pair takes, since one map that must serve all learns less by
    heart."""

    def __post_init__(self) -> None:
        if self.rounds < 1 or not self.weight >= 0:
            raise SettingsError(f"rounds is {self.rounds} and weight {self.weight}; expected at least 1, and 0")


@dataclass(frozen=True, eq=False)
class Reconciled:
    """Maps of every pair, and one map per language into a space for all."""

    pairs: dict[Pair, TwoWay]
    shared: dict[str, LinearMap]


def reconcile(
    vectors: Vectors,
    known: Dictionaries,
    settings: ReconcilingSettings,
    into: str = "",
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
) -> Reconciled:
    """All pairs of these languages from the dictionaries of those that stand, which connect them."""
    names, words = list(vectors), settings.refinement.words
    vectors = {name: each[:words] for name, each in vectors.items()}
    sizes = {name: len(each) for name, each in vectors.items()}
    dictionaries = _all(names, vectors, known, settings.refinement.temperature)
    maps: dict[Pair, TwoWay] = {}
    for number in range(1, settings.rounds + 1):
        helped = strengthened(dictionaries, sizes, settings.weight)
        maps = {
            pair: from_pairs(*_both(vectors, pair), each, settings.refinement.shrinkage)
            for pair, each in helped.items()
        }
        listen(
            Step(
                "reconcile",
                number,
                settings.rounds,
                {"pairs": sum(float(each.scores.sum()) for each in helped.values())},
            )
        )
        if number == settings.rounds or stopped():
            break
        dictionaries = {
            pair: correspondence(*_both(vectors, pair), each, settings.refinement.temperature)
            for pair, each in maps.items()
        }
    maps = _contrasted(vectors, maps, sizes, settings, listen, stopped)
    helped = strengthened(dictionaries, sizes, settings.weight)
    if into:
        return Reconciled(maps, _rotations(names, vectors, helped, into))
    shared = shared_maps(names, vectors, helped)
    return Reconciled(maps, _shared(vectors, shared, sizes, settings, listen, stopped))


def _rotations(names: Sequence[str], vectors: Vectors, dictionaries: Dictionaries, into: str) -> dict[str, LinearMap]:
    """Every language turned into the space of one, as all dictionaries together have it; that one stays."""
    turned = synchronise(names, {pair: rotation(vectors, pair, each) for pair, each in dictionaries.items()})
    made = {name: LinearMap(each @ turned[into].mT) for name, each in turned.items()}
    return made | {into: LinearMap.identity(len(turned[into]), turned[into])}


def _both(vectors: Vectors, pair: Pair) -> tuple[Tensor, Tensor]:
    return vectors[pair[0]], vectors[pair[1]]


def _all(names: Sequence[str], vectors: Vectors, known: Dictionaries, temperature: float) -> dict[Pair, Pairs]:
    """The known dictionaries, and those that the synchronised rotations imply for the other pairs."""
    rotations = synchronise(names, {pair: rotation(vectors, pair, each) for pair, each in known.items()})
    made = {}
    for pair in pairs_of(names):
        one, two = (LinearMap(rotations[name]) for name in pair)
        made[pair] = known.get(pair) or correspondence(*_both(vectors, pair), TwoWay.of(one, two), temperature)
    return made


def _entries(
    vectors: Vectors, maps: Mapping[Pair, TwoWay], sizes: Mapping[str, int], how: ContrastSettings, weight: float
) -> dict[Pair, Entries]:
    """Every pair's rivals, and its dictionary with what third languages say."""
    near = {pair: lists(*_both(vectors, pair), each, how.rivals) for pair, each in maps.items()}
    pairs = strengthened({pair: trusted(each, how.temperature) for pair, each in near.items()}, sizes, weight)
    return {pair: entries_of(near[pair], pairs[pair]) for pair in maps}


def _contrasted(
    vectors: Vectors,
    maps: dict[Pair, TwoWay],
    sizes: Mapping[str, int],
    settings: ReconcilingSettings,
    listen: Listen,
    stopped: Callable[[], bool],
) -> dict[Pair, TwoWay]:
    """Each pair's maps after its own steps; as they were where too few words are trusted to learn from."""
    if not settings.contrast.steps or stopped():
        return maps
    made = {}
    for number, (pair, entries) in enumerate(
        _entries(vectors, maps, sizes, settings.contrast, settings.weight).items(), 1
    ):
        told = enough(entries.pairs, int(vectors[pair[0]].shape[1]))
        made[pair] = surer(_both(vectors, pair), maps[pair], entries, settings.contrast) if told else maps[pair]
        listen(Step("contrast", number, len(maps), {"pair": "-".join(pair)}))
    return made


def _shared(
    vectors: Vectors,
    maps: dict[str, LinearMap],
    sizes: Mapping[str, int],
    settings: ReconcilingSettings,
    listen: Listen,
    stopped: Callable[[], bool],
) -> dict[str, LinearMap]:
    """One map per language after steps that make all pairs surer at once; those of the least loss."""
    how = settings.shared
    if not how.steps or stopped():
        return maps
    pairs = {pair: TwoWay.of(maps[pair[0]], maps[pair[1]]) for pair in pairs_of(list(vectors))}
    entries = _entries(vectors, pairs, sizes, how, settings.weight)
    matrices = {name: each.matrix for name, each in maps.items()}
    best, least = matrices, math.inf
    for number in range(1, how.steps + 2):
        loss, gradients = _slopes(vectors, matrices, entries, how.temperature)
        if loss < least:
            best, least = matrices, loss
        if number > how.steps or stopped():
            break
        listen(Step("shared space", number, how.steps, {"loss": loss}))
        matrices = {name: stepped(each, gradients[name], how.step) for name, each in matrices.items()}
    return {name: LinearMap(each) for name, each in best.items()}


def _slopes(
    vectors: Vectors, matrices: Mapping[str, Tensor], entries: Mapping[Pair, Entries], temperature: float
) -> tuple[float, dict[str, Tensor]]:
    """The mean loss of all pairs, and the sum of their slopes at each language's map."""
    total, sums = 0.0, {name: each.new_zeros(each.shape) for name, each in matrices.items()}
    for (one, two), each in entries.items():
        loss, (first, second) = slopes(each, (vectors[one], vectors[two]), (matrices[one], matrices[two]), temperature)
        total += loss
        sums[one], sums[two] = sums[one] + first, sums[two] + second
    return total / len(entries), sums
