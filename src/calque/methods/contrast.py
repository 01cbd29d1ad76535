"""The last stage: maps under which a word is nearer to its translation than to the rivals of that translation.

Maps in closed form bring translations together and know nothing of the words that are retrieved instead. Here the
dictionary of the refinement stays as it is, and each direction's two maps take a few gradient steps on

    Σ_(x,y) w(x,y) [ - log p(y | x) - log p(x | y) ] / Σ w,    p(y | x) ∝ exp(csls(x, y) / temperature)

over the nearest words of each: the pairs are made surer, in the measure by which words are sought in the end. What
Joulin et al. (2018) do with a known dictionary and a criterion linear in the cosines, this does with an induced one,
whose doubt it keeps: pairs that count for little hold the maps back from learning the dictionary by heart.

Only the cosines of words in each other's lists enter, some dozens a word, so a step costs a small part of a round of
refinement: sampled products, and their gradient as a product with a sparse matrix.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from calque.errors import SettingsError
from calque.maps import LinearMap, TwoWay
from calque.methods.correspondence import Lists, lists, trusted
from calque.methods.refinement import enough
from calque.preprocess import unit
from calque.progress import Listen, Step, never, quiet
from calque.retrieval import NEIGHBOURHOOD, Pairs

Maps = tuple[LinearMap, LinearMap]


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
    """How many of its nearest words a word is told from, on either side."""
    words: int = 20_000
    """How many of the most frequent words of each side take part."""

    def __post_init__(self) -> None:
        if self.steps < 0 or self.rivals < 1 or self.words < 1:
            raise SettingsError(
                f"steps is {self.steps}, rivals {self.rivals} and words {self.words}; expected at least 0, 1 and 1"
            )
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
) -> TwoWay:
    """The maps of both directions after some steps; the same ones where too few pairs are trusted to learn from."""
    source, target = source[: settings.words], target[: settings.words]
    if not settings.steps or stopped():
        return maps
    near = lists(source, target, maps, max(settings.rivals, NEIGHBOURHOOD))
    pairs = trusted(near, settings.temperature)
    if not enough(pairs, int(source.shape[1])):
        return maps
    entries = _entries(near, pairs)
    there = _Descent(source, target, maps.there, entries, settings)
    back = _Descent(source, target, maps.back, entries, settings)
    for number in range(1, settings.steps + 1):
        loss = there.take() + back.take()
        listen(Step("contrast", number, settings.steps, {"loss": loss / 2}))
        if stopped():
            break
    return TwoWay(there.maps(), back.maps())


@dataclass(frozen=True, eq=False)
class _Entries:
    """The pairs of words whose cosines count, ordered by source word, and where lists and dictionary lie in them."""

    near: Lists
    pairs: Pairs
    shape: tuple[int, int]
    rows: Tensor
    columns: Tensor
    """(e,) each: entry number e is the cosine of source word rows[e] and target word columns[e]."""
    by_column: Tensor
    """(e,): the entries ordered by target word."""
    there: Tensor
    back: Tensor
    chosen: Tensor
    """The entries of both lists, (n, k) and (m, k), and of the pairs."""

    def loss(self, cosines: Tensor, temperature: float) -> Tensor:
        """The mean surprise at the dictionary's pairs, asked in both directions."""
        there, back, chosen = cosines[self.there], cosines[self.back], cosines[self.chosen]
        density = there[:, :NEIGHBOURHOOD].mean(dim=1), back[:, :NEIGHBOURHOOD].mean(dim=1)
        x, y = self.pairs.source, self.pairs.target
        all_there = torch.logsumexp((2 * there - density[1][self.near.there.indices]) / temperature, dim=1)
        all_back = torch.logsumexp((2 * back - density[0][self.near.back.indices]) / temperature, dim=1)
        surprise_there = all_there[x] - (2 * chosen - density[1][y]) / temperature
        surprise_back = all_back[y] - (2 * chosen - density[0][x]) / temperature
        weighted = self.pairs.scores * (surprise_there + surprise_back)
        return weighted.sum() / self.pairs.scores.sum()

    def matrix(self, values: Tensor) -> Tensor:
        """(n, m) with these values at the entries and nothing elsewhere."""
        return _sparse(self.rows, self.columns, values, self.shape)

    def transposed(self, values: Tensor) -> Tensor:
        """(m, n)."""
        order = self.by_column
        return _sparse(self.columns[order], self.rows[order], values[order], (self.shape[1], self.shape[0]))


