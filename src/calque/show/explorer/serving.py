"""A server on this machine alone, for as long as somebody looks."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from calque.errors import MissingExtraError, SettingsError
from calque.show.explorer.live import Stage

HOST = "127.0.0.1"
PATIENCE = 2
"""Seconds that answers under way have to end."""


@contextmanager
def serving(stage: Stage, port: int = 0) -> Iterator[str]:
    """Serve a stage from a thread of its own; the address of the page. Port 0 takes a free one."""
    try:
        import uvicorn

        from calque.show.explorer.application import application
    except ImportError as error:
        raise MissingExtraError(str(error.name), "web", "the explorer") from error
    opened = _socket(port)
    config = uvicorn.Config(
        application(stage), log_level="error", access_log=False, timeout_graceful_shutdown=PATIENCE, server_header=False
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([opened],), name="explorer", daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            thread.join(0.02)
        yield f"http://{HOST}:{opened.getsockname()[1]}/"
    finally:
        stage.closing.set()
        if stage.explorer is not None:
            stage.explorer.closing.set()
        server.should_exit = True
        thread.join(2 * PATIENCE)
        opened.close()


def _socket(port: int) -> socket.socket:
    if not 0 <= port < 65536:
        raise SettingsError(f"the port is {port}; expected 0, for a free one, or up to 65535")
    opened = socket.socket()
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((HOST, port))
    except OSError as error:
        opened.close()
        raise SettingsError(f"port {port} cannot be taken ({error.strerror}); choose another, or none") from error
    return opened
