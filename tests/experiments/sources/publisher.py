"""A publisher on this machine: a web server whose every mishap can be ordered."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Mishap:
    """What goes wrong with one answer."""

    status: int = 0
    """Answer with this status instead."""
    cut: int | None = None
    """Promise everything, send so many bytes, and hang up."""
    silent: bool = False
    """Hang up without an answer."""


@dataclass
class Page:
    """What is at one address, and how it is served."""

    content: bytes
    tag: str = '"one"'
    modified: str = ""
    kind: str = "application/octet-stream"
    headers: dict[str, str] = field(default_factory=dict)
    ranges: bool = True
    conditions: bool = True
    """Whether If-Range is heeded."""
    chunked: bool = False
    length: bool = True
    """Whether it is told how much will be sent."""
    redirect: str = ""
    mishaps: list[Mishap] = field(default_factory=list)
    """One an answer, in this order; then all goes well."""
    always: Mishap = field(default_factory=Mishap)
    """What goes wrong once the mishaps are used up."""
    gate: threading.Event | None = None
    """Half of the content is sent; the rest when this is set."""


@dataclass
class Asked:
    """One request."""

    path: str
    headers: Message
    sent: int = 0
    """Bytes of content that left."""


@dataclass
class Publisher:
    """The server, as a test sees it."""

    port: int
    pages: dict[str, Page] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    server: Any = None

    def encrypt(self, certificate: Path, key: Path) -> None:
        """Speak HTTPS from now on."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)

    def address(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def starts(self) -> list[int]:
        """Where each request wanted to begin."""
        return [
            int(request.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-")) for request in self.asked
        ]


@contextmanager
def serving() -> Iterator[Publisher]:
    """A publisher for as long as this lasts."""

    class Handler(_Handler):
        publisher: Publisher

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Handler.publisher = Publisher(server.server_address[1], server=server)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield Handler.publisher
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    publisher: Publisher
    protocol_version = "HTTP/1.1"

    def log_message(self, *told: Any) -> None:
        pass

    def do_GET(self) -> None:
        asked = Asked(self.path, self.headers)
        self.publisher.asked.append(asked)
        self.close_connection = True
        page = self.publisher.pages.get(self.path)
        if page is None:
            self.send_error(404)
            return
        mishap = page.mishaps.pop(0) if page.mishaps else page.always
        if mishap.silent:
            return
        if mishap.status:
            self.send_error(mishap.status)
        elif page.redirect:
            self.send_response(302)
            self.send_header("Location", page.redirect)
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self.answer(asked, page, mishap)

    def answer(self, asked: Asked, page: Page, mishap: Mishap) -> None:
        start = self.start(page)
        if start is not None and start >= len(page.content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(page.content)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        content = page.content[start or 0 :]
        self.send_response(200 if start is None else 206)
        for name, value in {"ETag": page.tag, "Last-Modified": page.modified, **page.headers}.items():
            if value:
                self.send_header(name, value)
        self.send_header("Content-Type", page.kind)
        if start is not None:
            self.send_header("Content-Range", f"bytes {start}-{len(page.content) - 1}/{len(page.content)}")
        if page.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif page.length:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with suppress(ConnectionError):  # a reader that was killed, or has seen enough
            self.body(asked, page, content if mishap.cut is None else content[: mishap.cut], mishap)

    def body(self, asked: Asked, page: Page, content: bytes, mishap: Mishap) -> None:
        middle = len(content) // 2 if page.gate else len(content)
        for piece in (content[:middle], content[middle:]):
            if page.chunked and piece:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            else:
                self.wfile.write(piece)
            self.wfile.flush()
            asked.sent += len(piece)
            if page.gate and piece == content[:middle]:
                page.gate.wait(10)
        if page.chunked and mishap.cut is None:
            self.wfile.write(b"0\r\n\r\n")

    def start(self, page: Page) -> int | None:
        """Where the part that was asked for begins, if a part was asked for and may be sent."""
        given = self.headers.get("Range")
        if given is None or not page.ranges:
            return None
        if page.conditions and self.headers.get("If-Range") not in (page.tag, page.modified):
            return None
        return int(given.removeprefix("bytes=").rstrip("-"))