def _entries(near: Lists, pairs: Pairs) -> _Entries:
    there, back = near.there.indices, near.back.indices
    rows, columns = len(there), len(back)
    keys_there = torch.arange(rows, device=there.device).unsqueeze(1) * columns + there
    keys_back = back * columns + torch.arange(columns, device=there.device).unsqueeze(1)
    keys, where = torch.unique(torch.cat([keys_there.flatten(), keys_back.flatten()]), return_inverse=True)
    return _Entries(
        near,
        pairs,
        (rows, columns),
        keys // columns,
        keys % columns,
        (keys % columns).argsort(stable=True),
        where[: keys_there.numel()].view_as(keys_there),
        where[keys_there.numel() :].view_as(keys_back),
        torch.searchsorted(keys, pairs.source * columns + pairs.target),
    )


class _Descent:
    """Step after step with the two maps of one direction."""

    def __init__(
        self, source: Tensor, target: Tensor, maps: Maps, entries: _Entries, settings: ContrastSettings
    ) -> None:
        self.vectors = source, target
        self.matrices = [each.matrix for each in maps]
        self.entries, self.settings = entries, settings

    def maps(self) -> Maps:
        """Where it is."""
        return LinearMap(self.matrices[0]), LinearMap(self.matrices[1])

    def take(self) -> float:
        """One step of both maps along the gradient; the loss before it."""
        entries = self.entries
        carried = [vectors @ matrix for vectors, matrix in zip(self.vectors, self.matrices, strict=True)]
        x, y = unit(carried[0]), unit(carried[1])
        with torch.enable_grad():
            cosines = _sampled(entries, x, y).requires_grad_()
            loss = entries.loss(cosines, self.settings.temperature)
            (slope,) = torch.autograd.grad(loss, cosines)
        slopes = entries.matrix(slope) @ y, entries.transposed(slope) @ x
        for which, (vectors, lengths, directions) in enumerate(zip(self.vectors, carried, (x, y), strict=True)):
            matrix, gradient = self.matrices[which], vectors.mT @ _through_unit(slopes[which], directions, lengths)
            length = self.settings.step * matrix.norm() / gradient.norm().clamp_min(torch.finfo(gradient.dtype).tiny)
            self.matrices[which] = matrix - length * gradient
        return float(loss.detach())


def _through_unit(slope: Tensor, directions: Tensor, carried: Tensor) -> Tensor:
    """From the gradient with respect to unit vectors to that with respect to the vectors they were made of."""
    along = (slope * directions).sum(dim=1, keepdim=True)
    lengths = carried.norm(dim=1, keepdim=True).clamp_min(1e-12)
    through: Tensor = (slope - along * directions) / lengths
    return through


def _sampled(entries: _Entries, x: Tensor, y: Tensor) -> Tensor:
    """The cosines at the entries, and no others."""
    pattern = entries.matrix(torch.zeros(len(entries.rows), dtype=x.dtype, device=x.device))
    values: Tensor = torch.sparse.sampled_addmm(pattern, x, y.mT, beta=0.0).values()
    return values


def _sparse(rows: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    begins = torch.searchsorted(rows, torch.arange(shape[0] + 1, device=rows.device))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse (CSR tensor support is in beta|invariant checks are)")
        made: Tensor = torch.sparse_csr_tensor(begins, columns, values, shape, check_invariants=False)
    return made
