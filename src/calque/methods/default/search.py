"""From many cheap starts to one that can be believed.

Starts compete in arenas (few words, few dimensions). Each ends at a cost. The leader must stand clear of the crowd of
starts that went elsewhere, and a second start, drawn independently, must have found the same map. Until then the
search goes on, round after round, within its bounds.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor

from calque.errors import SettingsError
from calque.linear.closed_forms import nearest_orthogonal
from calque.methods.default.alternation import AlternationSettings, Problem, alternate
from calque.methods.default.starts import Arena, build_arena, find
from calque.progress import Listen, Step, never, quiet
from calque.transport import SinkhornSettings, sinkhorn, sqrt_cosine_cost
from calque.verdict import CLEAR, COLLAPSED, Evidence


@dataclass(frozen=True)
class SearchSettings:
    """How long and where to look for a first map."""

    words: tuple[int, ...] = (500, 1000, 1000)
    """How many of the most frequent words compete in the arena of each round; arenas are taken in turn."""
    dimensions: tuple[int, ...] = (30, 50, 30)
    """How many principal directions those arenas have; each is cut to what the vectors have."""
    pool: int = 2000
    """How many of the most frequent words a start may look at; profiles draw from 2,000 at most."""
    kinds: tuple[str, ...] = ("profiles", "random")
    """Kinds of start, side by side in every round."""
    starts: tuple[int, ...] = (4, 8)
    """Starts of each kind in a round; the random ones, which seldom succeed, are the crowd."""
    rounds: int = 3
    """The search gives up after so many rounds."""
    clear: float = CLEAR
    """How many deviations below the crowd's median cost a winner must stand."""
    alternation: AlternationSettings = field(default_factory=lambda: AlternationSettings(scalings=3))

    def __post_init__(self) -> None:
        for kind in self.kinds:
            find(kind)
        if not self.kinds or not self.dimensions:
            raise SettingsError("kinds and dimensions of a search must not be empty: there would be nothing to run")
        if len(self.words) != len(self.dimensions) or len(self.starts) != len(self.kinds):
            raise SettingsError(
                f"a search has {len(self.words)} words to {len(self.dimensions)} dimensions and {len(self.starts)} "
                f"starts to {len(self.kinds)} kinds; expected one to each"
            )
        if min(self.pool, self.rounds, *self.starts, *self.words, *self.dimensions) < 1:
            raise SettingsError("words, pool, starts, rounds and dimensions of a search must be at least 1")


AGREE = 0.5
"""Two starts found the same map where they translate at least this share of the words alike."""
APART = 0.2
"""They went elsewhere where it is less than this."""
SMALLEST_CROWD = 6


@dataclass(frozen=True, eq=False)
class Finish:
    """Where one start ended."""

    kind: str
    arena: int
    """Which of the arenas, by number."""
    cost: float
    matrix: Tensor
    """(k, k), in the arena's dimensions."""
    choices: Tensor
    """(words,): the nearest target word of each source word under the map."""
    cycle: float
    """The share of the arena's words whose nearest word has them as its nearest."""
    path: tuple[float, ...] = ()
    """Its cost after every turn."""

    def told(self) -> dict[str, float | str | tuple[float, ...]]:
        """What listeners hear of it."""
        return {"cost": self.cost, "kind": self.kind, "path": tuple(round(each, 4) for each in self.path)}


@dataclass(frozen=True, eq=False)
class Standing:
    """How the leader of an arena stands among all that finished there."""

    leader: Finish
    same: tuple[Finish, ...]
    """Other starts that found the same map."""
    crowd: tuple[Finish, ...]
    """Those that went elsewhere."""
    clearance: float
    """Deviations between the leader's cost and the crowd's median; 0 where the crowd is too small to say."""

    @property
    def agreeing(self) -> int:
        """How many other starts found the same map."""
        return len(self.same)

    def confirmed(self, clear: float) -> bool:
        """Clear of the crowd and found twice; where there is no crowd, because nearly all found the same."""
        if self.leader.cycle < COLLAPSED:
            return False
        if len(self.crowd) < SMALLEST_CROWD:
            return self.agreeing > len(self.crowd) + SMALLEST_CROWD
        return self.agreeing >= 1 and self.clearance >= clear


