"""How the explorer stands many clients: questions a second for a minute, errors, and how long answers take.

    python bench/explorer.py --rate 200 --clients 20 --seconds 60

The server is a command of its own, the clients are threads of this one; the run is that of the shipped sample. Half of
the questions are for neighbours, both ways and by both retrievals, half for completions.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

import common
from calque import sample
from calque.api import align


@dataclass(frozen=True)
class Stood:
    """What came of many questions."""

    answers: int
    errors: int
    seconds: float
    median: float
    """Milliseconds within which half of the answers came."""
    late: float
    """The same for 99 in 100."""


def main() -> None:
    """Ask, count, tell."""
    parser = common.parser(__doc__)
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60.0)
    asked = parser.parse_args()
    source, target = sample.spaces()
    words = zip(source.words, target.words, strict=False)
    paths = [
        path
        for ours, theirs in words
        for path in (
            f"/api/neighbours?word={quote(ours)}",
            f"/api/complete?side=target&prefix={quote(theirs[:2])}",
        )
    ]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        align(source, target, seed=0, device="cpu").save(folder)
        served = [*common.CALQUE, "explore", str(folder), "--json", "-q"]
        with subprocess.Popen(served, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            address = json.loads(server.stdout.readline())["address"]
            stood = _asked(address, paths, asked.rate, asked.clients, asked.seconds)
            server.kill()
    head = ("asked for a second", "clients", "answers", "errors", "answers a second", "median, ms", "99 in 100, ms")
    row = (
        f"{asked.rate:g}",
        asked.clients,
        stood.answers,
        stood.errors,
        f"{stood.answers / stood.seconds:.0f}",
        f"{stood.median:.1f}",
        f"{stood.late:.1f}",
    )
    common.keep(asked.output, "explorer", asdict(stood), f"{common.headline()}\n\n{common.markdown(head, [row])}")
    common.store(asked, "explorer", common.markdown(head, [row]))
    sys.exit(1 if stood.errors else 0)


def _asked(address: str, paths: list[str], rate: float, clients: int, seconds: float) -> Stood:
    """Every client asks at its own times, whatever the others do; one that is late asks at once."""
    took: list[float] = []
    errors: list[str] = []
    began = time.monotonic()

    def client(number: int) -> None:
        parts = urlsplit(address)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
        for turn in range(int(seconds * rate / clients)):
            time.sleep(max(0.0, began + (turn * clients + number) / rate - time.monotonic()))
            at = time.monotonic()
            try:
                connection.request("GET", paths[(turn * clients + number) % len(paths)])
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    errors.append(str(answer.status))
            except (OSError, http.client.HTTPException) as error:
                errors.append(repr(error))
                connection.close()
            took.append(time.monotonic() - at)
        connection.close()

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = time.monotonic() - began
    took.sort()
    median, late = (1000 * took[int(len(took) * share)] for share in (0.5, 0.99))
    return Stood(len(took), len(errors), whole, median, late)


if __name__ == "__main__":
    main()
