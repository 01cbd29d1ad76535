"""The one place that runs methods, times them, and records how an alignment was made."""

from __future__ import annotations

import hashlib
import operator
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from calque.data.lexicon import Lexicon
from calque.data.space import Space
from calque.errors import LexiconError, SettingsError
from calque.methods.referee import referee
from calque.methods.task import Outcome, Task
from calque.progress import Listen, Step, never, quiet
from calque.recipes.checkpoint import FileCheckpoint
from calque.recipes.registry import METHODS, Kind, Recipe
from calque.retrieval.exact import find
from calque.runs.alignment import Alignment, Record
from calque.verdict import Verdict, judge


def choose_device(name: str) -> torch.device:
    """auto: the GPU where there is one."""
    if name not in ("auto", "cpu", "cuda"):
        raise SettingsError(f"device is {name!r}; expected auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise SettingsError("device is 'cuda', but torch sees no GPU here; use 'cpu' or 'auto'")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


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
    """Align two spaces by a recipe, judge the result, and keep how it was made.

    Recipes that train for long leave their state in the folder ``checkpoint``, and go on from it when run again. Where
    something better than a verdict is at hand, ``judged`` may be false: a map without evidence of its own is then
    *doubtful*, and the seconds that the judgement takes are saved.
    """
    kind, clock = _kind(recipe), Clock(listen)
    pairs = _pairs(recipe, source, target, lexicon)
    task = Task(source, target, _whole(seed), choose_device(device), clock.hear, stopped, pairs)
    if checkpoint is not None:
        task = replace(task, checkpoint=FileCheckpoint(checkpoint, _key(recipe, task)))
    with torch.no_grad():
        made = _alignment(recipe, task, kind.method(task, recipe.settings), clock, judged)
    return made if lexicon is None else _with_lexicon(made, task, lexicon)


def run_seeds(
    recipe: Recipe,
    source: Space,
    target: Space,
    seeds: Sequence[int],
    device: str = "auto",
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
) -> list[Alignment]:
    """One alignment a seed, without a lexicon: all at once where the method can, one after the other otherwise.

    The seconds of alignments made at once are those of all of them together.
    """
    kind = _kind(recipe)
    if kind.together is None or len(seeds) == 0:
        return [run(recipe, source, target, seed, device, listen, stopped) for seed in seeds]
    _pairs(recipe, source, target, None)
    clock, chosen = Clock(listen), choose_device(device)
    tasks = [Task(source, target, _whole(seed), chosen, clock.hear, stopped) for seed in seeds]
    with torch.no_grad():
        outcomes = kind.together(tasks, recipe.settings)
        return [_alignment(recipe, *each, clock) for each in zip(tasks, outcomes, strict=True)]


def _with_lexicon(made: Alignment, task: Task, lexicon: Lexicon) -> Alignment:
    """The same, with what it learned from on record."""
    used = 0 if task.pairs is None else len(task.pairs[0])
    told = {"name": lexicon.name, "words": len(lexicon), "pairs": used, "sha256": lexicon.digest}
    note = f"learned from {used} pairs of {lexicon.name or 'a lexicon'}: a score on the same pairs would flatter it"
    record = replace(made.record, inputs={**made.record.inputs, "lexicon": told}, notes=(*made.record.notes, note))
    return replace(made, record=record)


def _key(recipe: Recipe, task: Task) -> str:
    """What must be the same for one run to go on where another was killed."""
    inputs = [described(each)["sha256"] for each in (task.source, task.target)]
    counts = [None if each.counts is None else each.counts.tolist() for each in (task.source, task.target)]
    made_by = metadata.version("calque"), torch.__version__
    told = (asdict(recipe.settings), recipe.method, task.seed, task.device.type, made_by, inputs, counts)
    return hashlib.sha256(repr(told).encode()).hexdigest()


def _kind(recipe: Recipe) -> Kind:
    if recipe.method not in METHODS:
        raise SettingsError(f"no method is called {recipe.method!r}; there are: {', '.join(METHODS)}")
    return METHODS[recipe.method]


def _pairs(recipe: Recipe, source: Space, target: Space, lexicon: Lexicon | None) -> tuple[Tensor, Tensor] | None:
    """The rows that a lexicon pairs: all that a method which learns from one is shown of it."""
    if not recipe.supervised:
        if lexicon is not None:
            raise SettingsError(f"the recipe {recipe.name!r} learns from no lexicon, but one was given; leave it out")
        return None
    if lexicon is None:
        raise SettingsError(f"the recipe {recipe.name!r} learns from word pairs; give it a lexicon (--lexicon FILE)")
    rows = [
        (source.index[word], target.index[right])
        for word, answers in lexicon.answers.items()
        if word in source
        for right in answers
        if right in target
    ]
    if not rows:
        raise LexiconError(
            f"{lexicon.name or 'the lexicon'}: none of its {len(lexicon)} words has both itself and a translation in "
            "the vocabularies; is it the right language, direction and letter case?"
        )
    pairs = torch.tensor(rows)
    return pairs[:, 0], pairs[:, 1]


def _alignment(recipe: Recipe, task: Task, outcome: Outcome, clock: Clock, judged: bool = True) -> Alignment:
    if outcome.evidence is not None:
        verdict = judge(outcome.evidence)
    elif judged:
        verdict = judge(referee(task, outcome.source, outcome.target))
    else:
        verdict = Verdict("doubtful", ("nobody asked for evidence",), {})
    made = Alignment.of(
        (task.source, task.target),
        (outcome.source, outcome.target),
        verdict,
        _record(recipe, task, outcome, clock),
        outcome.back,
    )
    made = replace(made, earlier=outcome.earlier)
    return made if task.device.type == "cpu" else penalties(made, task.device)


def penalties(alignment: Alignment, device: torch.device) -> Alignment:
    """The same, with what CSLS holds against each word, computed on the device that is there anyway."""
    for back in (False, True):
        if ("csls", back) not in alignment.penalties:
            asking, asked = (each.vectors.to(device) for each in alignment.spaces(back))
            alignment.penalties["csls", back] = find("csls").penalty(asking, asked).cpu()
    return alignment


def _whole(seed: Any) -> int:
    try:
        whole = operator.index(seed)
    except TypeError:
        raise SettingsError(f"seed is {seed!r}; expected a whole number") from None
    if not -(2**62) < whole < 2**62:
        raise SettingsError(f"seed is {whole}; expected a whole number of at most 62 bits")
    return whole


class Clock:
    """Passes every step on, and keeps it with its time; a stage lasts from the last step before it to its own last."""

    def __init__(self, listen: Listen) -> None:
        self.listen, self.began, self.last = listen, time.monotonic(), 0.0
        self.log: list[dict[str, Any]] = []
        self.seconds: dict[str, float] = {}

    def hear(self, step: Step) -> None:
        """Take a step down, and pass it on."""
        now = time.monotonic() - self.began
        self.seconds[step.stage] = self.seconds.get(step.stage, 0.0) + now - self.last
        self.last = now
        self.log.append({"stage": step.stage, "number": step.number, "seconds": round(now, 3), **step.values})
        self.listen(step)


def versions() -> dict[str, str]:
    """Of what the result depends on."""
    return {name: metadata.version(name) for name in ("calque", "torch", "numpy")} | {
        "python": platform.python_version()
    }


def _record(recipe: Recipe, task: Task, outcome: Outcome, clock: Clock) -> Record:
    return Record(
        recipe={"name": recipe.name, "method": recipe.method, "settings": asdict(recipe.settings)},
        seed=task.seed,
        device=str(task.device),
        versions=versions(),
        inputs={"source": described(task.source), "target": described(task.target)},
        seconds={stage: round(seconds, 3) for stage, seconds in clock.seconds.items()},
        notes=outcome.notes,
        interrupted=task.stopped(),
        log=tuple(clock.log),
    )


def described(space: Space) -> dict[str, Any]:
    """What was read, with a digest of it."""
    digest = hashlib.sha256("\n".join(space.words).encode("utf-8", "surrogateescape"))
    digest.update(space.vectors.contiguous().numpy().data)
    return {
        "name": space.name,
        "words": len(space),
        "dimension": space.dimension,
        "counts": space.counts is not None,
        "sha256": digest.hexdigest(),
    }
