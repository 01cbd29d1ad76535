"""The explorer's addresses. All of them only tell; none changes anything, and none takes a path."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib import resources
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as Refused
from starlette.responses import Response, StreamingResponse

from calque.errors import CalqueError, UnknownWordError
from calque.runs.lookup import similar, spelled_alike
from calque.show.explorer.explorer import SIDES, Explorer
from calque.show.explorer.guard import HEADERS, refusal
from calque.show.explorer.live import Stage

KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
OFTEN = 0.1
"""Seconds between two looks at a run under way."""
LONGEST_WORD = 1000


def application(stage: Stage) -> FastAPI:
    """The page and what it asks."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.middleware("http")(_guarded)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(RequestValidationError, _misunderstood)
    app.add_exception_handler(CalqueError, _wrong)
    _serve_files(app)
    _serve_run(app, stage)
    _serve_judgements(app, stage)
    _serve_progress(app, stage)
    return app


def _serve_files(app: FastAPI) -> None:
    """The page itself, read once: what is not in this table cannot be asked for."""
    folder = resources.files("calque.show.explorer") / "static"
    files = {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}

    @app.get("/")
    def page() -> Response:
        return Response(files["index.html"], media_type=KINDS["html"])

    @app.get("/static/{name}")
    def file(name: str) -> Response:
        if name not in files:
            raise HTTPException(404, f"there is no file {name!r} here")
        return Response(files[name], media_type=KINDS[name.rpartition(".")[2]])


def _serve_run(app: FastAPI, stage: Stage) -> None:
    @app.get("/api/run")
    def run() -> Response:
        return _json(stage.summary())

    @app.get("/api/starts")
    def starts() -> Response:
        return _json(_open(stage).starts())

    @app.get("/api/neighbours")
    def neighbours(side: str = "source", word: str | None = None, row: int | None = None, k: int = 10) -> Response:
        if word is not None and len(word) > LONGEST_WORD:
            raise HTTPException(400, f"the word has {len(word)} characters; expected at most {LONGEST_WORD}")
        explorer = _open(stage)
        try:
            return _json(explorer.neighbours(side, explorer.row(side, word, row), k))
        except UnknownWordError as error:
            close = spelled_alike(word, explorer.lookup.words(side)) if word else []
            here = [each for each in SIDES if each != side and word and explorer.lookup.knows(each, word)]
            # The page shows the similar words as something to click.
            told = str(error).removesuffix(similar(word or "", explorer.lookup.words(side)))
            return _json({"error": told, "similar": close, "elsewhere": here}, 404)

    @app.get("/api/complete")
    def complete(side: str = "source", prefix: str = "", limit: int = 12) -> Response:
        if len(prefix) > LONGEST_WORD:
            raise HTTPException(400, f"the prefix has {len(prefix)} characters; expected at most {LONGEST_WORD}")
        return _json(_open(stage).complete(side, prefix, limit))

    @app.get("/api/map/words")
    def map_words() -> Response:
        return _json(_open(stage).map_words())

    @app.get("/api/map/places")
    def map_places() -> Response:
        return Response(_open(stage).map_places(), media_type="application/octet-stream")


def _serve_judgements(app: FastAPI, stage: Stage) -> None:
    @app.get("/api/judged")
    def judged(side: str = "source", retrieval: str = "csls") -> Response:
        if side not in SIDES:
            raise HTTPException(400, f"no side is called {side!r}; there are: {', '.join(SIDES)}")
        explorer = _open(stage)
        if explorer.lexicon is None:
            raise HTTPException(404, "no lexicon was given, so nothing is known of errors; start with --lexicon FILE")
        return _json(explorer.judged(side == "target", retrieval))

    @app.get("/lexicon.tsv")
    def lexicon() -> Response:
        named = {"Content-Disposition": 'attachment; filename="lexicon.tsv"'}
        return StreamingResponse(_open(stage).lexicon_lines(), media_type="text/tab-separated-values", headers=named)


def _serve_progress(app: FastAPI, stage: Stage) -> None:
    @app.get("/api/events")
    async def events(request: Request) -> Response:
        last = request.headers.get("last-event-id", "")
        begin = int(last) + 1 if last.isdecimal() and len(last) < 10 else 0
        return StreamingResponse(_told(stage, begin), media_type="text/event-stream")


async def _told(stage: Stage, place: int) -> AsyncIterator[str]:
    """Every step since ``place``, as it comes, and the end."""
    yield "retry: 1000\n\n"
    while not stage.closing.is_set():
        over = stage.state != "running"
        while place < len(stage.told):
            yield f"id: {place}\nevent: step\ndata: {json.dumps(stage.told[place])}\n\n"
            place += 1
        if over:
            yield "event: over\ndata: {}\n\n"
            return
        await asyncio.sleep(OFTEN)


def _open(stage: Stage) -> Explorer:
    if stage.explorer is None:
        raise HTTPException(409, "the run is not finished; /api/events tells how far it is")
    return stage.explorer


async def _guarded(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
    why = refusal(request.method, request.url.path, request.headers)
    response = _error(why, 403) if why else await answer(request)
    response.headers.update(HEADERS)
    return response


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    known = {404: f"there is nothing at {request.url.path[:80]!r}; the page is at '/'"}
    plain = error.detail in ("Not Found", "Method Not Allowed")
    return _error(known.get(error.status_code, error.detail) if plain else error.detail, error.status_code)


async def _misunderstood(request: Request, error: Exception) -> Response:  # noqa: ARG001  (Starlette's signature)
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    name, found, why = first["loc"][-1], str(first.get("input"))[:40], str(first["msg"])
    head = "Input should be "
    return _error(f"{name} is {found!r}; {f'expected {why[len(head) :]}' if why.startswith(head) else why}", 400)


async def _wrong(request: Request, error: Exception) -> Response:  # noqa: ARG001  (Starlette's signature)
    return _error(str(error), 404 if isinstance(error, UnknownWordError) else 400)


def _error(why: str, status: int) -> Response:
    return _json({"error": why}, status)


def _json(value: Any, status: int = 200) -> Response:
    """Pure ASCII: words that were no UTF-8 in their file could not be sent otherwise."""
    return Response(json.dumps(value), status, media_type="application/json")
