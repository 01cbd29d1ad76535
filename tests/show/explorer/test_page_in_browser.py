"""The page in a real browser: typing, clicking, the slider, the keyboard, a narrow window, the dark."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from calque.progress import Step
from calque.show.explorer.explorer import LiveRun
from calque.show.explorer.serving import serving

PATIENCE = 20.0


def until(found: Callable[[], Any]) -> Any:
    """What is found, as soon as it is."""
    end = time.monotonic() + PATIENCE
    while True:
        got = found()
        if got:
            return got
        assert time.monotonic() < end, "the page did not come to that"
        time.sleep(0.05)


class Page:
    """The explorer as somebody uses it."""

    def __init__(self, browser: Any, address: str) -> None:
        self.browser, self.address = browser, address
        browser.get("about:blank")
        browser.get(address)
        until(lambda: self.run("return document.body.dataset.ready"))

    def run(self, script: str, *given: Any) -> Any:
        return self.browser.execute_script(script, *given)

    def find(self, selector: str) -> Any:
        return self.browser.find_element("css selector", selector)

    def texts(self, selector: str) -> list[str]:
        return [each.text for each in self.browser.find_elements("css selector", selector)]

    def type(self, selector: str, *keys: str) -> None:
        self.find(selector).send_keys(*keys)

    def look(self, word: str) -> None:
        from selenium.webdriver.common.keys import Keys

        self.run("document.getElementById('search').value = ''")
        self.type("#search", word, Keys.ENTER)

    def painted(self) -> tuple[set[int], set[int]]:
        """The pixels of the map's dots, of each language's colour; names are opaque, and are left out."""
        blue, orange = self.run(
            """const c = document.getElementById('map');
            const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
            const blue = [], orange = []; for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 60 && d[i + 3] < 250) {
            if (d[i + 2] > d[i] + 30) blue.push(i); else if (d[i] > d[i + 2] + 30) orange.push(i); }
            return [blue, orange]"""
        )
        return set(blue), set(orange)


@pytest.fixture
def opened(browser: Any, page: str) -> Page:
    browser.set_window_size(1280, 860)
    browser.get_log("browser")
    return Page(browser, page)


def complaints(browser: Any) -> list[str]:
    """What the browser's console holds, but for answers that were meant to be refusals."""
    return [each["message"] for each in browser.get_log("browser") if "status of 404" not in each["message"]]


def test_the_page_shows_verdict_names_and_a_map_and_the_console_is_empty(opened, browser, explorer):
    assert opened.find("#verdict").text == explorer.alignment.verdict.label
    assert opened.find("h1").text.split() == ["fuente", "→", "target"]
    until(lambda: opened.run("return document.getElementById('map').dataset.drawn") == "1200")
    assert all(len(each) > 50 for each in opened.painted())
    assert complaints(browser) == []


def test_typing_completes_and_the_keyboard_chooses(opened, explorer):
    from selenium.webdriver.common.keys import Keys

    opened.type("#search", "fuente01")
    shown = until(lambda: opened.texts("#completions li"))
    assert shown == [each["word"] for each in explorer.complete("source", "fuente01", 12)]
    opened.type("#search", Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER)
    until(lambda: opened.find("#asked").text == shown[1])
    told = explorer.neighbours("source", explorer.row("source", shown[1], None), 10)
    for retrieval in ("nn", "csls"):
        assert opened.texts(f"#{retrieval} button") == [each["word"] for each in told[retrieval]]
        expected = ["translates back" if each["returns"] else each["back"]["word"] for each in told[retrieval]]
        assert [each.split(" ", 1)[1] for each in opened.texts(f"#{retrieval} .back")] == expected
    assert opened.find("#completions").is_displayed() is False


def test_a_click_on_a_candidate_looks_it_up_in_its_own_language(opened):
    opened.look("fuente0100")
    first = until(lambda: opened.texts("#csls button"))[0]
    opened.find("#csls button").click()
    until(lambda: opened.find("#asked").text == first)
    assert opened.find("input[value=target]").is_selected()


def test_an_unknown_word_offers_spellings_that_can_be_clicked(opened):
    opened.look("fuente0100x")
    offer = until(lambda: opened.texts("#message button"))[0]
    opened.find("#message button").click()
    until(lambda: opened.find("#asked").text == offer)
    assert opened.find("#message").is_displayed() is False


def test_words_that_look_like_html_are_text_and_others_run_from_the_right(opened, explorer):
    words = explorer.lookup.words("source")
    for word in ("<img src=x onerror=alert(1)>", "שלום", "$x^2$", "中文"):
        opened.look(word)
        until(lambda word=word: opened.find("#asked").text == word)
        assert opened.browser.find_elements("css selector", "#answer img") == []
    opened.look("שלום")
    until(lambda: opened.find("#asked").text == "שלום")
    direction = "return getComputedStyle(document.querySelector(arguments[0])).direction"
    assert opened.run(direction, "#asked") == "rtl"
    assert opened.run(direction, "#search") == "rtl"
    opened.look("fuente0100")
    until(lambda: opened.find("#asked").text == "fuente0100")
    assert opened.run(direction, "#asked") == "ltr"
    assert words[0].startswith("<img")


