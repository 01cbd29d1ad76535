"""Judging alignments by what people wrote down, one file a task. Nothing in `methods` may import this."""

from calque.evaluate.classification import ClassificationScore, ClassificationTask
from calque.evaluate.protocol import EvaluationTask, GoldData, TaskScore
from calque.evaluate.sentences import SentenceRetrievalScore, SentenceRetrievalTask
from calque.evaluate.similarity import SimilarityScore, SimilarityTask, read_similarity, score_similarity
from calque.evaluate.tasks import TASKS
from calque.evaluate.translation import (
    Asked,
    DirectionScore,
    TranslationScore,
    TranslationTask,
    ask,
    learned_from,
    score_translation,
)

__all__ = [
    "TASKS",
    "Asked",
    "ClassificationScore",
    "ClassificationTask",
    "DirectionScore",
    "EvaluationTask",
    "GoldData",
    "SentenceRetrievalScore",
    "SentenceRetrievalTask",
    "SimilarityScore",
    "SimilarityTask",
    "TaskScore",
    "TranslationScore",
    "TranslationTask",
    "ask",
    "learned_from",
    "read_similarity",
    "score_similarity",
    "score_translation",
]
