"""Is this alignment real? Judged without labels, with the evidence in words and numbers.

Two things speak for a map: independent starts of the search found it, and its cost is far below that of the crowd, the
starts that ended elsewhere. The crowd shows what meaningless maps between the same two spaces look like. How many words
come back to themselves does not tell: two matrices of noise reach 65 % in thirty dimensions, real languages 30 to 66 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

Label = Literal["aligned", "doubtful", "failed"]

CLEAR = 6.0
"""A winner this many deviations below the crowd is seldom an accident: one unrelated pair in twenty gets so far."""
WORTH_A_DOUBT = 5.0
"""A winner that no other start found is at least doubtful from this many deviations on. One real pair in 250 with a
useful map got no further; one unrelated pair in ten gets so far."""
COLLAPSED = 0.05
"""Where fewer words than this come back to themselves, all words go to the same few, and agreement means nothing."""
KEPT = 0.2
"""A map that translates fewer words than this as its polished form does is not the map that the evidence speaks for."""
MOSTLY_KEPT = 0.4
"""Below this the two maps differ too much. Right maps kept 54 to 84 %; one right for a word in eight kept 24 %."""
ENOUGH = 1000
"""This many words are enough to judge a map."""
INTERRUPTED = "interrupted: somebody asked to stop before the end, so the maps may be worse than those of a whole run"
"""The first reason of a verdict on such a run."""
FEW_STARTS = 6
"""With this many starts or fewer, a reason does not say that all of them ended alike."""


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
    """Share of the frequent words that come back to themselves when translated there and back by the winner."""
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
    """For a map that the search did not find: the share of the frequent words that it translates in the same way after
    it is polished like a start. The figures above are then those of the polished map."""
    roles: tuple[str, ...] = ()
    """What became of every start, in the order they ran: winner, same, elsewhere, between, other arena."""


@dataclass(frozen=True)
class Verdict:
    """Whether to trust an alignment, and why."""

    label: Label
    reasons: tuple[str, ...]
    """The evidence in plain sentences, then what would help where help is needed."""
    evidence: Mapping[str, Any]
    interrupted: bool = field(default=False, compare=False)
    """Whether somebody asked to stop before the run was done. The record of a run says it, and this repeats it."""

    def __str__(self) -> str:
        """The label as people read it, such as 'aligned' or 'aligned (interrupted)'."""
        return f"{self.label} (interrupted)" if self.interrupted else self.label

    def after_interruption(self) -> Verdict:
        """The same verdict on a run that somebody asked to stop."""
        return self if self.interrupted else replace(self, reasons=(INTERRUPTED, *self.reasons), interrupted=True)

    def as_json(self) -> dict[str, Any]:
        """As it stands in a run folder."""
        return {"label": self.label, "reasons": list(self.reasons), "evidence": dict(self.evidence)}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any], interrupted: bool = False) -> Verdict:
        """The verdict in a run folder, where the record says whether the run was interrupted.

        KeyError, TypeError or ValueError where it is none.
        """
        if saved["label"] not in get_args(Label):
            raise ValueError(f"the verdict is {saved['label']!r}, expected one of {', '.join(get_args(Label))}")
        evidence = {
            name: tuple(value) if isinstance(value, list) else value for name, value in saved["evidence"].items()
        }
        return cls(saved["label"], tuple(saved["reasons"]), evidence, interrupted)


def judge(evidence: Evidence | None) -> Verdict:
    """aligned: clear of the crowd, and found again. failed: nothing speaks for it. doubtful: all else."""
    if evidence is None:
        return Verdict("doubtful", (f"the vocabularies are too small to judge a map; {ENOUGH} words would do",), {})
    label = _label(evidence)
    advice = () if label == "aligned" else (f"what would help: {_advice(evidence)}",)
    return Verdict(label, (*_reasons(evidence), *advice), asdict(evidence))


def _label(evidence: Evidence) -> Label:
    if evidence.cycle < COLLAPSED or (evidence.kept is not None and evidence.kept < KEPT):
        return "failed"
    if evidence.confirmed:
        return "aligned" if evidence.kept is None or evidence.kept >= MOSTLY_KEPT else "doubtful"
    # Half the clearance is something where a start agrees, or where the map came from elsewhere: that no start finds
    # it says little then. An interrupted search may have had no time for a crowd.
    supported = evidence.agreeing > 0 or evidence.kept is not None
    if evidence.clearance >= WORTH_A_DOUBT or (supported and (evidence.interrupted or evidence.clearance >= CLEAR / 2)):
        return "doubtful"
    return "failed"


def _reasons(evidence: Evidence) -> list[str]:
    others = evidence.starts - 1
    reasons = [
        _distance(evidence),
        f"{evidence.agreeing} of {others} other start{'s' * (others != 1)} found the same map (1 needed)",
    ]
    if evidence.crowd:
        reasons.append(
            f"{100 * evidence.cycle:.0f} % of frequent words come back to themselves when translated there and back "
            f"(failed starts: {100 * evidence.crowd_cycle:.0f} %)"
        )
    if evidence.kept is not None:
        reasons.append(
            "all this is about the map after it was polished like a start: it already translated "
            f"{100 * evidence.kept:.0f} % of frequent words in the same way ({100 * MOSTLY_KEPT:.0f} % needed)"
        )
    if evidence.gave_up:
        reasons.append(f"the search ended because {evidence.gave_up}")
    return reasons


def _distance(evidence: Evidence) -> str:
    """How far the winner's cost is below that of the crowd, where the crowd is large enough to say."""
    if evidence.agreeing + 1 == evidence.starts > FEW_STARTS:
        return f"all {evidence.starts} starts found the same map (cost {evidence.cost:.3f})"
    winner = f"the best of {evidence.starts} starts" if evidence.kept is None else "this map"
    if evidence.clearance == 0.0:
        return (
            f"{winner} has cost {evidence.cost:.3f}; too few starts ended elsewhere ({evidence.crowd}) to measure "
            "how much better it is"
        )
    if evidence.clearance < 0:
        return f"{winner} is worse than the rest: its cost is {evidence.cost:.3f}, the rest's {evidence.crowd_cost:.3f}"
    return (
        f"{winner} is {evidence.clearance:.1f} deviations better than the rest ({CLEAR:g} needed); "
        f"its cost is {evidence.cost:.3f}, the rest's {evidence.crowd_cost:.3f}"
    )


def _advice(evidence: Evidence) -> str:
    if evidence.confirmed and evidence.kept is not None and evidence.kept < MOSTLY_KEPT:
        return "more word pairs, or the recipe 'default', which needs none"
    if evidence.interrupted:
        return "to let it finish"
    more = f"more words ({evidence.words} in the smaller vocabulary)" if evidence.words < 2000 else "more text"
    pairs = "a few known pairs (--lexicon FILE)" if evidence.kept is None else "more word pairs"
    return f"{more}, vectors trained on more similar texts, word frequencies, another seed, or {pairs}"
