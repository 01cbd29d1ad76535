"""A look-up answers as the alignment it was saved from does, without torch, and says what is wrong with a folder."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from calque.data.space import Space
from calque.errors import RunError, SettingsError, UnknownWordError
from calque.linear.maps import LinearMap, Preprocessing, Side
from calque.runs import lookup
from calque.runs.alignment import Alignment, Record
from calque.runs.lookup import Lookup, mapped_tensors, parts, spelled_alike
from calque.verdict import Verdict


def space(prefix: str, words: int, seed: int) -> Space:
    vectors = torch.randn(words, 6, generator=torch.Generator().manual_seed(seed))
    return Space.of([f"{prefix}{row}" for row in range(words)], vectors, name=prefix)


def side(seed: int) -> Side:
    return Side(Preprocessing((None,)), LinearMap(torch.randn(6, 6, generator=torch.Generator().manual_seed(seed))))


def aligned(two_maps: bool) -> Alignment:
    back = (side(3), side(4)) if two_maps else None
    spaces = space("s", 200, 1), space("t", 150, 2)
    return Alignment.of(spaces, (side(5), side(6)), Verdict("doubtful", ("why",), {}), Record(), back)


@pytest.fixture(scope="module", params=[False, True], ids=["one map", "two maps"])
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Alignment, Path]:
    made, folder = aligned(request.param), tmp_path_factory.mktemp("runs") / "run"
    made.save(folder)
    return made, folder


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("retrieval", ["nn", "csls"])
@pytest.mark.parametrize("k", [1, 7])
def test_it_answers_as_the_alignment_does(saved, back, retrieval, k):
    made, folder = saved
    words = (made.target if back else made.source).words[:130]
    for one, other in zip(
        Lookup.open(folder).translate(words, k, back, retrieval), made.translate(words, k, back, retrieval), strict=True
    ):
        assert one.word == other.word
        assert [each.word for each in one.candidates] == [each.word for each in other.candidates]
        assert [each.score for each in one.candidates] == pytest.approx(
            [each.score for each in other.candidates], abs=1e-5
        )


def test_more_candidates_than_there_are_words(saved):
    made, folder = saved
    (found,) = Lookup.open(folder).translate(["s0"], 10_000)
    assert len(found.candidates) == len(made.target)


def test_it_knows_the_verdict(saved):
    assert Lookup.open(saved[1]).verdict == "doubtful"


def test_an_unknown_word_is_named_with_one_like_it(saved):
    with pytest.raises(UnknownWordError, match=r"s: 's1999' is not among the 200 words; did you mean s199"):
        Lookup.open(saved[1]).translate(["s1999"])


def test_a_word_that_differs_in_case_alone_is_offered_first():
    words = ["nasa", "casa", "asta", "CASA"]
    assert spelled_alike("Casa", words) == ["casa", "CASA", "nasa"]
    assert spelled_alike("zzz", words) == []


def test_what_it_cannot_do_is_refused(saved):
    with pytest.raises(SettingsError, match="isf"):
        Lookup.open(saved[1]).translate(["s0"], retrieval="isf")
    with pytest.raises(SettingsError, match="k is 0"):
        Lookup.open(saved[1]).translate(["s0"], k=0)


def test_tensors_are_mapped_not_read(saved):
    tensors = mapped_tensors(saved[1] / "vectors.safetensors")
    assert all(type(each).__name__ == "memmap" for each in tensors.values())
    assert torch.equal(torch.from_numpy(tensors["target"].copy()), saved[0].target.vectors)


def asked(folder: Path) -> str:
    run = Lookup.open(folder)
    return f"{run.translate(['s0'])} {run.verdict}"


@pytest.mark.parametrize("damage", ["cut", "header", "missing", "words", "config", "empty"])
def test_a_damaged_folder_is_told_in_one_line(saved, tmp_path, damage):
    folder = tmp_path / "run"
    shutil.copytree(saved[1], folder)
    vectors = folder / "vectors.safetensors"
    if damage == "cut":
        vectors.write_bytes(vectors.read_bytes()[:-40])
    elif damage == "header":
        vectors.write_bytes(b"\xff" * 64)
    elif damage == "empty":
        vectors.write_bytes(b"")
    elif damage == "missing":
        vectors.unlink()
    elif damage == "words":
        (folder / "words.target.txt").write_text("one\n")
    else:
        (folder / "config.json").write_text(json.dumps({"verdict": 3}))
    with pytest.raises(RunError) as told:
        asked(folder)
    assert "\n" not in str(told.value)
    assert str(folder) in str(told.value)


def test_a_run_of_another_format_is_refused(saved, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(saved[1], folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"format": 2}))
    for opened in (Lookup.open, Alignment.load):
        with pytest.raises(RunError, match="run folder of format 2, expected 1"):
            opened(folder)


def test_torch_is_not_imported_for_it(saved):
    code = (
        "import sys; from calque.cli.main import main; "
        f"code = main(['translate', {str(saved[1])!r}, 's3', '-q']); "
        "assert 'torch' not in sys.modules, 'torch'; sys.exit(code)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("s3\tt")


def test_many_words_are_asked_about_in_blocks(saved, monkeypatch):
    made, folder = saved
    whole = Lookup.open(folder).translate(made.source.words)
    monkeypatch.setattr(lookup, "AT_ONCE", 7)
    assert [each.candidates[0].word for each in Lookup.open(folder).translate(made.source.words)] == [
        each.candidates[0].word for each in whole
    ]


@pytest.mark.parametrize("back", [False, True])
def test_a_phrase_is_translated_by_the_mean_of_its_words(saved, back):
    """Known answer: the mean of one word twice is that word; of two words, the neighbours of their mean."""
    made, folder = saved
    space, other = made.spaces(back)
    one, two = space.words[3], space.words[8]
    for run in (made, Lookup.open(folder)):
        alone, twice, both = run.translate([one, f"{one} {one}", f"{one}  {two}"], 4, back, "nn")
        assert [each.word for each in twice.candidates] == [each.word for each in alone.candidates]
        assert both.word == f"{one}  {two}"
        mean = torch.nn.functional.normalize(space.lookup([one, two]).mean(dim=0), dim=0)
        scores = torch.nn.functional.normalize(other.vectors, dim=1) @ mean
        best = scores.topk(4)
        assert [each.word for each in both.candidates] == [other.words[row] for row in best.indices.tolist()]
        assert [each.score for each in both.candidates] == pytest.approx(best.values.tolist(), abs=1e-5)
        with pytest.raises(UnknownWordError, match="nobody"):
            run.translate([f"{one} nobody"], 1, back)


def test_a_word_with_a_blank_is_itself_and_no_phrase():
    assert parts("New York", {"New", "York"}) == ["New", "York"]
    assert parts("New York", {"New", "York", "New York"}) == ["New York"]
    assert parts("New Amsterdam", {"New"}) == ["New Amsterdam"]
    assert parts(" ", {"a"}) == [" "]
