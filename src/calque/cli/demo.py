"""`calque demo`: align the shipped sample, then score it with a lexicon that the alignment has not seen."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from calque.cli.align import print_verdict
from calque.cli.common import Common, Device, Output, exit_code
from calque.cli.plot import write_pictures
from calque.cli.terminal import interruptible, print_json, print_table, stage_bars
from calque.errors import MissingExtraError, RunError, SettingsError

if TYPE_CHECKING:
    from calque.runs.alignment import Alignment

EXAMPLES = 12
"""So many words are shown with their translations."""


@dataclass(frozen=True, kw_only=True)
class Demo(Common):
    """Align the two spaces shipped in the package, without looking at their lexicon, and show what came out."""

    output: Output = Path("calque-demo")
    """Where to write the run folder; an earlier demo there is replaced."""
    seed: int = 0
    """The same seed on the same device, with as many threads, gives the same maps."""
    device: Device = "auto"
    """auto takes the GPU where there is one."""

    def run(self) -> int:
        """Align without the lexicon, then score with it."""
        from calque.runs.folder import check_free

        replacing = self.output.exists()
        check_free(self.output, replacing)
        from calque import sample
        from calque.api import align

        source, target = sample.spaces()
        self.say(f"aligning {len(source)} words of {source.name} with {len(target)} of {target.name}, no dictionary")
        began = time.monotonic()
        with interruptible() as stopped:
            with stage_bars(not self.quiet) as listen:
                alignment = align(source, target, seed=self.seed, device=self.device, listen=listen, stopped=stopped)
            alignment.save(self.output, overwrite=replacing)
        seconds = time.monotonic() - began
        print_result(self, alignment, seconds, draw_pictures(self, alignment))
        return exit_code(alignment)


def draw_pictures(command: Demo, alignment: Alignment) -> list[str]:
    """Draw the words before and after, and the search, into the run folder."""
    from calque.show.figures import draw

    try:
        files = write_pictures(draw(alignment, ("words", "search")), command.output / "figures", replacing=True)
    except (MissingExtraError, SettingsError, RunError) as error:
        command.say(f"no pictures: {error}")
        return []
    return [str(path) for paths in files.values() for path in paths]


def print_result(command: Demo, alignment: Alignment, seconds: float, pictures: list[str]) -> None:
    """The verdict, the scores, and some words with their translations there and back."""
    from calque import sample
    from calque.evaluate import score_translation

    gold = sample.lexicon()
    score = score_translation(alignment, gold)
    if command.json:
        print_json(
            {
                "run": str(command.output),
                "verdict": alignment.verdict.label,
                "interrupted": alignment.record.interrupted,
                "seconds": round(seconds, 3),
                "evidence": dict(alignment.verdict.evidence),
                "scores": score.as_json(),
                "figures": pictures,
            }
        )
        return
    print_verdict(alignment)
    print(f"\naccuracy on {len(gold)} words of the shipped lexicon, which the alignment has not seen:")
    print_table(score.rows())
    print(f"\n{alignment.source.name} to {alignment.target.name}, and the way back of the first:")
    words = [word for word in gold.answers if word in alignment.source][:: max(1, len(gold) // EXAMPLES)][:EXAMPLES]
    there = alignment.translate(words, k=3)
    back = alignment.translate([translation.candidates[0].word for translation in there], k=3, back=True)
    lists = [[", ".join(candidate.word for candidate in one.candidates) for one in way] for way in (there, back)]
    print_table([[word, forward, "|", backward] for word, forward, backward in zip(words, *lists, strict=True)])
    print(f"\n{seconds:.1f} s; run folder: {command.output}")
    if pictures:
        print(f"pictures: {', '.join(pictures)}")
