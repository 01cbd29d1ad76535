"""Runs recipes: the one place where methods are run, timed and judged, and where it is recorded how."""

from __future__ import annotations

import hashlib
import operator
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from calque import __version__
from calque.data.lexicon import Lexicon
from calque.data.space import Space
from calque.errors import LexiconError, SettingsError
from calque.methods.referee import referee
from calque.methods.task import Outcome, Task
from calque.progress import Clock, Listen, never, quiet
from calque.recipes.checkpoint import FileCheckpoint
from calque.recipes.registry import Recipe
from calque.retrieval.exact import find
from calque.runs.alignment import Alignment, Record
from calque.verdict import Verdict, judge

Inputs = Mapping[str, Mapping[str, Any]]


def run(
    recipe: Recipe,
    source: Space,
    target: Space,
    seed: int = 0,
    device: str = "auto",
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
    lexicon: Lexicon | None = None,
    checkpoint: Path | None = None,
    judged: bool = True,
) -> Alignment:
    """Align two spaces by a recipe, judge the result, and record how it was made.

    Recipes that train for long save their state in the folder ``checkpoint``, and go on from there when run again.
    ``judged=False`` saves the seconds of judging a map that has no evidence of its own; it is then *doubtful*.
    """
    entry, seed, chosen = recipe.entry, checked_seed(seed), choose_device(device)
    pairs = known_pairs(recipe, source, target, lexicon)
    inputs = {"source": described(source), "target": described(target)}
    notes: tuple[str, ...] = ()
    if lexicon is not None and pairs is not None:
        used = {"words": len(lexicon), "pairs": len(pairs[0]), "sha256": lexicon.digest}
        inputs["lexicon"] = {"name": lexicon.name, **used}
        name = lexicon.name or "a lexicon"
        notes = (f"learned from {len(pairs[0])} pairs of {name}: a score on the same pairs would flatter it",)
    clock = Clock(listen)
    task = Task(source, target, seed, chosen, clock.hear, stopped, pairs)
    if checkpoint is not None:
        task = replace(task, checkpoint=FileCheckpoint(checkpoint, _checkpoint_key(recipe, task, inputs)))
    with torch.no_grad():
        outcome = entry.method(task, recipe.settings)
        if judged or outcome.evidence is not None:
            verdict = verdict_on(task, outcome)
        else:
            verdict = Verdict("doubtful", ("nobody asked for evidence",), {})
        if outcome.hints is not None and lexicon is not None:
            verdict = with_hints(verdict, outcome.hints, lexicon, task)
        return _alignment(recipe, task, replace(outcome, notes=(*outcome.notes, *notes)), verdict, clock, inputs)


def run_seeds(
    recipe: Recipe,
    source: Space,
    target: Space,
    seeds: Sequence[int],
    device: str = "auto",
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
) -> list[Alignment]:
    """One alignment a seed, without a lexicon: all at once where the method can, else one after the other.

    The seconds of alignments made at once are those of all of them together.
    """
    together = recipe.entry.together
    if together is None or len(seeds) == 0:
        return [run(recipe, source, target, seed, device, listen, stopped) for seed in seeds]
    known_pairs(recipe, source, target, None)  # refuses a method that needs some
    numbers, chosen = [checked_seed(seed) for seed in seeds], choose_device(device)
    inputs = {"source": described(source), "target": described(target)}
    clock = Clock(listen)
    tasks = [Task(source, target, seed, chosen, clock.hear, stopped) for seed in numbers]
    with torch.no_grad():
        return [
            _alignment(recipe, task, outcome, verdict_on(task, outcome), clock, inputs)
            for task, outcome in zip(tasks, together(tasks, recipe.settings), strict=True)
        ]


