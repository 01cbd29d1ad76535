"""`calque demo`: the true job on the shipped sample."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from calque import sample
from calque.api import align
from calque.cli import aligning, live, plotting, show
from calque.errors import MissingExtraError, RunError, SettingsError
from calque.evaluate import score_translation
from calque.runs import folder as store
from calque.show.figures import draw

if TYPE_CHECKING:
    from calque.cli.commands import Demo
    from calque.runs.alignment import Alignment

SHOWN = 12


def run(command: Demo) -> int:
    """Align without the lexicon, then score with it."""
    replacing = command.output.exists()
    store.check_free(command.output, replacing)
    source, target = sample.spaces()
    command.say(f"aligning {len(source)} words of {source.name} with {len(target)} of {target.name}, no dictionary")
    began = time.monotonic()
    with live.interruptible() as stopped:
        with live.bars(not command.quiet) as listen:
            alignment = align(source, target, seed=command.seed, device=command.device, listen=listen, stopped=stopped)
        alignment.save(command.output, overwrite=replacing)
    seconds = time.monotonic() - began
    _tell(command, alignment, seconds, _pictures(command, alignment))
    return aligning.exit_code(alignment)


def _pictures(command: Demo, alignment: Alignment) -> list[str]:
    """Before and after, and the search, as files in the run folder."""
    try:
        drawn = draw(alignment, ("words", "search"))
        files = plotting.write(drawn, command.output / "figures", replacing=True)
    except (MissingExtraError, SettingsError, RunError) as error:
        command.say(f"no pictures: {error}")
        return []
    return [str(path) for each in files.values() for path in each]


def _tell(command: Demo, alignment: Alignment, seconds: float, pictures: list[str]) -> None:
    gold = sample.lexicon()
    score = score_translation(alignment, gold)
    examples = [word for word in gold.answers if word in alignment.source][:: max(1, len(gold) // SHOWN)][:SHOWN]
    there = alignment.translate(examples, k=3)
    back = alignment.translate([each.candidates[0].word for each in there], k=3, back=True)
    if command.json:
        told = {"run": str(command.output), "verdict": alignment.verdict.label, "seconds": round(seconds, 3)}
        show.as_json(
            told | {"evidence": dict(alignment.verdict.evidence), "scores": score.as_json(), "figures": pictures}
        )
        return
    show.verdict(alignment)
    print(f"\naccuracy on {len(gold)} words of the shipped lexicon, which the alignment has not seen:")
    show.scores(score)
    print(f"\n{alignment.source.name} to {alignment.target.name}, and the way back of the first:")
    rows = [
        [
            one.word,
            ", ".join(each.word for each in one.candidates),
            "|",
            ", ".join(each.word for each in other.candidates),
        ]
        for one, other in zip(there, back, strict=True)
    ]
    show.table(rows)
    print(f"\n{seconds:.1f} s; run folder: {command.output}")
    if pictures:
        print(f"pictures: {', '.join(pictures)}")
