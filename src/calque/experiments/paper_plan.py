"""The plans of the paper's tables: which runs fill a table, and which files they need."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from calque import recipes
from calque.errors import SettingsError
from calque.experiments.jobs import SpaceFile
from calque.experiments.paper_tables import PaperTable, entrants_of, find_table, turned
from calque.experiments.plan import Entrant, Experiment, ExperimentPlan, GoldFile, LanguagePair
from calque.experiments.results import ExperimentKey
from calque.recipes import Recipe, into

MOST_FREQUENT = 200_000
"""How many words of each language are read and searched on LEX-C, as in the paper."""


@dataclass(frozen=True)
class PaperRequest:
    """Which table is wanted, and of what."""

    table: str
    data: Path
    pairs: Sequence[str] | None = None
    """Some of the table's; None for all."""
    methods: Sequence[str] | None = None
    """Some of the table's; None for all."""
    seeds: int = 3
    """How many. A seed also halves the lexicon, if the lexicon is halved."""
    lexicon: str = "muse"
    """One of the table's."""
    retrieval: str = "nn"
    """What the printed table shows; both are measured."""
    device: str = "auto"
    command: str = ""
    """As it was typed, for readers who want to make the table again."""
    cache: bool = True
    """Whether large files are kept in the cache once they are read."""


@dataclass(frozen=True)
class PairFiles:
    """The files of one pair by their part: 'source', 'target counts', 'test es-en', 'judged'…"""

    pair: str
    """'es-en': Spanish is the source."""
    dataset: str
    """Which vectors: we-z, fasttext or europarl."""
    lexicon: str
    split: bool
    """Whether the lexicon of a direction is one file, which is halved by seed."""
    files: Mapping[str, Path]
    """The files that are there."""
    absent: Mapping[str, str]
    """The files that are not there: the names they should have, below the data folder."""

    def lexicon_part(self, half: str, direction: str) -> str:
        """The part that holds the 'train' or the 'test' half of a direction's lexicon."""
        return f"lexicon {direction}" if self.split else f"{half} {direction}"

    def learned(self, supervised: bool) -> tuple[str, ...]:
        """The parts that a method sees: vectors, counts, and the training half if it is supervised."""
        sides = [part for part in (*self.files, *self.absent) if part.startswith(("source", "target"))]
        return (*sides, *((self.lexicon_part("train", self.pair),) if supervised else ()))

    def directions(self, supervised: bool) -> tuple[str, ...]:
        """The directions that a method is asked: only its own if it learned from the lexicon of one direction."""
        return (self.pair,) if supervised else (self.pair, turned(self.pair))

    def tested(self, supervised: bool) -> tuple[str, ...]:
        """The lexicons that judge a method, one for each direction that it is asked."""
        return tuple(self.lexicon_part("test", direction) for direction in self.directions(supervised))

    def required(self, table: PaperTable, supervised: bool) -> tuple[str, ...]:
        """The parts without which a method has no cell in the table."""
        judges = ("judged",) if table.task == "similarity" else self.tested(supervised)
        return tuple(dict.fromkeys((*self.learned(supervised), *judges)))

    def missing(self, table: PaperTable, supervised: bool) -> tuple[str, ...]:
        """The names of required files that are not there."""
        return tuple(self.absent[part] for part in self.required(table, supervised) if part in self.absent)


