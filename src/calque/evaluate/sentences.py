"""Retrieval of sentences: whether a sentence finds its translation among all sentences of the other language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from calque.errors import FormatError
from calque.evaluate.protocol import GoldData
from calque.linear.maps import unit
from calque.retrieval.exact import blocks, find
from calque.runs.alignment import Alignment

if TYPE_CHECKING:
    from calque.text.vectorizer import Array


@dataclass(frozen=True)
class ParallelTexts:
    """Texts of both languages; those at the same place are translations of each other."""

    source: Sequence[str]
    target: Sequence[str]


@dataclass(frozen=True)
class SentenceScore:
    """How often a sentence finds its translation, and how far down the list that is."""

    right: int
    """Sentences whose translation came first."""
    reciprocal_ranks: float
    """The sum of 1 / rank."""
    asked: int
    unknown: int
    """Sentences without a known word; they find nothing, and count as asked."""

    @property
    def accuracy(self) -> float:
        """Accuracy@1."""
        return self.right / self.asked

    @property
    def mean_reciprocal_rank(self) -> float:
        """MRR: 1 where the translation always comes first."""
        return self.reciprocal_ranks / self.asked

    def as_json(self) -> dict[str, Any]:
        """Shares and counts."""
        return {
            "accuracy": round(self.accuracy, 6),
            "mrr": round(self.mean_reciprocal_rank, 6),
            "right": self.right,
            "asked": self.asked,
            "unknown": self.unknown,
        }


@dataclass(frozen=True)
class SentenceRetrievalScore:
    """Both directions."""

    forward: SentenceScore
    backward: SentenceScore

    def rows(self) -> list[list[str]]:
        """A line for each direction."""
        table = [["direction", "accuracy@1", "MRR", "asked", "no known word"]]
        for direction, score in (("forward", self.forward), ("backward", self.backward)):
            shares = [f"{100 * score.accuracy:.1f} %", f"{score.mean_reciprocal_rank:.3f}"]
            table.append([direction, *shares, str(score.asked), str(score.unknown)])
        return table

    def as_json(self) -> dict[str, Any]:
        """As `calque sentences --json` prints it."""
        return {"forward": self.forward.as_json(), "backward": self.backward.as_json()}


@dataclass(frozen=True)
class SentenceRetrievalTask:
    """Accuracy@1 and mean reciprocal rank of sentences that are translations of each other."""

    target: Path = Path()
    """The texts of the target language."""
    text: str = "text"
    """The column of the texts."""
    number: str = "index_id"
    """The column by which texts correspond."""
    retrieval: Literal["nn", "csls"] = "csls"
    """How sentences are ranked."""
    options: Mapping[str, Any] = field(default_factory=lambda: {"weighting": "idf", "components": 1})
    """Settings of SpaceVectorizer."""
    name = "retrieval"
    gold_name = "texts"

    def load(self, path: Path) -> GoldData[ParallelTexts]:
        """The texts of the source language, with those of the target language that have the same number."""
        from calque.text.table import TextTable

        tables = [TextTable(file, self.text, self.number) for file in (path, self.target)]
        source, target = ({number: text for text, number in table.labelled()} for table in tables)
        both = [number for number in source if number in target]
        if len(both) < 2:
            raise FormatError(
                f"{path}: {len(both)} texts have a number that {self.target} has too (column {self.number!r}); "
                "expected 2 or more"
            )
        left = len(source) + len(target) - 2 * len(both)
        notes = (f"{left} texts have no translation in the other file, and are left out",) if left else ()
        return GoldData(ParallelTexts([source[x] for x in both], [target[x] for x in both]), notes)

    def remarks(self, alignment: Alignment, gold: ParallelTexts) -> tuple[str, ...]:  # noqa: ARG002
        """Whether the run can be trusted."""
        label = alignment.verdict.label
        return () if label == "aligned" else (f"the verdict on this run is {label}",)

    def score(self, alignment: Alignment, gold: ParallelTexts) -> SentenceRetrievalScore:
        """Every sentence asks for its translation, in both directions."""
        from calque.text.vectorizer import SpaceVectorizer

        source = SpaceVectorizer(alignment, "source", **self.options).fit(gold.source).transform(gold.source)
        target = SpaceVectorizer(alignment, "target", **self.options).fit(gold.target).transform(gold.target)
        return SentenceRetrievalScore(
            score_sentences(source, target, self.retrieval), score_sentences(target, source, self.retrieval)
        )


def score_sentences(queries: Array, candidates: Array, retrieval: str = "csls") -> SentenceScore:
    """Row i of one is the translation of row i of the other. A tie counts against us."""
    asking, asked, kind = torch.as_tensor(queries), torch.as_tensor(candidates), find(retrieval)
    penalty = kind.penalty(asking, asked)
    ranks: list[Tensor] = []
    for rows in blocks(len(asking), len(asked)):
        scores = kind.scale * (unit(asking[rows]) @ unit(asked).mT) - penalty
        own = scores.gather(1, torch.arange(len(asked))[rows].unsqueeze(1))
        ranks.append((scores >= own).sum(dim=1))
    rank, empty = torch.cat(ranks).double(), ~asking.any(dim=1)
    found = torch.where(empty, torch.zeros_like(rank), 1 / rank)
    right = int(((rank == 1) & ~empty).sum())
    return SentenceScore(right, float(found.sum()), len(asking), int(empty.sum()))
