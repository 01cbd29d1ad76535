from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calque.data.formats import read, write
from calque.runs.family import Family
from made_languages import NAMES, languages


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("languages")
    for name, space in languages().items():
        write(space, place / f"{name}.vec")
    (place / "gold.tsv").write_text("".join(f"en{row}\tes{row}\n" for row in range(0, 700, 5)))
    (place / "judged.tsv").write_text("".join(f"en{row}\tes{row + row % 3}\t{4 - row % 3}\n" for row in range(50)))
    return place


@pytest.fixture(scope="module")
def made(files: Path) -> Any:
    from contextlib import redirect_stderr, redirect_stdout
    from io import StringIO

    from calque.cli.main import main

    given = [str(files / f"{name}.vec") for name in NAMES]
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(["align-many", *given, "-o", str(files / "family"), "--json"])
    return files / "family", code, json.loads(out.getvalue())


class TestMaking:
    def test_it_tells_every_verdict_as_json(self, made: Any) -> None:
        folder, code, told = made
        assert (code, told["verdict"], told["run"]) == (0, "aligned", str(folder))
        assert told["languages"] == list(NAMES)
        assert {name: each["verdict"] for name, each in told["pairs"].items()} == dict.fromkeys(
            ("en-es", "en-pt-br", "es-pt-br"), "aligned"
        )
        assert told["triangles"]["en-es-pt-br"] > 0.5

    def test_the_folder_is_a_family(self, made: Any) -> None:
        assert Family.load(made[0]).names == NAMES

    def test_in_words_it_is_a_table_and_a_verdict(
        self, calque: Callable[..., Any], files: Path, tmp_path: Path
    ) -> None:
        recipe = tmp_path / "quick.toml"
        recipe.write_text("[settings.deep]\nrounds = 0\n")
        given = [f"{name}={files / name}.vec" for name in NAMES]
        result = calque(
            "align-many", *given, "-o", tmp_path / "run", "--into", "es", "--recipe", recipe, "--limit", 600
        )
        assert result.code == 0
        lines = result.out.splitlines()
        assert lines[0].split() == ["pair", "verdict", "found"]
        assert lines[1].split()[:2] == ["en-es", "aligned"]
        assert "verdict: aligned" in lines
        assert lines[-1] == f"run: {tmp_path / 'run'}"
        assert Family.load(tmp_path / "run").into == "es"


class TestUsing:
    def test_texts_are_classified_between_any_two(self, calque: Callable[..., Any], made: Any, tmp_path: Path) -> None:
        pytest.importorskip("sklearn", reason="needs the extra: pip install 'calque-embeddings[sklearn]'")
        vectors = languages()["en"].vectors
        vectors = vectors / vectors.norm(dim=1, keepdim=True)
        topics = {"one": vectors[0], "other": vectors[(vectors @ vectors[0]).argmin()]}
        near = {name: (vectors @ centre).topk(20).indices.tolist() for name, centre in topics.items()}
        for language, part in (("en", 0), ("es", 1)):
            lines = [f"{language}{row}\t{name}" for name, rows in near.items() for row in rows[part::2]]
            (tmp_path / f"{language}.tsv").write_text("\n".join(["text\tcategory", *lines]) + "\n")
        files_of = ("--train", tmp_path / "en.tsv", "--test", tmp_path / "es.tsv", "--json")
        assert calque("classify", made[0], "--pair", "es-en", *files_of).json["accuracy"] == 1
        assert calque("classify", made[0], "--pair", "en-es", "--from", "source", *files_of).json["accuracy"] == 1
        assert "name two of them" in calque("classify", made[0], *files_of).err

    def test_translate_between_any_two(self, calque: Callable[..., Any], made: Any) -> None:
        result = calque("translate", made[0], "--pair", "pt-br-es", "pt-br12", "--k", 1)
        assert (result.code, result.err) == (0, "")
        assert result.out.split()[:2] == ["pt-br12", "es12"]

    def test_evaluate_one_pair_and_keep_its_score(self, calque: Callable[..., Any], made: Any, files: Path) -> None:
        result = calque("evaluate", made[0], "--pair", "en-es", "--lexicon", files / "gold.tsv", "--json")
        assert result.json["forward"]["csls"]["accuracy"]["1"] > 0.9
        assert result.json["backward"]["csls"]["accuracy"]["1"] > 0.9
        assert "translation en-es" in json.loads((made[0] / "scores.json").read_text())

    def test_similarity_of_one_pair(self, calque: Callable[..., Any], made: Any, files: Path) -> None:
        result = calque("similarity", made[0], "--pair", "en-es", "--pairs", files / "judged.tsv", "--json")
        assert result.code == 0
        assert result.json["spearman"] > 0.3

    def test_lexicon_of_one_pair(self, calque: Callable[..., Any], made: Any) -> None:
        result = calque("lexicon", made[0], "--pair", "es-en")
        pairs = [line.split("\t")[:2] for line in result.out.splitlines()]
        assert len(pairs) > 560
        assert sum(one[2:] == two[2:] for one, two in pairs) > 0.9 * len(pairs)

    def test_export_all_in_one_space(self, calque: Callable[..., Any], made: Any, tmp_path: Path) -> None:
        result = calque("export", made[0], "-o", tmp_path / "out", "--format", "npz", "--json")
        assert [Path(each).name for each in result.json["files"]] == [f"{name}.npz" for name in NAMES]
        one, other = (read(tmp_path / "out" / f"{name}.npz").space for name in ("en", "pt-br"))
        best = (one.vectors @ other.vectors.mT).argmax(dim=1).tolist()
        assert sum(row == found for row, found in enumerate(best)) > 590

    def test_export_two_in_a_space_of_their_own(self, calque: Callable[..., Any], made: Any, tmp_path: Path) -> None:
        result = calque("export", made[0], "-o", tmp_path / "out", "--pair", "en-es", "--format", "bin")
        files = [tmp_path / "out" / f"{side}.bin" for side in ("source", "target")]
        assert result.out.split() == [str(each) for each in files]
        one, other = (read(each).space for each in files)
        assert (one.words[3], other.words[3]) == ("en3", "es3")
        best = (one.vectors @ other.vectors.mT).argmax(dim=1).tolist()
        assert sum(row == found for row, found in enumerate(best)) > 590


