"""Every figure by name, and the way from a run to the bytes of a picture."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calque.data.lexicon import Lexicon
from calque.errors import MissingExtraError, SettingsError
from calque.runs.alignment import Alignment
from calque.show.figures import convergence, frequency, hubs, search_costs, spectra, transport_plan, words_moved
from calque.show.figures.fonts import fonts_for
from calque.show.figures.scene import STYLE, Scene

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES: dict[str, Callable[[Scene], Figure]] = {
    "words": words_moved.draw,
    "search": search_costs.draw,
    "convergence": convergence.draw,
    "hubs": hubs.draw,
    "frequency": frequency.draw,
    "spectra": spectra.draw,
    "plan": transport_plan.draw,
}
UNDATED: dict[str, dict[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
"""By format, the metadata to leave out, so that the same run gives the same bytes."""
FORMATS = tuple(UNDATED)
NARROWEST, WIDEST = 3.0, 30.0
WORDS_FOR_FONTS = 20_000
"""Fonts are looked for that have the letters of so many of the most frequent words; figures name no rarer ones."""


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
    """Draw these figures of a run. One that cannot be drawn is an error; where none is named, it is left out."""
    _check_names(figures, FIGURES, "figure")
    _check_names(formats, UNDATED, "format of pictures")
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
    frequent = (*alignment.source.words[:WORDS_FOR_FONTS], *alignment.target.words[:WORDS_FOR_FONTS], *words)
    fonts = fonts_for((*frequent, alignment.source.name, alignment.target.name))
    scene = Scene(alignment, fonts, lexicon, tuple(words), width)
    pictures, left_out = dict[str, dict[str, bytes]](), dict[str, str]()
    with style.context(["default", {**STYLE, "font.family": list(fonts.families)}]):
        for name in dict.fromkeys(figures or FIGURES):
            try:
                figure = FIGURES[name](scene)
            except SettingsError as error:
                if figures:
                    raise SettingsError(f"the figure {name!r} cannot be drawn: {error}") from error
                left_out[name] = str(error)
                continue
            pictures[name] = {form: _bytes(figure, form) for form in dict.fromkeys(formats)}
    return Drawn(pictures, left_out, fonts.notes)


def _check_names(names: Sequence[str], choices: Sequence[str] | dict[str, Any], kind: str) -> None:
    for name in names:
        if name not in choices:
            raise SettingsError(f"no {kind} is called {name!r}; there are: {', '.join(choices)}")


def _bytes(figure: Figure, form: str) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format=form, metadata=UNDATED[form])
    return stream.getvalue()
