"""From independent alignments of pairs to maps that help each other, and one space for all languages.

1. **Triangles** show which pairs are wrong; those were dropped before (triangles.py).
2. **Synchronisation** of the rest gives every pair a rotation, also the dropped and the missing ones.
3. **Rounds** as in the refinement: each pair's dictionary, strengthened by third languages, makes its maps.
4. **Contrast** makes each pair's maps surer, with the same strengthened dictionary.
5. **The shared space**: one map per language from all dictionaries together, then the same contrast for all at once. If
   the shared space is to be the space of one language, that language stays as it is and the others are rotated into it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torch import Tensor

from calque.errors import SettingsError
from calque.linear.closed_forms import TwoWay
from calque.linear.maps import LinearMap
from calque.methods.default.contrast import ContrastSettings, Entries, entries_of, slopes, stepped, surer
from calque.methods.default.correspondence import correspondence, lists, trusted
from calque.methods.default.refinement import RefinementSettings, enough, from_pairs
from calque.methods.many.synchronisation import Vectors, implied_rotation, shared_maps, synchronise
from calque.methods.many.triangles import Dictionaries, Pair, pairs_of, strengthened
from calque.progress import Listen, Step, never, quiet


@dataclass(frozen=True)
class ReconcilingSettings:
    """How pairs help each other."""

    rounds: int = 4
    """How often the dictionaries and maps of all pairs are made again."""
    weight: float = 4.0
    """How much third languages count beside the pair itself."""
    refinement: RefinementSettings = field(default_factory=RefinementSettings)
    """Words, temperature and shrinkage of each pair's dictionary and maps."""
    contrast: ContrastSettings = field(default_factory=ContrastSettings)
    """The last steps of each pair."""
    shared: ContrastSettings = field(default_factory=lambda: ContrastSettings(steps=40))
    """The last steps of the shared space. It takes more than a pair, because one map that serves all languages overfits
    less."""

    def __post_init__(self) -> None:
        if self.rounds < 1 or not self.weight >= 0:
            raise SettingsError(f"rounds is {self.rounds} and weight {self.weight}; expected at least 1, and 0")


@dataclass(frozen=True, eq=False)
class Reconciled:
    """The maps of every pair, and one map per language into a space for all."""

    pairs: dict[Pair, TwoWay]
    shared: dict[str, LinearMap]


def reconcile(
    vectors: Vectors,
    dictionaries: Dictionaries,
    settings: ReconcilingSettings,
    into: str = "",
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
) -> Reconciled:
    """Maps of all pairs, from the dictionaries of the pairs that were kept, which must connect all languages."""
    names, refinement = list(vectors), settings.refinement
    vectors = {name: rows[: refinement.words] for name, rows in vectors.items()}
    sizes = {name: len(rows) for name, rows in vectors.items()}

    # Pairs without a dictionary get one from the synchronised rotations.
    rotations = _rotations(names, vectors, dictionaries)
    complete = {}
    for pair in pairs_of(names):
        rotated = TwoWay.of(LinearMap(rotations[pair[0]]), LinearMap(rotations[pair[1]]))
        own = dictionaries.get(pair)
        complete[pair] = own or correspondence(*_both(vectors, pair), rotated, refinement.temperature)

    for number in range(1, settings.rounds + 1):
        stronger = strengthened(complete, sizes, settings.weight)
        maps = {
            pair: from_pairs(*_both(vectors, pair), pairs, refinement.shrinkage) for pair, pairs in stronger.items()
        }
        trust = sum(float(pairs.scores.sum()) for pairs in stronger.values())
        listen(Step("reconcile", number, settings.rounds, {"pairs": trust}))
        if number == settings.rounds or stopped():
            break
        complete = {
            pair: correspondence(*_both(vectors, pair), map, refinement.temperature) for pair, map in maps.items()
        }

    if settings.contrast.steps and not stopped():
        maps = _contrasted_pairs(vectors, maps, settings, listen)
    if into:
        rotations = _rotations(names, vectors, stronger)
        turned = {name: LinearMap(rotation @ rotations[into].mT) for name, rotation in rotations.items()}
        return Reconciled(maps, turned | {into: LinearMap.identity(len(rotations[into]), rotations[into])})
    shared = shared_maps(names, vectors, stronger)
    if settings.shared.steps and not stopped():
        shared = _contrasted_space(vectors, shared, settings, listen, stopped)
    return Reconciled(maps, shared)


