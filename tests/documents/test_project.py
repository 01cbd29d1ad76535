"""The files that other people's tools read are there, can be read, and agree with each other."""

from __future__ import annotations

import datetime
import email
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="needs the extra: pip install 'calque-embeddings[docs]'")

ROOT = Path(__file__).parents[2]
for folder in ("tools", "bench"):
    sys.path.insert(0, str(ROOT / folder))
import oldest  # noqa: E402


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def workflow(name: str) -> Any:
    """A workflow as GitHub reads it; YAML takes the key `on` for the truth value."""
    text = read(f".github/workflows/{name}.yml")
    return {("on" if key is True else key): value for key, value in yaml.safe_load(text).items()}


def commands(job: dict[str, Any]) -> str:
    return "\n".join(step.get("run", "") for step in job["steps"])


class TestContinuousIntegration:
    jobs = workflow("ci")["jobs"]

    def test_it_runs_on_changes_of_main_and_on_pull_requests(self):
        assert workflow("ci")["on"] == {"push": {"branches": ["main"]}, "pull_request": None}

    def test_linux_has_every_python_that_the_package_allows(self):
        matrix = self.jobs["test"]["strategy"]["matrix"]
        assert matrix["system"] == ["ubuntu-latest"]
        assert matrix["python"] == ["3.10", "3.11", "3.12", "3.13"]
        assert f'requires-python = ">={matrix["python"][0]}"' in read("pyproject.toml")

    def test_macos_and_windows_have_one_each(self):
        others = self.jobs["test"]["strategy"]["matrix"]["include"]
        assert [entry["system"] for entry in others] == ["macos-latest", "windows-latest"]
        assert all((ROOT / path).exists() for entry in others for path in entry["tests"].split())

    def test_the_oldest_dependencies_are_those_of_the_constraints_file(self):
        assert commands(self.jobs["oldest"]).count("--constraint constraints-oldest.txt") == 2
        assert self.jobs["oldest"]["steps"][1]["with"]["python-version"] == "3.10"

    def test_the_wheel_is_built_checked_and_installed_bare(self):
        typed = commands(self.jobs["wheel"])
        assert "python -m build" in typed
        assert "twine check --strict" in typed
        assert "install dist/*.whl" in typed
        assert "calque demo" in typed

    def test_a_warning_in_the_documentation_is_an_error(self):
        assert "mkdocs build --strict" in commands(self.jobs["docs"])

    def test_what_the_readme_says_is_run_and_coverage_is_shown(self):
        assert ".ci/run\nmake coverage" in commands(self.jobs["make"])


class TestRelease:
    release = workflow("release")

    def test_a_tag_publishes(self):
        assert self.release["on"] == {"push": {"tags": ["v*"]}}

    def test_it_is_trusted_and_has_no_password(self):
        publish = self.release["jobs"]["publish"]
        assert publish["permissions"] == {"id-token": "write"}
        assert publish["needs"] == "build"
        assert "secrets." not in read(".github/workflows/release.yml")

    def test_only_what_was_checked_is_published(self):
        assert "twine check --strict dist/*" in commands(self.release["jobs"]["build"])
        assert "${GITHUB_REF_NAME#v}" in commands(self.release["jobs"]["build"])


@pytest.mark.parametrize("name", ["ci", "release"])
def test_every_step_runs_a_command_or_a_pinned_action_and_every_job_has_an_end(name: str):
    for job in workflow(name)["jobs"].values():
        assert job["timeout-minutes"] > 0
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            assert "uses" not in step or re.search(r"@(v\d|release/v\d)", step["uses"]), step


def test_a_commit_is_checked_by_the_tools_of_make_lint():
    hooks = [hook for repo in yaml.safe_load(read(".pre-commit-config.yaml"))["repos"] for hook in repo["hooks"]]
    lint = read("Makefile").split("\nlint: ")[1].split("\n\n")[0]
    tools = re.findall(r"\$\(BIN\)/([\w-]+(?: check| format)?)", lint)
    assert [" ".join(hook["entry"].removeprefix(".venv/bin/").split(" --")[0].split()) for hook in hooks] == tools