def test_the_slider_moves_the_source_language_and_leaves_the_target(opened):
    from selenium.webdriver.common.keys import Keys

    def shared(one: set[int], other: set[int]) -> float:
        return len(one & other) / len(one | other)

    until(lambda: opened.run("return document.getElementById('map').dataset.drawn"))
    after = until(lambda: all(found := opened.painted()) and found)
    opened.type("#moved", Keys.HOME)
    assert until(lambda: "moved=0" in opened.browser.current_url)
    assert opened.find("#moved").get_attribute("value") == "0"
    before = until(lambda: (found := opened.painted())[0] != after[0] and found)
    assert shared(before[0], after[0]) < 0.1 < 0.5 < shared(before[1], after[1])
    opened.type("#moved", Keys.END)
    assert until(lambda: "moved=1" in opened.browser.current_url)
    until(lambda: opened.painted() == after)


def test_the_map_answers_the_pointer_and_the_keyboard(opened):
    from selenium.webdriver.common.action_chains import ActionChains

    opened.look("fuente0100")
    until(lambda: opened.find("#asked").text == "fuente0100")
    canvas = opened.find("#map")
    begin = opened.browser.current_url
    canvas.send_keys("+++")
    zoomed = until(lambda: opened.browser.current_url != begin and opened.browser.current_url)
    ActionChains(opened.browser).click_and_hold(canvas).move_by_offset(60, 30).release().perform()
    until(lambda: opened.browser.current_url != zoomed)
    assert opened.find("#asked").text == "fuente0100"
    canvas.send_keys("0")
    places = opened.run(
        "return [document.getElementById('map').clientWidth, document.getElementById('map').clientHeight]"
    )
    found = None
    for across in range(-int(places[0] * 0.3), int(places[0] * 0.3), 12):
        ActionChains(opened.browser, duration=0).move_to_element_with_offset(canvas, across, 0).perform()
        if opened.find("#hover").is_displayed():
            found = opened.find("#hover").text
            break
    assert found
    ActionChains(opened.browser).click().perform()
    until(lambda: opened.find("#asked").text == found)


def test_the_verdict_has_its_reasons_and_the_picture_of_the_search(opened, explorer):
    from selenium.webdriver.common.keys import Keys

    opened.type("#tab-map", Keys.ARROW_RIGHT)
    until(lambda: opened.find("#verdict-panel").is_displayed())
    assert opened.texts("#reasons li")[: len(explorer.alignment.verdict.reasons)] == list(
        explorer.alignment.verdict.reasons
    )
    roles = [each["role"] for each in explorer.starts()]
    counted = opened.run("return [...document.querySelectorAll('#search-picture path.start')].map(p => p.classList[1])")
    assert len(counted) == len(roles)
    assert counted.count("best") == 1
    assert "winner" in opened.texts("#search-picture text")
    assert counted.count("same") == roles.count("same")


def test_errors_are_listed_sorted_and_counted(opened, explorer):
    opened.find("#tab-errors").click()
    told = explorer.judged(False, "csls")
    assert f"{told['right']} of {told['asked']} right" in opened.find("#errors-sum").text
    assert len(opened.browser.find_elements("css selector", "#bands .bar")) == len(told["bands"])
    ranks = [int(each) for each in opened.texts("#errors td:first-child")]
    assert ranks == sorted(each["rank"] for each in told["errors"])[:200]
    opened.find("[data-sort=rank]").click()
    assert [int(each) for each in opened.texts("#errors td:first-child")] == sorted(ranks, reverse=True)
    opened.find("[data-sort=word]").click()
    words = opened.texts("#errors .word")
    assert words == sorted(words)
    opened.find("#errors .word").click()
    until(lambda: opened.find("#asked").text == words[0])


def test_an_address_brings_the_same_view_back(opened, browser, page):
    opened.look("fuente0042")
    until(lambda: "row=" in browser.current_url)
    opened.find("#map").send_keys("++")
    address = until(lambda: "view=" in browser.current_url and browser.current_url)
    time.sleep(0.4)
    address = browser.current_url
    again = Page(browser, address)
    until(lambda: again.find("#asked").text == "fuente0042")
    assert browser.current_url == address
    for nonsense in ("#row=zz&view=a,b&moved=9&tab=none&side=x", "#row=99999999", "#%"):
        broken = Page(browser, f"{page}{nonsense}")
        assert broken.find("#map").is_displayed()


def test_a_view_can_be_saved_and_opened_again(opened, browser, tmp_path):
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    opened.look("fuente0042")
    until(lambda: opened.find("#asked").text == "fuente0042")
    opened.find("#save-view").click()
    saved = until(lambda: next((each for each in tmp_path.glob("*.json") if each.stat().st_size), None))
    assert "row=" in json.loads(saved.read_text())["state"]
    opened.look("fuente0100")
    until(lambda: opened.find("#asked").text == "fuente0100")
    opened.type("#open-view", str(saved))
    until(lambda: opened.find("#asked").text == "fuente0042")
    wrong = tmp_path / "wrong.json"
    wrong.write_text("[]")
    opened.type("#open-view", str(wrong))
    until(lambda: "is no saved view" in opened.find("#message").text)


