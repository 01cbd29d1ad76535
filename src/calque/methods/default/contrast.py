"""The last stage: maps under which a word is nearer to its translation than to the rivals of that translation.

Maps in closed form bring translations together and know nothing of the words that are retrieved instead. Here the
dictionary of the refinement stays as it is, and each direction's two maps take a few gradient steps on

    Σ_(x,y) w(x,y) [ - log p(y | x) - log p(x | y) ] / Σ w,    p(y | x) ∝ exp(csls(x, y) / temperature)

over the nearest words of each: the pairs are made surer, in the measure by which words are sought in the end. What
Joulin et al. (2018) do with a known dictionary and a criterion linear in the cosines, this does with an induced one,
whose doubt it keeps: pairs that count for little hold the maps back from learning the dictionary by heart.

Only the cosines of words in each other's lists enter, some dozens a word, so a step costs a small part of a round of
refinement: sampled products, and their gradient as a product with a sparse matrix. Where the steps do not lower the
loss, the maps stay as they were.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from calque.errors import SettingsError
from calque.linear.closed_forms import TwoWay
from calque.linear.maps import LinearMap, unit
from calque.methods.default.correspondence import Lists, lists, trusted
from calque.methods.default.refinement import enough, joined
from calque.progress import Listen, Step, never, quiet
from calque.retrieval.exact import NEIGHBOURHOOD, Pairs

Maps = tuple[LinearMap, LinearMap]
Both = tuple[Tensor, Tensor]
SHORTEST = 1e-30
"""A gradient of no length leads nowhere."""


@dataclass(frozen=True)
class ContrastSettings:
    """How far the maps follow the gradient."""

    steps: int = 10
    """Few: on so many parameters more of them learn the dictionary by heart."""
    step: float = 0.02
    """The length of each, as a share of the map's own."""
    temperature: float = 0.07
    """How a word divides its trust; a little higher than in the refinement, so that more pairs are heard."""
    rivals: int = 20
    """How many of its nearest words a word is told from, on either side; as many as CSLS averages over, at least."""
    words: int = 20_000
    """How many of the most frequent words of each side take part."""

    def __post_init__(self) -> None:
        if self.steps < 0 or self.rivals < NEIGHBOURHOOD or self.words < 1:
            found = f"steps is {self.steps}, rivals {self.rivals} and words {self.words}"
            raise SettingsError(f"{found}; expected at least 0, {NEIGHBOURHOOD} and 1")
        if not self.temperature > 0 or not 0 < self.step < 1:
            raise SettingsError(
                f"temperature is {self.temperature} and step {self.step}; expected above 0, and between 0 and 1"
            )


def contrast(
    source: Tensor,
    target: Tensor,
    maps: TwoWay,
    settings: ContrastSettings,
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
    known: Pairs | None = None,
    near: Lists | None = None,
) -> TwoWay:
    """The maps of both directions after some steps; the same ones where too few pairs are trusted to learn from.

    ``known`` pairs belong to the dictionary, with their weights. ``near`` are the nearest words, where they are known.
    """
    source, target = source[: settings.words], target[: settings.words]
    if not settings.steps or stopped():
        return maps
    near = lists(source, target, maps, settings.rivals) if near is None else near
    pairs = trusted(near, settings.temperature)
    if not enough(joined(pairs, known, len(source), len(target)), max(int(source.shape[1]), int(target.shape[1]))):
        return maps
    return surer((source, target), maps, entries_of(near, pairs, known), settings, listen, stopped)


def surer(
    vectors: tuple[Tensor, Tensor],
    maps: TwoWay,
    entries: Entries,
    settings: ContrastSettings,
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
) -> TwoWay:
    """The steps themselves, under which the pairs of a dictionary grow surer against the words of its lists."""
    there, back = (_Descent(vectors, each, entries, settings) for each in (maps.there, maps.back))
    for number in range(1, settings.steps + 1):
        loss = there.take() + back.take()
        listen(Step("contrast", number, settings.steps, {"loss": loss / 2}))
        if stopped():
            break
    return TwoWay(there.maps(), back.maps())