def find_files(table: PaperTable, data: Path, pair: str, lexicon: str) -> PairFiles:
    """The files of a pair in a data folder, by the names that their publishers or the data folder give them."""

    def sides(vectors: str, counts: str = "") -> dict[str, list[str]]:
        languages = dict(zip(("source", "target"), pair.split("-"), strict=True))
        names = {side: [vectors.format(language)] for side, language in languages.items()}
        names |= {f"{side} counts": [counts.format(language)] for side, language in languages.items() if counts}
        return names

    dataset, names = "fasttext", sides("fasttext/wiki.{}.vec")
    if table.vectors == "we-z":
        back = not (data / "we-z" / pair).is_dir() and (data / "we-z" / turned(pair)).is_dir()
        folder = turned(pair) if back else pair
        dataset, names = "we-z", sides(f"we-z/{folder}/word2vec.{{}}", f"we-z/{folder}/vocab-freq.{{}}")
    elif not all((data / choices[0]).is_file() for choices in names.values()):
        europarl = sides("europarl/{}.vec.gz", "europarl/{}.freq")
        if all((data / europarl[side][0]).is_file() for side in ("source", "target")):
            dataset, names = "europarl", europarl
    for direction in (pair, turned(pair)):
        stem = f"lexicons/{lexicon}/{direction}"
        if table.split:
            names[f"lexicon {direction}"] = [f"{stem}.tsv", f"{stem}.txt"]
        else:
            names[f"train {direction}"] = [f"{stem}.0-5000.txt", f"{stem}.train.tsv"]
            names[f"test {direction}"] = [f"{stem}.5000-6500.txt", f"{stem}.test.tsv"]
    if table.vectors == "we-c":
        names["judged"] = [f"similarity/semeval17/{way}-SEMEVAL17.txt" for way in (turned(pair), pair)]
    there = {part: [data / name for name in choices if (data / name).is_file()] for part, choices in names.items()}
    return PairFiles(
        pair,
        dataset,
        lexicon,
        table.split,
        {part: paths[0] for part, paths in there.items() if paths},
        {part: names[part][0] for part, paths in there.items() if not paths},
    )


@dataclass(frozen=True)
class PaperDetails:
    """What a plan and its report must know about a table of the paper."""

    request: PaperRequest
    table: PaperTable
    files: Mapping[str, PairFiles]
    """By pair, with either language as the source."""

    def column(self, supervised: bool, direction: str) -> PairFiles:
        """The files of the runs that fill the cells of a direction; one run of an unsupervised method fills two."""
        return self.files[direction if supervised or direction in self.table.pairs else turned(direction)]

    def missing(self, pair: str, entrants: Iterable[Entrant]) -> tuple[str, ...]:
        """The files that are missing for some cell of a pair."""
        names = [
            name
            for entrant in entrants
            for direction in self.table.directions(pair)
            for name in self.column(entrant.supervised, direction).missing(self.table, entrant.supervised)
        ]
        return tuple(dict.fromkeys(names))

    @property
    def hint(self) -> str:
        """Where a reader learns how to get what is missing."""
        data = shlex.quote(str(self.request.data))
        return f"'calque data {self.table.name} --data {data}' lists where they are offered"


def paper_plan(request: PaperRequest, find: Callable[[str], Recipe] = recipes.find) -> ExperimentPlan:
    """The plan of a table of the paper: checks what is wanted, and finds the files."""
    table = find_table(request.table)
    if request.seeds < 1:
        raise SettingsError(f"--seeds is {request.seeds}; expected at least 1")
    if request.lexicon not in table.lexicons:
        raise SettingsError(f"{table.name} has no lexicon {request.lexicon!r}; there are: {', '.join(table.lexicons)}")
    if not request.data.is_dir():
        raise SettingsError(
            f"{request.data}: is not a folder; expected the data of the tables, which 'calque data' lists"
        )
    if table.task == "similarity" and request.retrieval != "nn":
        raise SettingsError("similarity is measured by cosine, which retrieves nothing; leave --retrieval out")
    asked = entrants_of(table.name, request.methods)
    for pair in request.pairs or ():
        if pair not in table.pairs:
            raise SettingsError(f"{table.name} has no pair {pair!r}; there are: {', '.join(table.pairs)}")
    pairs = tuple(pair for pair in table.pairs if request.pairs is None or pair in request.pairs)
    ways = [way for pair in pairs for way in (pair, turned(pair))]
    files = {way: find_files(table, request.data, way, request.lexicon) for way in ways}
    paper = PaperDetails(request, table, files)
    if request.pairs is None and table.name == "ablation":  # it takes the pairs that are there
        pairs = tuple(pair for pair in pairs if not paper.missing(pair, asked)) or pairs
    hidden = [entrant for entrant in entrants_of(table.name) if entrant not in asked]
    experiments, others = (
        [
            experiment
            for entrant in sorted(entrants, key=lambda entrant: entrant.cost)
            for experiment in _experiments(paper, entrant, pairs, find)
        ]
        for entrants in (asked, hidden)
    )
    if not experiments:
        missing = paper.missing(pairs[0], asked)
        raise SettingsError(
            f"{request.data}: nothing to do for {table.name}, since every pair of {', '.join(pairs)} "
            f"lacks files, {pairs[0]} for one {', '.join(missing)}; {paper.hint}"
        )
    name = [table.name, *([request.lexicon] if len(table.lexicons) > 1 else [])]
    notes = {pair: paper.missing(pair, asked) for pair in pairs}
    return ExperimentPlan(
        "-".join([*name, *([] if request.retrieval == "nn" else [request.retrieval])]),
        tuple(LanguagePair(*pair.split("-")) for pair in pairs),
        entrants_of(table.name),
        tuple(range(request.seeds)),
        tuple(experiments),
        retrieval=request.retrieval,
        device=request.device,
        together=True,
        others=tuple(others),
        hidden=frozenset(entrant.name for entrant in hidden),
        notes=tuple(
            f"{pair}: has cells without data, for want of {', '.join(names)}; {paper.hint}"
            for pair, names in notes.items()
            if names
        ),
        paper=paper,
    )


