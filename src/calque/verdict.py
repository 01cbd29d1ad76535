"""Is this alignment real? Judged without labels, with the evidence in words and numbers.

What speaks for a map is that starts which know nothing of each other found it, and that it stands clear of the crowd,
the starts that ended elsewhere: what a map between the same two spaces looks like when it means nothing. How many words
find their way back does not tell: two matrices of noise reach 65 % in thirty dimensions, real languages 30 to 66 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

Label = Literal["aligned", "doubtful", "failed"]

CLEAR = 6.0
"""A winner this many deviations below the crowd is seldom an accident; one unrelated pair in twenty gets so far."""
WORTH_A_DOUBT = 5.0
"""Where a winner that no other start found stands clear by so much, something speaks for it: one real pair in 250 whose
map was of use came no further, and one unrelated pair in ten does."""
COLLAPSED = 0.05
"""Where fewer words than this find their way back, all go to the same few: that starts agree then means nothing."""
KEPT = 0.2
"""A map that translates fewer words than this as its polished form does is not the map that the evidence speaks for."""
MOSTLY_KEPT = 0.4
"""Below this it is a poor likeness: right maps kept 54 to 84 %, one that was right for one word in eight 24 %."""
ENOUGH = 1000
FEW_STARTS = 6
"""So many starts are too few to speak of all of them."""


@dataclass(frozen=True)
class Evidence:
    """What is known of an alignment without any dictionary."""

    cost: float
    """Sinkhorn cost of the winning start."""
    crowd_cost: float
    """Median cost of the starts that went elsewhere."""
    clearance: float
    """How many deviations of the crowd lie between the two."""
    cycle: float
    """Share of the frequent words whose nearest word has them as its nearest, under the winner."""
    crowd_cycle: float
    """The same in the crowd (median)."""
    starts: int
    """How many starts ran in all."""
    crowd: int
    """How many of the winner's arena went elsewhere."""
    agreeing: int
    """How many other starts, drawn independently, found the winner's map."""
    confirmed: bool
    """Whether the search ended because the winner was clear and found again."""
    gave_up: str
    """Why it ended otherwise."""
    words: int
    """The smaller of the two vocabularies."""
    interrupted: bool = False
    """Whether somebody asked to stop before the evidence was complete."""
    kept: float | None = None
    """For a map that was not found by the search: the share of the frequent words that it translates as it does once
    polished like a start. The figures above are then those of its polished form."""
    roles: tuple[str, ...] = ()
    """What became of every start, in the order they ran: winner, same, elsewhere, between, other arena."""


@dataclass(frozen=True)
class Verdict:
    """Whether to trust an alignment, and why."""

    label: Label
    reasons: tuple[str, ...]
    """The evidence in plain sentences, then what would help where help is needed."""
    evidence: Mapping[str, Any]

    def __str__(self) -> str:
        return self.label

    def as_json(self) -> dict[str, Any]:
        """As a run folder tells it; ``verdict_from`` gives it back."""
        return {"label": self.label, "reasons": list(self.reasons), "evidence": dict(self.evidence)}


def verdict_from(told: Mapping[str, Any]) -> Verdict:
    """The verdict that a run folder tells; KeyError, TypeError or ValueError where it tells none."""
    if told["label"] not in get_args(Label):
        raise ValueError(f"the verdict is {told['label']!r}, expected one of {', '.join(get_args(Label))}")
    evidence = {name: tuple(each) if isinstance(each, list) else each for name, each in told["evidence"].items()}
    return Verdict(told["label"], tuple(told["reasons"]), evidence)


def judge(evidence: Evidence | None) -> Verdict:
    """aligned: clear of the crowd, and found again. failed: nothing speaks for it. Else doubtful."""
    if evidence is None:
        return Verdict("doubtful", (f"the vocabularies are too small to judge a map; {ENOUGH} words would do",), {})
    label = _label(evidence)
    return Verdict(label, (*_reasons(evidence), *_advice(label, evidence)), asdict(evidence))


def _label(evidence: Evidence) -> Label:
    if evidence.cycle < COLLAPSED or (evidence.kept is not None and evidence.kept < KEPT):
        return "failed"
    if evidence.confirmed and (evidence.kept is None or evidence.kept >= MOSTLY_KEPT):
        return "aligned"
    return "doubtful" if evidence.confirmed or _something_speaks_for(evidence) else "failed"


def _something_speaks_for(evidence: Evidence) -> bool:
    """Nearly clear of the crowd, alone; or half as clear, where a start agrees or the map came from elsewhere.

    Of a search that was interrupted it is enough that a start agrees: there may have been no time for a crowd.
    """
    if evidence.clearance >= WORTH_A_DOUBT:
        return True
    if evidence.interrupted and (evidence.agreeing > 0 or evidence.kept is not None):
        return True
    return evidence.clearance >= CLEAR / 2 and (evidence.agreeing > 0 or evidence.kept is not None)


def _reasons(evidence: Evidence) -> tuple[str, ...]:
    told = [
        _distance(evidence),
        f"{evidence.agreeing} other independent start{'s' * (evidence.agreeing != 1)} found the same map; "
        "at least 1 is asked for",
    ]
    if evidence.crowd:
        told.append(
            f"{evidence.cycle:.0%} of the frequent words are their neighbour's neighbour, where starts went elsewhere "
            f"{evidence.crowd_cycle:.0%}"
        )
    if evidence.kept is not None:
        told.append(
            f"all this of the map once polished like a start: of the frequent words it translated {evidence.kept:.0%} "
            f"so already; {MOSTLY_KEPT:.0%} are asked for"
        )
    if evidence.gave_up:
        told.append(f"the search ended because {evidence.gave_up}")
    return tuple(told)


def _distance(evidence: Evidence) -> str:
    """How the winner stands to the crowd, where there is one large enough to say."""
    if evidence.agreeing + 1 == evidence.starts > FEW_STARTS:
        return f"all {evidence.starts} starts ended alike, at cost {evidence.cost:.3f}"
    best = f"the best of {evidence.starts} starts ended at cost {evidence.cost:.3f}"
    if evidence.kept is not None:
        best = f"beside {evidence.starts - 1} starts that knew nothing of it the map ended at cost {evidence.cost:.3f}"
    if evidence.clearance == 0.0:
        return f"{best}; too few ended elsewhere ({evidence.crowd}) to measure how clear of them it is"
    if evidence.clearance < 0:
        return f"{best}, worse than those that went elsewhere, at {evidence.crowd_cost:.3f}"
    return (
        f"{best}, those that went elsewhere at {evidence.crowd_cost:.3f}: "
        f"{evidence.clearance:.1f} deviations apart; {CLEAR:g} are asked for"
    )


def _advice(label: Label, evidence: Evidence) -> tuple[str, ...]:
    if label == "aligned":
        return ()
    if evidence.confirmed and evidence.kept is not None and evidence.kept < MOSTLY_KEPT:
        return ("what would help: more word pairs, or the recipe 'default', which needs none",)
    if evidence.interrupted:
        return ("what would help: to let it finish",)
    few = f"more words ({evidence.words} in the smaller vocabulary)" if evidence.words < 2000 else "more text"
    others = "vectors trained on more similar texts, word frequencies, another seed"
    pairs = "a few known pairs (--recipe artetxe2017 --lexicon FILE)" if evidence.kept is None else "more word pairs"
    return (f"what would help: {few}, {others}, or {pairs}",)
