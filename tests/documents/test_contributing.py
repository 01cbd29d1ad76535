"""The examples of CONTRIBUTING.md can be applied to the code as it is, and then do what they say."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from blocks import blocks

from calque.data.formats import write
from calque.data.space import Space

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def apply(diff: str, root: Path) -> None:
    """Change files as a diff says; every hunk must fit in exactly one place."""
    for part in re.split(r"^--- .*\n", diff, flags=re.MULTILINE)[1:]:
        name, *hunks = re.split(r"^@@\n", part, flags=re.MULTILINE)
        path = root / name.strip().removeprefix("+++ b/")
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for hunk in hunks:
            lines = hunk.splitlines()
            before = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
            after = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("-"))
            assert path.exists() == bool(before), path
            assert not before or text.count(before) == 1, f"{path}: {before!r} is there {text.count(before)} times"
            text = text.replace(before, after) if before else after
        path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with all examples applied, and two languages beside it: rotated copies of one space."""
    folder = tmp_path_factory.mktemp("changed")
    shutil.copytree(ROOT / "src" / "calque", folder / "src" / "calque", ignore=shutil.ignore_patterns("__pycache__"))
    diffs = [block.text for block in blocks(PAGE) if block.language == "diff"]
    assert len(diffs) == 3
    for diff in diffs:
        apply(diff, folder)
    chance = np.random.default_rng(0)
    vectors = chance.normal(size=(200, 8)).astype("float32")
    rotation = np.linalg.qr(chance.normal(size=(8, 8)))[0].astype("float32")
    write(Space.of([f"es{row}" for row in range(200)], vectors), folder / "es.vec")
    write(Space.of([f"en{row}" for row in range(200)], vectors @ rotation), folder / "en.vec")
    return folder


def calque(folder: Path, *arguments: str, codes: tuple[int, ...] = (0,)) -> str:
    """What a command of the changed package prints."""
    command = [sys.executable, "-c", "from calque.cli.main import entry; entry()", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode in codes, ended.stderr
    return ended.stdout


def test_the_examples_are_as_the_linter_wants_them(changed: Path):
    names = re.findall(r"^\+\+\+ b/(.*)", PAGE, flags=re.MULTILINE)
    ruff = [sys.executable, "-m", "ruff", "check", "--config", str(ROOT / "pyproject.toml"), *names]
    ended = subprocess.run(ruff, cwd=changed, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_format_is_recognised_and_read(changed: Path):
    lines = [{"word": "casa", "vector": [1, 2]}, {"word": "perro", "vector": [3, 4]}]
    (changed / "small.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    report = json.loads(calque(changed, "inspect", "small.jsonl", "--json"))
    assert (report["format"], report["words"], report["dimension"]) == ("jsonl", 2, 2)
    assert report["first words"] == ["casa", "perro"]
    (changed / "damaged.jsonl").write_text('{"word": "casa", "vector": [1, 2]}\n{"word": "perro"}\n')
    calque(changed, "inspect", "damaged.jsonl", codes=(2,))


def test_the_method_is_a_recipe_that_the_referee_judges(changed: Path):
    assert '[settings]\npreprocessing = ["unit"]' in calque(changed, "recipes", "chance")
    report = json.loads(
        calque(changed, "align", "es.vec", "en.vec", "--recipe", "chance", "-o", "run", "--json", codes=(0, 3))
    )
    assert report["verdict"] == "failed"
    assert report["evidence"]["kept"] is not None


def test_the_task_scores_an_alignment(changed: Path):
    program = """
import sys
from pathlib import Path
from calque import align_arrays, load
from calque.evaluate.tasks import TASKS

spanish, english = load("es.vec"), load("en.vec")
alignment = align_arrays(spanish.vectors.numpy(), english.vectors.numpy())
Path("gold.tsv").write_text("".join(f"{row}\\t{row}\\n" for row in range(250)))
task = TASKS["reciprocal-rank"]()
score = task.score(alignment, task.load(Path("gold.tsv")).data)
print(score.as_json())
print(score.rows())
"""
    environment = {**os.environ, "PYTHONPATH": str(changed / "src")}
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, cwd=changed, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    printed = result.stdout
    assert printed.splitlines()[0] == "{'mean': 1.0, 'asked': 200, 'missing': 50}"
    assert "mean reciprocal rank 1.000" in printed