class TestBadInput:
    def refused(self, result: Any, *said: str) -> None:
        assert (result.code, result.out) == (2, "")
        assert result.err.count("\n") == 1
        assert all(each in result.err for each in said), result.err

    def test_two_languages_of_the_same_name(self, calque: Callable[..., Any], files: Path, tmp_path: Path) -> None:
        (tmp_path / "en.vec").write_bytes((files / "en.vec").read_bytes())
        given = [files / "en.vec", files / "es.vec", tmp_path / "en.vec"]
        result = calque("align-many", *given, "-o", tmp_path / "run")
        self.refused(result, "is called 'en', and so is", f"as in en2={tmp_path / 'en.vec'}")
        assert not (tmp_path / "run").exists()

    def test_two_files_only(self, calque: Callable[..., Any], files: Path, tmp_path: Path) -> None:
        result = calque("align-many", files / "en.vec", files / "es.vec", "-o", tmp_path / "run")
        self.refused(result, "2 languages were given; expected at least 3; 'calque align' is for two")

    def test_into_a_language_that_is_none(self, calque: Callable[..., Any], files: Path, tmp_path: Path) -> None:
        given = [files / f"{name}.vec" for name in NAMES]
        result = calque("align-many", *given, "-o", tmp_path / "run", "--into", "fr")
        self.refused(result, "--into is 'fr', which names no file; there are: en, es, pt-br")

    def test_a_missing_file(self, calque: Callable[..., Any], files: Path, tmp_path: Path) -> None:
        given = [files / "en.vec", files / "es.vec", files / "fr.vec"]
        self.refused(calque("align-many", *given, "-o", tmp_path / "run"), "fr.vec")
        assert not (tmp_path / "run").exists()

    def test_a_name_that_cannot_be_a_file_name(self, calque: Callable[..., Any], files: Path, tmp_path: Path) -> None:
        result = calque("align-many", f"a/b={files / 'en.vec'}", files / "es.vec", "-o", tmp_path / "run")
        self.refused(result, "'a/b' is no name for a language")

    def test_one_file_under_two_names(self, calque: Callable[..., Any], files: Path, tmp_path: Path) -> None:
        given = [f"one={files / 'en.vec'}", f"two={files / 'en.vec'}", files / "es.vec"]
        result = calque("align-many", *given, "-o", tmp_path / "run")
        self.refused(result, "one and two have the same words and vectors")

    @pytest.mark.parametrize("command", ["translate", "evaluate", "lexicon", "similarity"])
    def test_a_family_asks_for_a_pair(self, calque: Callable[..., Any], made: Any, files: Path, command: str) -> None:
        more = {"translate": ["en1"], "evaluate": ["--lexicon", files / "gold.tsv"], "lexicon": []}
        result = calque(command, made[0], *more.get(command, ["--pairs", files / "judged.tsv"]))
        self.refused(result, str(made[0]), "such as --pair en-es")

    def test_a_pair_that_is_not_in_it(self, calque: Callable[..., Any], made: Any) -> None:
        self.refused(calque("translate", made[0], "--pair", "en-fr", "en1"), "the pair is 'en-fr'", "en, es, pt-br")

    def test_a_run_of_one_pair_wants_no_pair(self, calque: Callable[..., Any], made: Any, tmp_path: Path) -> None:
        Family.load(made[0]).pair("en", "es").save(tmp_path / "pair")
        self.refused(
            calque("lexicon", tmp_path / "pair", "--pair", "en-es"), "holds one pair already; leave --pair out"
        )
