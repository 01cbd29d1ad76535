"""How the explorer stands many clients: questions a second for a minute, errors, and how long answers take.

    python bench/explorer.py --rate 200 --clients 20 --seconds 60

The server is a command of its own, the clients are threads of this one; the run is that of the shipped sample.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

from calque import sample
from calque.api import align

COMMAND = [sys.executable, "-c", "from calque.cli.main import entry; entry()"]


def main() -> None:
    """Ask, count, tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    source, target = sample.spaces()
    paths = [f"/api/neighbours?word={quote(word)}" for word in source.words[:2000]]
    paths += [f"/api/complete?side=target&prefix={quote(word[:2])}" for word in target.words[:2000]]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        align(source, target, seed=0, device="cpu").save(folder)
        server = subprocess.Popen([*COMMAND, "explore", str(folder), "--json", "-q"], stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            address = json.loads(server.stdout.readline())["address"]
            took, errors, whole = _asked(address, paths, given.rate, given.clients, given.seconds)
        finally:
            server.kill()
            server.wait()
    took.sort()
    middle, late = (1000 * took[int(len(took) * share)] for share in (0.5, 0.99))
    print(
        f"{len(took)} answers and {errors} errors in {whole:.1f} s: "
        f"{len(took) / whole:.0f} a second of {given.rate:g} asked for"
    )
    print(f"half of them within {middle:.1f} ms, 99 in 100 within {late:.1f} ms, {given.clients} clients at once")


def _asked(address: str, paths: list[str], rate: float, clients: int, seconds: float) -> tuple[list[float], int, float]:
    """The seconds of every answer, how many were errors, and how long it took in all."""
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

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return took, len(errors), time.monotonic() - began


if __name__ == "__main__":
    main()
