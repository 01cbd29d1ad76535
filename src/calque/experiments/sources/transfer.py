"""One download that survives a lost connection and a killed process.

What has arrived is in NAME.part; NAME.part.json beside it names the address and the version that it is a part of. The
rest is asked for by Range, on the condition (If-Range) that the server still has that version; where it has not, or
does not know ranges, the download starts anew.
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

from calque.experiments.sources.errors import DataError, NoConnectionError
from calque.experiments.sources.sizes import amount
from calque.experiments.sources.sums import cannot_write, write_whole
from calque.experiments.sources.web import NOT_SATISFIABLE, PARTIAL, Answer, LostError, UnreachableError, ask
from calque.progress import Listen, Step, quiet

Pause = Callable[[float], None]
"""What waits so many seconds."""


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
class Job:
    """One download."""

    name: str
    """What to call it in messages."""
    url: str
    part: Path
    """Where the content gathers."""
    size: int | None = None
    """The size it must have, where known."""


@dataclass(frozen=True)
class Version:
    """Which version of which file a part belongs to."""

    url: str
    validator: str
    """ETag or Last-Modified; without one a part cannot be continued."""
    size: int | None
    """How many bytes the whole has."""


def download(job: Job, patience: Patience, listen: Listen = quiet, pause: Pause = time.sleep) -> None:
    """Gather the whole content in ``job.part``; DataError where that fails, with what has arrived kept.

    A lost connection is taken up again where it broke, a bounded number of times with growing pauses.
    """
    for attempt in range(1, patience.attempts + 1):
        try:
            return _receive(job, patience, listen)
        except LostError as lost:
            if attempt == patience.attempts:
                raise _given_up(job, attempt, lost) from lost
            seconds = patience.first_pause * patience.growth ** (attempt - 1)
            listen(Step(job.name, attempt, patience.attempts, {"trouble": f"{lost}; trying again in {seconds:g} s"}))
            pause(seconds)
    raise DataError(f"{job.url}: was not tried; expected at least one attempt, found {patience.attempts}")


def _given_up(job: Job, attempts: int, lost: LostError) -> DataError:
    kind = NoConnectionError if isinstance(lost, UnreachableError) else DataError
    kept = _size(job.part)
    advice = f"{amount(kept)} are kept: run it again to go on" if kept else "check the network, or fetch it by hand"
    tried = "once" if attempts == 1 else f"{attempts} times"
    return kind(f"{job.url}: {lost}, tried {tried}; {advice}")


def note_of(part: Path) -> Path:
    """Where it is written down which version a part belongs to."""
    return part.with_name(f"{part.name}.json")


def discard(part: Path) -> None:
    """Forget a part. The bytes go first: a note without bytes is harmless, bytes with another note are not."""
    try:
        part.unlink(missing_ok=True)
        note_of(part).unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(part, error) from error


def _receive(job: Job, patience: Patience, listen: Listen) -> None:
    """One connection's worth of it."""
    version = _read_version(job)
    start = _size(job.part) if version else 0
    if version and version.size is not None and start >= version.size > 0:
        if start == version.size:
            return
        discard(job.part)
        start = 0
    headers = {"Range": f"bytes={start}-", "If-Range": version.validator} if version and start else {}
    answer = ask(job.url, headers, patience.timeout)
    try:
        if headers and answer.status != PARTIAL:
            start = 0
        _check_range(job, version if headers else None, answer, start)
        _gather(job, answer, start, patience.block, listen)
    finally:
        answer.close()


def _check_range(job: Job, version: Version | None, answer: Answer, start: int) -> None:
    """Whether what comes now continues what is there; where it does not, the part is dropped."""
    if answer.status not in (PARTIAL, NOT_SATISFIABLE):
        return
    found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", answer.headers.get("Content-Range", "").strip())
    same = version is not None and answer.validator in ("", version.validator)
    whole = None if version is None else version.size
    fits = found is not None and int(found[1]) == start and (found[2] == "*" or whole in (None, int(found[2])))
    if not (same and fits):
        discard(job.part)
        raise LostError("the server sent another part than was asked for, or the file has changed")


def _gather(job: Job, answer: Answer, start: int, block: int, listen: Listen) -> None:
    """Write what comes behind what is there, or in its place."""
    total = None if answer.length is None else start + answer.length
    _check_length(job, answer, total)
    try:
        if start == 0:
            _begin(job, answer, total)
        _check_room(job, start, total)
        done = _copy(job, answer, start, total, block, listen)
    except OSError as error:
        raise cannot_write(job.part, error) from error
    if total is not None and done < total:
        raise LostError(f"the connection was lost after {amount(done)} of {amount(total)}")


def _check_length(job: Job, answer: Answer, total: int | None) -> None:
    if job.size is not None and total not in (None, job.size):
        raise DataError(f"{job.url}: has {total} bytes now, expected {job.size}; its publisher has changed it")
    if job.size is None and total is None and not answer.chunked:
        raise DataError(
            f"{job.url}: the server does not say how long it is, so that half of it could pass for the whole"
        )


def _begin(job: Job, answer: Answer, total: int | None) -> None:
    """An empty part first, then its note: the other way round, a kill between would give old bytes a new name."""
    job.part.parent.mkdir(parents=True, exist_ok=True)
    job.part.open("wb").close()
    version = Version(job.url, answer.validator, total)
    write_whole(note_of(job.part), json.dumps(asdict(version)).encode())


def _check_room(job: Job, start: int, total: int | None) -> None:
    free = shutil.disk_usage(job.part.parent).free
    if total is not None and total - start > free:
        told = f"has room for {amount(free)}, but {amount(total - start)} of {job.name} are to come"
        raise DataError(f"{job.part.parent}: {told}; free some space")


def _copy(job: Job, answer: Answer, start: int, total: int | None, block: int, listen: Listen) -> int:
    """How many bytes the part has in the end."""
    done = start
    with job.part.open("ab") as stream:
        while content := answer.read(block):
            stream.write(content)
            stream.flush()  # what a killed process has received should be on the disk
            done += len(content)
            listen(Step(job.name, done, total or 0, {"doing": "fetching"}))
        os.fsync(stream.fileno())
    return done


def _read_version(job: Job) -> Version | None:
    """The note beside a part, where there is one that can be relied on to go on from."""
    try:
        version = Version(**json.loads(note_of(job.part).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    sound = isinstance(version.validator, str) and isinstance(version.size, (int, type(None)))
    usable = sound and version.validator.isprintable() and version.validator
    return version if usable and version.url == job.url else None


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