@dataclass(frozen=True, eq=False)
class Entries:
    """The pairs of words whose cosines count, ordered by source word, and where lists and dictionary lie in them."""

    near: Lists
    pairs: Pairs
    matrix: _Pattern
    """(n, m): entry number e is the cosine of the source word and the target word at its e-th place."""
    transposed: _Pattern
    """(m, n): the same entries, ordered by target word."""
    there: Tensor
    back: Tensor
    chosen: Tensor
    """The entries of both lists, (n, k) and (m, k), and of the pairs."""

    def loss(self, cosines: Tensor, temperature: float) -> tuple[float, Tensor]:
        """The mean surprise at the dictionary's pairs, asked in both directions, and its slope at every cosine.

        By hand, not by autograd: sums of a fixed order give the same bits every time.
        """
        x, y, weights = self.pairs.source, self.pairs.target, self.pairs.scores / self.pairs.scores.sum()
        there, back, chosen = cosines[self.there], cosines[self.back], cosines[self.chosen]
        of_source, of_target = there[:, :NEIGHBOURHOOD].mean(dim=1), back[:, :NEIGHBOURHOOD].mean(dim=1)
        all_there = (2 * there - of_target[self.near.there.indices]) / temperature
        all_back = (2 * back - of_source[self.near.back.indices]) / temperature
        surprise_there = torch.logsumexp(all_there, dim=1)[x] - (2 * chosen - of_target[y]) / temperature
        surprise_back = torch.logsumexp(all_back, dim=1)[y] - (2 * chosen - of_source[x]) / temperature
        wanted = self._at(self.chosen, weights)
        found_there = self._at(self.there, self.matrix.sums(wanted).unsqueeze(1) * torch.softmax(all_there, dim=1))
        found_back = self._at(self.back, self.transposed.sums(wanted).unsqueeze(1) * torch.softmax(all_back, dim=1))
        slope = 2 * (found_there + found_back - 2 * wanted)
        slope[self.there[:, :NEIGHBOURHOOD]] += _shared(self.matrix.sums(wanted - found_back), there)
        slope[self.back[:, :NEIGHBOURHOOD]] += _shared(self.transposed.sums(wanted - found_there), back)
        return float((weights * (surprise_there + surprise_back)).sum()), slope / temperature

    def _at(self, places: Tensor, values: Tensor) -> Tensor:
        """(e,): these values at these entries, no two at the same, and nothing elsewhere."""
        made = torch.zeros(len(self.matrix.columns), dtype=values.dtype, device=values.device)
        made[places] = values
        return made


@dataclass(frozen=True, eq=False)
class _Pattern:
    """Where the entries of a sparse matrix stand; what stands there changes with every step."""

    begins: Tensor
    """(rows + 1,): where each row begins among them."""
    columns: Tensor
    """(e,): in which column each of them stands."""
    order: Tensor | None
    """(e,): their numbers, where they are not in order."""
    shape: tuple[int, int]

    @classmethod
    def of(cls, rows: Tensor, columns: Tensor, shape: tuple[int, int], order: Tensor | None = None) -> _Pattern:
        """Of entries that come row by row."""
        return cls(torch.searchsorted(rows, torch.arange(shape[0] + 1, device=rows.device)), columns, order, shape)

    def filled(self, values: Tensor) -> Tensor:
        """The sparse matrix with these values, by the number of the entry."""
        ordered = values if self.order is None else values[self.order]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse (CSR tensor support is in beta|invariant checks are)")
            made: Tensor = torch.sparse_csr_tensor(
                self.begins, self.columns, ordered, self.shape, check_invariants=False
            )
        return made

    def sums(self, values: Tensor) -> Tensor:
        """(rows,): the sum over the entries of each row."""
        return (self.filled(values) @ values.new_ones(self.shape[1], 1)).squeeze(1)


def entries_of(near: Lists, pairs: Pairs, known: Pairs | None = None) -> Entries:
    """Lists and a dictionary as entries. Pairs of which neither word has the other in its list are left out, but for
    those that are known: they have an entry of their own, and so are told from the rivals of their words.
    """
    there, back = near.there.indices, near.back.indices
    many, others = len(there), len(back)
    keys_there = torch.arange(many, device=there.device).unsqueeze(1) * others + there
    keys_back = back * others + torch.arange(others, device=there.device).unsqueeze(1)
    together = [keys_there.flatten(), keys_back.flatten()]
    if known is not None:
        pairs = joined(pairs, known, many, others)
        inside = (known.source < many) & (known.target < others)
        together.append(known.source[inside] * others + known.target[inside])
    keys, where = torch.unique(torch.cat(together), return_inverse=True)
    rows, columns = keys // others, keys % others
    order = columns.argsort(stable=True)
    pairs, chosen = _among(keys, pairs, others)
    return Entries(
        near,
        pairs,
        _Pattern.of(rows, columns, (many, others)),
        _Pattern.of(columns[order], rows[order], (others, many), order),
        where[: keys_there.numel()].view_as(keys_there),
        where[keys_there.numel() : keys_there.numel() + keys_back.numel()].view_as(keys_back),
        chosen,
    )