@dataclass(frozen=True, eq=False)
class Found:
    """What the search came back with."""

    standing: Standing
    arenas: tuple[Arena, ...]
    finishes: tuple[Finish, ...]
    """Every start, in the order they ran."""
    confirmed: bool
    gave_up: str
    """Why it ended unconfirmed; empty where it did not."""

    @property
    def arena(self) -> Arena:
        """That of the winner."""
        return self.arenas[self.standing.leader.arena]

    def evidence(self, words: int) -> Evidence:
        """What the search says for its winner."""
        return evidence_of(self.standing, self.finishes, words, self.confirmed, self.gave_up)

    def lifted(self) -> Tensor:
        """The winner in all dimensions."""
        return lift(self.arena, self.standing.leader.matrix)


def search(
    full: Problem,
    settings: SearchSettings,
    seed: int,
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
) -> Found:
    """Starts of every kind, arena after arena, until one is confirmed."""
    most, total = int(full.source.shape[1]), settings.rounds * sum(settings.starts)
    finishes, gave_up = list[Finish](), f"no start was confirmed in {settings.rounds} rounds"
    with one_thread_each() as threads, ThreadPoolExecutor(threads) as pool:
        sizes = dict.fromkeys(
            (min(k, most), words) for k, words in zip(settings.dimensions, settings.words, strict=True)
        )
        arenas = [build_arena(full.head(settings.pool), *size) for size in sizes]
        runner = _Runner(seed, pool, stopped)
        for number in range(settings.rounds):
            place = number % len(arenas)
            for finish in runner.round(arenas[place], place, number, settings):
                finishes.append(finish)
                listen(Step("search", len(finishes), total, {**finish.told(), "dimensions": len(finish.matrix)}))
            standing = best_standing(finishes, settings.clear)
            if standing.confirmed(settings.clear):
                return Found(standing, tuple(arenas), tuple(finishes), True, "")
            if stopped():
                gave_up = "it was interrupted"
                break
    return Found(standing, tuple(arenas), tuple(finishes), False, gave_up)


def lift(arena: Arena, matrix: Tensor) -> Tensor:
    """The orthogonal map in all dimensions that follows the transport plan of an arena's map between its words."""
    cost = sqrt_cosine_cost(arena.problem.source @ matrix, arena.problem.target)
    plan = sinkhorn(cost, arena.problem.rows, arena.problem.columns, SinkhornSettings(40.0, iterations=30))
    rows, columns = len(arena.problem.source), len(arena.problem.target)
    return nearest_orthogonal(arena.full.source[:rows].mT @ ((plan.matrix / cost) @ arena.full.target[:columns]))


def rounds_of_starts(
    arena: Arena, settings: SearchSettings, seed: int, stopped: Callable[[], bool] = never
) -> Iterator[list[Finish]]:
    """Rounds of starts in one arena, as many as the settings allow, each run when it is asked for."""
    with one_thread_each() as threads, ThreadPoolExecutor(threads) as pool:
        runner = _Runner(seed, pool, stopped)
        for number in range(settings.rounds):
            yield list(runner.round(arena, 0, number, settings))


@dataclass(frozen=True)
class _Runner:
    """Runs rounds of starts."""

    seed: int
    pool: ThreadPoolExecutor
    stopped: Callable[[], bool]

    def round(self, arena: Arena, which: int, number: int, settings: SearchSettings) -> Iterator[Finish]:
        """All starts of one round, as they end: on a CPU one to a thread, elsewhere all in one batch."""
        kinds = [kind for kind, count in zip(settings.kinds, settings.starts, strict=True) for _ in range(count)]
        together = 1 if arena.problem.source.device.type == "cpu" else len(kinds)

        def run(begin: int) -> list[Finish]:
            if begin and self.stopped():
                return []
            positions = range(begin, min(begin + together, len(kinds)))
            firsts = [find(kinds[each])(arena, _generator(self.seed, number, each)) for each in positions]
            ended = alternate(arena.problem, firsts[0] if together == 1 else torch.stack(firsts), settings.alternation)
            matrices, paths = ended.matrix.reshape(-1, *firsts[0].shape), ended.path.reshape(len(firsts), -1).tolist()
            return [
                finish_of(arena, which, kinds[each], matrix, path)
                for each, matrix, path in zip(positions, matrices, paths, strict=True)
            ]

        for part in self.pool.map(run, range(0, len(kinds), together)):
            yield from part


