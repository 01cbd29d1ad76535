"""The second search, for pairs on which the quick one finds nothing: fewer starts, each of them far stronger.

A start is a first cross-covariance of the two languages: by fused signs (fused_starts.py), by long profiles, or by a
hint (hints.py). Each climbs (climb.py) on thousands of words. A map that climbed to the truth is trusted by many more
words than one that did not, and starts that know nothing of each other climb to the same map. Both are asked for: the
most trusted map must stand clear of the crowd, and another start must have found it too.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

import torch
from torch import Tensor

from calque.errors import SettingsError
from calque.linear.closed_forms import nearest_orthogonal, principal
from calque.linear.maps import unit
from calque.methods.default.alternation import AlternationSettings, Problem, alternate, random_rotation
from calque.methods.default.climb import ClimbSettings, climb, dictionary
from calque.methods.default.fused_starts import fused_start
from calque.methods.default.search import APART, SMALLEST_CROWD, one_thread_each
from calque.methods.default.starts import long_profile_plan
from calque.progress import Listen, Step, never, quiet
from calque.verdict import CLEAR, COLLAPSED, Evidence

KINDS = ("fused", "profiles")
ASKED = 1000
"""By how many of the most frequent words two maps are compared."""
AGREE = 0.3
"""Two starts found the same map if they translate this share of those words alike. Rough maps of a hard pair, right
for two words in five, agree on 40 % of them; maps that mean nothing agree on 1 %."""
MEASURED = 4000
"""On how many of the most frequent words the trust in a map is measured, alike for all."""
LEAST_SPREAD = 0.01
"""The crowd's trust is taken to vary by this share at least: a handful of starts may be alike by accident."""
MOST_CLIMBS = 3
"""No start climbs more often than this."""
LOOSE = AlternationSettings(sharpness=(10.0,), steps=(40,), scalings=3)
"""What follows long profiles: a plan that still allows for anything."""
CROWD = ClimbSettings(rounds=30, words=MEASURED, drawn=1600)
"""How random starts climb that fill up a crowd."""


@dataclass(frozen=True)
class DeepSearchSettings:
    """How long to look, and where."""

    rounds: int = 6
    """The search gives up after so many rounds. 0: no deep search."""
    starts: int = 2
    """New starts in a round; in later rounds as many earlier ones climb again, the most trusted first."""
    kinds: tuple[str, ...] = ("fused", "profiles", "fused", "fused")
    """Kinds of start, taken in turn."""
    dimensions: int = 100
    """How many principal directions the starts climb in."""
    climb: ClimbSettings = field(default_factory=ClimbSettings)
    clear: float = CLEAR
    """How many deviations above the crowd's trust a winner must stand."""

    def __post_init__(self) -> None:
        unknown = next((kind for kind in self.kinds if kind not in KINDS), None)
        if unknown is not None or not self.kinds:
            raise SettingsError(f"no kind of start is called {unknown!r}; expected some of: {', '.join(KINDS)}")
        if self.rounds < 0 or self.starts < 1 or self.dimensions < 2:
            raise SettingsError(
                f"rounds is {self.rounds}, starts {self.starts} and dimensions {self.dimensions}; "
                "expected at least 0, 1 and 2"
            )


@dataclass(frozen=True, eq=False)
class Attempt:
    """A start after its climb."""

    kind: str
    gram: Tensor
    """The cross-covariance that it climbed to, in the leading directions."""
    trust: float
    """The weights of the dictionary on the first ``MEASURED`` words, summed, as a share of these words."""
    choices: Tensor
    """The nearest target word of each of the most frequent source words."""
    cycle: float
    """The share of those words that come back to themselves."""
    climbs: int = 1

    def values(self) -> dict[str, float | str | tuple[float, ...]]:
        """What listeners hear of it. Its cost is the share of trust that is missing: less is better."""
        return {"cost": 1 - self.trust, "kind": self.kind}

    def agreement(self, other: Attempt) -> float:
        """The share of the most frequent words that both translate alike."""
        return float((self.choices == other.choices).float().mean())


@dataclass(frozen=True, eq=False)
class Leading:
    """Both sides in their leading principal directions, where starts climb."""

    source: Tensor
    target: Tensor
    full: Problem
    """The same words in all dimensions."""

    @classmethod
    def of(cls, problem: Problem, dimensions: int) -> Leading:
        """Both sides in so many directions, fewer where they have fewer."""
        k = min(dimensions, int(problem.source.shape[1]))
        source, target = (unit(principal(side, k).apply(side)) for side in (problem.source, problem.target))
        return cls(source, target, problem)

    def measured(self, kind: str, gram: Tensor, climbs: int = 1) -> Attempt:
        """How far the map of this cross-covariance is trusted, and what it translates to what."""
        x, y = self.source[:MEASURED], self.target[:MEASURED]
        trust = float(dictionary(x, y, gram, 0.0, 0.2).scores.sum()) / min(len(x), len(y))
        similarity = (x[:ASKED] @ nearest_orthogonal(gram)) @ y[:ASKED].mT
        choices, back = similarity.argmax(dim=1), similarity.argmax(dim=0)
        returned = back[choices] == torch.arange(len(choices), device=choices.device)
        return Attempt(kind, gram, trust, choices, float(returned.double().mean()), climbs)


@dataclass(frozen=True, eq=False)
class DeepFound:
    """What the deep search found: its most trusted map, and what speaks for it."""

    leader: Attempt
    evidence: Evidence
    attempts: tuple[Attempt, ...]


