from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calque.runs.alignment import Alignment


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


REVERSED = "backward is scored by the lexicon reversed, which lacks right answers; --lexicon-back FILE is fairer"


class TestEvaluate:
    def test_the_contract_of_json(self, calque: Callable[..., Any], run_copy: Path, files: Any) -> None:
        result = calque("evaluate", run_copy, "--lexicon", files.lexicon, "--json")
        assert (result.code, result.err) == (0, f"calque: {REVERSED}\n")
        assert list(result.json) == ["forward", "backward", "notes"]
        assert result.json["notes"] == [REVERSED]
        for direction in (result.json["forward"], result.json["backward"]):
            assert set(direction) == {"nn", "csls"}
            for score in direction.values():
                assert {"accuracy", "asked", "missing"} <= set(score)
                assert (score["asked"], score["missing"]) == (600, 0)
                shares = [score["accuracy"][k] for k in ("1", "5", "10")]
                assert shares == sorted(shares)
                assert shares[0] > 0.98

    def test_k_and_retrieval_are_as_asked(self, calque: Callable[..., Any], run_copy: Path, files: Any) -> None:
        asked = ("evaluate", run_copy, "--lexicon", files.lexicon, "--json", "--k", "2,3", "--retrieval", "isf")
        told = calque(*asked).json
        assert set(told["forward"]) == set(told["backward"]) == {"isf"}
        assert set(told["forward"]["isf"]["accuracy"]) == {"2", "3"}

    def test_wrong_answers_count_against_it(self, calque: Callable[..., Any], run_copy: Path, tmp_path: Path) -> None:
        lexicon = written(
            tmp_path / "gold.tsv",
            "fuente0040\ttarget0040\nfuente0041\ttarget0500\nfuente0042\ttarget0500\nfuente0042\ttarget0042\n"
            "fuente0043\tnothing\nnadie\ttarget0044\n",
        )
        told = calque("evaluate", run_copy, "--lexicon", lexicon, "--json", "--k", "1", "--retrieval", "nn").json
        forward, backward = told["forward"]["nn"], told["backward"]["nn"]
        assert (forward["asked"], forward["missing"], forward["right"]) == (3, 2, {"1": 2})
        # target0500 may be answered by 0041 or 0042 and is neither; target0044 has no known answer, "nothing" no vector
        assert (backward["asked"], backward["missing"], backward["right"]) == (3, 2, {"1": 2})

    def test_what_flatters_is_said(
        self, calque: Callable[..., Any], run_copy: Path, files: Any, tmp_path: Path
    ) -> None:
        calque("lexicon", run_copy, "-o", tmp_path / "induced.tsv")
        assert (
            "by a lexicon that it made itself a run is right"
            in calque("evaluate", run_copy, "--lexicon", tmp_path / "induced.tsv").err
        )
        taught, pairs = tmp_path / "taught", files.lexicon
        assert (
            calque("align", files.source, files.target, "--recipe", "xing2015", "--lexicon", pairs, "-o", taught).code
            == 0
        )
        assert "the run has learned from these very pairs" in calque("evaluate", taught, "--lexicon", pairs).err
        assert calque("evaluate", run_copy, "--lexicon", pairs).err == f"calque: {REVERSED}\n"

    def test_a_lexicon_of_its_own_for_the_way_back(
        self, calque: Callable[..., Any], run_copy: Path, files: Any, tmp_path: Path
    ) -> None:
        back = written(tmp_path / "back.tsv", "target0040\tfuente0040\ntarget0041\tfuente0040\n")
        asked = ("evaluate", run_copy, "--lexicon", files.lexicon, "--lexicon-back", back, "--json", "--k", "1")
        told = calque(*asked).json
        assert told["notes"] == []
        assert told["forward"]["csls"]["asked"] == 600
        assert (told["backward"]["csls"]["asked"], told["backward"]["csls"]["right"]) == (2, {"1": 1})

    def test_a_table_for_people(self, calque: Callable[..., Any], run_copy: Path, files: Any) -> None:
        result = calque("evaluate", run_copy, "--lexicon", files.lexicon, "--k", "1,5")
        head, *rows = [line.split() for line in result.out.splitlines()]
        assert head[:5] == ["direction", "retrieval", "acc@1", "acc@5", "asked"]
        assert [row[:2] for row in rows] == [
            ["forward", "nn"],
            ["forward", "csls"],
            ["backward", "nn"],
            ["backward", "csls"],
        ]
        assert {row[-2] for row in rows} == {"600"}

    def test_the_score_is_kept_in_the_run(self, calque: Callable[..., Any], run_copy: Path, files: Any) -> None:
        told = calque("evaluate", run_copy, "--lexicon", files.lexicon, "--json").json
        kept = json.loads((run_copy / "scores.json").read_text())["translation"]
        assert kept["lexicon"] == str(files.lexicon)
        assert kept["forward"] == told["forward"]
        assert Alignment.load(run_copy).verdict.label == "aligned"

    @pytest.mark.parametrize("damage", ["{", "[]"])
    def test_a_damaged_score_does_not_hide_the_new_one(
        self, calque: Callable[..., Any], run_copy: Path, files: Any, damage: str
    ) -> None:
        (run_copy / "scores.json").write_text(damage)
        result = calque("evaluate", run_copy, "--lexicon", files.lexicon, "--json")
        assert result.code == 0
        assert result.json["forward"]["csls"]["asked"] == 600

    def test_malformed_lines_are_named_and_left_out(
        self, calque: Callable[..., Any], run_copy: Path, tmp_path: Path
    ) -> None:
        lexicon = written(tmp_path / "gold.tsv", "fuente0040\ttarget0040\nfuente0041\n\nfuente0042\ttarget0042\n")
        arguments = ("evaluate", run_copy, "--lexicon", lexicon, "--json")
        result = calque(*arguments)
        assert result.code == 0
        assert result.json["forward"]["nn"]["asked"] == 2
        assert result.err.startswith(f"calque: {lexicon}:2: ")
        assert result.err.count("\n") == 2
        assert [f"calque: {note}" for note in result.json["notes"]] == result.err.splitlines()
        assert calque(*arguments, "-q").err == ""

    def test_strict_refuses_them(self, refused: Callable[..., str], run_copy: Path, tmp_path: Path) -> None:
        lexicon = written(tmp_path / "gold.tsv", "fuente0040\ttarget0040\nfuente0041\n")
        assert f"{lexicon}:2:" in refused("evaluate", run_copy, "--lexicon", lexicon, "--strict")

    @pytest.mark.parametrize("text", ["", "\n\n", "alone\n"])
    def test_an_empty_lexicon(self, refused: Callable[..., str], run_copy: Path, tmp_path: Path, text: str) -> None:
        lexicon = written(tmp_path / "gold.tsv", text)
        assert f"{lexicon}: no word pairs" in refused("evaluate", run_copy, "--lexicon", lexicon)

    def test_a_lexicon_that_is_not_there_or_no_text(
        self, refused: Callable[..., str], run_copy: Path, tmp_path: Path
    ) -> None:
        assert str(tmp_path / "no.tsv") in refused("evaluate", run_copy, "--lexicon", tmp_path / "no.tsv")
        assert str(tmp_path) in refused("evaluate", run_copy, "--lexicon", tmp_path)
        maps = run_copy / "maps.safetensors"
        assert str(maps) in refused("evaluate", run_copy, "--lexicon", maps)

    def test_a_lexicon_of_other_languages(self, refused: Callable[..., str], run_copy: Path, tmp_path: Path) -> None:
        lexicon = written(tmp_path / "gold.tsv", "chien\thund\n")
        told = refused("evaluate", run_copy, "--lexicon", lexicon)
        assert "none of its 1 words can be asked" in told

    @pytest.mark.parametrize("k", ["", "x", "1,,5", "1.5", "0", "1,-1"])
    def test_a_bad_k(self, refused: Callable[..., str], run_copy: Path, files: Any, k: str) -> None:
        assert "k is" in refused("evaluate", run_copy, "--lexicon", files.lexicon, "--k", k)

    @pytest.mark.parametrize("retrieval", ["magic", "nn,magic", "", "nn,"])
    def test_an_unknown_retrieval(
        self, refused: Callable[..., str], run_copy: Path, files: Any, retrieval: str
    ) -> None:
        told = refused("evaluate", run_copy, "--lexicon", files.lexicon, "--retrieval", retrieval)
        assert "nn, csls, isf" in told

    def test_a_lexicon_is_asked_for(self, calque: Callable[..., Any], run_copy: Path) -> None:
        result = calque("evaluate", run_copy)
        assert (result.code, result.out) == (2, "")
        assert "--lexicon" in result.err


