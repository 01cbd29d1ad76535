"""Who may ask: pages of this server, and nobody else. A page of another origin, or a name that points here, may not."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

NAMES = ("127.0.0.1", "localhost", "[::1]")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""Sent with every answer: nothing is loaded from outside, nothing of ours is shown inside another page."""


def refusal(method: str, path: str, headers: Mapping[str, str]) -> str:
    """Why a request is not answered; empty where it is."""
    host = headers.get("host", "")
    if _name(host) not in NAMES:
        return f"the host is {host[:80]!r}; expected {' or '.join(NAMES[:2])}: this page is for this machine alone"
    if method != "GET":
        return f"the method is {method}; expected GET: nothing here can be changed"
    origin = headers.get("origin")
    if origin is not None and _asker(origin) != host:
        return f"the origin is {origin[:80]!r}; expected a page of this server"
    site, arrives = headers.get("sec-fetch-site", "none"), path == "/" and headers.get("sec-fetch-mode") == "navigate"
    if site not in ("none", "same-origin") and not arrives:
        return "the request comes from a page of another origin; expected a page of this server"
    return ""


def _asker(origin: str) -> str:
    """The host and port of an origin; empty where it is none."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _name(host: str) -> str:
    """The host without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host
