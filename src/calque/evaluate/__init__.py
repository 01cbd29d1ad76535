"""Judging alignments against what people wrote down. Nothing in `methods` may import this."""

from calque.evaluate.similarity import SimilarityScore, read_similarity, score_similarity
from calque.evaluate.translation import Asked, DirectionScore, TranslationScore, ask, score_translation

__all__ = [
    "Asked",
    "DirectionScore",
    "SimilarityScore",
    "TranslationScore",
    "ask",
    "read_similarity",
    "score_similarity",
    "score_translation",
]
