"""What is to be run: a plan lists its runs, and how the table of their results looks.

Plans come from a TOML file (plan_file.py) or are those of the paper's tables (paper_plan.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from calque.experiments.jobs import Resources, SpaceFile
from calque.experiments.results import ExperimentKey
from calque.recipes import Recipe

if TYPE_CHECKING:
    from calque.experiments.paper_plan import PaperDetails


@dataclass(frozen=True)
class LanguagePair:
    """Two spaces by name; a run maps both ways."""

    source: str
    target: str

    @property
    def name(self) -> str:
        """'es-en': there."""
        return f"{self.source}-{self.target}"

    @property
    def back(self) -> str:
        """'en-es': and back."""
        return f"{self.target}-{self.source}"


@dataclass(frozen=True)
class GoldFile:
    """A file of word pairs or of judged similarities, and which part of it is used."""

    path: Path
    turned: bool = False
    """Whether the file has source and target the other way round."""
    half: Literal["", "train", "test"] = ""
    """Which random half of the word pairs, drawn by the seed of the run; empty for all of them."""
    first: int | None = None
    """How many query words are used, in the order of the file; None for all of them."""


@dataclass(frozen=True)
class TextFiles:
    """Labelled texts of two languages. Those of the test files are translations of each other."""

    train: tuple[Path, Path]
    """Of the source and the target language."""
    test: tuple[Path, Path]
    text: str = "text"
    label: str = "category"
    number: str = "index_id"
    """The column by which the test texts correspond."""


@dataclass(frozen=True)
class Experiment:
    """One run: a method on a pair of spaces with one seed, what it learns from and what judges it."""

    key: ExperimentKey
    recipe: Recipe
    spaces: tuple[SpaceFile, SpaceFile]
    inputs: Mapping[str, Path | GoldFile | str]
    """Everything that the result depends on: files by their digest, other values as they are."""
    directions: tuple[str, ...]
    """The columns of the table that this run fills."""
    training: GoldFile | None = None
    """What a supervised method learns from."""
    lexicons: Mapping[str, GoldFile] = field(default_factory=dict)
    """What judges each direction, forward first."""
    similarity: GoldFile | None = None
    """Human judgements of similarity."""
    texts: TextFiles | None = None
    """Texts to classify and to find in the other language."""
    required: tuple[str, ...] = ()
    """The scores that the table needs: directions, 'similarity', or those of texts."""
    optional: frozenset[str] = frozenset()
    """Inputs that only other tables need. The run still counts if they are missing or have changed."""
    siblings: tuple[Experiment, ...] = ()
    """The same alignment judged by other lexicons: made together, since only the judging differs."""
    resources: Resources | None = None
    """None: everything that this process has; one core on Ray."""
    judged: bool = True
    """Whether calque judges the alignment without the lexicon too, which takes time."""


@dataclass(frozen=True)
class Entrant:
    """One method in a table."""

    name: str
    """As --methods, plans and the files of finished runs call it."""
    label: str
    """As the table shows it."""
    supervised: bool = False
    """Whether it learns from word pairs."""
    cost: int = 0
    """Its place in the order of time: cheap methods run first, so that a slow one delays nothing."""
    published: bool = True
    """Whether the paper's tables have this row."""
    recipe: str = ""
    """The recipe that it is made from; empty for the one of its own name."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """What differs from the recipe's settings."""
    random: bool = True
    """Whether the seed changes its result on a fixed lexicon; if not, one run is enough."""

    @property
    def category(self) -> str:
        """'Supervised' or 'Unsupervised'."""
        return "Supervised" if self.supervised else "Unsupervised"


@dataclass(frozen=True)
class ExperimentPlan:
    """The runs of a table, and what the table shows. Every name and file in it has been found."""

    name: str
    """How the files of the table are called."""
    pairs: tuple[LanguagePair, ...]
    entrants: tuple[Entrant, ...]
    seeds: tuple[int, ...]
    experiments: tuple[Experiment, ...]
    """In the order of the work."""
    source: Path = Path()
    """The file of the plan."""
    retrieval: str = "csls"
    """What the table shows; nn and csls are both measured."""
    device: str = "auto"
    save: bool = False
    """Whether the folder of every run is kept."""
    together: bool = False
    """Whether seeds of one method run as one batch on a GPU, if the method can."""
    others: tuple[Experiment, ...] = ()
    """Runs of methods that were not asked for: shown if they are finished, never made."""
    hidden: frozenset[str] = frozenset()
    """Methods that were not asked for: shown only if they have finished runs."""
    notes: tuple[str, ...] = ()
    """What the reader should know before the work starts."""
    paper: PaperDetails | None = None
    """Set for a table of the paper."""
    command: str = ""
    """Set for the table of texts: how it is made again."""

    @cached_property
    def columns(self) -> Mapping[tuple[str, str], Sequence[ExperimentKey]]:
        """By method and direction, the runs that fill this cell."""
        columns: dict[tuple[str, str], list[ExperimentKey]] = {}
        for experiment in (*self.experiments, *self.others):
            for direction in experiment.directions:
                columns.setdefault((experiment.key.method, direction), []).append(experiment.key)
        return columns


def in_tiles(experiments: Iterable[Experiment], hold: int) -> list[Experiment]:
    """The runs in an order in which few spaces serve many runs, if only ``hold`` spaces fit into memory.

    Spaces are taken in blocks of half as many, and all pairs between two blocks are done before the next block is
    read: n spaces are read n²/hold times in all, and not once for each pair.
    """
    experiments = list(experiments)
    files = dict.fromkeys(file for experiment in experiments for file in experiment.spaces)
    blocks = {file: place // max(1, hold // 2) for place, file in enumerate(files)}

    def tile(experiment: Experiment) -> tuple[int, int]:
        row, column = sorted(blocks[file] for file in experiment.spaces)
        # Forwards and backwards in turn, so that the last block of one row is still there for the next row.
        return row, -column if row % 2 else column

    return sorted(experiments, key=tile)
