"""The explorer's addresses, and who may ask.

All addresses only read; none changes anything, and none takes a path. Only pages of this server may ask: no page of
another origin, and none under a host name that somebody else made point to this machine.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as Refused
from starlette.responses import Response, StreamingResponse

from calque.errors import CalqueError, UnknownWordError
from calque.runs.lookup import similar, spelled_alike
from calque.show.explorer.explorer import NO_LEXICON, NO_MODEL, SIDES, Explorer, LiveRun

MEDIA_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
SECONDS_BETWEEN_LOOKS = 0.1
"""How often a run under way is looked at for new steps."""
LONGEST_WORD, LONGEST_TEXT = 1000, 10_000
HOST_NAMES = ("127.0.0.1", "localhost", "[::1]")
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


def application(live_run: LiveRun) -> FastAPI:
    """The page and what it asks."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.middleware("http")(_guard)
    app.add_exception_handler(Refused, _answer_refusal)
    app.add_exception_handler(RequestValidationError, _answer_bad_parameter)
    app.add_exception_handler(CalqueError, _answer_calque_error)
    _add_files(app)
    _add_words(app, live_run)
    _add_lexicons(app, live_run)
    _add_texts(app, live_run)
    _add_events(app, live_run)
    return app


def _add_files(app: FastAPI) -> None:
    """The page itself. Its files are read once: what is not in this table cannot be asked for."""
    folder = resources.files("calque.show.explorer") / "static"
    files = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}

    @app.get("/")
    def page() -> Response:
        return Response(files["index.html"], media_type=MEDIA_TYPES["html"])

    @app.get("/static/{name}")
    def file(name: str) -> Response:
        if name not in files:
            raise HTTPException(404, f"there is no file {name!r} here")
        return Response(files[name], media_type=MEDIA_TYPES[name.rpartition(".")[2]])


def _add_words(app: FastAPI, live_run: LiveRun) -> None:
    """The run, its words, and the map of them."""

    @app.get("/api/run")
    def run() -> Response:
        return _json(live_run.summary())

    @app.get("/api/starts")
    def starts() -> Response:
        return _json(_explorer_of(live_run).starts())

    @app.get("/api/neighbours")
    def neighbours(side: str = "source", word: str | None = None, row: int | None = None, k: int = 10) -> Response:
        if word is not None and len(word) > LONGEST_WORD:
            raise HTTPException(400, f"the word has {len(word)} characters; expected at most {LONGEST_WORD}")
        explorer = _explorer_of(live_run)
        try:
            return _json(explorer.neighbours(side, explorer.row(side, word, row), k))
        except UnknownWordError as error:
            words = explorer.lookup.words(side)
            elsewhere = [other for other in SIDES if other != side and word and explorer.lookup.knows(other, word)]
            # The page shows the similar words as something to click, so the message need not name them.
            message = str(error).removesuffix(similar(word or "", words))
            answer = {"error": message, "similar": spelled_alike(word, words) if word else [], "elsewhere": elsewhere}
            return _json(answer, 404)

    @app.get("/api/complete")
    def complete(side: str = "source", prefix: str = "", limit: int = 12) -> Response:
        if len(prefix) > LONGEST_WORD:
            raise HTTPException(400, f"the prefix has {len(prefix)} characters; expected at most {LONGEST_WORD}")
        return _json(_explorer_of(live_run).complete(side, prefix, limit))

    @app.get("/api/map/words")
    def map_words() -> Response:
        return _json(_explorer_of(live_run).map_words())

    @app.get("/api/map/places")
    def map_places() -> Response:
        return Response(_explorer_of(live_run).map_places(), media_type="application/octet-stream")


def _add_lexicons(app: FastAPI, live_run: LiveRun) -> None:
    """The errors by the lexicon that was given, and the lexicon that the run implies."""

    @app.get("/api/judged")
    def judged(side: str = "source", retrieval: str = "csls") -> Response:
        if side not in SIDES:
            raise HTTPException(400, f"no side is called {side!r}; there are: {', '.join(SIDES)}")
        explorer = _explorer_of(live_run)
        if explorer.lexicon is None:
            raise HTTPException(404, NO_LEXICON)
        return _json(explorer.judged(side == "target", retrieval))

    @app.get("/lexicon.tsv")
    def lexicon() -> Response:
        lines = _explorer_of(live_run).lexicon_lines()
        headers = {"Content-Disposition": 'attachment; filename="lexicon.tsv"'}
        return StreamingResponse(lines, media_type="text/tab-separated-values", headers=headers)


