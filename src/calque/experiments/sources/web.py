"""One response from one address, by HTTP or HTTPS and nothing else; proxies as the environment names them."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any, cast
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from calque.experiments.sources.catalogue import DataError, check_address

OK, PARTIAL, NOT_SATISFIABLE = 200, 206, 416
TEMPORARY = (408, 425, 429, 500, 502, 503, 504)
"""Status codes of a server that may do better in a moment."""


class ConnectionLostError(Exception):
    """The connection was not made or did not last: worth another try."""


class UnreachableError(ConnectionLostError):
    """There was not even a connection."""


@dataclass(frozen=True)
class HttpResponse:
    """What a server says before it sends the content."""

    status: int
    headers: Mapping[str, str]
    stream: Any

    @property
    def length(self) -> int | None:
        """How many bytes it promises to send."""
        length = self.headers.get("Content-Length", "")
        return int(length) if length.isdecimal() else None

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
        """At most so many bytes, at once what has arrived: a connection that is lost later must not take it away."""
        try:
            return cast("bytes", self.stream.read1(size))
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionLostError(f"the connection was lost ({_in_words(error)})") from error

    def close(self) -> None:
        """Close the connection."""
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


def ask(url: str, headers: Mapping[str, str], timeout: float) -> HttpResponse:
    """Ask for an address; DataError if the server refuses, ConnectionLostError if another try may help."""
    check_address(url)
    # The usual opener would open file: and ftp: too.
    opener = request.OpenerDirector()
    handlers = (request.ProxyHandler, request.HTTPHandler, request.HTTPSHandler, request.HTTPDefaultErrorHandler)
    for handler in (*handlers, _WebOnly, request.HTTPErrorProcessor, request.UnknownHandler):
        opener.add_handler(handler())
    question = request.Request(url, headers={"User-Agent": "calque", "Accept-Encoding": "identity", **headers})
    try:
        stream = opener.open(question, timeout=timeout)
    except HTTPError as error:
        return _refusal(url, error)
    except URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            message = error.reason.verify_message
            raise DataError(f"{url}: its certificate is not trusted ({message}); fetch it by hand") from error
        raise UnreachableError(f"{urlsplit(url).netloc} cannot be reached ({_in_words(error.reason)})") from error
    except (OSError, http.client.HTTPException) as error:
        raise ConnectionLostError(f"the connection was lost ({_in_words(error)})") from error
    response = HttpResponse(stream.status, stream.headers, stream)
    kind = response.headers.get("Content-Type", "").split(";")[0].strip().lower()
    encoding = response.headers.get("Content-Encoding", "identity")
    if response.status in (OK, PARTIAL) and kind != "text/html" and encoding == "identity":
        return response
    response.close()
    wrong = f"status {response.status}" if response.status not in (OK, PARTIAL) else "a web page"
    wrong = wrong if encoding == "identity" else f"content in the encoding {encoding!r}"
    raise DataError(f"{url}: the server sent {wrong} instead of the file; look on its publisher's page")


def _refusal(url: str, error: HTTPError) -> HttpResponse:
    """416 is for the caller to understand; the rest is a reason to stop, or to try again."""
    error.close()
    message = f"the server answered {error.code} {_in_words(error.reason)}"
    if error.code == NOT_SATISFIABLE:
        return HttpResponse(error.code, dict(error.headers.items()), error)
    if error.code in TEMPORARY:
        raise ConnectionLostError(message)
    raise DataError(f"{url}: {message}; look on its publisher's page whether it has moved") from None


def _in_words(error: object) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())[:160]
