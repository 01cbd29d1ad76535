"""One answer from one address, by HTTP or HTTPS and nothing else; proxies as the environment names them."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any, cast
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from calque.experiments.sources.catalogue import check_address
from calque.experiments.sources.errors import DataError

OK, PARTIAL, NOT_SATISFIABLE = 200, 206, 416
PASSING = (408, 425, 429, 500, 502, 503, 504)
"""Answers of a server that may do better in a moment."""


class LostError(Exception):
    """The connection was not made or did not last: worth another try."""


class UnreachableError(LostError):
    """Not even a connection."""


@dataclass(frozen=True)
class Answer:
    """What a server said before it sends the content."""

    status: int
    headers: Mapping[str, str]
    stream: Any

    @property
    def length(self) -> int | None:
        """How many bytes it promises to send."""
        told = self.headers.get("Content-Length", "")
        return int(told) if told.isdecimal() else None

    @property
    def chunked(self) -> bool:
        """Whether it marks the end of what it sends."""
        return "chunked" in self.headers.get("Transfer-Encoding", "").lower()

    @property
    def validator(self) -> str:
        """What names this very version of the file: a strong ETag, or else when it was last changed."""
        tag = self.headers.get("ETag", "")
        return tag if tag and not tag.startswith("W/") else self.headers.get("Last-Modified", "")

    def read(self, size: int) -> bytes:
        """At most so many bytes, and those at once that are there: a lost connection must not take any along."""
        try:
            return cast("bytes", self.stream.read1(size))
        except (OSError, http.client.HTTPException) as error:
            raise LostError(f"the connection was lost ({_in_words(error)})") from error

    def close(self) -> None:
        """Let go of the connection."""
        self.stream.close()


class _WebOnly(request.HTTPRedirectHandler):
    """Follows redirects on the web, never to a file of this machine nor from an encrypted to an open line."""

    def redirect_request(
        self, req: request.Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage, newurl: str
    ) -> request.Request | None:
        """The request to send instead."""
        check_redirect(req.full_url, newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def check_redirect(url: str, other: str) -> None:
    """Refuse a redirect that leaves the web or gives up encryption."""
    schemes = urlsplit(url).scheme, urlsplit(other).scheme
    if schemes[1] not in ("http", "https") or schemes == ("https", "http"):
        raise DataError(f"{url}: redirects to {other!r}, which is not followed; fetch it by hand if you trust it")
    check_address(other)


def ask(url: str, headers: Mapping[str, str], timeout: float) -> Answer:
    """Ask for an address; DataError where it says no, LostError where another try may help."""
    check_address(url)
    asked = request.Request(url, headers={"User-Agent": "calque", "Accept-Encoding": "identity", **headers})
    try:
        stream = _opener().open(asked, timeout=timeout)
    except HTTPError as error:
        return _refusal(url, error)
    except URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            message = error.reason.verify_message
            raise DataError(f"{url}: its certificate is not trusted ({message}); fetch it by hand") from error
        raise UnreachableError(f"{urlsplit(url).netloc} cannot be reached ({_in_words(error.reason)})") from error
    except (OSError, http.client.HTTPException) as error:
        raise LostError(f"the connection was lost ({_in_words(error)})") from error
    return _accepted(url, Answer(stream.status, stream.headers, stream))


def _refusal(url: str, error: HTTPError) -> Answer:
    """416 is for the caller to understand; the rest is a reason to stop, or to try again."""
    error.close()
    said = f"the server answered {error.code} {_in_words(error.reason)}"
    if error.code == NOT_SATISFIABLE:
        return Answer(error.code, dict(error.headers.items()), error)
    if error.code in PASSING:
        raise LostError(said)
    raise DataError(f"{url}: {said}; look on its publisher's page whether it has moved") from None


def _accepted(url: str, answer: Answer) -> Answer:
    kind = answer.headers.get("Content-Type", "").split(";")[0].strip().lower()
    encoding = answer.headers.get("Content-Encoding", "identity")
    if answer.status in (OK, PARTIAL) and kind != "text/html" and encoding == "identity":
        return answer
    answer.close()
    found = f"status {answer.status}" if answer.status not in (OK, PARTIAL) else "a web page"
    found = found if encoding == "identity" else f"content in the encoding {encoding!r}"
    raise DataError(f"{url}: the server sent {found} instead of the file; look on its publisher's page")


def _opener() -> request.OpenerDirector:
    """Only what speaks HTTP: the usual one would open file: and ftp: too."""
    opener = request.OpenerDirector()
    handlers = (request.ProxyHandler, request.HTTPHandler, request.HTTPSHandler, request.HTTPDefaultErrorHandler)
    for handler in (*handlers, _WebOnly, request.HTTPErrorProcessor, request.UnknownHandler):
        opener.add_handler(handler())
    return opener


def _in_words(error: object) -> str:
    told = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(told).split())[:160]
