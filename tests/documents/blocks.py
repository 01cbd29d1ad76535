"""Code blocks of a page, and whether what was printed is what the page shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?=\b|[a-z]?\s)")
SECONDS = re.compile(r"\d+(\.\d+)? s\b")
ANYTHING = "…"
"""A line of a page that stands for any number of lines."""


@dataclass(frozen=True)
class Block:
    """What stands between two fences."""

    language: str
    text: str
    line: int
    """Where it begins on its page."""


@dataclass(frozen=True)
class Turn:
    """A command of a session, and what the page shows of its answer."""

    command: str
    shown: tuple[str, ...]


def blocks(page: str) -> list[Block]:
    return [Block(each[1], each[2], page[: each.start()].count("\n") + 1) for each in FENCE.finditer(page)]


def turns(session: str) -> Iterator[Turn]:
    """Lines that begin with a dollar are typed, the others are answers."""
    parts = re.split(r"^\$ ", session, flags=re.MULTILINE)
    assert parts[0] == "", "a session begins with a command"
    for part in parts[1:]:
        command, *shown = part.splitlines()
        yield Turn(command.strip(), tuple(shown))


def commands(script: str) -> Iterator[str]:
    """The lines of a block of shell commands, without remarks."""
    for line in script.splitlines():
        command = re.sub(r"\s+#.*$", "", line).strip()
        if command and not command.startswith("#"):
            yield command


def unlike(shown: Sequence[str], told: Sequence[str]) -> str:
    """Where the two part; empty where they do not.

    Words and their order must be the same. Numbers may differ by a tenth, since other processors add in another order,
    and a small whole one by one, but none is not one; seconds are anything.
    """
    if ANYTHING in shown:
        place = list(shown).index(ANYTHING)
        before, after = shown[:place], shown[place + 1 :]
        if len(told) < len(before) + len(after):
            return f"{len(told)} lines were told, fewer than are shown"
        return unlike(before, told[:place]) or unlike(after, told[len(told) - len(after) :])
    if len(shown) != len(told):
        return f"{len(shown)} lines are shown, {len(told)} were told:\n" + "\n".join(told)
    for line, other in zip(shown, told, strict=True):
        if not _alike(line, other):
            return f"the page shows {line!r}, but {other!r} was told"
    return ""


def _alike(shown: str, told: str) -> bool:
    shown, told = (SECONDS.sub("", line.rstrip()) for line in (shown, told))
    if [_words(line) for line in (shown, told)] != [_words(shown)] * 2:
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(told), strict=True)
    return all(_near(one, other) for one, other in pairs)


def _words(line: str) -> list[str]:
    """Without its numbers; how columns are set apart does not matter."""
    return NUMBER.sub("#", line).split()


def _near(one: str, other: str) -> bool:
    values = [float(each.replace(",", "")) for each in (one, other)]
    whole = all("." not in each for each in (one, other))
    if whole and 0.0 in values:
        return values[0] == values[1]
    return abs(values[0] - values[1]) <= max(1.0 if whole else 0.03, 0.1 * max(values))
