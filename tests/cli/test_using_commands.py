from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import calque as library
from calque.cli.main import main
from calque.data.formats import write
from calque.data.lexicon import read_lexicon
from calque.data.space import Space
from calque.runs.alignment import Alignment

BROKEN, BROKEN_TARGET = "\udcff\udcfe", "caf\udce9"


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Put bytes on stdin, as a terminal in a UTF-8 locale would give them: strictly decoded."""

    def put(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", errors="strict"))

    return put


class TestTranslate:
    def test_a_line_a_word_with_the_best_first(self, calque: Callable[..., Any], aligned: Any) -> None:
        result = calque("translate", aligned.folder, "fuente0040", "palabra", "--k", 3)
        assert (result.code, result.err) == (0, "")
        lines = [line.split("\t") for line in result.out.splitlines()]
        assert [line[0] for line in lines] == ["fuente0040", "palabra"]
        assert [line[1].split(" ")[0] for line in lines] == ["target0040", "word"]
        for _, told in lines:
            scores = [float(each.rsplit(" ", 1)[1]) for each in told.split("  ")]
            assert len(scores) == 3
            assert scores == sorted(scores, reverse=True)

    def test_json(self, calque: Callable[..., Any], aligned: Any) -> None:
        told = calque("translate", aligned.folder, "fuente0040", "--k", 2, "--json").json
        assert set(told) == {"translations", "unknown"}
        assert told["unknown"] == []
        assert [set(each) for each in told["translations"]["fuente0040"]] == [{"word", "score"}] * 2
        assert told["translations"]["fuente0040"][0]["word"] == "target0040"

    def test_back(self, calque: Callable[..., Any], aligned: Any) -> None:
        told = calque("translate", aligned.folder, "word", "target0040", "--back", "--json").json
        assert {word: many[0]["word"] for word, many in told["translations"].items()} == {
            "word": "palabra",
            "target0040": "fuente0040",
        }

    def test_a_phrase_and_that_it_was_one(self, calque: Callable[..., Any], aligned: Any) -> None:
        for more in ((), ("--retrieval", "isf")):
            result = calque("translate", aligned.folder, "fuente0040 fuente0040", "el gato", "--k", 1, *more)
            assert [line.split(" 0.")[0].split("\t")[0] for line in result.out.splitlines()] == [
                "fuente0040 fuente0040",
                "el gato",
            ]
            assert "\ttarget0040 " in result.out
            said = "'fuente0040 fuente0040' is no word of the run: translated by the mean of its words"
            assert (result.code, result.err) == (0, f"calque: {said}\n")
        assert calque("translate", aligned.folder, "fuente0040 nadie").code == 2

    @pytest.mark.parametrize("retrieval", ["nn", "csls", "isf"])
    def test_every_retrieval(self, calque: Callable[..., Any], aligned: Any, retrieval: str) -> None:
        asked = ("translate", aligned.folder, "fuente0040", "--json", "--retrieval", retrieval)
        [best, second, *_] = calque(*asked).json["translations"]["fuente0040"]
        assert best["word"] == "target0040"
        assert best["score"] > second["score"]

    def test_more_than_there_are_gives_all(self, calque: Callable[..., Any], aligned: Any, problem: Any) -> None:
        told = calque("translate", aligned.folder, "palabra", "--k", 10_000, "--json").json
        assert {each["word"] for each in told["translations"]["palabra"]} == set(problem.target.words)

    def test_words_from_stdin(self, calque: Callable[..., Any], aligned: Any, typed: Callable[[bytes], None]) -> None:
        typed("fuente0040\r\n\n東京\nel gato\n-\npalabra".encode())
        told = calque("translate", aligned.folder, "-", "--json").json
        assert {word: many[0]["word"] for word, many in told["translations"].items()} == {
            "fuente0040": "target0040",
            "東京": "Tōkyō",
            "el gato": "the cat",
            "-": "dash",
            "palabra": "word",
        }

    def test_broken_words_from_stdin(
        self, calque: Callable[..., Any], aligned: Any, typed: Callable[[bytes], None]
    ) -> None:
        typed(b"\xff\xfe\n")
        told = calque("translate", aligned.folder, "-", "--json").json
        assert told["translations"][BROKEN][0]["word"] == BROKEN_TARGET

    def test_a_hyphen_among_others_is_a_word(self, calque: Callable[..., Any], aligned: Any) -> None:
        told = calque("translate", aligned.folder, "palabra", "-", "--json").json
        assert told["translations"]["-"][0]["word"] == "dash"

    def test_nothing_on_stdin(self, refused: Callable[..., str], aligned: Any, typed: Callable[[bytes], None]) -> None:
        typed(b"\n")
        assert "no word" in refused("translate", aligned.folder, "-")

    def test_no_word(self, refused: Callable[..., str], aligned: Any) -> None:
        assert "no word" in refused("translate", aligned.folder)

    def test_an_unknown_word_is_named_with_close_ones_and_the_others_are_printed(
        self, calque: Callable[..., Any], aligned: Any
    ) -> None:
        result = calque("translate", aligned.folder, "palabras", "fuente0040")
        assert result.code == 2
        assert result.err.startswith("calque: ")
        assert result.err.count("\n") == 1
        assert "'palabras' is not among the 600 words; did you mean palabra?" in result.err
        assert result.out.startswith("fuente0040\ttarget0040 ")

    def test_unknown_words_as_json(self, calque: Callable[..., Any], aligned: Any) -> None:
        result = calque("translate", aligned.folder, "xyzzy", "fuente0040", "plugh", "--json", "-q")
        assert result.code == 2
        assert result.json["unknown"] == ["xyzzy", "plugh"]
        assert list(result.json["translations"]) == ["fuente0040"]
        assert "did you mean" not in result.err

    @pytest.mark.parametrize("k", [0, -3])
    def test_k_of_nothing(self, refused: Callable[..., str], aligned: Any, k: int) -> None:
        assert f"k is {k}" in refused("translate", aligned.folder, "palabra", "--k", k)

    def test_an_unknown_retrieval(self, refused: Callable[..., str], aligned: Any) -> None:
        told = refused("translate", aligned.folder, "palabra", "--retrieval", "magic")
        assert "'magic'" in told
        assert "nn, csls, isf" in told

    def test_vectors_without_subwords(self, refused: Callable[..., str], aligned: Any, files: Any) -> None:
        told = refused("translate", aligned.folder, "palabra", "--vectors", files.source)
        assert "fastText .bin" in told

    def test_an_unseen_word_is_translated_by_its_subwords(
        self, calque: Callable[..., Any], aligned: Any, tmp_path: Path
    ) -> None:
        fasttext = pytest.importorskip("gensim.models.fasttext")
        sentences = [["perro", "gato", "pez"], ["perro", "gato"]] * 5
        model = fasttext.FastText(sentences, vector_size=20, min_count=1, bucket=50, epochs=1, workers=1, seed=1)
        fasttext.save_facebook_model(model, str(tmp_path / "es.bin"))
        told = calque("translate", aligned.folder, "perrito", "--vectors", tmp_path / "es.bin", "--k", 3, "--json").json
        alignment = Alignment.load(aligned.folder)
        mapped = alignment.map_source(torch.tensor(model.wv["perrito"]).unsqueeze(0))
        expected = [alignment.target.words[row] for row in alignment.neighbours(mapped, 3).indices[0].tolist()]
        assert [each["word"] for each in told["translations"]["perrito"]] == expected
        assert told["unknown"] == []

    def test_subwords_of_another_dimension(self, refused: Callable[..., str], aligned: Any, tmp_path: Path) -> None:
        fasttext = pytest.importorskip("gensim.models.fasttext")
        model = fasttext.FastText([["perro", "gato"]] * 5, vector_size=6, min_count=1, bucket=50, epochs=1, workers=1)
        fasttext.save_facebook_model(model, str(tmp_path / "es.bin"))
        told = refused("translate", aligned.folder, "perrito", "--vectors", tmp_path / "es.bin")
        assert "expected 20 dimensions" in told

    def test_a_failed_run_is_warned_about_unless_quiet(self, calque: Callable[..., Any], failed: Any) -> None:
        warned = calque("translate", failed.folder, "one000")
        assert warned.code == 0
        assert warned.err.count("\n") == 1
        assert "failed" in warned.err
        silent = calque("translate", failed.folder, "one000", "-q")
        assert (silent.code, silent.err, silent.out) == (0, "", warned.out)


class TestLexicon:
    def test_it_is_right(self, calque: Callable[..., Any], aligned: Any, problem: Any, tmp_path: Path) -> None:
        written = tmp_path / "lexicon.tsv"
        result = calque("lexicon", aligned.folder, "-o", written)
        assert (result.code, result.err) == (0, "")
        answers = read_lexicon(written, strict=True).lexicon.answers
        assert result.out == f"{len(answers)} pairs: {written}\n"
        assert problem.right({word: right for word, (right,) in answers.items()}) > 0.95

    def test_each_line_has_a_confidence(self, calque: Callable[..., Any], aligned: Any, tmp_path: Path) -> None:
        calque("lexicon", aligned.folder, "-o", tmp_path / "lexicon.tsv")
        content = (tmp_path / "lexicon.tsv").read_bytes().decode("utf-8", "surrogateescape")
        fields = [line.split("\t") for line in content.splitlines()]
        assert {len(each) for each in fields} == {3}
        assert all(0 < float(each[2]) <= 1 for each in fields)

    def test_it_can_be_evaluated(self, calque: Callable[..., Any], run_copy: Path, tmp_path: Path) -> None:
        written = tmp_path / "lexicon.tsv"
        calque("lexicon", run_copy, "-o", written)
        count = len(written.read_bytes().splitlines())
        scored = calque("evaluate", run_copy, "--lexicon", written, "--json", "--strict")
        told, _ = scored.err.splitlines()  # That it is no judge of the run, and of the way back; of no line left out.
        assert told.endswith("by a lexicon that it made itself a run is right")
        for direction in ("forward", "backward"):
            assert scored.json[direction]["csls"]["asked"] == count
            assert scored.json[direction]["csls"]["right"]["1"] == count

    def test_every_source_word_once(self, calque: Callable[..., Any], aligned: Any, problem: Any) -> None:
        mutual = calque("lexicon", aligned.folder, "--json").json
        every = calque("lexicon", aligned.folder, "--json", "--every").json
        assert [each["source"] for each in every["entries"]] == list(problem.source.words)
        assert every["count"] == 600
        assert every["file"] is None
        assert [each for each in every["entries"] if each["mutual"]] == mutual["entries"]

    def test_on_stdout_without_a_file(self, aligned: Any, capfdbinary: Any, tmp_path: Path) -> None:
        assert main(["lexicon", str(aligned.folder)]) == 0
        out, err = capfdbinary.readouterr()
        assert main(["lexicon", str(aligned.folder), "-o", str(tmp_path / "lexicon.tsv")]) == 0
        assert out == (tmp_path / "lexicon.tsv").read_bytes()
        assert err == b""

    def test_json_names_the_file(self, calque: Callable[..., Any], aligned: Any, tmp_path: Path) -> None:
        written = tmp_path / "lexicon.tsv"
        told = calque("lexicon", aligned.folder, "-o", written, "--json").json
        assert told == {"count": len(written.read_bytes().splitlines()), "file": str(written)}

    def test_a_file_that_is_there(
        self, calque: Callable[..., Any], refused: Callable[..., str], aligned: Any, tmp_path: Path
    ) -> None:
        mine = tmp_path / "mine.tsv"
        mine.write_text("by hand")
        assert "--overwrite" in refused("lexicon", aligned.folder, "-o", mine)
        assert calque("lexicon", aligned.folder, "-o", mine, "--overwrite").code == 0
        assert len(read_lexicon(mine).lexicon) > 500

    def test_a_folder_is_not_replaced(self, refused: Callable[..., str], aligned: Any, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir()
        told = refused("lexicon", aligned.folder, "-o", tmp_path / "folder", "--overwrite")
        assert str(tmp_path / "folder") in told

    def test_a_failed_run_is_warned_about(self, calque: Callable[..., Any], failed: Any) -> None:
        assert "failed" in calque("lexicon", failed.folder, "--json").err
        assert calque("lexicon", failed.folder, "--json", "-q").err == ""


class TestExport:
    @pytest.mark.parametrize("name", ["vec", "bin", "npz", "safetensors"])
    def test_both_languages_lie_in_one_space(
        self, calque: Callable[..., Any], failed: Any, aligned: Any, problem: Any, tmp_path: Path, name: str
    ) -> None:
        # A word with a blank in it cannot be written to .bin; noise has none.
        run = failed.folder if name == "bin" else aligned.folder
        result = calque("export", run, "-o", tmp_path / "shared", "--format", name)
        assert result.code == 0
        files = [tmp_path / "shared" / f"{side}.{name}" for side in ("source", "target")]
        assert result.out == "".join(f"{each}\n" for each in files)
        source, target = map(library.load, files)
        kept = Alignment.load(run)
        assert (source.words, target.words) == (kept.source.words, kept.target.words)
        assert torch.allclose(source.vectors, kept.source.vectors, atol=1e-6)
        for space in (source, target):
            assert torch.allclose(space.vectors.norm(dim=1), torch.ones(len(space)), atol=1e-5)
        if run == aligned.folder:
            rights = target.lookup([problem.pairs[word] for word in source.words])
            assert float((source.vectors * rights).sum(dim=1).median()) > 0.9
            assert float((source.vectors * rights.roll(1, 0)).sum(dim=1).median()) < 0.5

    @pytest.mark.parametrize("name", ["vec", "bin"])
    def test_gensim_reads_it(self, calque: Callable[..., Any], failed: Any, tmp_path: Path, name: str) -> None:
        models = pytest.importorskip("gensim.models")
        assert calque("export", failed.folder, "-o", tmp_path / "shared", "--format", name, "-q").code == 0
        path = tmp_path / "shared" / f"source.{name}"
        keyed = models.KeyedVectors.load_word2vec_format(str(path), binary=name == "bin")
        kept = Alignment.load(failed.folder).source
        assert keyed.index_to_key == list(kept.words)
        assert np.allclose(keyed.vectors, kept.vectors.numpy(), atol=1e-6)

    def test_json(self, calque: Callable[..., Any], aligned: Any, tmp_path: Path) -> None:
        told = calque("export", aligned.folder, "-o", tmp_path / "shared", "--json").json
        assert told["words"] == [600, 600]
        assert all(Path(each).is_file() for each in told["files"])
        mark = json.loads((tmp_path / "shared" / "export.json").read_text())
        assert (mark["run"], mark["verdict"]) == (str(aligned.folder), "aligned")

    def test_what_a_format_cannot_hold_leaves_nothing(
        self, refused: Callable[..., str], aligned: Any, tmp_path: Path
    ) -> None:
        told = refused("export", aligned.folder, "-o", tmp_path / "shared", "--format", "bin")
        assert "'el gato'" in told

    def test_overwriting(
        self, calque: Callable[..., Any], refused: Callable[..., str], aligned: Any, tmp_path: Path
    ) -> None:
        shared = tmp_path / "shared"
        assert calque("export", aligned.folder, "-o", shared).code == 0
        assert "--overwrite" in refused("export", aligned.folder, "-o", shared)
        assert calque("export", aligned.folder, "-o", shared, "--overwrite", "--format", "npz").code == 0
        assert {each.name for each in shared.iterdir()} == {"source.npz", "target.npz", "export.json"}

    def test_a_run_is_not_an_export(self, refused: Callable[..., str], aligned: Any, run_copy: Path) -> None:
        assert "not replaced" in refused("export", aligned.folder, "-o", run_copy, "--overwrite")


class TestBrokenUtf8:
    """Bytes that are not UTF-8 come out of every command as they went in."""

    def test_align_and_translate(self, aligned: Any, capfdbinary: Any) -> None:
        assert b"\xff\xfe\n" in (aligned.folder / "words.source.txt").read_bytes()
        assert main(["translate", str(aligned.folder), BROKEN]) == 0
        out, err = capfdbinary.readouterr()
        assert out.startswith(b"\xff\xfe\tcaf\xe9 ")
        assert err == b""

    def test_lexicon(self, aligned: Any, tmp_path: Path) -> None:
        written = tmp_path / "lexicon.tsv"
        assert main(["lexicon", str(aligned.folder), "-o", str(written)]) == 0
        assert b"\n\xff\xfe\tcaf\xe9\t" in written.read_bytes()
        assert read_lexicon(written).lexicon.answers[BROKEN] == (BROKEN_TARGET,)

    def test_export(self, calque: Callable[..., Any], aligned: Any, tmp_path: Path) -> None:
        assert calque("export", aligned.folder, "-o", tmp_path / "shared").code == 0
        assert b"\n\xff\xfe " in (tmp_path / "shared" / "source.vec").read_bytes()
        assert BROKEN_TARGET in library.load(tmp_path / "shared" / "target.vec")

    def test_an_unknown_word(self, aligned: Any, capfdbinary: Any) -> None:
        assert main(["translate", str(aligned.folder), "\udcff\udcff"]) == 2
        out, err = capfdbinary.readouterr()
        assert out == b""
        assert err.count(b"\n") == 1
        assert rb"'\udcff\udcff'" in err


DAMAGES: dict[str, Callable[[Path], object]] = {
    "no config": lambda run: (run / "config.json").unlink(),
    "config cut": lambda run: (run / "config.json").write_text('{"format": 1,'),
    "config a list": lambda run: (run / "config.json").write_text("[1]"),
    "config empty": lambda run: (run / "config.json").write_text("{}"),
    "config of another version": lambda run: (run / "config.json").write_text('{"format": 2}'),
    "no maps": lambda run: (run / "maps.safetensors").unlink(),
    "maps cut": lambda run: (run / "maps.safetensors").write_bytes((run / "maps.safetensors").read_bytes()[:100]),
    "maps of vectors": lambda run: (run / "vectors.safetensors").replace(run / "maps.safetensors"),
    "no vectors": lambda run: (run / "vectors.safetensors").unlink(),
    "vectors empty": lambda run: (run / "vectors.safetensors").write_bytes(b""),
    "no words": lambda run: (run / "words.source.txt").unlink(),
    "fewer words": lambda run: (run / "words.target.txt").write_text("one\ntwo\n"),
    "a word twice": lambda run: (run / "words.source.txt").write_text("same\n" * 600),
    "penalties of another size": lambda run: _shorten(run, "csls.forward"),
    "verdict of another kind": lambda run: _reword(run),
}


def _shorten(run: Path, name: str) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(run / "vectors.safetensors")
    tensors[name] = tensors[name][:7].clone()
    save_file(tensors, run / "vectors.safetensors")


def _reword(run: Path) -> None:
    config = json.loads((run / "config.json").read_text())
    config["verdict"] = "splendid"
    (run / "config.json").write_text(json.dumps(config))


class TestDamagedRuns:
    @pytest.mark.parametrize("name", DAMAGES)
    def test_a_damaged_run(self, refused: Callable[..., str], run_copy: Path, files: Any, name: str) -> None:
        DAMAGES[name](run_copy)
        assert str(run_copy) in refused("evaluate", run_copy, "--lexicon", files.lexicon)

    @pytest.mark.parametrize("name", [name for name in DAMAGES if "maps" not in name or "of vectors" in name])
    def test_what_needs_no_maps_needs_everything_else(
        self, refused: Callable[..., str], run_copy: Path, tmp_path: Path, name: str
    ) -> None:
        DAMAGES[name](run_copy)
        assert str(run_copy) in refused("translate", run_copy, "fuente0040")
        assert str(run_copy) in refused("lexicon", run_copy)
        assert str(run_copy) in refused("export", run_copy, "-o", tmp_path / "out")

    @pytest.mark.parametrize(
        "command",
        [
            ("translate", "RUN", "word"),
            ("lexicon", "RUN"),
            ("export", "RUN", "-o", "OUT"),
            ("evaluate", "RUN", "--lexicon", "GOLD"),
            ("similarity", "RUN", "--pairs", "PAIRS"),
        ],
        ids=lambda command: command[0],
    )
    @pytest.mark.parametrize("kind", ["missing", "folder", "file"])
    def test_what_is_no_run(
        self, refused: Callable[..., str], files: Any, tmp_path: Path, command: tuple[str, ...], kind: str
    ) -> None:
        run = tmp_path / "run"
        if kind == "folder":
            run.mkdir()
        elif kind == "file":
            run.write_text("text")
        (tmp_path / "pairs.tsv").write_text("a\tb\t1\n" * 4)
        places = {"RUN": run, "OUT": tmp_path / "out", "GOLD": files.lexicon, "PAIRS": tmp_path / "pairs.tsv"}
        told = refused(*(places.get(each, each) for each in command))
        assert str(run) in told
        assert "expected a run folder" in told


def test_a_word_that_text_cannot_hold_leaves_no_export(
    calque: Callable[..., Any], refused: Callable[..., str], noise_files: Any, files: Any, tmp_path: Path
) -> None:
    space = library.load(noise_files[0])
    odd = tmp_path / "odd.npz"
    write(Space(("chapter 1.5", *space.words[1:]), space.vectors), odd)
    run = tmp_path / "run"
    assert calque("align", odd, noise_files[1], "-o", run, "--recipe", files.quick, "-q").code == 3
    assert "'chapter 1.5'" in refused("export", run, "-o", tmp_path / "shared", "-q")