def test_the_constraints_of_the_oldest_dependencies_are_those_of_pyproject():
    assert read("constraints-oldest.txt") == oldest.text(), "make oldest"


def test_a_dependency_without_a_lower_bound_is_noticed():
    with pytest.raises(SystemExit, match="no lower bound"):
        oldest.constraints({"dependencies": ["numpy"], "optional-dependencies": {}})


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("hatch_fancy_pypi_readme", reason="needs the extra: pip install 'calque-embeddings[dev]'")
    folder = tmp_path_factory.mktemp("wheel")
    built = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(built, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.iterdir()
    assert wheel.name.startswith("calque_embeddings-")
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


class TestPackage:
    """On the package index `calque` belongs to somebody else."""

    def test_it_has_a_name_of_its_own_and_its_addresses(self, metadata):
        assert metadata["Name"] == "calque-embeddings"
        addresses = dict(entry.split(", ") for entry in metadata.get_all("Project-URL"))
        assert {"Homepage", "Documentation", "Changelog", "Issues"} == set(addresses)
        assert all(address.startswith("https://") for address in addresses.values())

    def test_every_python_that_is_tested_is_a_classifier(self, metadata):
        tested = workflow("ci")["jobs"]["test"]["strategy"]["matrix"]["python"]
        classifiers = metadata.get_all("Classifier")
        assert all(f"Programming Language :: Python :: {version}" in classifiers for version in tested)

    def test_every_link_and_picture_of_its_page_is_a_whole_address_of_a_file_that_is_there(self, metadata):
        links = re.findall(r"\]\(([^)\s]*)\)", metadata.get_payload())
        pictures = [link for link in links if link.endswith((".png", ".svg"))]
        assert len(pictures) >= 2
        assert all(link.startswith("https://raw.githubusercontent.com/") for link in pictures)
        for link in links:
            path = re.fullmatch(
                r"https://(?:github|raw\.githubusercontent)\.com/[\w-]+/calque/(?:blob/)?main/(.*)", link
            )
            assert path is not None, link
            assert (ROOT / path[1].split("#")[0]).exists(), link

    def test_nothing_says_to_install_the_program_of_somebody_else(self):
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
        stranger = re.compile(r"pip install[^\n#]*[ '\"]calque(?:\[|['\" ]|$)")
        for name in listed.stdout.split():
            if (ROOT / name).suffix in (".py", ".md", ".toml", ".yml", ".ipynb", ".html", ".js"):
                assert not stranger.search(read(name)), name

    def test_the_release_looks_for_the_file_that_is_built(self, metadata):
        assert f"dist/{metadata['Name'].replace('-', '_')}-${{GITHUB_REF_NAME#v}}" in read(
            ".github/workflows/release.yml"
        )


class TestCitation:
    citation = yaml.safe_load(read("CITATION.cff"))

    def test_it_has_what_the_format_requires(self):
        assert self.citation["cff-version"] == "1.2.0"
        assert {"message", "title", "authors"} <= set(self.citation)

    def test_it_names_the_paper(self):
        (paper,) = self.citation["references"]
        assert [author["family-names"] for author in paper["authors"]] == ["Xu", "Yang", "Otani", "Wu"]
        assert {"type", "title", "authors"} <= set(paper)
        assert paper["year"] == 2018
        assert "(EMNLP)" in paper["conference"]["name"]

    def test_it_says_the_licence_of_the_package(self):
        assert f'license = "{self.citation["license"]}"' in read("pyproject.toml")


def history() -> list[dict[str, Any]]:
    return [json.loads(line) for line in read("bench/history.jsonl").splitlines()]


class TestHistory:
    def test_every_figure_has_a_machine_a_date_a_commit_and_a_command(self):
        keys = {"benchmark", "figure", "value", "unit", "machine", "date", "commit", "command"}
        for line in history():
            assert set(line) == keys
            assert isinstance(line["value"], float)
            assert line["machine"]
            assert line["figure"]
            assert datetime.date.fromisoformat(line["date"])
            assert re.fullmatch(r"[0-9a-f]{7,}\+?", line["commit"])
            assert line["command"].startswith(("python bench/", "calque "))

    def test_the_accuracies_that_the_readme_shows_are_in_it(self):
        shown = re.findall(r"\| ([\d.]+) / ([\d.]+) · ([\d.]+) / ([\d.]+) \|", read("README.md"))
        accuracies = {line["value"] for line in history() if " accuracy " in f" {line['figure']} "}
        assert len(shown) >= 8
        assert {float(number) for row in shown[::2] for number in row} <= accuracies


class TestFiguresOfATable:
    def test_a_number_is_called_by_its_row_and_column(self):
        from common import Figure, figures

        table = "| pair | accuracy | aligned | seconds (longest) | memory, MiB |\n| --- | --- | --- | --- | --- |\n"
        row = "| es-en | 80.5 / 82.0 · 76.1 / 77.9 | 20 of 20 | 8.4 (8.7) | 1,398 |\n"
        assert list(figures(f"told\n\n{table}{row}")) == [
            Figure("es-en, accuracy forward nn", 80.5, "%"),
            Figure("es-en, accuracy forward csls", 82.0, "%"),
            Figure("es-en, accuracy backward nn", 76.1, "%"),
            Figure("es-en, accuracy backward csls", 77.9, "%"),
            Figure("es-en, aligned", 20.0, ""),
            Figure("es-en, seconds (longest)", 8.4, "s"),
            Figure("es-en, memory, MiB", 1398.0, "MiB"),
        ]

    def test_what_is_no_number_is_left_out(self):
        from common import figures

        assert list(figures("| recipe | verdict |\n| --- | --- |\n| default | aligned |\n| paper | fails |\n")) == []

    def test_store_appends_and_only_where_it_is_asked_to(self, tmp_path, monkeypatch):
        import argparse

        import common

        monkeypatch.setattr(common, "HISTORY", tmp_path / "history.jsonl")
        monkeypatch.setattr(common, "_commit", lambda: "abcdef0")
        table = "| what | measured |\n| --- | --- |\n| read | 8.0 s |\n"
        common.store(argparse.Namespace(store=False), "large", table)
        assert not common.HISTORY.exists()
        common.store(argparse.Namespace(store=True), "large", table)
        common.store(argparse.Namespace(store=True), "large", table)
        first, second = (json.loads(line) for line in common.HISTORY.read_text().splitlines())
        assert first == second
        assert (first["figure"], first["value"], first["unit"]) == ("read, measured", 8.0, "s")
        assert first["commit"] == "abcdef0"
        assert datetime.date.fromisoformat(first["date"])
        assert first["machine"].endswith(f"Python {sys.version.split()[0]}")


def test_the_plot_of_the_history_can_be_drawn(tmp_path: Path):
    pytest.importorskip("matplotlib", reason="needs the extra: pip install 'calque-embeddings[plots]'")
    picture = tmp_path / "history.svg"
    subprocess.run([sys.executable, ROOT / "bench" / "plot_history.py", picture], check=True, capture_output=True)
    assert "we-z:es-en" in picture.read_text()


def test_pages_for_people_in_a_hurry_are_short():
    assert len(read("README.md").splitlines()) <= 150
    assert len(read("docs/architecture.md").splitlines()) <= 80


def test_every_room_is_on_the_page_on_architecture():
    page = read("docs/architecture.md")
    rooms = [path for path in (ROOT / "src" / "calque").iterdir() if not path.name.startswith("_")]
    named = [path.stem if path.suffix == ".py" else f"{path.name}/" for path in rooms if path.name != "py.typed"]
    assert [name for name in named if f"`{name}`" not in page] == []


def test_every_decision_has_a_date_and_what_would_change_it():
    decisions = re.split(r"^### ", read("docs/decisions.md"), flags=re.MULTILINE)[1:]
    assert len(decisions) > 20
    for decision in decisions:
        title, text = decision.split("\n", 1)
        assert datetime.date.fromisoformat(text[:10]), title
        assert text[10] == ".", title
        assert text.count("**Would change it:**") == 1, title