def _add_texts(app: FastAPI, live_run: LiveRun) -> None:
    """The class of a text, where a classifier was given."""

    @app.get("/api/text")
    def text(text: str = "") -> Response:
        if len(text) > LONGEST_TEXT:
            raise HTTPException(400, f"the text has {len(text)} characters; expected at most {LONGEST_TEXT}")
        explorer = _explorer_of(live_run)
        if explorer.model is None:
            raise HTTPException(404, NO_MODEL)
        return _json(explorer.explained(text))


def _add_events(app: FastAPI, live_run: LiveRun) -> None:
    """The steps of a run under way, as server-sent events."""

    async def new_steps(place: int) -> AsyncIterator[str]:
        yield "retry: 1000\n\n"
        while not live_run.closing.is_set():
            over = live_run.state != "running"
            while place < len(live_run.steps):
                yield f"id: {place}\nevent: step\ndata: {json.dumps(live_run.steps[place])}\n\n"
                place += 1
            if over:
                yield "event: over\ndata: {}\n\n"
                return
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)

    @app.get("/api/events")
    async def events(request: Request) -> Response:
        last = request.headers.get("last-event-id", "")
        place = int(last) + 1 if last.isdecimal() and len(last) < 10 else 0
        return StreamingResponse(new_steps(place), media_type="text/event-stream")


def _explorer_of(live_run: LiveRun) -> Explorer:
    if live_run.explorer is None:
        raise HTTPException(409, "the run is not finished; /api/events tells how far it is")
    return live_run.explorer


async def _guard(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
    reason = reason_to_refuse(request.method, request.url.path, request.headers)
    response = _json({"error": reason}, 403) if reason else await answer(request)
    response.headers.update(HEADERS)
    return response


def reason_to_refuse(method: str, path: str, headers: Mapping[str, str]) -> str:
    """Why a request is not answered; empty where it is."""
    host = headers.get("host", "")
    name, colon, port = host.rpartition(":")
    if (name if colon and port.isdigit() else host) not in HOST_NAMES:
        expected = " or ".join(HOST_NAMES[:2])
        return f"the host is {host[:80]!r}; expected {expected}: this page is for this machine alone"
    if method != "GET":
        return f"the method is {method}; expected GET: nothing here can be changed"
    origin = headers.get("origin")
    if origin is not None and not _is_of_host(origin, host):
        return f"the origin is {origin[:80]!r}; expected a page of this server"
    site, opens_page = headers.get("sec-fetch-site", "none"), headers.get("sec-fetch-mode") == "navigate"
    if site not in ("none", "same-origin") and not (path == "/" and opens_page):
        return "the request comes from a page of another origin; expected a page of this server"
    return ""


def _is_of_host(origin: str, host: str) -> bool:
    try:
        return urlsplit(origin)[:2] == ("http", host)
    except ValueError:
        return False


async def _answer_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    message = error.detail
    if error.status_code == 404 and message == "Not Found":
        message = f"there is nothing at {request.url.path[:80]!r}; the page is at '/'"
    return _json({"error": message}, error.status_code)


async def _answer_bad_parameter(request: Request, error: Exception) -> Response:  # noqa: ARG001  (Starlette's signature)
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    name, value, message = first["loc"][-1], str(first.get("input"))[:40], str(first["msg"])
    message = message.replace("Input should be ", "expected ", 1)
    return _json({"error": f"{name} is {value!r}; {message}"}, 400)


async def _answer_calque_error(request: Request, error: Exception) -> Response:  # noqa: ARG001  (Starlette's signature)
    return _json({"error": str(error)}, 404 if isinstance(error, UnknownWordError) else 400)


def _json(value: Any, status: int = 200) -> Response:
    """An answer in pure ASCII: words that were no UTF-8 in their file could not be sent otherwise."""
    return Response(json.dumps(value), status, media_type="application/json")
