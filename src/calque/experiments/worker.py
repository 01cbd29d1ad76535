"""What a worker does: one method on one pair with one seed or several, aligned, judged and perhaps saved."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from calque import recipes
from calque.data.space import Space
from calque.errors import CalqueError, LexiconError, RunError
from calque.evaluate import (
    ClassificationTask,
    DirectionScore,
    SentenceRetrievalTask,
    SimilarityScore,
    SimilarityTask,
    TranslationTask,
)
from calque.evaluate.classification import AT_HOME, TOPLINE, Language
from calque.evaluate.similarity import Judged
from calque.experiments.gold import WordPairs
from calque.experiments.jobs import Watch, cores
from calque.experiments.plan import TextFiles
from calque.experiments.results import RETRIEVALS, ExperimentKey, FinishedRun, LostRun, Provenance, Score, failed_score
from calque.recipes import Recipe
from calque.runs.alignment import Alignment

TRANSLATIONS = 10
"""A word of the test language stands halfway to its so many best translations, as in `calque classify`."""
METHOD_FAILURES = (CalqueError, ArithmeticError, torch.linalg.LinAlgError)  # type: ignore[attr-defined]
"""Errors that are the method's own: such a run is kept as failed. After any other error the run is tried again."""


@dataclass(frozen=True)
class Engine:
    """What finds and runs recipes; tests use their own."""

    find: Callable[[str], Recipe] = recipes.find
    run: Callable[..., Alignment] = recipes.run
    run_seeds: Callable[..., list[Alignment]] = recipes.run_seeds


@dataclass(frozen=True)
class Judges:
    """The gold data that judges one run, and what is known of the run before it is made."""

    key: ExperimentKey
    provenance: Provenance
    lexicons: Mapping[str, WordPairs]
    """By direction, forward first."""
    similarities: Sequence[Judged] | None = None
    texts: TextFiles | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    """Gold data that could not be read, as the score says it."""


@dataclass(frozen=True)
class SeedBatch:
    """Everything that a worker must know: seeds of one method on one pair."""

    judges: Mapping[int, tuple[Judges, ...]]
    """By seed. One alignment may be judged by several lexicons, each as a run of its own."""
    recipe: Recipe
    device: str
    engine: Engine = field(default_factory=Engine)
    training: WordPairs | None = None
    judged: bool = True
    """Whether calque judges the alignment without the lexicon too."""
    folders: Mapping[int, Path] = field(default_factory=dict)
    """By seed, where the run is saved."""


def make_runs(batch: SeedBatch, spaces: Sequence[Space], watch: Watch) -> list[FinishedRun | LostRun]:
    """The runs of a batch. If it fails as a whole, its seeds are tried one by one. No runs once asked to stop."""
    began, seeds = time.monotonic(), list(batch.judges)
    options: dict[str, Any] = {"device": batch.device, "listen": watch.listen, "stopped": watch.stopped}
    try:
        if len(seeds) > 1:
            alignments = batch.engine.run_seeds(batch.recipe, *spaces, seeds, **options)
        else:
            options |= {"seed": seeds[0], "judged": batch.judged}
            options |= {} if batch.training is None else {"lexicon": batch.training.drawn_by(seeds[0])}
            alignments = [batch.engine.run(batch.recipe, *spaces, **options)]
    except Exception as error:
        if len(seeds) > 1:
            return _one_by_one(batch, spaces, watch)
        if not isinstance(error, METHOD_FAILURES):
            raise
        seconds = round(time.monotonic() - began, 3)
        return [
            FinishedRun(judges.key, failed_score(error), replace(judges.provenance, seconds=seconds))
            for judges in batch.judges[seeds[0]]
        ]
    if watch.stopped():
        return []
    seconds = round((time.monotonic() - began) / len(seeds), 3)
    judged = (_judged(batch, seed, alignment, seconds) for seed, alignment in zip(seeds, alignments, strict=True))
    return [run for runs in judged for run in runs]


def _one_by_one(batch: SeedBatch, spaces: Sequence[Space], watch: Watch) -> list[FinishedRun | LostRun]:
    runs: list[FinishedRun | LostRun] = []
    for seed, judges in batch.judges.items():
        try:
            runs += make_runs(replace(batch, judges={seed: judges}), spaces, watch)
        except Exception as error:
            runs.append(LostRun(judges[-1].key, error))
    return runs


