"""Self-learning: a dictionary makes a map, the map makes a better dictionary, and so on in turn.

**artetxe2017** begins with a small dictionary (Artetxe, Labaka, Agirre 2017: Learning bilingual word embeddings with
(almost) no bilingual data, section 3). It maximises

    Σ_i <x_i W, y_j(i)>   over W Wᵀ = 1 and any choice j(i) of a translation for each source word

With the dictionary fixed, W is artetxe2016's rotation; with W fixed, j(i) is the target word with the largest product.
Neither step can lower the mean similarity, so it ends when that gains no more. The known pairs are used only to begin.

**artetxe2018** needs no dictionary at all (Artetxe, Labaka, Agirre 2018: A robust self-learning method for fully
unsupervised cross-lingual mappings of word embeddings, section 3). It maximises

    Σ_ij D_ij (x_i W_X) · (z_j W_Z)   over orthogonal W_X, W_Z and a dictionary D

For a dictionary D the best maps are W_X = U, W_Z = V of XᵀDZ = U S Vᵀ; for given maps, D pairs every word with its CSLS
neighbour, in both directions. The first dictionary needs no map: the sorted row of (XXᵀ)^½ does not change when a space
is rotated, so words of two languages can be compared by it (section 3.2). Similarities are dropped at random, fewer and
fewer of them, so that early mistakes do not last (section 3.3). At the end both sides are re-weighted by how well the
languages agree in each direction (section 3.4). The default method starts from the same profiles, but by transport,
many times over, and does not trust a single start.

The paper of 2018 leaves two things open. Here the objective that must improve is the mean cosine of every word, of both
sides, to its nearest word. And once nothing is dropped, a dictionary that comes out twice ends the run, because no
later one would differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from calque.errors import SettingsError
from calque.linear.closed_forms import reweighted
from calque.linear.maps import LinearMap, Side, check_steps, fit, unit
from calque.methods.baselines.known_pairs import KnownPairs, known_pairs, rotation
from calque.methods.default.starts import profiles
from calque.methods.task import Outcome, Task
from calque.progress import Step
from calque.retrieval.exact import Pairs, blocks

PREPROCESSING = ("unit", "center", "unit")
"""Section 3.1 of the paper of 2018."""
TELL_EVERY = 5
"""Iterations of artetxe2018 between two events."""
CPU_FRACTION = 16
"""On a CPU, blocks are smaller by this factor, to stay in its cache. It cannot change an answer."""


@dataclass(frozen=True)
class Artetxe2017Settings:
    """How map and dictionary take turns."""

    preprocessing: tuple[str, ...] = ("unit", "center")
    """Steps before anything else; as published, every vector is scaled to length 1, then the mean is set to 0."""
    words: int = 20_000
    """How many of the most frequent words of each side enter the induced dictionary."""
    threshold: float = 1e-6
    """It has converged when the mean similarity gains less than this."""
    steps: int = 500
    """How often the dictionary is induced at most."""

    def __post_init__(self) -> None:
        check_steps(self.preprocessing)
        if self.words < 1 or self.steps < 0:
            raise SettingsError(f"words is {self.words} and steps {self.steps}; expected at least 1 and 0")
        if not 0 <= self.threshold < float("inf"):
            raise SettingsError(f"threshold is {self.threshold}; expected 0 or more")


@dataclass(frozen=True, eq=False)
class SelfLearned:
    """Where self-learning ended."""

    map: LinearMap
    similarity: float
    """Mean product of the mapped source words with their best target words; it rises from step to step."""
    converged: bool


def artetxe2017(task: Task, settings: Artetxe2017Settings) -> Outcome:
    """The rotation that frequent words agree on, begun from the known pairs."""
    pairs = known_pairs(task, settings.preprocessing)
    learned = self_learn(pairs, settings, task)
    notes = () if learned.converged else (f"self-learning ended before it converged (at most {settings.steps} steps)",)
    return pairs.source_to_target(learned.map, notes)


def self_learn(pairs: KnownPairs, settings: Artetxe2017Settings, task: Task) -> SelfLearned:
    """Dictionary and rotation in turn until the mean similarity gains no more."""
    source, target = pairs.source[: settings.words], pairs.target[: settings.words]
    learned = SelfLearned(rotation(*pairs.paired()), -float("inf"), converged=False)
    for number in range(1, settings.steps + 1):
        if task.stopped():
            break
        induced = most_similar(learned.map.apply(source), target)
        similarity = float(induced.scores.double().mean())
        task.listen(Step("self-learn", number, settings.steps, {"similarity": similarity}))
        if similarity - learned.similarity < settings.threshold:
            return SelfLearned(learned.map, similarity, converged=True)
        learned = SelfLearned(rotation(source, target[induced.target]), similarity, converged=False)
    return learned


def most_similar(source: Tensor, target: Tensor) -> Pairs:
    """Every source word with the target word of the largest product, block by block."""
    best = [(source[rows] @ target.mT).max(dim=1) for rows in blocks(len(source), len(target))]
    chosen, scores = torch.cat([block.indices for block in best]), torch.cat([block.values for block in best])
    return Pairs(torch.arange(len(source), device=source.device), chosen, scores)


@dataclass(frozen=True)
class Artetxe2018Settings:
    """The published values throughout."""

    start_words: int = 4000
    """How many of the most frequent words are compared by their similarity profiles."""
    words: int = 20_000
    """How many of the most frequent words of each side enter the dictionary."""
    neighbourhood: int = 10
    """How many neighbours CSLS averages over."""
    keep: float = 0.1
    """The share of similarities kept at first."""
    growth: float = 2.0
    """By how much the share grows when nothing improves."""
    patience: int = 50
    """After so many iterations without improvement the share grows; once all are kept, the run ends."""
    threshold: float = 1e-6
    """What counts as an improvement of the mean cosine."""
    iterations: int = 5000
    """Iterations at most. The published method has no such bound; some hundreds are usual."""
    power: float = 0.5
    """How much a shared direction is stretched by its strength at the end: 0 not at all, 1 fully on each side."""

    def __post_init__(self) -> None:
        for name in ("start_words", "words", "neighbourhood", "patience", "iterations"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; expected at least 1")
        if not 0 < self.keep <= 1:
            raise SettingsError(f"keep is {self.keep}; expected above 0 and at most 1")
        if not self.growth > 1:
            raise SettingsError(f"growth is {self.growth}; expected above 1, or the share kept would never reach 1")
        if not self.threshold >= 0:
            raise SettingsError(f"threshold is {self.threshold}; expected at least 0")
        if not 0 <= self.power <= 1:
            raise SettingsError(f"power is {self.power}; expected between 0 and 1")


@dataclass(frozen=True, eq=False)
class InducedPairs:
    """Rows that were paired: first as the source words choose, then as the target words choose."""

    source: Tensor
    target: Tensor
    objective: float
    """The mean cosine of a word to its nearest word on the other side, over both sides, with nothing dropped."""

    def __len__(self) -> int:
        return len(self.source)

    def same_pairs(self, other: InducedPairs) -> bool:
        """Whether both pair the same words."""
        return torch.equal(self.source, other.source) and torch.equal(self.target, other.target)


def artetxe2018(task: Task, settings: Artetxe2018Settings) -> Outcome:
    """Maps of both sides into a common space, with no dictionary."""
    fitted = [fit(space.vectors, PREPROCESSING) for space in (task.source, task.target)]
    source, target = (vectors[: settings.words].to(task.device) for _, vectors in fitted)
    pairs, notes = _robust_self_learn(source, target, task, settings)
    maps = reweighted(source[pairs.source], target[pairs.target], settings.power)
    sides = [
        Side(preprocessing, LinearMap(map.matrix.cpu())) for (preprocessing, _), map in zip(fitted, maps, strict=True)
    ]
    return Outcome(sides[0], sides[1], notes=notes)


def _robust_self_learn(
    source: Tensor, target: Tensor, task: Task, settings: Artetxe2018Settings
) -> tuple[InducedPairs, tuple[str, ...]]:
    """Dictionary and maps in turn until nothing improves (section 3.3): the last dictionary, and notes on the run."""
    pairs, generator = first_pairs(source, target, settings), torch.Generator().manual_seed(task.seed)
    keep, best, waited = settings.keep, float("-inf"), 0
    for number in range(1, settings.iterations + 1):
        if task.stopped():
            return pairs, (f"self-learning was interrupted after {number - 1} iterations",)
        previous, share = pairs, keep
        w_x, w_z = best_maps(source[pairs.source], target[pairs.target])
        ranks = draw_ranks(len(source), share, generator), draw_ranks(len(target), share, generator)
        pairs = induce(unit(source @ w_x), unit(target @ w_z), ranks, settings.neighbourhood)
        improved = pairs.objective - best >= settings.threshold
        best, waited = (pairs.objective, 0) if improved else (best, waited + 1)
        out_of_patience = waited > settings.patience
        if out_of_patience:
            keep, waited = min(1.0, keep * settings.growth), 0
        done = share >= 1.0 and (out_of_patience or pairs.same_pairs(previous))
        if number % TELL_EVERY == 1 or done:
            values = {"objective": pairs.objective, "keep": share, "pairs": float(len(pairs))}
            task.listen(Step("self-learn", number, settings.iterations, values))
        if done:
            dimension = max(source.shape[1], target.shape[1])
            few = len(pairs) < dimension
            return pairs, (f"{len(pairs)} pairs were induced for {dimension} dimensions",) if few else ()
    return pairs, (f"self-learning was still improving after {settings.iterations} iterations",)


def first_pairs(source: Tensor, target: Tensor, settings: Artetxe2018Settings) -> InducedPairs:
    """Words paired by the sorted rows of (XXᵀ)^½, of equally many words on each side (section 3.2)."""
    size = min(settings.start_words, len(source), len(target))
    similarity = profiles(source[:size], size) @ profiles(target[:size], size).mT
    return induce_from_matrix(similarity, settings.neighbourhood)


def best_maps(source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """W_X = U and W_Z = V of XᵀZ = U S Vᵀ, for rows that correspond (section 3.3, step 1)."""
    u, _, vh = torch.linalg.svd(source.mT @ target, full_matrices=False)
    return u, vh.mT


def draw_ranks(count: int, keep: float, generator: torch.Generator) -> Tensor:
    """(count,) on the CPU: the rank, from 1, of the best candidate that each word keeps.

    Section 3.3 keeps every similarity with probability p = ``keep``. That is drawn here, not carried out: of candidates
    ordered by score, the best one kept has rank R with P(R = r) = p (1 - p)^(r - 1). This is exactly the distribution
    of dropping entries of the whole matrix, for all words of one direction together, at the price of one draw per word.
    The two directions are drawn independently. A word that keeps no candidate is left out. (The published text sets
    dropped similarities to 0 instead, so such a word is paired with a dropped one.)
    """
    if keep >= 1.0:
        return torch.ones(count, dtype=torch.long)
    uniform = 1.0 - torch.rand(count, generator=generator, dtype=torch.float64)
    return 1 + (uniform.log() / torch.log1p(torch.tensor(-keep, dtype=torch.float64))).long()


def induce(source: Tensor, target: Tensor, ranks: tuple[Tensor, Tensor], neighbourhood: int) -> InducedPairs:
    """The pairs that unit vectors of both sides choose by CSLS; each word takes its candidate of the given rank.

    Both directions count, so a pair that both its words choose is in the dictionary twice (section 3.3).
    """
    there, back = _nearest(source, target, neighbourhood), _nearest(target, source, neighbourhood)
    forward = _choose(source, target, back.mean(dim=1), ranks[0])
    backward = _choose(target, source, there.mean(dim=1), ranks[1])
    pairs = torch.cat([forward[0], backward[1]]), torch.cat([forward[1], backward[0]])
    return InducedPairs(*pairs, float(there[:, 0].mean() + back[:, 0].mean()) / 2)


def induce_from_matrix(similarity: Tensor, neighbourhood: int) -> InducedPairs:
    """The same from a matrix of similarities; each word takes its best candidate."""
    there, back = (
        matrix.topk(min(neighbourhood, matrix.shape[1]), dim=1).values for matrix in (similarity, similarity.mT)
    )
    forward = (similarity - back.mean(dim=1) / 2).argmax(dim=1)
    backward = (similarity.mT - there.mean(dim=1) / 2).argmax(dim=1)
    rows, columns = (torch.arange(size, device=similarity.device) for size in similarity.shape)
    objective = (float(there[:, 0].mean()) + float(back[:, 0].mean())) / 2
    return InducedPairs(torch.cat([rows, backward]), torch.cat([forward, columns]), objective)


def _nearest(queries: Tensor, candidates: Tensor, size: int) -> Tensor:
    """(q, size): the cosines of the nearest candidates, falling. The mean of a row is r of CSLS."""
    size, nothing = min(size, len(candidates)), candidates.new_zeros(len(candidates))
    scores = _scores(queries, candidates, nothing, torch.arange(len(queries)))
    return torch.cat([block.topk(size, dim=1).values for _, block in scores])


def _choose(queries: Tensor, candidates: Tensor, penalty: Tensor, ranks: Tensor) -> tuple[Tensor, Tensor]:
    """The queries that have a candidate of their rank, in their order, and which candidate it is."""
    order = ranks.argsort(stable=True)
    order = order[ranks[order] <= len(candidates)]
    chosen = torch.empty(len(queries), dtype=torch.long, device=queries.device)
    # In the order of their ranks, so that no block looks further down its candidates than its own words must.
    for rows, scores in _scores(queries, candidates, penalty / 2, order):
        rank = ranks[rows]
        rows = rows.to(queries.device)
        if int(rank[-1]) == 1:
            chosen[rows] = scores.argmax(dim=1)
        else:
            best = scores.topk(int(rank[-1]), dim=1).indices
            chosen[rows] = best.gather(1, rank.to(best.device).unsqueeze(1) - 1).squeeze(1)
    kept = order.sort().values.to(queries.device)
    return kept, chosen[kept]


def _scores(queries: Tensor, candidates: Tensor, penalty: Tensor, order: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Queries in this order, block by block: their row numbers, and their cosines minus the penalties.

    All blocks share one buffer: allocating each anew costs as much as computing it.
    """
    smaller = CPU_FRACTION if queries.device.type == "cpu" else 1
    slices = list(blocks(len(order), smaller * len(candidates)))
    height = max((block.stop - block.start for block in slices), default=0)
    buffer = torch.empty(height, len(candidates), dtype=queries.dtype, device=queries.device)
    for block in slices:
        rows = order[block]
        out = buffer[: len(rows)]
        yield rows, torch.addmm(penalty, queries[rows.to(queries.device)], candidates.mT, alpha=1, beta=-1, out=out)
