from __future__ import annotations

import hashlib
import os

import pytest

from calque.experiments import results
from calque.experiments.results import InputDigests


@pytest.fixture
def read(monkeypatch):
    """Every file whose bytes were read."""
    files, digest = [], results.sha256_of
    monkeypatch.setattr(results, "sha256_of", lambda file: files.append(file.name) or digest(file))
    return files


def test_a_file_is_read_once_and_again_when_it_changed(tmp_path, read):
    file, kept = tmp_path / "vectors", tmp_path / "inputs.json"
    file.write_bytes(b"one")
    assert InputDigests(kept).of(file) == InputDigests(kept).of(file) == hashlib.sha256(b"one").hexdigest()
    assert read == ["vectors"]
    file.write_bytes(b"three")
    assert InputDigests(kept).of(file) == hashlib.sha256(b"three").hexdigest()
    assert read == ["vectors", "vectors"]


def test_a_change_of_the_same_size_with_the_time_set_back_is_noticed(tmp_path, read):
    file, kept = tmp_path / "vectors", tmp_path / "inputs.json"
    file.write_bytes(b"one")
    before = file.stat()
    InputDigests(kept).of(file)
    file.write_bytes(b"two")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert InputDigests(kept).of(file) == hashlib.sha256(b"two").hexdigest()
    assert read == ["vectors", "vectors"]


@pytest.mark.parametrize("damage", ["{", "[]", "3", '{"PATH": 7}', '{"PATH": {"mark": [3, 4]}}'])
def test_a_damaged_record_costs_only_time(tmp_path, damage):
    file, kept = tmp_path / "vectors", tmp_path / "inputs.json"
    file.write_bytes(b"one")
    kept.write_text(damage.replace("PATH", str(file.resolve())))
    assert InputDigests(kept).of(file) == hashlib.sha256(b"one").hexdigest()