@pytest.mark.parametrize("dark", [False, True])
def test_a_narrow_window_holds_everything_in_both_lights(opened, browser, dark):
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]},
    )
    browser.set_window_size(420, 900)
    opened.look("fuente0100")
    until(lambda: opened.texts("#csls button"))
    assert opened.run("return document.documentElement.scrollWidth <= window.innerWidth")
    ground = opened.run("return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]")
    assert (ground < 60) == dark
    assert all(len(each) > 20 for each in until(opened.painted))


def test_a_map_of_forty_thousand_words_is_drawn(browser, large_page):
    browser.set_window_size(1280, 860)
    opened = Page(browser, large_page)
    until(lambda: opened.run("return document.getElementById('map').dataset.drawn") == "40000")
    opened.find("#map").send_keys("+")
    assert float(opened.run("return document.getElementById('map').dataset.frame")) > 0


def test_the_page_follows_a_run_under_way_and_then_explores_it(browser, explorer):
    live_run = LiveRun(names=("fuente", "target"))
    browser.set_window_size(1280, 860)
    with serving(live_run) as address:
        browser.get(address)
        until(lambda: browser.find_element("css selector", "#live-panel").is_displayed())
        assert browser.find_element("css selector", "h1").text.split() == ["fuente", "→", "target"]
        assert browser.find_element("css selector", "#live-panel").size["width"] > 1000
        for number in (1, 2):
            live_run.hear(Step("search", number, 12, {"cost": 1 / number, "path": (1.5, 1 / number), "kind": "random"}))
        until(lambda: len(browser.find_elements("css selector", "#live-picture path.start")) == 2)
        told = browser.find_element("css selector", "#live-told").text
        assert told == "The best of 2 starts costs 0.500."
        assert browser.find_element("css selector", "#live-head").text == "Searching: start 2 of at most 12"
        assert len(browser.find_elements("css selector", "#live-picture path.best")) == 1
        live_run.hear(Step("refine", 1, 4, {"pairs": 400}))
        until(lambda: browser.find_element("css selector", "#live-head").text == "Refining: step 1 of 4")
        assert browser.find_element("css selector", "#live-bar").get_attribute("value") == "1"
        threading.Timer(0.1, lambda: setattr(live_run, "explorer", explorer)).start()
        until(lambda: browser.execute_script("return document.body.dataset.ready"))
        assert browser.find_element("css selector", "#verdict").text == explorer.alignment.verdict.label
        assert not browser.find_element("css selector", "#live-panel").is_displayed()


@pytest.mark.parametrize("view", ["1e20,0,1", "0,-1e300,1e-300", "0,0,1e300", "1,2", "NaN,0,1"])
def test_a_view_from_elsewhere_cannot_lead_out_of_sight(browser, page, view):
    browser.set_window_size(1280, 860)
    far = Page(browser, f"{page}#row=100&view={view}")
    until(lambda: far.find("#asked").text == "fuente0100")
    far.find("#map").send_keys("0")
    until(lambda: all(len(each) > 50 for each in far.painted()))


def test_the_way_to_the_search_box_leaves_the_view(opened, browser):
    from selenium.webdriver.common.keys import Keys

    opened.look("fuente0042")
    opened.type("#moved", Keys.HOME)
    address = until(lambda: "moved=0" in browser.current_url and "row=" in browser.current_url and browser.current_url)
    opened.run("document.querySelector('.skip').focus()")  # Tab leads there; until then it is out of sight.
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert opened.run("return document.activeElement.id") == "search"
    assert browser.current_url == address
    assert opened.find("#moved").get_attribute("value") == "0"


def test_an_answer_that_comes_late_does_not_replace_a_later_one(opened):
    """The first question of each kind is held back until the second is answered."""
    opened.run(
        """const fetched = window.fetch; const held = new Set();
        window.fetch = async (path, ...more) => {
          const kind = String(path).split('?')[0];
          if (!held.has(kind)) {
            held.add(kind); await new Promise((go) => setTimeout(go, 700)); document.body.dataset.late = kind; }
          return fetched(path, ...more); };"""
    )
    opened.look("fuente0042")
    opened.look("fuente0100")
    until(lambda: opened.run("return document.body.dataset.late") == "/api/neighbours")
    opened.find("#tab-errors").click()
    told = opened.find("#errors-sum").text
    opened.find("#errors-retrieval option:nth-child(2)").click()
    opened.find("#errors-retrieval option:nth-child(1)").click()
    until(lambda: opened.run("return document.body.dataset.late") == "/api/judged")
    time.sleep(0.3)
    assert opened.find("#asked").text == "fuente0100"
    assert opened.find("#errors-sum").text == told


def test_a_view_without_a_word_shows_none(opened, browser):
    opened.look("fuente0042")
    until(lambda: "row=" in browser.current_url)
    opened.run("location.hash = 'moved=1&tab=map'")
    until(lambda: not opened.find("#answer").is_displayed())
    assert opened.find("#hint").is_displayed()