def finish_of(arena: Arena, which: int, kind: str, matrix: Tensor, path: Sequence[float]) -> Finish:
    """A start that went this way to this map, with the words that choose each other under it."""
    similarity = (arena.problem.source @ matrix) @ arena.problem.target.mT
    choices, back = similarity.argmax(dim=1), similarity.argmax(dim=0)
    returned = back[choices] == torch.arange(len(choices), device=choices.device)
    return Finish(kind, which, path[-1], matrix, choices, float(returned.double().mean()), tuple(path))


def _generator(seed: int, number: int, position: int) -> torch.Generator:
    """Randomness of its own for every start, so that no start depends on how many ran before it."""
    return torch.Generator().manual_seed((seed * 1_000_003 + number * 1_009 + position + 1) % 2**63)


@contextmanager
def one_thread_each() -> Iterator[int]:
    """As many starts at once as torch has threads, each on one thread.

    That is faster than many threads on one start, and the result of a start cannot depend on their number.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield threads
    finally:
        torch.set_num_threads(threads)


def best_standing(finishes: Sequence[Finish], clear: float = CLEAR) -> Standing:
    """The arena whose leader is confirmed, or nearest to it: found again by another start, then clearest."""
    arenas = sorted({each.arena for each in finishes})
    standings = [standing_of([each for each in finishes if each.arena == arena]) for arena in arenas]
    return max(standings, key=lambda each: (each.confirmed(clear), each.agreeing > 0, each.clearance))


def standing_of(finishes: Sequence[Finish], leader: Finish | None = None) -> Standing:
    """How one of the starts of an arena, the cheapest if none is named, stands among the others."""
    leader = leader or min(finishes, key=lambda each: each.cost)
    alike = {id(each): agreement(each, leader) for each in finishes if each is not leader}
    crowd = tuple(each for each in finishes if alike.get(id(each), 1.0) < APART)
    same = tuple(each for each in finishes if alike.get(id(each), 0.0) >= AGREE)
    return Standing(leader, same, crowd, _clearance(leader.cost, [each.cost for each in crowd]))


def agreement(one: Finish, other: Finish) -> float:
    """The share of words that two starts of one arena translate alike."""
    return float((one.choices == other.choices).float().mean())


def _clearance(cost: float, crowd: Sequence[float]) -> float:
    if len(crowd) < SMALLEST_CROWD:
        return 0.0
    middle = statistics.median(crowd)
    spread = statistics.median(abs(each - middle) for each in crowd)
    return (middle - cost) / (1.4826 * max(spread, 1e-6))


def roles(standing: Standing, finishes: Sequence[Finish]) -> tuple[str, ...]:
    """What became of every start: the winner, the same map as it, elsewhere, between the two, or in another arena."""
    same, crowd = ({id(each) for each in some} for some in (standing.same, standing.crowd))

    def role(finish: Finish) -> str:
        if finish is standing.leader:
            return "winner"
        if id(finish) in same:
            return "same"
        if finish.arena != standing.leader.arena:
            return "other arena"
        return "elsewhere" if id(finish) in crowd else "between"

    return tuple(map(role, finishes))


def evidence_of(standing: Standing, finishes: Sequence[Finish], words: int, confirmed: bool, gave_up: str) -> Evidence:
    """What a search says for its winner: the leader beside the medians of its crowd."""
    leader, crowd = standing.leader, standing.crowd or (standing.leader,)
    return Evidence(
        cost=leader.cost,
        crowd_cost=statistics.median(each.cost for each in crowd),
        clearance=standing.clearance,
        cycle=leader.cycle,
        crowd_cycle=statistics.median(each.cycle for each in crowd),
        starts=len(finishes),
        crowd=len(standing.crowd),
        agreeing=standing.agreeing,
        confirmed=confirmed,
        gave_up=gave_up,
        words=words,
        roles=roles(standing, finishes),
    )
