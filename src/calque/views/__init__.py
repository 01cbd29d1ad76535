"""What there is to see in a run, as numbers: `plots` draws them, `web` sends them to the page."""

from calque.views.positions import Positions, Projection, fit_projection, positions
from calque.views.starts import Start, starts_of

__all__ = ["Positions", "Projection", "Start", "fit_projection", "positions", "starts_of"]
