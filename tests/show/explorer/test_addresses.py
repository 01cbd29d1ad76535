"""What the server answers, to whom, and in which words."""

from __future__ import annotations

import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from urllib.parse import quote, urlsplit

import pytest

from calque.errors import SettingsError
from calque.progress import Step
from calque.show.explorer.explorer import LiveRun
from calque.show.explorer.serving import serving


def get(page: str, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """One request with just these headers, and the path as it is: nothing between us and the server tidies it."""
    parts = urlsplit(page)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=20)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body


def told(page: str, path: str) -> tuple[int, object]:
    status, _, body = get(page, path)
    return status, json.loads(body)


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/api/neighbours", 400, "no word was asked about"),
        ("/api/neighbours?word=", 400, "no word was asked about"),
        ("/api/neighbours?word=a&side=middle", 400, "there are: source, target"),
        ("/api/neighbours?row=one", 400, "row is 'one'; expected"),
        ("/api/neighbours?row=-1", 404, "rows count from 0"),
        ("/api/neighbours?row=99999999999999999999", 404, "rows count from 0"),
        ("/api/neighbours?row=1&k=0", 400, "k is 0; expected 1 to 100"),
        ("/api/neighbours?row=1&k=1000000", 400, "expected 1 to 100"),
        (f"/api/neighbours?word={'x' * 5000}", 400, "5000 characters"),
        ("/api/neighbours?word=%ff%fe", 404, "is not among"),
        ("/api/neighbours?word=%00", 404, "is not among"),
        ("/api/complete?limit=0", 400, "limit is 0"),
        ("/api/complete?side=x", 400, "there are: source, target"),
        (f"/api/complete?prefix={'x' * 5000}", 400, "5000 characters"),
        ("/api/judged?side=x", 400, "there are: source, target"),
        ("/api/judged?retrieval=magic", 400, "there are: nn, csls"),
        ("/api/nothing", 404, "the page is at '/'"),
        ("/static/nothing.js", 404, "there is no file"),
    ],
)
def test_a_bad_question_gets_a_sentence(page, path, status, words):
    got, answer = told(page, path)
    assert got == status
    assert words in answer["error"]


def test_an_unknown_word_offers_the_nearest_spelling_and_the_other_language(page):
    status, answer = told(page, "/api/neighbours?word=fuente0100x")
    assert status == 404
    assert "fuente0100" in answer["similar"]
    assert answer["error"].endswith("is not among the 600 words")
    status, answer = told(page, "/api/neighbours?word=target0100")
    assert (status, answer["elsewhere"]) == (404, ["target"])


