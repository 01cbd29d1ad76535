"""The second search, for pairs on which the quick one finds nothing: fewer starts, each of them far stronger.

A start is a first cross-covariance: from fused signs (fused_starts.py), from long profiles, or from words that both
languages spell alike. Each climbs (climb.py) on thousands of words. A start that climbed to the truth is trusted by
many more words than one that did not, and starts that know nothing of each other end at the same map. Both are asked
for: the most trusted map must stand clear of the crowd, and another start must have found it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from calque.data.preprocess import unit
from calque.errors import SettingsError
from calque.linear.closed_forms import nearest_orthogonal, principal
from calque.methods.default.alternation import AlternationSettings, Problem, alternate, random_rotation
from calque.methods.default.climb import ClimbSettings, climb, dictionary
from calque.methods.default.fused_starts import fused_start
from calque.methods.default.search import AGREE, APART, SMALLEST_CROWD, one_thread_each
from calque.methods.default.starts import long_profile_plan
from calque.progress import Listen, Step, never, quiet
from calque.verdict import CLEAR, COLLAPSED, Evidence

ASKED = 1000
"""By how many of the most frequent words two maps are compared."""
MEASURED = 4000
"""On how many of the most frequent words the trust of every start is measured, alike for all."""
CROWD = ClimbSettings(rounds=30, words=MEASURED, drawn=1600)
"""How random starts climb that make up a crowd, where too few starts went elsewhere to be one."""
LOOSE = AlternationSettings(sharpness=(10.0,), steps=(40,), scalings=3)
"""What follows long profiles: a plan that still allows for anything."""


@dataclass(frozen=True)
class DeepSearchSettings:
    """How long to look, and where."""

    rounds: int = 3
    """The search gives up after so many rounds; 0 leaves it out."""
    kinds: tuple[str, ...] = ("fused", "fused", "profiles", "fused")
    """The starts of a round."""
    again: int = 1
    """So many of the most trusted starts of a round climb a second time."""
    dimensions: int = 100
    """How many principal directions the starts climb in."""
    climb: ClimbSettings = field(default_factory=ClimbSettings)
    clear: float = CLEAR
    """How many deviations above the crowd's median trust a winner must stand."""

    def __post_init__(self) -> None:
        unknown = set(self.kinds) - {"fused", "profiles", "random"}
        if unknown or not self.kinds:
            raise SettingsError(f"kinds are {list(self.kinds)}; expected some of fused, profiles, random")
        if self.rounds < 0 or self.again < 0 or self.dimensions < 2:
            raise SettingsError(
                f"rounds is {self.rounds}, again {self.again} and dimensions {self.dimensions}; "
                "expected at least 0, 0 and 2"
            )


@dataclass(frozen=True, eq=False)
class Attempt:
    """A start after its climb."""

    kind: str
    gram: Tensor
    """The cross-covariance that it ended with, in the leading directions."""
    trust: float
    """The weights of its dictionary on the first ``MEASURED`` words, summed, as a share of them."""
    choices: Tensor
    """The nearest target word of each of the most frequent source words."""
    cycle: float
    """The share of those words that come back to themselves."""

    @property
    def rotation(self) -> Tensor:
        """Its map, in the leading directions."""
        return nearest_orthogonal(self.gram)

    def agrees(self, other: Attempt) -> float:
        """The share of the most frequent words that both translate alike."""
        return float((self.choices == other.choices).float().mean())


@dataclass(frozen=True, eq=False)
class Leading:
    """Both sides in their leading principal directions, where starts climb."""

    source: Tensor
    target: Tensor
    rows: Tensor
    columns: Tensor
    """The weights of the words."""
    full: Problem
    """The same words in all dimensions."""

    @classmethod
    def of(cls, problem: Problem, dimensions: int) -> Leading:
        """The sides of a problem, each in so many of its directions at most."""
        sides = []
        for vectors in (problem.source, problem.target):
            k = min(dimensions, int(vectors.shape[1]))
            sides.append(unit(principal(vectors, k).apply(vectors)))
        return cls(sides[0], sides[1], problem.rows, problem.columns, problem)

    def measured(self, kind: str, gram: Tensor, temperature: float) -> Attempt:
        """How a map does on the most frequent words."""
        x, y = self.source[:MEASURED], self.target[:MEASURED]
        pairs = dictionary(x, y, gram, 0.0, temperature)
        similarity = (x[:ASKED] @ nearest_orthogonal(gram)) @ y[:ASKED].mT
        choices, back = similarity.argmax(dim=1), similarity.argmax(dim=0)
        returned = back[choices] == torch.arange(len(choices), device=choices.device)
        trust = float(pairs.scores.sum()) / min(len(x), len(y))
        return Attempt(kind, gram, trust, choices, float(returned.double().mean()))


@dataclass(frozen=True, eq=False)
class DeepFound:
    """What the deep search came back with."""

    leader: Attempt
    evidence: Evidence
    attempts: tuple[Attempt, ...]

    @property
    def confirmed(self) -> bool:
        """Whether the leader stands clear of the crowd and was found again."""
        return self.evidence.confirmed


