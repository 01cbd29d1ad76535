from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import calque as library
from calque.recipes import RECIPES, read_recipe

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class TestInspect:
    def test_what_is_in_a_file(self, calque: Callable[..., Any], files: Any) -> None:
        result = calque("inspect", files.source, "--json")
        assert (result.code, result.err) == (0, "")
        told = result.json
        assert told["file"] == str(files.source)
        assert (told["format"], told["words"], told["dimension"]) == ("word2vec", 600, 20)
        assert (told["counts"], told["subwords"], told["notes"]) == ("no", "no", [])
        assert told["first words"][5] == "\udcff\udcfe"

    def test_lengths(self, calque: Callable[..., Any], tmp_path: Path) -> None:
        path = tmp_path / "some.vec"
        path.write_text("2 2\na 3 4\nb 0 1\n")
        told = calque("inspect", path, "--json").json
        assert (told["shortest vector"], told["longest vector"]) == (1.0, 5.0)
        assert told["length of the mean"] == pytest.approx((1.5**2 + 2.5**2) ** 0.5, abs=1e-4)

    def test_text(self, calque: Callable[..., Any], tmp_path: Path) -> None:
        path = tmp_path / "some.vec"
        path.write_text("3 2\na 3 4\nb 0 1\na 1 1\n")
        lines = calque("inspect", path).out.splitlines()
        assert lines[:3] == ["format: word2vec", "words: 2", "dimension: 2"]
        assert "first words: a, b" in lines
        assert lines[-1].startswith("note: ")
        assert "'a'" in lines[-1] or " a" in lines[-1]

    def test_a_limit(self, calque: Callable[..., Any], files: Any) -> None:
        assert calque("inspect", files.source, "--limit", 7, "--json").json["words"] == 7

    def test_a_bare_array_with_its_words(self, calque: Callable[..., Any], files: Any, tmp_path: Path) -> None:
        assert calque("convert", files.source, tmp_path / "source.npy").code == 0
        lists = [each for each in tmp_path.iterdir() if each.suffix != ".npy"]
        assert len(lists) == 1
        told = calque("inspect", tmp_path / "source.npy", "--words", lists[0], "--json").json
        assert (told["format"], told["words"]) == ("npy", 600)

    def test_what_is_refused(self, refused: Callable[..., str], files: Any, tmp_path: Path) -> None:
        other = tmp_path / "other"
        other.write_bytes(b"%PDF-1.7\n\0\xff")
        assert str(tmp_path / "none") in refused("inspect", tmp_path / "none")
        assert str(tmp_path) in refused("inspect", tmp_path)
        assert "no known format" in refused("inspect", other)
        assert "limit is 0" in refused("inspect", files.source, "--limit", 0)
        assert "'papyrus'; choose one of" in refused("inspect", files.source, "--format", "papyrus")


