"""Figures for papers, from what `views` says of a run. Needs the extra `plots`."""

from calque.show.figures.scene import Scene
from calque.show.figures.table import FIGURES, FORMATS, Drawn, draw

__all__ = ["FIGURES", "FORMATS", "Drawn", "Scene", "draw"]