def deep_search(
    leading: Leading,
    settings: DeepSearchSettings,
    seed: int,
    earlier: Sequence[Attempt] = (),
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
) -> DeepFound | None:
    """Rounds of starts until a map is confirmed. ``earlier`` are attempts that count as starts of it, as hints are."""
    attempts, crowd = list(earlier), list[Attempt]()
    total = len(attempts) + settings.rounds * len(settings.kinds)
    found = standing(attempts, crowd, settings.clear, leading)
    for number in range(settings.rounds):
        if stopped() or (found is not None and found.confirmed):
            break
        ended = list[Attempt]()
        for attempt in in_threads(
            leading, lambda place, n=number: start(leading, settings, seed, n, place, stopped), len(settings.kinds)
        ):
            ended.append(attempt)
            listen(Step("deep search", len(attempts) + len(ended), total, told(attempt)))
        best = sorted(range(len(ended)), key=lambda place: -ended[place].trust)[: settings.again]
        higher = replace(settings.climb, power=settings.climb.power / 2)

        def again(place: int, n: int = number, e: list[Attempt] = ended, b: list[int] = best) -> Attempt:
            generator = generator_of(seed, 500 + n, b[place])
            climbed = climb(leading.source, leading.target, e[b[place]].gram, higher, generator, stopped=stopped)
            return leading.measured(e[b[place]].kind, climbed.gram, settings.climb.temperature)

        for place, attempt in zip(best, in_threads(leading, again, len(best)), strict=True):
            ended[place] = attempt
        attempts += ended
        found = standing(attempts, crowd, settings.clear, leading)
        if (
            found is not None
            and not found.confirmed
            and found.evidence.agreeing
            and found.evidence.crowd < SMALLEST_CROWD
        ):
            crowd += random_crowd(leading, settings, seed, stopped)
            found = standing(attempts, crowd, settings.clear, leading)
    return found


def told(attempt: Attempt) -> dict[str, float | str | tuple[float, ...]]:
    """What listeners hear of an attempt. Its cost is the share of trust that is missing: less is better."""
    return {"cost": 1 - attempt.trust, "kind": attempt.kind}


def generator_of(seed: int, number: int, place: int) -> torch.Generator:
    """Randomness of its own for every start."""
    return torch.Generator().manual_seed((seed * 1_000_003 + (700 + number) * 1_009 + place + 1) % 2**63)


def in_threads(leading: Leading, work: Callable[[int], Attempt], count: int) -> list[Attempt]:
    """Attempts side by side on a CPU, one thread each; one after the other on a GPU."""
    if leading.source.device.type != "cpu":
        return [work(place) for place in range(count)]
    with one_thread_each() as threads, ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, range(count)))


def start(
    leading: Leading, settings: DeepSearchSettings, seed: int, number: int, place: int, stopped: Callable[[], bool]
) -> Attempt:
    """One start of a round, and its climb."""
    generator = generator_of(seed, number, place)
    kind = settings.kinds[place]
    source, target = leading.source, leading.target
    if kind == "fused":
        gram = fused_start(source, target, number * len(settings.kinds) + place, generator, stopped)
    elif kind == "profiles":
        rows, columns, plan = long_profile_plan(leading.full.source, leading.full.target, generator)
        first = nearest_orthogonal(source[rows].mT @ (plan @ target[columns]))
        head = Problem(source, target, leading.rows, leading.columns).head(2000)
        gram = alternate(head, first, LOOSE, stopped).matrix
    else:
        gram = random_rotation(int(source.shape[1]), generator).to(source)
    climbed = climb(source, target, gram, settings.climb, generator, stopped=stopped)
    return leading.measured(kind, climbed.gram, settings.climb.temperature)


def random_crowd(
    leading: Leading, settings: DeepSearchSettings, seed: int, stopped: Callable[[], bool]
) -> list[Attempt]:
    """Maps that mean nothing: random rotations that climbed."""

    def one(place: int) -> Attempt:
        generator = generator_of(seed, 900, place)
        rotation = random_rotation(int(leading.source.shape[1]), generator).to(leading.source)
        climbed = climb(leading.source, leading.target, rotation, CROWD, generator, stopped=stopped)
        return leading.measured("random", climbed.gram, settings.climb.temperature)

    return in_threads(leading, one, SMALLEST_CROWD)


def standing(attempts: Sequence[Attempt], crowd: Sequence[Attempt], clear: float, leading: Leading) -> DeepFound | None:
    """How the most trusted attempt stands beside all others."""
    if not attempts:
        return None
    leader = max(attempts, key=lambda attempt: attempt.trust)
    others = [attempt for attempt in (*attempts, *crowd) if attempt is not leader]
    same = [attempt for attempt in others if attempt.agrees(leader) >= AGREE]
    elsewhere = [attempt for attempt in others if attempt.agrees(leader) < APART]
    clearance, middle = 0.0, leader.trust
    if elsewhere:
        middle = statistics.median(attempt.trust for attempt in elsewhere)
    if len(elsewhere) >= SMALLEST_CROWD:
        spread = statistics.median(abs(attempt.trust - middle) for attempt in elsewhere)
        clearance = (leader.trust - middle) / (1.4826 * max(spread, 1e-3 * middle, 1e-6))
    confirmed = leader.cycle >= COLLAPSED and len(same) >= 1 and clearance >= clear
    ids = {id(attempt): "same" for attempt in same} | {id(attempt): "elsewhere" for attempt in elsewhere}
    roles = tuple("winner" if attempt is leader else ids.get(id(attempt), "between") for attempt in attempts)
    evidence = Evidence(
        cost=1 - leader.trust,
        crowd_cost=1 - middle,
        clearance=clearance,
        cycle=leader.cycle,
        crowd_cycle=statistics.median(attempt.cycle for attempt in elsewhere or [leader]),
        starts=len(attempts),
        crowd=len(elsewhere),
        agreeing=len(same),
        confirmed=confirmed,
        gave_up="" if confirmed else "no start was confirmed",
        words=min(len(leading.source), len(leading.target)),
        roles=roles,
    )
    return DeepFound(leader, evidence, tuple(attempts))
