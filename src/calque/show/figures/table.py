"""Every figure by name, and the way from a run to the bytes of a picture."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calque.data.lexicon import Lexicon
from calque.errors import MissingExtraError, SettingsError
from calque.runs.alignment import Alignment
from calque.show.figures import convergence, frequency, hubs, plan, search, spectra, words
from calque.show.figures.lettering import lettering
from calque.show.figures.scene import HOUSE, Scene

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES: dict[str, Callable[[Scene], Figure]] = {
    "words": words.draw,
    "search": search.draw,
    "convergence": convergence.draw,
    "hubs": hubs.draw,
    "frequency": frequency.draw,
    "spectra": spectra.draw,
    "plan": plan.draw,
}
UNDATED: dict[str, dict[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
FORMATS = tuple(UNDATED)
NARROWEST, WIDEST = 3.0, 30.0
LETTERED = 20_000
"""Fonts are sought for so many of the most frequent words: no figure names others, unless they are chosen."""


@dataclass(frozen=True)
class Drawn:
    """Pictures, and what could not be drawn."""

    pictures: dict[str, dict[str, bytes]]
    """By figure and format."""
    left_out: dict[str, str]
    """Why, by figure."""
    notes: tuple[str, ...] = ()


def draw(
    alignment: Alignment,
    figures: Sequence[str] = (),
    formats: Sequence[str] = ("png",),
    words: Sequence[str] = (),
    lexicon: Lexicon | None = None,
    width: float = 3.3,
) -> Drawn:
    """These figures of a run; all that it can give where none is named. One named that cannot be drawn is an error."""
    for given, known, what in ((figures, FIGURES, "figure"), (formats, UNDATED, "format of pictures")):
        wrong = next((each for each in given if each not in known), None)
        if wrong is not None:
            raise SettingsError(f"no {what} is called {wrong!r}; there are: {', '.join(known)}")
    if not formats:
        raise SettingsError(f"no format was named; there are: {', '.join(UNDATED)}")
    if not NARROWEST <= width <= WIDEST:
        raise SettingsError(f"the width is {width:g}; expected {NARROWEST:g} to {WIDEST:g} inches")
    try:
        from matplotlib import style
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plots", "a figure") from error
    except ValueError as error:
        raise SettingsError(f"matplotlib does not start: {error}; look at $MPLBACKEND and its matplotlibrc") from error
    frequent = (*alignment.source.words[:LETTERED], *alignment.target.words[:LETTERED], *words)
    letters = lettering((*frequent, alignment.source.name, alignment.target.name))
    scene = Scene(alignment, letters, lexicon, tuple(words), width)
    pictures, left_out = dict[str, dict[str, bytes]](), dict[str, str]()
    with style.context(["default", {**HOUSE, "font.family": list(letters.families)}]):
        for name in dict.fromkeys(figures or FIGURES):
            try:
                figure = FIGURES[name](scene)
            except SettingsError as error:
                if figures:
                    raise SettingsError(f"the figure {name!r} cannot be drawn: {error}") from error
                left_out[name] = str(error)
                continue
            pictures[name] = {each: _bytes(figure, each) for each in dict.fromkeys(formats)}
    return Drawn(pictures, left_out, letters.notes)


def _bytes(figure: Figure, form: str) -> bytes:
    """The same for the same run: no date, no name that is drawn by lot."""
    into = io.BytesIO()
    figure.savefig(into, format=form, metadata=UNDATED[form])
    return into.getvalue()
