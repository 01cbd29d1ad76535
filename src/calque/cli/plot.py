"""`calque plot`: pictures of a run."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from calque.cli.common import DONE, Common, File, Pair, Run, open_alignment, read_gold
from calque.cli.terminal import print_json
from calque.errors import RunError

if TYPE_CHECKING:
    from calque.show.figures import Drawn


@dataclass(frozen=True, kw_only=True)
class Plot(Common):
    """Draw a run: before and after, the search, convergence, hubs, accuracy by frequency, spectra, the plan."""

    folder: Run
    """A run folder."""
    output: Annotated[Path | None, arg(aliases=["-o"], metavar="DIR")] = None
    """Where to put the pictures; without it RUN/figures, where earlier ones are replaced."""
    figures: str = ""
    """Any of words, search, convergence, hubs, frequency, spectra, plan, separated by commas; all without it."""
    format: str = "png"
    """Any of png, svg, pdf, separated by commas."""
    words: str = ""
    """Source words to show in 'words' and 'plan', separated by commas."""
    lexicon: File = None
    """Lines of 'source<TAB>target', for accuracy. The run has not used it, and does not now."""
    pair: Pair = ""
    """Which two languages, of a run that 'calque align-many' made."""
    width: float = 3.3
    """Inches; 3.3 is a column of most journals."""
    overwrite: bool = False
    """Replace pictures of the same name in DIR."""

    def run(self) -> int:
        """Draw all pictures, then write them."""
        lexicon = None if self.lexicon is None else read_gold(self, self.lexicon)
        alignment = open_alignment(self.folder, self.pair)
        from calque.show.figures import draw

        figures, formats, words = (
            [name.strip() for name in text.split(",") if name.strip()]
            for text in (self.figures, self.format, self.words)
        )
        drawn = draw(alignment, figures, formats, words, lexicon, self.width)
        folder = self.output or self.folder / "figures"
        files = write_pictures(drawn, folder, replacing=self.output is None or self.overwrite)
        self.say(*drawn.notes, *(f"left out {name}: {reason}" for name, reason in drawn.left_out.items()))
        if self.json:
            by_figure = {name: list(map(str, paths)) for name, paths in files.items()}
            print_json({"figures": by_figure, "left_out": drawn.left_out})
        else:
            for paths in files.values():
                print("\n".join(map(str, paths)))
        return DONE


def write_pictures(drawn: Drawn, folder: Path, replacing: bool) -> dict[str, list[Path]]:
    """Write every picture to a file, or none if one cannot be written."""
    from calque.runs.folder import write_bytes

    pictures = {
        folder / f"{name}.{form}": data for name, forms in drawn.pictures.items() for form, data in forms.items()
    }
    is_new = not os.path.lexists(folder)
    try:
        earlier = [path for path in pictures if path.exists()]
        if earlier and not replacing:
            raise RunError(f"{earlier[0]}: is already there; choose another folder, or pass --overwrite to replace it")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{folder}: cannot be written: {error.strerror}; choose another folder with -o") from error
    written: list[Path] = []
    try:
        for path, data in pictures.items():
            write_bytes(path, data)
            written.append(path)
    except RunError:  # Some of the pictures are no use.
        for path in written:
            if path not in earlier:
                path.unlink(missing_ok=True)
        if is_new:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    return {name: [folder / f"{name}.{form}" for form in forms] for name, forms in drawn.pictures.items()}
