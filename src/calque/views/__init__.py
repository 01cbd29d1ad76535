"""What there is to see in a run, as numbers: `plots` draws them, `web` sends them to the page."""

from calque.views.judged import Answer, Band, answers, by_frequency
from calque.views.positions import Positions, Projection, fit_projection, positions
from calque.views.starts import Start, starts_of

__all__ = [
    "Answer",
    "Band",
    "Positions",
    "Projection",
    "Start",
    "answers",
    "by_frequency",
    "fit_projection",
    "positions",
    "starts_of",
]
