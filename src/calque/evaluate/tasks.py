"""Every evaluation task by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from calque.evaluate.protocol import EvaluationTask, TaskScore
from calque.evaluate.similarity import SimilarityTask
from calque.evaluate.translation import TranslationTask

TASKS: Mapping[str, Callable[..., EvaluationTask[Any, TaskScore]]] = MappingProxyType(
    {"translation": TranslationTask, "similarity": SimilarityTask}
)
"""By name, what makes a task from its options."""
