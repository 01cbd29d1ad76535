"""Figures of a run, for papers. Needs the extra `plots`."""

from calque.show.figures.drawing import FIGURES, FORMATS, Drawn, draw
from calque.show.figures.scene import Scene

__all__ = ["FIGURES", "FORMATS", "Drawn", "Scene", "draw"]
