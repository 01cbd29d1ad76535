"""The plan of the table of texts: topics of sentences (SIB-200), carried from language to language by every method."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from calque import recipes
from calque.errors import SettingsError
from calque.experiments.jobs import SpaceFile
from calque.experiments.plan import Entrant, Experiment, ExperimentPlan, GoldFile, LanguagePair, TextFiles
from calque.experiments.results import ExperimentKey
from calque.experiments.worker import TRANSLATIONS
from calque.recipes import Recipe

NAME = "sib"
"""What `calque reproduce` calls the table, and the folder of the texts below the data folder."""
SEEDS = 5
HINTS = 100
"""How many word pairs the method with hints is given."""
FROM_FEW_PAIRS = "artetxe2017"
"""What learns from them where the default recipe takes none."""
CODES = {"en": "eng", "fr": "fra", "tr": "tur", "zh": "zho", "ru": "rus", "es": "spa", "de": "deu", "it": "ita"}
"""The languages of the table, and what SIB-200 calls them."""
PUBLISHED = ("fr", "tr", "zh", "ru")
"""Languages whose vectors others have published; those of the rest were trained on Europarl."""
PAIRS = tuple(f"{language}-en" for language in CODES if language != "en")
ENTRANTS = (
    Entrant("default", "calque", cost=3),
    Entrant("paper", "the paper's method", cost=5),
    Entrant("artetxe2018", "Artetxe et al. 2018", cost=4),
    Entrant("conneau2017", "Conneau et al. 2017", cost=4),
    Entrant("hints", f"from {HINTS} word pairs", supervised=True, cost=2, recipe="default"),
    Entrant("artetxe2016", "orthogonal map from all training pairs", supervised=True, cost=1, random=False),
)
"""The rows of the table. `hints` and `artetxe2016` learn from word pairs, the others from none."""


@dataclass(frozen=True)
class TextRequest:
    """Which part of the table is wanted, and of what."""

    data: Path
    pairs: Sequence[str] | None = None
    methods: Sequence[str] | None = None
    seeds: int = SEEDS
    device: str = "auto"
    command: str = ""
    cache: bool = True


def text_plan(request: TextRequest, find: Callable[[str], Recipe] = recipes.find) -> ExperimentPlan:
    """The plan of the table: checks what is wanted, and finds the files."""
    for option, asked, choices in (
        ("pair", request.pairs, PAIRS),
        ("method", request.methods, [entrant.name for entrant in ENTRANTS]),
    ):
        for name in asked or ():
            if name not in choices:
                raise SettingsError(f"{NAME} has no {option} called {name!r}; there are: {', '.join(choices)}")
    if request.seeds < 1:
        raise SettingsError(f"--seeds is {request.seeds}; expected at least 1")
    pairs = [pair for pair in PAIRS if request.pairs is None or pair in request.pairs]
    missing = {pair: [path for path in _files(request.data, pair) if not path.is_file()] for pair in pairs}
    there = [pair for pair in pairs if not missing[pair]]
    if not there:
        names = ", ".join(str(path.relative_to(request.data)) for path in missing[pairs[0]])
        raise SettingsError(f"{request.data}: nothing to do for {NAME}; {pairs[0]} lacks {names}")
    entrants = tuple(entrant for entrant in ENTRANTS if request.methods is None or entrant.name in request.methods)
    experiments = [
        experiment
        for entrant in sorted(entrants, key=lambda entrant: entrant.cost)
        for pair in there
        for experiment in _experiments(request, entrant, pair, find)
    ]
    if not experiments:
        raise SettingsError(
            f"{request.data}: nothing to do for {NAME}, since the training pairs of words are not there"
        )
    return ExperimentPlan(
        NAME,
        tuple(LanguagePair(*pair.split("-")) for pair in there),
        entrants,
        tuple(range(request.seeds)),
        tuple(experiments),
        device=request.device,
        notes=tuple(f"{pair}: left out, for want of {names[0]}" for pair, names in missing.items() if names),
        command=request.command,
    )


def _experiments(
    request: TextRequest, entrant: Entrant, pair: str, find: Callable[[str], Recipe]
) -> Iterator[Experiment]:
    """A run for each seed; one run, where nothing is drawn at random."""
    data, language = request.data, pair.split("-")[0]
    source, target, *texts = _files(data, pair)
    folder = data / "real" / "gold" / f"{pair}-md.train.tsv"
    lexicon = folder if language in PUBLISHED else data / "lexicons" / "muse" / f"{pair}.train.tsv"
    if entrant.supervised and not lexicon.is_file():
        return
    training = GoldFile(lexicon, first=HINTS if entrant.name == "hints" else None) if entrant.supervised else None
    ways = [f"{task} {way}" for task in ("classification", "retrieval") for way in (pair, f"en-{language}")]
    inputs: dict[str, Path | GoldFile | str] = {"source": source, "target": target}
    inputs |= {f"texts {path.name}": path for path in texts} | {"translations": str(TRANSLATIONS)}
    inputs |= {"training": training} if training is not None else {}
    spaces = tuple(SpaceFile(path, _counts(path), cache=request.cache) for path in (source, target))
    recipe = find(entrant.recipe or entrant.name)
    if entrant.supervised and recipe.supervision == "none":
        recipe = find(FROM_FEW_PAIRS)
    for seed in range(request.seeds if entrant.random else 1):
        yield Experiment(
            ExperimentKey(pair, entrant.name, seed, NAME, "texts"),
            recipe,
            (spaces[0], spaces[1]),
            inputs,
            (pair, f"en-{language}"),
            training=training,
            texts=TextFiles((texts[0], texts[1]), (texts[2], texts[3])),
            required=tuple(ways),
            judged=not entrant.supervised,
        )


def _files(data: Path, pair: str) -> list[Path]:
    """Vectors of both languages, their training texts, their test texts."""
    languages = pair.split("-")
    vectors = [data / "europarl" / f"{language}.vec.gz" for language in languages]
    if languages[0] in PUBLISHED:
        vectors = [data / "real" / f"{languages[0]}.npz", data / "real" / "en-md.npz"]
    codes = [CODES[language] for language in languages]
    return [*vectors, *(data / NAME / f"{code}.{part}.tsv" for part in ("train", "test") for code in codes)]


def _counts(vectors: Path) -> Path | None:
    """The file of counts beside vectors of Europarl."""
    path = vectors.with_name(vectors.name.replace(".vec.gz", ".freq"))
    return path if path != vectors and path.is_file() else None