def choose_device(name: str) -> torch.device:
    """auto: the GPU where there is one."""
    if name not in ("auto", "cpu", "cuda"):
        raise SettingsError(f"device is {name!r}; expected auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise SettingsError("device is 'cuda', but torch sees no GPU here; use 'cpu' or 'auto'")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def checked_seed(seed: Any) -> int:
    """A seed of any integer type; SettingsError where it is none, or too long for a generator."""
    try:
        number = operator.index(seed)
    except TypeError:
        raise SettingsError(f"seed is {seed!r}; expected a whole number") from None
    if not -(2**62) < number < 2**62:
        raise SettingsError(f"seed is {number}; expected a whole number of at most 62 bits")
    return number


def known_pairs(recipe: Recipe, source: Space, target: Space, lexicon: Lexicon | None) -> tuple[Tensor, Tensor] | None:
    """Row numbers of the known translation pairs. Supervised methods get these, never the lexicon."""
    if lexicon is None:
        if recipe.supervision == "required":
            raise SettingsError(
                f"the recipe {recipe.name!r} learns from word pairs; give it a lexicon (--lexicon FILE)"
            )
        return None
    if recipe.supervision == "none":
        raise SettingsError(f"the recipe {recipe.name!r} learns from no lexicon, but one was given; leave it out")
    rows = [
        (source.index[word], target.index[translation])
        for word, translations in lexicon.answers.items()
        if word in source
        for translation in translations
        if translation in target
    ]
    if not rows:
        raise LexiconError(
            f"{lexicon.name or 'the lexicon'}: none of its {len(lexicon)} words has both itself and a translation in "
            "the vocabularies; is it the right language, direction and letter case?"
        )
    pairs = torch.tensor(rows)
    return pairs[:, 0], pairs[:, 1]


def verdict_on(task: Task, outcome: Outcome) -> Verdict:
    """By the method's own evidence, or else by the test that every other map is put to."""
    if outcome.evidence is not None:
        return judge(outcome.evidence)
    return judge(referee(task, outcome.source, outcome.target))


MOST_DOUBTED = 1000
"""So many pairs that the maps disagree with are written down."""


def with_hints(verdict: Verdict, hints: Mapping[str, Any], lexicon: Lexicon, task: Task) -> Verdict:
    """The verdict, with what is known of the given pairs from maps that were learned without them."""
    given = sum(len(translations) for translations in lexicon.answers.values())
    asked, (low, high) = hints["asked"], hints["interval"]
    source, target = task.source.words, task.target.words
    doubted = [[source[row], target[column], target[other]] for row, column, other in hints["rows"][:MOST_DOUBTED]]
    reasons = [
        f"{hints['used']} of {given} known pairs were used"
        + ("" if hints["used"] == given else "; the others have a word that is not in the vocabularies"),
        f"maps that were not told a pair translate {100 * hints['accuracy']:.0f} % of the {asked} known words rightly "
        f"({100 * low:.0f} to {100 * high:.0f} % with 95 % confidence)",
    ]
    if doubted:
        reasons.append(
            f"{hints['disagree']} of the pairs look wrong, such as {doubted[0][0]!r} and {doubted[0][1]!r} "
            f"(calque would say {doubted[0][2]!r})"
        )
    evidence = {name: value for name, value in hints.items() if name != "rows"} | {"given": given, "doubted": doubted}
    return Verdict(verdict.label, (*verdict.reasons, *reasons), {**verdict.evidence, "hints": evidence})


def _alignment(
    recipe: Recipe, task: Task, outcome: Outcome, verdict: Verdict, clock: Clock, inputs: Inputs
) -> Alignment:
    """The alignment and its record. On a GPU it has the CSLS penalties too, because they are quick there."""
    interrupted = task.stopped()
    record = recorded(recipe, task.seed, task.device, clock, inputs, outcome.notes, interrupted)
    verdict = verdict.after_interruption() if interrupted else verdict
    sides = outcome.source, outcome.target
    alignment = Alignment.of((task.source, task.target), sides, verdict, record, outcome.back)
    if task.device.type != "cpu":
        for back in (False, True):
            asking, asked = (space.vectors.to(task.device) for space in alignment.spaces(back))
            alignment.penalties["csls", back] = find("csls").penalty(asking, asked).cpu()
    return replace(alignment, earlier=outcome.earlier)


def recorded(
    recipe: Recipe,
    seed: int,
    device: torch.device,
    clock: Clock,
    inputs: Inputs,
    notes: tuple[str, ...],
    interrupted: bool,
) -> Record:
    """How something was made."""
    return Record(
        recipe={"name": recipe.name, "method": recipe.method, "settings": asdict(recipe.settings)},
        seed=seed,
        device=str(device),
        threads=torch.get_num_threads(),
        versions=versions(),
        inputs=inputs,
        seconds=clock.rounded(),
        notes=notes,
        interrupted=interrupted,
        log=tuple(clock.log),
    )


def _checkpoint_key(recipe: Recipe, task: Task, inputs: Inputs) -> str:
    """All that must be the same for a run to go on where another one was killed."""
    hashes = [entry["sha256"] for entry in inputs.values()]
    counts = [None if space.counts is None else space.counts.tolist() for space in (task.source, task.target)]
    made_by = __version__, torch.__version__
    key = (asdict(recipe.settings), recipe.method, task.seed, task.device.type, made_by, hashes, counts)
    return hashlib.sha256(repr(key).encode()).hexdigest()


def versions() -> dict[str, str]:
    """Of everything that a result depends on."""
    others = {name: metadata.version(name) for name in ("torch", "numpy")}
    return {"calque": __version__, **others, "python": platform.python_version()}


def described(space: Space) -> dict[str, Any]:
    """Name and size of a space, and the SHA-256 of its words and vectors."""
    digest = hashlib.sha256("\n".join(space.words).encode("utf-8", "surrogateescape"))
    digest.update(space.vectors.contiguous().numpy().data)
    words, dimension = space.vectors.shape
    return {
        "name": space.name,
        "words": words,
        "dimension": dimension,
        "counts": space.counts is not None,
        "sha256": digest.hexdigest(),
    }