def _among(keys: Tensor, pairs: Pairs, others: int) -> tuple[Pairs, Tensor]:
    """The pairs that are entries, each once, and which entry each of them is."""
    wanted, which = torch.unique(pairs.source * others + pairs.target, return_inverse=True)
    scores = torch.zeros(len(wanted), dtype=pairs.scores.dtype, device=keys.device).index_add_(0, which, pairs.scores)
    place = torch.searchsorted(keys, wanted).clamp_max(len(keys) - 1)
    present = keys[place] == wanted
    return Pairs(wanted[present] // others, wanted[present] % others, scores[present]), place[present]


def slopes(entries: Entries, vectors: Both, matrices: Both, temperature: float) -> tuple[float, Both]:
    """The loss of two maps, and its slope at each of them."""
    carried = vectors[0] @ matrices[0], vectors[1] @ matrices[1]
    x, y = unit(carried[0]), unit(carried[1])
    loss, slope = entries.loss(_sampled(entries, x, y), temperature)
    at_x, at_y = entries.matrix.filled(slope) @ y, entries.transposed.filled(slope) @ x
    return loss, (
        vectors[0].mT @ _through_unit(at_x, x, carried[0]),
        vectors[1].mT @ _through_unit(at_y, y, carried[1]),
    )


def stepped(matrix: Tensor, gradient: Tensor, step: float) -> Tensor:
    """A step of that share of the matrix's length, and no longer a matrix than before: its length means nothing."""
    length = matrix.norm()
    moved = matrix - step * length * gradient / gradient.norm().clamp_min(SHORTEST)
    rescaled: Tensor = moved * (length / moved.norm())
    return rescaled


class _Descent:
    """Step after step with the two maps of one direction; the best of them is kept."""

    def __init__(self, vectors: Both, maps: Maps, entries: Entries, settings: ContrastSettings) -> None:
        self.vectors, self.matrices = vectors, (maps[0].matrix, maps[1].matrix)
        self.entries, self.settings = entries, settings
        self.best, self.least = self.matrices, math.inf

    def maps(self) -> Maps:
        """Those of the least loss, the last ones not yet measured included."""
        self._measured()
        return LinearMap(self.best[0]), LinearMap(self.best[1])

    def take(self) -> float:
        """One step of both maps along the gradient; the loss before it."""
        loss, (first, second) = self._measured()
        one, other = self.matrices
        self.matrices = stepped(one, first, self.settings.step), stepped(other, second, self.settings.step)
        return loss

    def _measured(self) -> tuple[float, Both]:
        loss, gradients = slopes(self.entries, self.vectors, self.matrices, self.settings.temperature)
        if loss < self.least:
            self.best, self.least = self.matrices, loss
        return loss, gradients


def _through_unit(slope: Tensor, directions: Tensor, carried: Tensor) -> Tensor:
    """From the gradient with respect to unit vectors to that with respect to the vectors they were made of."""
    along = (slope * directions).sum(dim=1, keepdim=True)
    lengths = carried.norm(dim=1, keepdim=True).clamp_min(1e-12)
    through: Tensor = (slope - along * directions) / lengths
    return through


def _shared(whole: Tensor, lists: Tensor) -> Tensor:
    """What falls to each of the nearest words that a density is the mean of."""
    many = min(NEIGHBOURHOOD, lists.shape[1])
    return (whole / many).unsqueeze(1).expand(-1, many)


def _sampled(entries: Entries, x: Tensor, y: Tensor) -> Tensor:
    """The cosines at the entries, and no others."""
    nothing = torch.zeros(len(entries.matrix.columns), dtype=x.dtype, device=x.device)
    values: Tensor = torch.sparse.sampled_addmm(entries.matrix.filled(nothing), x, y.mT, beta=0.0).values()
    return values
