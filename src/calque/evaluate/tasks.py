"""Every evaluation task by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from calque.evaluate.classification import ClassificationTask
from calque.evaluate.protocol import EvaluationTask, TaskScore
from calque.evaluate.sentences import SentenceRetrievalTask
from calque.evaluate.similarity import SimilarityTask
from calque.evaluate.translation import TranslationTask

TASKS: Mapping[str, Callable[..., EvaluationTask[Any, TaskScore]]] = MappingProxyType(
    {
        "translation": TranslationTask,
        "similarity": SimilarityTask,
        "classification": ClassificationTask,
        "retrieval": SentenceRetrievalTask,
    }
)
"""By name, what makes a task from its options."""