@pytest.mark.parametrize(
    "path",
    [
        "/static/../config.json",
        "/static/..%2f..%2fexplorer.py",
        "/static/%2e%2e/application.py",
        "/static//etc/passwd",
        "/..%2f..%2f..%2f..%2fetc/passwd",
        "/config.json",
        "/static/",
        "//etc/passwd",
    ],
)
def test_no_path_leads_to_a_file(page, path):
    status, _, body = get(page, path)
    assert status == 404
    assert set(json.loads(body)) == {"error"}


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:80"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://[bad"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "no-cors"},
    ],
)
@pytest.mark.parametrize("path", ["/api/run", "/lexicon.tsv", "/static/main.js", "/api/events"])
def test_another_origin_cannot_ask(page, path, headers):
    status, _, body = get(page, path, **headers)
    assert status == 403
    assert "expected" in json.loads(body)["error"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD"])
def test_nothing_can_be_changed(page, method):
    assert get(page, "/api/run", method)[0] == 403


def test_a_link_elsewhere_may_lead_to_the_page_and_its_own_pages_may_ask(page):
    assert get(page, "/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0] == 200
    own = page.rstrip("/")
    assert get(page, "/api/run", Origin=own, Sec_Fetch_Site="same-origin")[0] == 200


@pytest.mark.parametrize("path", ["/", "/api/run", "/static/main.js", "/nothing"])
def test_every_answer_forbids_what_comes_from_outside(page, path):
    _, headers, _ = get(page, path)
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_the_page_names_nothing_outside_itself(page):
    for path in ("/", "/static/page.css", *(f"/static/{name}.js" for name in ("main", "map", "drawing", "errors"))):
        status, _, body = get(page, path)
        assert status == 200
        assert b"http" not in body.replace(b"http://www.w3.org/2000/svg", b"")


def test_words_that_are_no_utf8_are_told_and_downloaded_as_the_bytes_they_were(page, explorer):
    row = explorer.lookup.words("source").index("\udce9t\udce9")
    assert told(page, f"/api/neighbours?row={row}")[1]["word"] == "\udce9t\udce9"
    body = get(page, "/lexicon.tsv")[2]
    assert (b"\xe9t\xe9\t" in body) == any(each.source == "\udce9t\udce9" for each in explorer.alignment.lexicon())


def test_only_this_machine_is_served(page):
    port = urlsplit(page).port
    assert urlsplit(page).hostname == "127.0.0.1"
    for address in {each[4][0] for each in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}:
        if not address.startswith("127.0.0.1"):
            with pytest.raises(OSError), socket.create_connection((address, port), timeout=2):  # noqa: PT011
                pass


def test_a_port_that_is_taken_or_impossible_is_refused(page, explorer):
    port = urlsplit(page).port
    with pytest.raises(SettingsError, match=f"port {port} cannot be taken"), serving(LiveRun(explorer), port):
        pass
    with pytest.raises(SettingsError, match="expected 0, for a free one"), serving(LiveRun(explorer), 70_000):
        pass


def test_twenty_clients_ask_a_thousand_questions_without_an_error(page, explorer):
    words = explorer.lookup.words("source")
    asked = [f"/api/neighbours?word={quote(word)}&k=5" for word in words[20:520]] + ["/api/complete?prefix=f"] * 500
    with ThreadPoolExecutor(20) as clients:
        answers = list(clients.map(lambda path: get(page, path), asked))
    assert [status for status, *_ in answers] == [200] * 1000
    assert [json.loads(body)["word"] for _, _, body in answers[:500]] == words[20:520]


def test_a_run_under_way_tells_its_steps_and_then_is_there(explorer):
    live_run = LiveRun(names=("one", "two"))
    with serving(live_run) as page:
        assert told(page, "/api/run") == (200, {"state": "running", "names": {"source": "one", "target": "two"}})
        status, answer = told(page, "/api/map/words")
        assert (status, "not finished" in answer["error"]) == (409, True)
        live_run.hear(Step("search", 1, 12, {"cost": 0.5, "path": (1.0, 0.5)}))
        got: list[bytes] = []
        listener = threading.Thread(target=lambda: got.append(get(page, "/api/events")[2]))
        listener.start()
        live_run.hear(Step("refine", 1, 4, {"pairs": 7.0}))
        live_run.explorer = explorer
        listener.join(10)
        events = [json.loads(line[6:]) for line in got[0].decode().split("\n") if line.startswith("data: ")]
        assert [each.get("stage") for each in events] == ["search", "refine", None]
        assert events[0]["path"] == [1.0, 0.5]
        assert got[0].count(b"event: over") == 1
        later = get(page, "/api/events", Last_Event_ID="0")[2]
        assert b'"search"' not in later
        assert b'"refine"' in later
        assert told(page, "/api/run")[1]["verdict"] == "aligned"


def test_a_page_that_listens_does_not_keep_the_server_from_ending():
    with serving(LiveRun()) as page:
        listener = threading.Thread(target=lambda: get(page, "/api/events"))
        listener.start()
        assert told(page, "/api/run")[0] == 200
    listener.join(5)
    assert not listener.is_alive()


@pytest.mark.parametrize("scheme", ["https", "ftp", "file", "ws", "chrome-extension", "HTTPS", ""])
def test_an_origin_of_another_scheme_is_another_origin(scheme):
    """A page of another protocol at the same host and port was not sent by this server."""
    from calque.show.explorer.application import reason_to_refuse

    host = {"host": "127.0.0.1:8000"}
    assert reason_to_refuse("GET", "/api/run", host | {"origin": "http://127.0.0.1:8000"}) == ""
    reason = reason_to_refuse("GET", "/api/run", host | {"origin": f"{scheme}://127.0.0.1:8000"})
    assert "expected a page of this server" in reason
