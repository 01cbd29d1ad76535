from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from calque.api import align
from calque.data.lexicon import Lexicon
from calque.data.space import Space
from calque.linear.maps import LinearMap, Side, fit
from calque.runs.alignment import Alignment, Record
from calque.show.explorer.explorer import Explorer, LiveRun
from calque.show.explorer.serving import serving
from calque.verdict import Verdict

ODD = ("<img src=x onerror=alert(1)>", "שלום", "السلام", "$x^2$", "a b", "\udce9t\udce9", "Ärger", "中文")
"""Words that a careless page would break on: markup, other directions, bytes that are no UTF-8."""


@pytest.fixture(scope="session")
def folder(problem: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The synthetic problem, aligned, with some odd words among its own."""
    source = Space.of([*ODD, *problem.source.words[len(ODD) :]], problem.source.vectors, name="fuente")
    place = tmp_path_factory.mktemp("explored") / "run"
    align(source, problem.target, seed=0).save(place)
    return place


@pytest.fixture(scope="session")
def gold(problem: Any) -> Lexicon:
    """Right for most words, and wrong on purpose for some."""
    pairs = list(problem.pairs.items())[len(ODD) :]
    wrong = [(word, pairs[place - 7][1]) for place, (word, _) in enumerate(pairs) if place % 10 == 0]
    right = [pair for place, pair in enumerate(pairs) if place % 10]
    return Lexicon.of([*right, *wrong], "gold.tsv")


@pytest.fixture(scope="session")
def explorer(folder: Path, gold: Lexicon) -> Explorer:
    return Explorer(folder, gold)


@pytest.fixture(scope="session")
def page(explorer: Explorer) -> Iterator[str]:
    """The address of the explorer, really served."""
    with serving(LiveRun(explorer)) as address:
        yield address


@pytest.fixture(scope="session")
def large_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A map of forty thousand words."""
    vectors = torch.randn(20_000, 10, generator=torch.Generator().manual_seed(0))
    sides = [Side(fit(vectors, ("unit",))[0], LinearMap(torch.eye(10)))] * 2
    spaces = [Space.of([f"{name}{row}" for row in range(20_000)], vectors, name=name) for name in ("one", "two")]
    made = Alignment.of((spaces[0], spaces[1]), (sides[0], sides[1]), Verdict("aligned", ("made",), {}), Record())
    place = tmp_path_factory.mktemp("large") / "run"
    made.save(place)
    with serving(LiveRun(Explorer(place))) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's chromium without a screen; `make test` installs it where that can be done."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("needs chromium and chromedriver: apt-get install chromium chromium-driver")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    quiet = ("background-networking", "component-update", "sync", "quic", "gpu", "dev-shm-usage")
    for each in (
        "headless=new",
        "no-sandbox",
        "no-first-run",
        "window-size=1280,860",
        *(f"disable-{name}" for name in quiet),
    ):
        options.add_argument(f"--{each}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(driver))
    yield opened
    opened.quit()
