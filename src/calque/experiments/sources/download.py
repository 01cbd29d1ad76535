"""One download that survives a lost connection and a killed process.

What has arrived is in NAME.part; NAME.part.json beside it names the address and the version that it is a part of. The
rest is asked for by Range, on the condition (If-Range) that the server still has that version. If it has not, or if
it does not know ranges, the download starts anew.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from calque.experiments.sources.catalogue import DataError
from calque.experiments.sources.state import amount, cannot_write, size_of, write_file
from calque.experiments.sources.web import (
    NOT_SATISFIABLE,
    PARTIAL,
    ConnectionLostError,
    HttpResponse,
    UnreachableError,
    ask,
)
from calque.progress import Listen, Step, quiet

Pause = Callable[[float], None]
"""Waits so many seconds."""


class NoConnectionError(DataError):
    """A server that could not even be connected to, so that its other files need not be tried."""


@dataclass(frozen=True)
class Patience:
    """How long a download is tried."""

    attempts: int = 5
    """Connections to one address before giving up; what has arrived is kept for the next time."""
    first_pause: float = 1.0
    """Seconds before the second attempt."""
    growth: float = 2.0
    """Every further pause is so many times the one before."""
    timeout: float = 30.0
    """Seconds of silence after which a connection counts as lost."""
    block: int = 1 << 20
    """Bytes read at once."""


@dataclass(frozen=True)
class Download:
    """One download."""

    name: str
    """How messages call it."""
    url: str
    part: Path
    """Where the content gathers."""
    size: int | None = None
    """The size it must have, if that is known."""


@dataclass(frozen=True)
class Version:
    """Which version of which file a part belongs to."""

    url: str
    validator: str
    """ETag or Last-Modified; without one a part cannot be continued."""
    size: int | None
    """How many bytes the whole has."""


def download(task: Download, patience: Patience, listen: Listen = quiet, pause: Pause = time.sleep) -> None:
    """Gather the whole content in ``task.part``; DataError if that fails, and what has arrived is kept.

    A lost connection is continued where it broke, a limited number of times with growing pauses.
    """
    for attempt in range(1, patience.attempts + 1):
        try:
            return _receive(task, patience, listen)
        except ConnectionLostError as lost:
            if attempt == patience.attempts:
                kept, tried = size_of(task.part), "once" if attempt == 1 else f"{attempt} times"
                advice = "check the network, or fetch it by hand"
                advice = f"{amount(kept)} are kept: run it again to go on" if kept else advice
                kind = NoConnectionError if isinstance(lost, UnreachableError) else DataError
                raise kind(f"{task.url}: {lost}, tried {tried}; {advice}") from lost
            seconds = patience.first_pause * patience.growth ** (attempt - 1)
            listen(Step(task.name, attempt, patience.attempts, {"trouble": f"{lost}; trying again in {seconds:g} s"}))
            pause(seconds)
    raise DataError(f"{task.url}: was not tried; expected at least one attempt, found {patience.attempts}")


def note_of(part: Path) -> Path:
    """The file that says which version a part belongs to."""
    return part.with_name(f"{part.name}.json")


def discard(part: Path) -> None:
    """Forget a part. The bytes go first: a note without bytes is harmless, bytes with another note are not."""
    try:
        part.unlink(missing_ok=True)
        note_of(part).unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(part, error) from error


def _receive(task: Download, patience: Patience, listen: Listen) -> None:
    """What one connection brings."""
    version = _read_version(task)
    start = size_of(task.part) if version else 0
    if version and version.size is not None and start >= version.size > 0:
        if start == version.size:
            return
        discard(task.part)
        start = 0
    headers = {"Range": f"bytes={start}-", "If-Range": version.validator} if version and start else {}
    response = ask(task.url, headers, patience.timeout)
    try:
        if headers and response.status != PARTIAL:
            start = 0
        _check_range(task, version if headers else None, response, start)
        total = None if response.length is None else start + response.length
        _check_length(task, response, total)
        try:
            done = _write(task, response, start, total, patience.block, listen)
        except OSError as error:
            raise cannot_write(task.part, error) from error
        if total is not None and done < total:
            raise ConnectionLostError(f"the connection was lost after {amount(done)} of {amount(total)}")
    finally:
        response.close()


def _check_range(task: Download, version: Version | None, response: HttpResponse, start: int) -> None:
    """Drop the part if what comes now does not continue it."""
    if response.status not in (PARTIAL, NOT_SATISFIABLE):
        return
    sent = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", "").strip())
    same = version is not None and response.validator in ("", version.validator)
    whole = None if version is None else version.size
    fits = sent is not None and int(sent[1]) == start and (sent[2] == "*" or whole in (None, int(sent[2])))
    if not (same and fits):
        discard(task.part)
        raise ConnectionLostError("the server sent another part than was asked for, or the file has changed")


def _check_length(task: Download, response: HttpResponse, total: int | None) -> None:
    if task.size is not None and total not in (None, task.size):
        raise DataError(f"{task.url}: has {total} bytes now, expected {task.size}; its publisher has changed it")
    if task.size is None and total is None and not response.chunked:
        raise DataError(
            f"{task.url}: the server does not say how long it is, so that half of it could pass for the whole"
        )


def _write(task: Download, response: HttpResponse, start: int, total: int | None, block: int, listen: Listen) -> int:
    """Write the content behind the part, or in its place; how many bytes the part has in the end."""
    if start == 0:
        # An empty part first, then its note: the other way round, a kill between would give old bytes a new name.
        task.part.parent.mkdir(parents=True, exist_ok=True)
        task.part.open("wb").close()
        version = Version(task.url, response.validator, total)
        write_file(note_of(task.part), json.dumps(asdict(version)).encode())
    free = shutil.disk_usage(task.part.parent).free
    if total is not None and total - start > free:
        room = f"has room for {amount(free)}, but {amount(total - start)} of {task.name} are to come"
        raise DataError(f"{task.part.parent}: {room}; free some space")
    done = start
    with task.part.open("ab") as stream:
        while content := response.read(block):
            stream.write(content)
            stream.flush()  # what a killed process has received should be on the disk
            done += len(content)
            listen(Step(task.name, done, total or 0, {"doing": "fetching"}))
        os.fsync(stream.fileno())
    return done


def _read_version(task: Download) -> Version | None:
    """The note beside a part, if it is there and good enough to go on from."""
    try:
        version = Version(**json.loads(note_of(task.part).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    sound = isinstance(version.validator, str) and isinstance(version.size, (int, type(None)))
    usable = sound and version.validator.isprintable() and version.validator
    return version if usable and version.url == task.url else None