def _rotations(names: list[str], vectors: Vectors, dictionaries: Dictionaries) -> dict[str, Tensor]:
    """One rotation per language, from all dictionaries together."""
    return synchronise(names, {pair: implied_rotation(vectors, pair, pairs) for pair, pairs in dictionaries.items()})


def _both(vectors: Vectors, pair: Pair) -> tuple[Tensor, Tensor]:
    return vectors[pair[0]], vectors[pair[1]]


def _entries(
    vectors: Vectors, maps: Mapping[Pair, TwoWay], settings: ContrastSettings, weight: float
) -> dict[Pair, Entries]:
    """Every pair's rivals, and its dictionary strengthened by third languages."""
    near = {pair: lists(*_both(vectors, pair), map, settings.rivals) for pair, map in maps.items()}
    dictionaries = {pair: trusted(pair_lists, settings.temperature) for pair, pair_lists in near.items()}
    stronger = strengthened(dictionaries, {name: len(rows) for name, rows in vectors.items()}, weight)
    return {pair: entries_of(near[pair], stronger[pair]) for pair in maps}


def _contrasted_pairs(
    vectors: Vectors, maps: dict[Pair, TwoWay], settings: ReconcilingSettings, listen: Listen
) -> dict[Pair, TwoWay]:
    """Each pair's maps after its own steps; unchanged where too few words are trusted to learn from."""
    contrasted = {}
    all_entries = _entries(vectors, maps, settings.contrast, settings.weight)
    for number, (pair, entries) in enumerate(all_entries.items(), 1):
        contrasted[pair] = maps[pair]
        if enough(entries.pairs, int(vectors[pair[0]].shape[1])):
            contrasted[pair] = surer(_both(vectors, pair), maps[pair], entries, settings.contrast)
        listen(Step("contrast", number, len(maps), {"pair": "-".join(pair)}))
    return contrasted


def _contrasted_space(
    vectors: Vectors,
    maps: dict[str, LinearMap],
    settings: ReconcilingSettings,
    listen: Listen,
    stopped: Callable[[], bool],
) -> dict[str, LinearMap]:
    """One map per language after steps that make all pairs surer at once; the maps of the least loss are kept."""
    contrast = settings.shared
    two_way = {pair: TwoWay.of(maps[pair[0]], maps[pair[1]]) for pair in pairs_of(list(vectors))}
    all_entries = _entries(vectors, two_way, contrast, settings.weight)
    matrices = {name: map.matrix for name, map in maps.items()}
    best, least = matrices, math.inf
    for number in range(1, contrast.steps + 2):
        total, gradients = 0.0, {name: matrix.new_zeros(matrix.shape) for name, matrix in matrices.items()}
        for (one, two), entries in all_entries.items():
            both, pair_matrices = _both(vectors, (one, two)), (matrices[one], matrices[two])
            pair_loss, (first, second) = slopes(entries, both, pair_matrices, contrast.temperature)
            total += pair_loss
            gradients[one], gradients[two] = gradients[one] + first, gradients[two] + second
        loss = total / len(all_entries)
        if loss < least:
            best, least = matrices, loss
        if number > contrast.steps or stopped():
            break
        listen(Step("shared space", number, contrast.steps, {"loss": loss}))
        matrices = {name: stepped(matrix, gradients[name], contrast.step) for name, matrix in matrices.items()}
    return {name: LinearMap(matrix) for name, matrix in best.items()}
