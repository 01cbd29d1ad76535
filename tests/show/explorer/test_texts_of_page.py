from __future__ import annotations

from pathlib import Path

import pytest

import carried

pytest.importorskip("sklearn", reason="needs the extra: pip install 'calque-embeddings[sklearn]'")
pytest.importorskip("fastapi", reason="needs the extra: pip install 'calque-embeddings[web]'")
from fastapi.testclient import TestClient

from calque.cli.main import main
from calque.errors import FormatError, SettingsError
from calque.show.explorer.application import application
from calque.show.explorer.explorer import Explorer, LiveRun
from calque.show.explorer.serving import serving

WORD = carried.word("x", "law", 2)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    carried.run().save(tmp_path / "run")
    return tmp_path / "run"


def model(run: Path, *options: str) -> Path:
    train = carried.write_table(run.parent / "y.tsv", carried.texts("y", 90, 0))
    path = run.parent / "model.safetensors"
    assert main(["classify", str(run), "--train", str(train), "--model", str(path), "-q", *options]) == 0
    return path


def client(run: Path, path: Path | None) -> TestClient:
    return TestClient(application(LiveRun(Explorer(run, model=path))), base_url="http://127.0.0.1")


def test_a_text_gets_its_class_and_the_words_that_decided(run):
    page = client(run, model(run))
    assert page.get("/api/run").json()["labels"] is True
    answer = page.get("/api/text", params={"text": f"{WORD} nowhere"}).json()
    assert (answer["label"], answer["side"], answer["words"][0]["word"]) == ("law", "source", WORD)
    assert carried.word("y", "law", 2) in answer["words"][0]["nearest"]
    assert page.get("/api/text").json()["words"] == []
    assert page.get("/api/text", params={"text": "a" * 10_001}).status_code == 400


def test_without_a_classifier_the_page_says_how_to_give_one(run):
    page = client(run, None)
    assert page.get("/api/run").json()["labels"] is False
    refused = page.get("/api/text", params={"text": WORD})
    assert refused.status_code == 404
    assert "--model FILE" in refused.json()["error"]


def test_a_classifier_that_cannot_be_used_is_refused_before_the_page_is_there(run, tmp_path):
    with pytest.raises(SettingsError, match="the page shows one text at a time"):
        Explorer(run, model=model(run, "--weighting", "idf")).prepare()
    (tmp_path / "other").write_text("no model")
    with pytest.raises(FormatError, match="cannot be read as a classifier"):
        Explorer(run, model=tmp_path / "other").prepare()


def test_the_page_labels_what_is_typed(run, browser):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    with serving(LiveRun(Explorer(run, model=model(run)))) as address:
        browser.get(address)
        wait = WebDriverWait(browser, 30)
        wait.until(lambda page: page.find_element(By.TAG_NAME, "body").get_attribute("data-ready"))
        browser.find_element(By.ID, "tab-texts").click()
        browser.find_element(By.ID, "text").send_keys(f"{WORD} nowhere\n")
        wait.until(lambda page: page.find_element(By.ID, "text-label").text)
        assert browser.find_element(By.ID, "text-label").text.startswith("law (")
        assert WORD in browser.find_element(By.ID, "text-words").text
        browser.find_element(By.CSS_SELECTOR, "#text-words button").click()
        wait.until(lambda page: page.find_element(By.ID, "asked").text == WORD)
