"""Run every command in README and docs, and write down what it prints now: `make transcripts`.

    python tests/documents/refresh_transcripts.py [PAGE…]

It changes only answers that the tests here would call wrong, so a digit that moves within a tenth stays as it is.
A block with a line `…` keeps as many lines before and after that line as it had. Look at `git diff` afterwards.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import promised_files
import test_documents
from blocks import ANYTHING, Block, Turn, blocks, unlike


def main(pages: list[str]) -> None:
    """Refresh these pages."""
    with tempfile.TemporaryDirectory() as place:
        base = Path(place) / "base"
        base.mkdir()
        promised_files.make(base)
        kept = test_documents.Kept(base)
        for number, page in enumerate(pages):
            folder = test_documents.copied(base, Path(place) / str(number))
            before = test_documents.text_of(page)
            after = refreshed(before, page, kept, folder)
            if after != before:
                (promised_files.ROOT / page).write_text(after, encoding="utf-8")
            print(f"{page}: {'changed' if after != before else 'unchanged'}", flush=True)


def refreshed(text: str, page: str, kept: test_documents.Kept, folder: Path) -> str:
    """The page with what its commands print now."""
    os.chdir(folder)
    if test_documents.START not in text:
        kept.replay(test_documents.START, folder)
    reader = test_documents.Reader(kept, strict=False)
    for block in blocks(text):
        reader.answers.clear()
        reader.read(block, page)
        if block.language == "console":
            text = text.replace(f"```console\n{block.text}```", f"```console\n{session(block, reader.answers)}```", 1)
    return text


def session(block: Block, answers: list[tuple[Turn, list[str]]]) -> str:
    """A console block with these answers."""
    lines: list[str] = []
    for turn, printed in answers:
        lines += [f"$ {turn.command}", *answer(list(turn.shown), printed)]
    assert len(answers) == block.text.count("\n$ ") + 1
    return "".join(f"{line}\n" for line in lines)


def answer(shown: list[str], printed: list[str]) -> list[str]:
    """What the page is to show: what it shows, where that is still right."""
    if not unlike(shown, printed):
        return shown
    if ANYTHING not in shown:
        return printed
    place = shown.index(ANYTHING)
    return [*printed[:place], ANYTHING, *printed[len(printed) - (len(shown) - place - 1) :]]


if __name__ == "__main__":
    main(sys.argv[1:] or test_documents.PAGES)
