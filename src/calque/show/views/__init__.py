"""What there is to see in a run, as numbers: `plots` draws them, `web` sends them to the page."""

from calque.show.views.chosen import names_of, rows_of, told_apart
from calque.show.views.hubs import Hubs, hubs
from calque.show.views.judged import Answer, Band, answers, by_frequency, learned_from
from calque.show.views.pairs import telling, translations
from calque.show.views.plan import PlanOfWords, plan_of
from calque.show.views.positions import Positions, Projection, fit_projection, positions
from calque.show.views.spectra import Spectra, spectra
from calque.show.views.stages import Course, Worth, courses_of, worth_of_stages
from calque.show.views.starts import Start, starts_of

__all__ = [
    "Answer",
    "Band",
    "Course",
    "Hubs",
    "PlanOfWords",
    "Positions",
    "Projection",
    "Spectra",
    "Start",
    "Worth",
    "answers",
    "by_frequency",
    "courses_of",
    "fit_projection",
    "hubs",
    "learned_from",
    "names_of",
    "plan_of",
    "positions",
    "rows_of",
    "spectra",
    "starts_of",
    "telling",
    "told_apart",
    "translations",
    "worth_of_stages",
]