class TestSimilarity:
    @pytest.fixture
    def judged(self, run_copy: Path, tmp_path: Path) -> Path:
        """Pairs whose judgement is the cosine itself, so that the correlation is perfect."""
        alignment = Alignment.load(run_copy)
        cosines = alignment.source.vectors @ alignment.target.vectors.T
        rows = [
            (source, target, float(cosines[source, target]))
            for source, target in zip(range(20, 60), range(60, 20, -1), strict=True)
        ]
        words = alignment.source.words, alignment.target.words
        return written(
            tmp_path / "pairs.tsv", "".join(f"{words[0][s]}\t{words[1][t]}\t{score:.6f}\n" for s, t, score in rows)
        )

    def test_judgements_like_ours_agree_perfectly(
        self, calque: Callable[..., Any], run_copy: Path, judged: Path
    ) -> None:
        result = calque("similarity", run_copy, "--pairs", judged, "--json")
        assert (result.code, result.err) == (0, "")
        assert {key: result.json[key] for key in ("used", "missing", "phrases")} == {
            "used": 40,
            "missing": 0,
            "phrases": 0,
        }
        assert result.json["pearson"] == pytest.approx(1.0, abs=1e-4)
        assert result.json["spearman"] == pytest.approx(1.0, abs=1e-3)

    def test_coverage_is_told(self, calque: Callable[..., Any], run_copy: Path, judged: Path) -> None:
        with judged.open("a", encoding="utf-8") as file:
            file.write("nadie\ttarget0040\t0.5\nel gato\tthe cat\t0.9\nfuente0040 fuente0041\ttarget0040\t0.5\n")
        averaged = calque("similarity", run_copy, "--pairs", judged, "--json").json
        assert (averaged["used"], averaged["missing"], averaged["phrases"]) == (42, 1, 2)
        skipped = calque("similarity", run_copy, "--pairs", judged, "--json", "--phrases", "skip").json
        assert (skipped["used"], skipped["missing"], skipped["phrases"]) == (40, 1, 2)

    def test_swap(self, calque: Callable[..., Any], run_copy: Path, judged: Path, tmp_path: Path) -> None:
        fields = [line.split("\t") for line in judged.read_text().splitlines()]
        swapped = written(tmp_path / "swapped.tsv", "".join(f"{t}\t{s}\t{score}\n" for s, t, score in fields))
        straight = calque("similarity", run_copy, "--pairs", judged, "--json").json
        assert calque("similarity", run_copy, "--pairs", swapped, "--swap", "--json").json == straight

    def test_text(self, calque: Callable[..., Any], run_copy: Path, judged: Path) -> None:
        first, second = calque("similarity", run_copy, "--pairs", judged).out.splitlines()
        assert first == "pearson 1.000  spearman 1.000"
        assert second.startswith("40 pairs used, 0 not in the vocabularies")

    def test_it_is_kept_beside_the_other_score(
        self, calque: Callable[..., Any], run_copy: Path, judged: Path, files: Any
    ) -> None:
        calque("evaluate", run_copy, "--lexicon", files.lexicon)
        told = calque("similarity", run_copy, "--pairs", judged, "--json").json
        kept = json.loads((run_copy / "scores.json").read_text())
        assert set(kept) == {"translation", "similarity"}
        assert kept["similarity"] == {"pairs": str(judged), **told}

    def test_equal_judgements_have_no_correlation_but_are_valid_json(
        self, calque: Callable[..., Any], run_copy: Path, tmp_path: Path
    ) -> None:
        pairs = written(tmp_path / "pairs.tsv", "".join(f"fuente00{n}\ttarget00{n}\t1\n" for n in range(10, 20)))
        result = calque("similarity", run_copy, "--pairs", pairs, "--json")
        assert "bug of ours" not in result.err
        if result.code == 0:
            assert "NaN" not in result.out
        else:
            assert (result.code, result.out) == (2, "")

    @pytest.mark.parametrize(
        ("text", "named"),
        [
            ("fuente0040\ttarget0040\tmuch\n", ":1:"),
            ("fuente0040\ttarget0040\t1\nfuente0041 target0041 2\n", ":2:"),
            ("", "only 0 of 0"),
            ("fuente0040\ttarget0040\t1\n", "only 1 of 1"),
            ("fuente0040\ttarget0040\tnan\n" * 4, ":1:"),
        ],
    )
    def test_a_bad_file(
        self, refused: Callable[..., str], run_copy: Path, tmp_path: Path, text: str, named: str
    ) -> None:
        assert named in refused("similarity", run_copy, "--pairs", written(tmp_path / "pairs.tsv", text))

    def test_a_missing_file(self, refused: Callable[..., str], run_copy: Path, tmp_path: Path) -> None:
        assert str(tmp_path / "none") in refused("similarity", run_copy, "--pairs", tmp_path / "none")
