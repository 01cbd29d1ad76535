"""The documentation builds without a warning, is whole, and loads nothing from elsewhere."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest

import calque

pytest.importorskip("mkdocs", reason="needs the extra: pip install 'calque-embeddings[docs]'")

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import site_hooks  # noqa: E402

COMMANDS = dict(site_hooks.commands())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `make docs` builds it."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    ended = subprocess.run(build, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    told = ended.stdout + ended.stderr
    assert ended.returncode == 0, told
    assert "WARNING" not in told.upper()
    return folder


def test_make_builds_it_the_same_way():
    recipe = (ROOT / "Makefile").read_text().split("\ndocs: ")[1].split("\n\n")[0]
    assert "NO_MKDOCS_2_WARNING=1" in recipe
    assert "mkdocs build --strict" in recipe


class Loaded(HTMLParser):
    """Everything that a browser fetches to show a page, and the classes on it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.classes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.classes.update(given.get("class", "").split())
        self.addresses += [given[name] for name in ("src", "srcset", "data", "poster") if given.get(name)]
        if tag == "link":
            self.addresses.append(given.get("href", ""))


def test_no_page_loads_anything_from_elsewhere(site: Path):
    pages = {page: Loaded(page.read_text(encoding="utf-8")) for page in site.rglob("*.html")}
    assert len(pages) > 20
    assert all(page.addresses for page in pages.values())
    elsewhere = [(page.name, each) for page, loaded in pages.items() for each in loaded.addresses if "//" in each]
    assert elsewhere == []
    # The theme's script would fetch the program that draws these.
    assert not any("mermaid" in page.classes for page in pages.values())


def test_no_style_loads_anything_from_elsewhere(site: Path):
    styles = [each.read_text(encoding="utf-8") for each in site.rglob("*.css")]
    assert styles
    assert not any(re.search(r"(@import|url\()\s*[\"']?(https?:)?//", style) for style in styles)


def test_every_page_is_in_the_navigation(site: Path):
    home = (site / "index.html").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        address = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        assert f'href="{address}"' in home, address


@pytest.mark.parametrize("name", COMMANDS)
def test_the_reference_has_every_argument_that_the_command_has(site: Path, name: str, run_help: Callable[..., str]):
    page = (site / "commands.html").read_text(encoding="utf-8")
    section = page.split(f'<h2 id="{name}"')[1].split("<h2")[0]
    options = [line for line in run_help(name).splitlines() if line.startswith("│ -")]
    flags = {flag for line in options for flag in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", line[2:].split("  ")[0])}
    assert {"--help", "--json", "-q", "--quiet", "-v", "--verbose"} <= flags
    assert [flag for flag in flags - {"-h", "--help"} if f"<code>{flag}</code>" not in section] == []
    assert section.count("<tr>") == len(site_hooks.arguments(COMMANDS[name])) + 1


@pytest.fixture
def run_help(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    from calque.cli.main import main

    def told(name: str) -> str:
        capsys.readouterr()
        assert main([name, "--help"]) == 0
        return capsys.readouterr().out

    return told


@pytest.mark.parametrize("name", COMMANDS)
def test_its_sentences_defaults_and_flags_are_those_of_the_help(name: str, run_help: Callable[..., str]):
    told = re.sub(r"[\s│]+", " ", run_help(name))
    for each in site_hooks.arguments(COMMANDS[name]):
        if not each.positional:
            assert all(f" {flag}" in told for flag in each.spelling), each
        assert each.sentence.rstrip(".") in told, each
        if each.default.startswith("`"):
            # A terminal may break a line within a value.
            assert f"(default:{each.default.strip('`')})" in told.replace(" ", ""), each


def test_every_public_name_is_in_the_python_reference(site: Path):
    page = html.unescape((site / "api.html").read_text(encoding="utf-8"))
    for name in calque.__all__:
        assert re.search(rf'id="calque\.[\w.]*\.{name}"', page), name


def test_the_notebook_has_no_outputs_and_is_offered(site: Path):
    notebook = nbformat.read(ROOT / "docs" / "tour.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) > 5
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert 'href="tour.ipynb"' in (site / "tour.html").read_text(encoding="utf-8")
    assert (site / "tour.ipynb").exists()


def test_the_notebook_runs_from_top_to_bottom(tmp_path: Path):
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient")
    notebook = nbformat.read(ROOT / "docs" / "tour.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = ["".join(out.get("text", "") for out in each.get("outputs", [])) for each in notebook.cells]
    assert any(text.startswith("aligned\n") for text in printed)
    assert any("impressora → printer" in text for text in printed)
    shown = [out.data for each in notebook.cells for out in each.get("outputs", []) if "data" in out]
    assert sum("image/png" in each for each in shown) == 2
    assert list(tmp_path.iterdir()) == []
