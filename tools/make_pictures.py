"""The pictures of README and docs, of the run that the five-minute start makes: `python tools/make_pictures.py`.

Needs chromium and chromedriver, for the explorer's.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from importlib import resources
from pathlib import Path
from typing import Any

from calque import sample
from calque.api import align
from calque.data.formats import load
from calque.runs.alignment import Alignment
from calque.show.explorer.explorer import Explorer, LiveRun
from calque.show.explorer.serving import serving
from calque.show.figures import FIGURES, draw

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
WIDE = 7.0
"""Inches, for the picture at the top of the README."""
WORD = "impressora"


def main() -> None:
    """Align the sample as the five-minute start does, and draw all there is."""
    PICTURES.mkdir(exist_ok=True)
    files = resources.files("calque.sample")
    source, target = (load(str(files / f"{name}.vec.gz"), cache=False) for name in ("pt", "en"))
    alignment = align(source, target, seed=0, device="cpu")
    for name, figure in drawn(alignment).items():
        (PICTURES / f"{name}.png").write_bytes(figure)
    with tempfile.TemporaryDirectory() as place:
        alignment.save(Path(place) / "pt-en")
        explorer = Explorer(Path(place) / "pt-en", sample.lexicon())
        with serving(LiveRun(explorer)) as page:
            _shoot(page, PICTURES / "explorer.png")
    print(*sorted(map(str, PICTURES.iterdir())), sep="\n")


def drawn(alignment: Alignment) -> dict[str, bytes]:
    """Every figure as PNG; that of the words wide."""
    pictures = draw(alignment, tuple(FIGURES), lexicon=sample.lexicon()).pictures
    wide = draw(alignment, ("words",), width=WIDE).pictures
    return {name: picture["png"] for name, picture in (pictures | wide).items()}


def _shoot(page: str, path: Path) -> None:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for option in ("headless=new", "no-sandbox", "disable-gpu", "hide-scrollbars", "window-size=1180,900"):
        options.add_argument(f"--{option}")
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver") or ""))
    try:
        browser.get(page)
        _wait(browser, "return document.body.dataset.ready === 'yes'")
        browser.find_element("id", "search").send_keys(f"{WORD}\n")
        _wait(browser, f"return document.getElementById('asked').textContent === '{WORD}'")
        browser.execute_script("document.activeElement.blur()")
        time.sleep(0.5)  # for the frame that shows the word on the map
        browser.save_screenshot(str(path))
    finally:
        browser.quit()


def _wait(browser: Any, until: str) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 30).until(lambda driver: driver.execute_script(until))


if __name__ == "__main__":
    main()