def deep_search(
    leading: Leading,
    settings: DeepSearchSettings,
    seed: int,
    hinted: Sequence[Attempt] = (),
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
) -> DeepFound | None:
    """Rounds of starts until a map is confirmed. ``hinted`` are attempts by hints: they are starts like all others."""
    attempts, crowd = list(hinted), random_crowd(leading, seed, stopped)
    found = judged(attempts, crowd, settings.clear, leading)
    total = len(attempts) + settings.rounds * settings.starts
    higher = replace(settings.climb, power=settings.climb.power / 2)
    for number in range(settings.rounds):
        if stopped() or (found is not None and found.evidence.confirmed):
            break
        best = sorted(range(len(attempts)), key=lambda place: -attempts[place].trust)
        again = [place for place in best if attempts[place].climbs < MOST_CLIMBS][: settings.starts]
        jobs = [
            partial(_new, leading, settings, seed, number * settings.starts + k, stopped)
            for k in range(settings.starts)
        ]
        jobs += [partial(_again, leading, higher, seed, 1000 * number + p, attempts[p], stopped) for p in again]
        ended = in_threads(jobs, leading.source.device)
        for place, attempt in zip(again, ended[settings.starts :], strict=True):
            attempts[place] = attempt
        for attempt in ended[: settings.starts]:
            attempts.append(attempt)
            listen(Step("deep search", len(attempts), total, attempt.values()))
        found = judged(attempts, crowd, settings.clear, leading)
    return found


def _new(
    leading: Leading, settings: DeepSearchSettings, seed: int, number: int, stopped: Callable[[], bool]
) -> Attempt:
    """Start ``number`` of the search, after its climb."""
    generator, kind = _generator(seed, number), settings.kinds[number % len(settings.kinds)]
    source, target = leading.source, leading.target
    if kind == "fused":
        gram = fused_start(source, target, number, generator, stopped)
    else:
        rows, columns, plan = long_profile_plan(leading.full.source, leading.full.target, generator)
        first = nearest_orthogonal(source[rows].mT @ (plan @ target[columns]))
        head = Problem(source, target, leading.full.rows, leading.full.columns).head(2000)
        gram = alternate(head, first, LOOSE, stopped).matrix
    return leading.measured(kind, climb(source, target, gram, settings.climb, generator, stopped=stopped))


def _again(
    leading: Leading,
    settings: ClimbSettings,
    seed: int,
    number: int,
    attempt: Attempt,
    stopped: Callable[[], bool],
) -> Attempt:
    """An attempt after another climb, where that one is more trusted."""
    generator = _generator(seed, 50_000 + number)
    gram = climb(leading.source, leading.target, attempt.gram, settings, generator, stopped=stopped)
    higher = leading.measured(attempt.kind, gram, attempt.climbs + 1)
    return higher if higher.trust > attempt.trust else replace(attempt, climbs=attempt.climbs + 1)


def random_crowd(leading: Leading, seed: int, stopped: Callable[[], bool] = never) -> list[Attempt]:
    """Maps that mean nothing, to compare with: random rotations that climbed a little."""

    def one(number: int) -> Attempt:
        generator = _generator(seed, 90_000 + number)
        rotation = random_rotation(int(leading.source.shape[1]), generator).to(leading.source)
        return leading.measured(
            "random", climb(leading.source, leading.target, rotation, CROWD, generator, stopped=stopped)
        )

    return in_threads([partial(one, number) for number in range(SMALLEST_CROWD)], leading.source.device)


def in_threads(jobs: Sequence[Callable[[], Attempt]], device: torch.device) -> list[Attempt]:
    """The jobs side by side on a CPU, one thread each; one after the other on a GPU."""
    if device.type != "cpu":
        return [job() for job in jobs]
    with one_thread_each() as threads, ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda job: job(), jobs))


def _generator(seed: int, number: int) -> torch.Generator:
    """Randomness of its own for every start, so that no start depends on how many ran before it."""
    return torch.Generator().manual_seed((seed * 1_000_003 + 700_000_001 + number) % 2**63)


def judged(attempts: Sequence[Attempt], crowd: Sequence[Attempt], clear: float, leading: Leading) -> DeepFound | None:
    """How the most trusted attempt stands beside all others; None where there is none."""
    if not attempts:
        return None
    leader = max(attempts, key=lambda attempt: attempt.trust)
    agreement = {id(attempt): attempt.agreement(leader) for attempt in (*attempts, *crowd) if attempt is not leader}
    same = [attempt for attempt in attempts if agreement.get(id(attempt), 0.0) >= AGREE]
    elsewhere = [attempt for attempt in (*attempts, *crowd) if agreement.get(id(attempt), 1.0) < APART]
    middle = statistics.median([attempt.trust for attempt in elsewhere] or [leader.trust])
    clearance = 0.0
    if len(elsewhere) >= SMALLEST_CROWD:
        spread = statistics.median(abs(attempt.trust - middle) for attempt in elsewhere)
        clearance = (leader.trust - middle) / (1.4826 * max(spread, LEAST_SPREAD * middle, 1e-6))
    confirmed = leader.cycle >= COLLAPSED and len(same) >= 1 and clearance >= clear
    role = {id(leader): "winner"} | {id(attempt): "elsewhere" for attempt in elsewhere}
    role |= {id(attempt): "same" for attempt in same}
    evidence = Evidence(
        cost=1 - leader.trust,
        crowd_cost=1 - middle,
        clearance=clearance,
        cycle=leader.cycle,
        crowd_cycle=statistics.median([attempt.cycle for attempt in elsewhere] or [leader.cycle]),
        starts=len(attempts),
        crowd=len(elsewhere),
        agreeing=len(same),
        confirmed=confirmed,
        gave_up="" if confirmed else "no start was confirmed",
        words=min(len(leading.source), len(leading.target)),
        roles=tuple(role.get(id(attempt), "between") for attempt in attempts),
    )
    return DeepFound(leader, evidence, tuple(attempts))
