"""Is this alignment real? Judged without labels, with the evidence in words and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Label = Literal["aligned", "doubtful", "failed"]

CLEAR = 6.0
"""A winner this many deviations below the crowd of failed starts is no accident: unrelated spaces reach about 4."""
CONSISTENT = 0.25
"""The least share of frequent words that find their way back, for an alignment that can be used."""


@dataclass(frozen=True)
class SearchEvidence:
    """What a search says for its winner."""

    cost: float
    """Sinkhorn cost of the winning start."""
    crowd_cost: float
    """Median cost of the starts that went elsewhere."""
    clearance: float
    """How many deviations of the crowd lie between the two."""
    starts: int
    """How many starts ran in all."""
    crowd: int
    """How many of the winner's arena went elsewhere."""
    agreeing: int
    """How many other starts, drawn independently, found the winner's map."""
    confirmed: bool
    """Whether the search ended because the winner was clear and found again."""
    gave_up: str = ""
    """Why it ended otherwise."""


@dataclass(frozen=True)
class Evidence(SearchEvidence):
    """What is known of an alignment without any dictionary."""

    cycle: float = 0.0
    """Share of the frequent source words whose best translation translates back to them."""
    words: int = 0
    """The smaller of the two vocabularies."""


@dataclass(frozen=True)
class Verdict:
    """Whether to trust an alignment, and why."""

    label: Label
    reasons: tuple[str, ...]
    """The evidence in plain sentences, then what would help where help is needed."""
    evidence: Mapping[str, Any]

    def __str__(self) -> str:
        return self.label


def judge(evidence: Evidence) -> Verdict:
    """aligned: clear of the crowd, found again, and consistent. failed: nothing speaks for it. Else doubtful."""
    label = _label(evidence)
    return Verdict(label, (*_reasons(evidence), *_advice(label, evidence)), asdict(evidence))


def _label(evidence: Evidence) -> Label:
    consistent = evidence.cycle >= CONSISTENT
    if evidence.confirmed and consistent:
        return "aligned"
    if evidence.confirmed or (evidence.agreeing > 0 and evidence.clearance >= CLEAR / 2):
        return "doubtful"
    return "failed"


def _reasons(evidence: Evidence) -> tuple[str, ...]:
    return (
        f"the best of {evidence.starts} starts ended at cost {evidence.cost:.3f}, those that went elsewhere at "
        f"{evidence.crowd_cost:.3f} (median): {evidence.clearance:.1f} deviations apart, {CLEAR:g} are asked for",
        f"{evidence.agreeing} other independent starts found the same map, at least 1 is asked for",
        f"{evidence.cycle:.0%} of the frequent words translate there and back to themselves, "
        f"{CONSISTENT:.0%} are asked for",
    )


def _advice(label: Label, evidence: Evidence) -> tuple[str, ...]:
    if label == "aligned":
        return ()
    few = f"more words ({evidence.words} in the smaller vocabulary)" if evidence.words < 2000 else "more text"
    return (f"what would help: {few}, vectors trained on more similar texts, word frequencies, or another seed",)
