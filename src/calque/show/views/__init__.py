"""What there is to see in a run, as numbers that both the figures and the explorer show."""

from calque.show.views.accuracy import Band, JudgedWord, accuracy_by_frequency, judge_words
from calque.show.views.positions import Positions, Projection, fit_projection, linear_map, positions, undo_map
from calque.show.views.search_starts import SEARCH_STAGES, SearchStart, search_starts
from calque.show.views.word_choice import (
    different_names,
    language_names,
    mutual_translations,
    rows_of,
    translations_to_show,
)

__all__ = [
    "SEARCH_STAGES",
    "Band",
    "JudgedWord",
    "Positions",
    "Projection",
    "SearchStart",
    "accuracy_by_frequency",
    "different_names",
    "fit_projection",
    "judge_words",
    "language_names",
    "linear_map",
    "mutual_translations",
    "positions",
    "rows_of",
    "search_starts",
    "translations_to_show",
    "undo_map",
]
