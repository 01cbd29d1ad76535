"""A server on this machine alone, for as long as somebody looks."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from calque.errors import MissingExtraError, SettingsError
from calque.show.explorer.explorer import LiveRun

HOST = "127.0.0.1"
SECONDS_TO_END = 2
"""How long answers under way may still take when the server ends."""


@contextmanager
def serving(live_run: LiveRun, port: int = 0) -> Iterator[str]:
    """Serve a run from a thread of its own; the address of the page. Port 0 takes a free one."""
    try:
        import uvicorn

        from calque.show.explorer.application import application
    except ImportError as error:
        raise MissingExtraError(str(error.name), "web", "the explorer") from error
    listening = _listening_socket(port)
    config = uvicorn.Config(
        application(live_run),
        log_level="error",
        access_log=False,
        timeout_graceful_shutdown=SECONDS_TO_END,
        server_header=False,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],), name="explorer", daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            thread.join(0.02)
        yield f"http://{HOST}:{listening.getsockname()[1]}/"
    finally:
        live_run.closing.set()
        if live_run.explorer is not None:
            live_run.explorer.closing.set()
        server.should_exit = True
        thread.join(2 * SECONDS_TO_END)
        listening.close()


def _listening_socket(port: int) -> socket.socket:
    if not 0 <= port < 65536:
        raise SettingsError(f"the port is {port}; expected 0, for a free one, or up to 65535")
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        raise SettingsError(f"port {port} cannot be taken ({error.strerror}); choose another, or none") from error
    return listening
