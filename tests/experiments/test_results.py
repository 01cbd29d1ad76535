"""Runs as they are kept: files of calque 0.1.0 are still read, and written in the same form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calque.experiments.results import ExperimentKey, ResultStore, read_run

COUNTS = {"accuracy": {"1": 0.5}, "right": {"1": 5}, "asked": 10, "missing": 2}
KEPT = {
    "format": 1,
    "scores": {"es-en": {"nn": COUNTS, "csls": COUNTS}},
    "similarity": {"pearson": 0.7, "spearman": 0.6, "used": 30, "missing": 0, "phrases": 0},
    "errors": {"en-es": "none of its 2 words can be asked"},
    "settings": "0f",
    "inputs": {"source": "1e", "source limit": "250"},
    "verdict": "aligned",
    "seconds": 1.5,
    "scoring": 0.25,
    "together": 1,
    "device": "cpu, 2 cores",
    "versions": {"calque": "0.1.0"},
    "saved": False,
}
OF_A_SWEEP = {"pair": "zh-min-nan-en", "method": "my/recipe", "seed": 0}
OF_A_TABLE = {"dataset": "we-z", "lexicon": "muse", "pair": "es-en", "method": "paper", "seed": 2}


@pytest.mark.parametrize(
    ("key", "name"),
    [(OF_A_SWEEP, "zh-min-nan-en/my%2Frecipe.0.json"), (OF_A_TABLE, "we-z-muse.es-en.paper.2.json")],
    ids=["sweep", "table"],
)
def test_a_run_of_an_earlier_version_is_read_and_written_the_same(tmp_path: Path, key, name):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**KEPT, **key}))
    store = ResultStore(tmp_path)
    run = store.find(ExperimentKey(**key))
    assert run is not None
    assert run.score.translation["es-en"]["csls"].accuracy(1) == 0.5
    assert (run.error("en-es"), run.provenance.inputs["source limit"]) == (KEPT["errors"]["en-es"], "250")
    path.unlink()
    store.put(run)
    assert json.loads(path.read_text()) == {**KEPT, **key}


def test_a_run_from_before_there_were_saved_folders_was_not_saved():
    value = {name: each for name, each in {**KEPT, **OF_A_TABLE}.items() if name != "saved"}
    assert read_run(value).provenance.saved is False