def _judged(batch: SeedBatch, seed: int, alignment: Alignment, seconds: float) -> list[FinishedRun | LostRun]:
    """A run for each lexicon that judges the alignment, which is saved if that is wanted."""
    runs: list[FinishedRun | LostRun] = []
    for judges in batch.judges[seed]:
        began = time.monotonic()
        score = judge(judges, alignment)
        provenance = replace(
            judges.provenance,
            verdict=str(alignment.verdict),
            seconds=seconds,
            scoring=round(time.monotonic() - began, 3),
            together=len(batch.judges),
            device=machine(alignment.record.device),
            saved=seed in batch.folders,
        )
        runs.append(FinishedRun(judges.key, score, provenance))
    if seed in batch.folders:
        try:
            alignment.save(batch.folders[seed], overwrite=True)
        except RunError as error:
            return [LostRun(run.key, error, unreadable=True) for run in runs]
    return runs


def judge(judges: Judges, alignment: Alignment) -> Score:
    """The score by each kind of gold data that there is; one that cannot be used does not stop the other."""
    errors: dict[str, str] = dict(judges.errors)
    translation: dict[str, Mapping[str, DirectionScore]] = {}
    similarity: SimilarityScore | None = None
    if judges.lexicons:
        try:
            forward, *back = (pairs.drawn_by(judges.key.seed) for pairs in judges.lexicons.values())
            score = TranslationTask(RETRIEVALS).score(alignment, (forward, back[0] if back else None))
            translation = dict(zip(judges.lexicons, (score.forward, score.backward), strict=False))
        except LexiconError as error:
            errors |= dict.fromkeys(judges.lexicons, str(error))
    if judges.similarities is not None:
        try:
            similarity = SimilarityTask().score(alignment, list(judges.similarities))
        except LexiconError as error:
            errors["similarity"] = str(error)
    texts = {} if judges.texts is None else judge_texts(judges.key.pair, judges.texts, alignment, errors)
    return Score(translation, similarity, errors, texts)


def judge_texts(
    pair: str, files: TextFiles, alignment: Alignment, errors: dict[str, str]
) -> dict[str, Mapping[str, float]]:
    """Texts of both languages, classified from each language to the other, and found in the other one."""
    scores: dict[str, Mapping[str, float]] = {}
    sides: tuple[Language, Language] = ("source", "target")
    names = pair.split("-")
    for here, side in enumerate(sides):
        there, judge_name = 1 - here, f"classification {names[here]}-{names[1 - here]}"
        task = ClassificationTask(
            files.train[here],
            side,
            files.text,
            files.label,
            options={"translations": TRANSLATIONS},
            topline=files.train[there],
            home=files.test[here],
        )
        try:
            score = task.score(alignment, task.load(files.test[there]).data)
            figures = {"accuracy": score.accuracy, "macro_f1": score.macro_f1, "majority": score.majority}
            figures |= {"home": score.comparisons[AT_HOME], "topline": score.comparisons[TOPLINE]}
            scores[judge_name] = {**figures, "texts": score.texts, "unknown": score.unknown, "coverage": score.coverage}
        except CalqueError as error:
            errors[judge_name] = str(error)
    finding = SentenceRetrievalTask(files.test[1], files.text, files.number)
    try:
        found = finding.score(alignment, finding.load(files.test[0]).data)
        for direction, part in ((pair, found.forward), ("-".join(names[::-1]), found.backward)):
            scores[f"retrieval {direction}"] = {"accuracy": part.accuracy, "mrr": part.mean_reciprocal_rank}
    except CalqueError as error:
        errors |= dict.fromkeys((f"retrieval {pair}", f"retrieval {'-'.join(names[::-1])}"), str(error))
    return scores


def machine(device: str) -> str:
    """'cpu, 2 cores' or 'NVIDIA H200, 16 cores', for a device as torch calls it."""
    name = torch.cuda.get_device_name(device) if device.startswith("cuda") and torch.cuda.is_available() else "cpu"
    return f"{name}, {cores()} cores"