class TestCache:
    @pytest.mark.parametrize("option", [[], ["--no-cache"]])
    def test_is_used_unless_refused(
        self, option: list[str], calque: Callable[..., Any], files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("calque.data.formats.reading.SMALLEST", 1)
        monkeypatch.setenv("CALQUE_CACHE", str(tmp_path / "cache"))
        first, second = (calque("inspect", files.source, "--json", *option) for _ in range(2))
        assert first.json == second.json
        assert calque("convert", files.target, tmp_path / "out.npz", *option).code == 0
        assert calque("align", files.source, files.target, "-o", tmp_path / "run", "--recipe", files.quick, *option).out
        made = list((tmp_path / "cache").iterdir()) if (tmp_path / "cache").exists() else []
        assert len(made) == (0 if option else 2)

    def test_trouble_with_it_is_a_line_on_stderr(
        self, calque: Callable[..., Any], files: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("calque.data.formats.reading.SMALLEST", 1)
        monkeypatch.setenv("CALQUE_CACHE", str(files.source))
        told = calque("inspect", files.source, "--json")
        assert told.code == 0
        assert told.json["notes"] == []
        assert told.err.startswith(f"calque: {files.source}: not kept in the cache (")
        assert told.err.count("\n") == 1


class TestConvert:
    @pytest.mark.parametrize("suffix", [".vec", ".vec.gz", ".glove", ".npz", ".safetensors"])
    def test_there_and_back(
        self, calque: Callable[..., Any], files: Any, problem: Any, tmp_path: Path, suffix: str
    ) -> None:
        out = tmp_path / f"copy{suffix}"
        result = calque("convert", files.source, out)
        assert (result.code, result.err) == (0, "")
        assert result.out == f"600 words of 20 dimensions: {out}\n"
        copy = library.load(out)
        assert copy.words == problem.source.words
        assert torch.equal(copy.vectors, problem.source.vectors)

    def test_a_limit_and_json(self, calque: Callable[..., Any], files: Any, tmp_path: Path) -> None:
        out = tmp_path / "head.bin"
        told = calque("convert", files.source, out, "--limit", 5, "--json").json
        assert told == {"file": str(out), "words": 5, "dimension": 20}
        assert len(library.load(out)) == 5

    def test_notes_are_on_stderr_unless_quiet(self, calque: Callable[..., Any], tmp_path: Path) -> None:
        path = tmp_path / "some.vec"
        path.write_text("3 2\na 3 4\nb 0 1\na 1 1\n")
        noted = calque("convert", path, tmp_path / "some.npz", "--json")
        assert noted.json["words"] == 2
        assert noted.err.startswith(f"calque: {path}: ")
        silent = calque("convert", path, tmp_path / "some.npz", "--overwrite", "-q")
        assert (silent.code, silent.err) == (0, "")

    def test_overwriting(
        self, calque: Callable[..., Any], refused: Callable[..., str], files: Any, tmp_path: Path
    ) -> None:
        mine = tmp_path / "mine.vec"
        mine.write_text("1 1\nmine 1\n")
        assert "--overwrite" in refused("convert", files.source, mine)
        assert calque("convert", files.source, mine, "--overwrite").code == 0
        assert len(library.load(mine)) == 600

    def test_what_is_refused(self, refused: Callable[..., str], files: Any, tmp_path: Path) -> None:
        (tmp_path / "folder.vec").mkdir()
        assert str(tmp_path / "none") in refused("convert", tmp_path / "none", tmp_path / "out.vec")
        assert "'.doc'" in refused("convert", files.source, tmp_path / "out.doc")
        assert "gzip" in refused("convert", files.source, tmp_path / "out.npz.gz")
        assert "'el gato'" in refused("convert", files.source, tmp_path / "out.bin")
        assert "limit is 0" in refused("convert", files.source, tmp_path / "out.vec", "--limit", 0)
        assert "folder.vec" in refused("convert", files.source, tmp_path / "folder.vec", "--overwrite")
        assert "no-such" in refused("convert", files.source, tmp_path / "no-such" / "out.vec")


class TestRecipes:
    def test_every_recipe_is_listed(self, calque: Callable[..., Any]) -> None:
        result = calque("recipes")
        assert (result.code, result.err) == (0, "")
        assert [line.split(":")[0] for line in result.out.splitlines() if not line.startswith(" ")] == list(RECIPES)

    def test_json(self, calque: Callable[..., Any]) -> None:
        told = calque("recipes", "--json").json
        assert list(told) == list(RECIPES)
        assert all(set(each) == {"summary", "published", "needs"} and all(each.values()) for each in told.values())
        assert "--lexicon" in told["xing2015"]["needs"]
        assert "--lexicon" not in told["paper"]["needs"]

    @pytest.mark.parametrize("name", RECIPES)
    def test_one_as_toml_is_a_recipe_again(self, calque: Callable[..., Any], name: str, tmp_path: Path) -> None:
        printed = calque("recipes", name).out
        assert tomllib.loads(printed)["name"] == name
        path = tmp_path / "mine.toml"
        path.write_text(printed)
        assert read_recipe(path).settings == RECIPES[name].settings

    def test_a_file_with_all_its_defaults(self, calque: Callable[..., Any], recipe_file: Callable[[str], Path]) -> None:
        printed = tomllib.loads(calque("recipes", recipe_file("[settings.search]\nrounds = 3\n")).out)
        assert printed["settings"]["search"]["rounds"] == 3
        assert printed["settings"]["words"] == RECIPES["default"].settings.words

    def test_one_as_json(self, calque: Callable[..., Any]) -> None:
        told = calque("recipes", "default", "--json").json
        assert "default" in str(told)

    def test_an_unknown_one(self, refused: Callable[..., str]) -> None:
        assert "'nouvelle'; there are: default" in refused("recipes", "nouvelle")
