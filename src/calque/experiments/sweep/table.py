"""From runs to the rows of one table: a direction and a recipe each, over all seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean, stdev

from calque.experiments.jobs import Run
from calque.experiments.sweep.plan import Key, Pair, Plan
from calque.experiments.sweep.working import Lost
from calque.recipes import Recipe

VERDICTS = "aligned", "doubtful", "failed"


@dataclass(frozen=True)
class Row:
    """One recipe in one direction."""

    source: str
    target: str
    recipe: str
    retrieval: str
    values: tuple[float, ...]
    """accuracy@1 in per cent, of the runs that have one."""
    asked: float
    """Words that could be asked, on average."""
    missing: float
    """Words of the lexicon that could not."""
    verdicts: Mapping[str, int]
    finished: int
    """Runs that came to an end, well or not."""
    seeds: int
    """Runs there are in the plan."""
    errors: tuple[str, ...]
    """Why figures are missing, each line once."""
    seconds: float | None
    """To align, on average."""

    @property
    def direction(self) -> str:
        """'es-en'."""
        return f"{self.source}-{self.target}"

    @property
    def mean(self) -> float | None:
        """Of the accuracy."""
        return fmean(self.values) if self.values else None

    @property
    def deviation(self) -> float | None:
        """Of the sample; None for a single value."""
        return stdev(self.values) if len(self.values) > 1 else None

    @property
    def pending(self) -> bool:
        """Whether a figure or a verdict is still to come."""
        return self.finished < self.seeds


@dataclass(frozen=True)
class Grid:
    """A plan, and what came of it so far."""

    plan: Plan
    runs: Mapping[Key, Run[Key]]
    lost: Mapping[Key, Lost]

    def rows(self, retrieval: str = "") -> Iterator[Row]:
        """Pairs in the order of the plan, each there and back, each by every recipe."""
        chosen = retrieval or self.plan.retrieval
        for pair in self.plan.pairs:
            for back in (False, True):
                for recipe in self.plan.recipes:
                    yield self._row(pair, back, recipe, chosen)

    def _row(self, pair: Pair, back: bool, recipe: Recipe, retrieval: str) -> Row:
        direction = pair.back if back else pair.name
        keys = [Key(pair.name, recipe.name, seed) for seed in self.plan.seeds]
        runs = [self.runs[key] for key in keys if key in self.runs]
        scores = [each.score.translation[direction][retrieval] for each in runs if direction in each.score.translation]
        whys = [run.error(direction) for run in runs] + [self.lost[key].error for key in keys if key in self.lost]
        return Row(
            *((pair.target, pair.source) if back else (pair.source, pair.target)),
            recipe.name,
            retrieval,
            tuple(100 * each.accuracy(1) for each in scores),
            fmean(each.asked for each in scores) if scores else 0.0,
            fmean(each.missing for each in scores) if scores else 0.0,
            Counter(run.making.verdict.split()[0] for run in runs if run.making.verdict),
            len(runs),
            len(keys),
            tuple(dict.fromkeys(" ".join(why.split()) for why in whys if why)),
            fmean(run.making.seconds for run in runs) if runs else None,
        )