def _experiments(
    paper: PaperDetails, entrant: Entrant, pairs: Sequence[str], find: Callable[[str], Recipe]
) -> list[Experiment]:
    """The runs of a method: all seeds of a pair, then the next pair."""
    recipe = find(entrant.recipe or entrant.name)
    if entrant.changes:
        settings = into(recipe.settings, entrant.changes, "settings")
        recipe = replace(recipe, name=entrant.name, settings=settings)
    request, table, supervised = paper.request, paper.table, entrant.supervised
    directions = [direction for pair in pairs for direction in table.directions(pair)]
    columns = {files.pair: files for files in (paper.column(supervised, way) for way in directions)}
    experiments = []
    for files in columns.values():
        if files.missing(table, supervised):
            continue
        others = [find_files(table, request.data, files.pair, name) for name in table.lexicons if name != files.lexicon]
        others = [other for other in others if not supervised and not other.missing(table, supervised)]
        # One run serves if nothing is drawn at random.
        for seed in range(request.seeds if entrant.random or table.split else 1):
            siblings = tuple(_experiment(paper, entrant, recipe, other, seed) for other in others)
            experiments.append(replace(_experiment(paper, entrant, recipe, files, seed), siblings=siblings))
    return experiments


def _experiment(paper: PaperDetails, entrant: Entrant, recipe: Recipe, files: PairFiles, seed: int) -> Experiment:
    """A run: judged by every gold file that is there, so that one run serves several tables."""
    table, supervised, paths = paper.table, entrant.supervised, files.files
    limit = None if files.dataset == "we-z" else MOST_FREQUENT
    source, target = (
        SpaceFile(paths[side], paths.get(f"{side} counts"), limit, cache=paper.request.cache)
        for side in ("source", "target")
    )
    directions, tests = files.directions(supervised), files.tested(supervised)
    train = paths.get(files.lexicon_part("train", files.pair)) if supervised else None
    lexicons = {}
    if all(part in paths for part in tests):
        lexicons = {
            way: GoldFile(paths[part], half="test" if files.split else "")
            for way, part in zip(directions, tests, strict=True)
        }
    judged = paths.get("judged")
    required = files.required(table, supervised)
    inputs = {part: paths[part] for part in (*files.learned(supervised), *tests, "judged") if part in paths}
    return Experiment(
        ExperimentKey(files.pair, entrant.name, seed, files.dataset, files.lexicon),
        recipe,
        (source, target),
        inputs,
        (files.pair,) if table.task == "similarity" else directions,
        training=None if train is None else GoldFile(train, half="train" if files.split else ""),
        lexicons=lexicons,
        similarity=None if judged is None else GoldFile(judged, turned=not judged.name.startswith(f"{files.pair}-")),
        required=("similarity",) if table.task == "similarity" else directions,
        optional=frozenset({*tests, "judged"} - set(required)),
        judged=not supervised,
    )
