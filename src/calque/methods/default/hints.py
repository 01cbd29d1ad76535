"""Hints: word pairs that are said to translate each other, and words that both languages spell alike.

A hint is a start like any other: it climbs, and must be confirmed. Half of the pairs make one attempt and the other
half another, so that the two know nothing of each other. Where they end alike, no search is needed.

Given pairs also help at the end, where they join the dictionary of the last stages, as far as they can be believed.
Some are wrong. So each pair is judged by maps that were learned without it (``cross_validated``): a right pair is near
under such maps, a wrong one lies anywhere. The same maps tell how accurate the alignment is on words it was not told.
Words spelled alike are a start only: too many of them are names or false friends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from calque.linear.closed_forms import TwoWay
from calque.methods.default.alternation import Problem
from calque.methods.default.climb import ClimbSettings, climb
from calque.methods.default.deep_search import Attempt, Leading, in_threads
from calque.methods.default.refinement import RefinementSettings, refine
from calque.progress import never
from calque.retrieval.exact import Pairs, find, neighbours

KNOWS_MUCH = 100
"""From so many pairs on the map is a rotation from the first round: all its directions are known."""
SHARED_ENOUGH = 50
"""Words spelled alike are used where there are so many of them."""
SHORTEST = 4
"""Letters of a word that is not a number: shorter ones are alike by accident."""
FEW = 12
"""With fewer pairs than twice this, attempts share some pairs; half of them would know too little."""
ATTEMPTS = 4
"""How many attempts so few pairs make."""
NEAR = 0.002
"""On average a right pair has at least this share of the candidates above it: a word may have other translations."""
FOLDS = 2
JUDGED_WORDS = 8000
"""The maps that judge the pairs learn from the dictionary of so many words of each side."""


@dataclass(frozen=True)
class Hints:
    """Rows of source and target words that are said to correspond."""

    source: Tensor
    target: Tensor
    kind: str
    """pairs or spelling."""

    def __len__(self) -> int:
        return len(self.source)

    def rows(self) -> tuple[Tensor, Tensor]:
        """Both columns."""
        return self.source, self.target

    def some(self, chosen: Tensor) -> Hints:
        """Those at these places."""
        return replace(self, source=self.source[chosen], target=self.target[chosen])

    def within(self, words: int, problem: Problem) -> Hints:
        """Those of the most frequent words of both sides."""
        rows, columns = min(words, len(problem.source)), min(words, len(problem.target))
        return self.some((self.source < rows) & (self.target < columns))


@dataclass(frozen=True, eq=False)
class PairReport:
    """What is known of the given pairs without having learned from them."""

    hints: Hints
    weights: Tensor
    """(pairs,): the probability that a pair is right, from maps that were learned without it."""
    suggestions: Tensor
    """(pairs,): the row of the target word that those maps find for the source word."""
    accuracy: tuple[float, float, float]
    """The share of source words translated rightly by maps that were not told them, and its 95 % interval."""
    asked: int
    """How many source words that is."""

    def as_json(self) -> dict[str, Any]:
        """For the record of a run: rows of the pairs that the maps disagree with, the least believed first."""
        wrong = (self.weights < 0.5).nonzero().flatten()
        wrong = wrong[self.weights[wrong].argsort(stable=True)]
        columns = torch.stack([self.hints.source[wrong], self.hints.target[wrong], self.suggestions[wrong]], dim=1)
        return {
            "used": len(self.hints),
            "accuracy": round(self.accuracy[0], 4),
            "interval": [round(bound, 4) for bound in self.accuracy[1:]],
            "asked": self.asked,
            "disagree": len(wrong),
            "rows": columns.tolist(),
        }


def spelled_alike(source: Sequence[str], target: Sequence[str]) -> Hints:
    """Words that both sides spell alike: numbers, and words of four letters or more.

    Rows that are only numbered, as those of arrays are, spell nothing.
    """
    none = torch.zeros(0, dtype=torch.long)
    if any(all(word == str(row) for row, word in enumerate(words)) for words in (source, target)):
        return Hints(none, none, "spelling")
    rows = {word: row for row, word in enumerate(target)}
    pairs = [
        (row, rows[word])
        for row, word in enumerate(source)
        if word in rows and (word.isdigit() or (len(word) >= SHORTEST and any(letter.isalpha() for letter in word)))
    ]
    columns = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)
    return Hints(columns[:, 0], columns[:, 1], "spelling")


def attempts_by(
    leading: Leading, hints: Hints, settings: ClimbSettings, seed: int, stopped: Callable[[], bool] = never
) -> list[Attempt]:
    """Attempts that know different halves of the hints; four that share some where there are few hints."""
    seen = hints.within(settings.words, leading.full)
    if not len(seen):
        return []
    generator = torch.Generator().manual_seed((seed * 1_000_003 + 611) % 2**63)
    parts = halves(seen, generator)
    if min(len(part) for part in parts) < FEW:
        share = max(1, math.ceil(0.7 * len(seen)))
        parts = [seen.some(torch.randperm(len(seen), generator=generator)[:share]) for _ in range(ATTEMPTS)]
    power = settings.power if len(seen) < 2 * KNOWS_MUCH else 0.0
    short = replace(settings, power=power, rounds=settings.rounds if power else max(1, settings.rounds // 3))

    def one(number: int) -> Attempt:
        source, target = parts[number].rows()
        own = torch.Generator().manual_seed((seed * 1_000_003 + 7_000 + number) % 2**63)
        gram = leading.source[source].mT @ leading.target[target]
        known = (source, target) if hints.kind == "pairs" else None
        gram = climb(leading.source, leading.target, gram, short, own, known, stopped)
        return leading.measured(hints.kind, gram)

    return in_threads([partial(one, number) for number in range(len(parts))], leading.source.device)


def halves(hints: Hints, generator: torch.Generator) -> list[Hints]:
    """Two halves that share no source word."""
    words, word_of_pair = torch.unique(hints.source, return_inverse=True)
    fold = (torch.randperm(len(words), generator=generator) % FOLDS)[word_of_pair]
    return [hints.some(fold == number) for number in range(FOLDS)]


def cross_validated(
    source: Tensor,
    target: Tensor,
    maps: TwoWay,
    hints: Hints,
    settings: RefinementSettings,
    seed: int,
    stopped: Callable[[], bool] = never,
) -> PairReport:
    """Judge every pair by maps that start from ``maps`` and learn from the other half of the pairs alone."""
    generator = torch.Generator().manual_seed((seed * 1_000_003 + 613) % 2**63)
    words, word_of_pair = torch.unique(hints.source, return_inverse=True)
    fold = (torch.randperm(len(words), generator=generator) % FOLDS)[word_of_pair]
    short = replace(settings, rounds=2, fewest=1, words=min(settings.words, JUDGED_WORDS))
    ranks, suggestions, right = (
        torch.ones(len(hints)),
        torch.zeros(len(hints), dtype=torch.long),
        torch.zeros(len(hints)),
    )
    for number in range(FOLDS):
        held, rest = (fold == number).nonzero().flatten(), (fold != number).nonzero().flatten()
        if not len(held):
            continue
        known = Pairs(
            hints.source[rest].to(source.device),
            hints.target[rest].to(source.device),
            torch.ones(len(rest), device=source.device),
        )
        learned = refine(source, target, maps, short, known=known, stopped=stopped)
        there = [side.apply(vectors) for side, vectors in zip(learned.there, (source, target), strict=True)]
        csls = find("csls")
        penalty = csls.penalty(there[0][:JUDGED_WORDS], there[1])
        asked, wanted = hints.source[held], hints.target[held]
        queries = there[0][asked.to(source.device)]
        best = neighbours(queries, there[1], 1, csls, penalty)
        suggestions[held] = best.indices[:, 0].cpu()
        right[held] = (suggestions[held] == wanted).float()
        ranks[held] = share_above(queries, there[1], penalty, wanted.to(source.device)).cpu()
    correct = torch.zeros(len(words)).scatter_reduce(0, word_of_pair, right, "amax")
    return PairReport(hints, belief(ranks), suggestions, wilson(float(correct.sum()), len(words)), len(words))


def share_above(queries: Tensor, candidates: Tensor, penalty: Tensor, wanted: Tensor) -> Tensor:
    """(q,): the share of all candidates that rank above the wanted one, by CSLS. A wrong pair has any share."""
    queries = queries / queries.norm(dim=1, keepdim=True).clamp_min(1e-12)
    candidates = candidates / candidates.norm(dim=1, keepdim=True).clamp_min(1e-12)
    shares = []
    for rows in torch.split(torch.arange(len(queries), device=queries.device), 1000):
        scores = 2 * queries[rows] @ candidates.mT - penalty
        own = scores.gather(1, wanted[rows].unsqueeze(1))
        shares.append((scores > own).float().mean(dim=1))
    return torch.cat(shares) if shares else queries.new_zeros(0)


def belief(shares: Tensor) -> Tensor:
    """The probability that a pair is right, from the share of candidates above it.

    A mixture of two kinds of pair: wrong ones lie anywhere (uniform), right ones near the top (exponential with some
    mean). Mean and proportion are estimated by expectation and maximisation.
    """
    if not len(shares):
        return shares
    right, mean = 0.8, 0.01
    posterior = shares
    for _ in range(50):
        near = right / mean * (-shares / mean).exp()
        posterior = near / (near + (1 - right))
        right = min(0.99, max(0.01, float(posterior.mean())))
        mean = min(0.1, max(NEAR, float((posterior * shares).sum() / posterior.sum().clamp_min(1e-9))))
    return posterior


def wilson(right: float, asked: int) -> tuple[float, float, float]:
    """A share with its 95 % interval (Wilson)."""
    if asked == 0:
        return 0.0, 0.0, 1.0
    share, z = right / asked, 1.96
    middle = (share + z * z / (2 * asked)) / (1 + z * z / asked)
    half = z / (1 + z * z / asked) * math.sqrt(share * (1 - share) / asked + z * z / (4 * asked * asked))
    return share, max(0.0, middle - half), min(1.0, middle + half)
