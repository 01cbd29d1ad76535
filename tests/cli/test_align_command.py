from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from calque.data.formats import write
from calque.data.space import Space
from calque.runs.alignment import Alignment
from calque.show.views import language_names

RUN_FILES = {
    "README.md",
    "config.json",
    "log.jsonl",
    "maps.safetensors",
    "stages.safetensors",
    "vectors.safetensors",
    "words.source.txt",
    "words.target.txt",
}


def test_a_name_before_a_file_is_what_the_language_is_called(
    calque: Callable[..., Any], refused: Callable[..., str], files: Any, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    asked = ("align", f"es={files.source}", f"en={files.target}", "-o", run, "--recipe", files.quick)
    assert calque(*asked).code in (0, 3)
    made = Alignment.load(run)
    assert language_names(made) == ("es", "en")
    assert (made.source.name, made.record.inputs["target"]["name"]) == ("es", "en")
    assert "none.vec: no such file" in refused("align", "es=none.vec", files.target, "-o", tmp_path / "other")


def test_a_file_whose_name_has_an_equals_sign_is_that_file(calque: Callable[..., Any], files: Any, tmp_path: Path):
    odd = tmp_path / "a=b.vec"
    shutil.copy(files.source, odd)
    assert calque("align", odd, files.target, "-o", tmp_path / "run", "--recipe", files.quick).code in (0, 3)
    assert Alignment.load(tmp_path / "run").source.name == str(odd)


class TestAligned:
    def test_it_tells_the_verdict_as_json_and_exits_with_0(self, aligned: Any) -> None:
        told = aligned.result.json
        assert aligned.result.code == 0
        assert {"run", "verdict", "evidence", "seconds"} <= set(told)
        assert told["run"] == str(aligned.folder)
        assert told["verdict"] == "aligned"
        assert told["evidence"]["confirmed"] is True
        assert told["evidence"]["words"] == 600
        assert {"read", "search", "alternate", "refine", "contrast"} == set(told["seconds"])
        assert all(seconds >= 0 for seconds in told["seconds"].values())

    def test_it_finds_the_right_words(self, aligned: Any, problem: Any) -> None:
        found = Alignment.load(aligned.folder).translate(problem.source.words, k=1)
        assert problem.right({each.word: each.candidates[0].word for each in found}) > 0.98

    def test_the_run_folder_is_complete(self, aligned: Any, files: Any) -> None:
        assert {each.name for each in aligned.folder.iterdir()} == RUN_FILES
        config = json.loads((aligned.folder / "config.json").read_text())
        assert (config["seed"], config["recipe"]["name"]) == (0, "default")
        assert config["recipe"]["settings"]["search"]["rounds"] == 3
        assert {"calque", "torch", "numpy", "python"} == set(config["versions"])
        assert config["inputs"]["source"]["name"] == str(files.source)
        assert (config["inputs"]["source"]["words"], config["inputs"]["source"]["dimension"]) == (600, 20)
        assert re.fullmatch("[0-9a-f]{64}", config["inputs"]["source"]["sha256"])
        assert config["inputs"]["source"]["sha256"] != config["inputs"]["target"]["sha256"]

    def test_the_log_has_an_event_a_line(self, aligned: Any) -> None:
        events = [json.loads(line) for line in (aligned.folder / "log.jsonl").read_text().splitlines()]
        searched = [each for each in events if each["stage"] == "search"]
        assert [each["number"] for each in searched] == list(range(1, aligned.result.json["evidence"]["starts"] + 1))
        assert [each["seconds"] for each in events] == sorted(each["seconds"] for each in events)

    def test_only_results_are_on_stdout_and_nothing_remains_for_stderr(self, aligned: Any) -> None:
        assert aligned.result.err == ""

    def test_the_model_card_tells_the_verdict(self, aligned: Any) -> None:
        assert "aligned" in (aligned.folder / "README.md").read_text()


def test_the_same_seed_gives_the_same_maps_to_the_byte(
    calque: Callable[..., Any], aligned: Any, files: Any, tmp_path: Path
) -> None:
    again = calque("align", files.source, files.target, "-o", tmp_path / "again", "--seed", 0)
    assert again.code == 0
    for name in ("maps.safetensors", "vectors.safetensors"):
        assert (tmp_path / "again" / name).read_bytes() == (aligned.folder / name).read_bytes()


class TestFailed:
    def test_noise_exits_with_3_and_says_why(self, failed: Any) -> None:
        told = failed.result.json
        assert failed.result.code == 3
        assert told["verdict"] == "failed"
        assert told["evidence"]["confirmed"] is False
        assert told["evidence"]["gave_up"] == "no start was confirmed in 1 rounds"
        assert any("what would help" in reason for reason in told["reasons"])

    def test_the_run_is_written_all_the_same(self, failed: Any) -> None:
        alignment = Alignment.load(failed.folder)
        assert alignment.verdict.label == "failed"
        assert len(alignment.source) == len(alignment.target) == 400

    def test_the_recipe_used_is_kept(self, failed: Any) -> None:
        recipe = json.loads((failed.folder / "config.json").read_text())["recipe"]
        assert recipe["name"] == "quick"
        assert (recipe["settings"]["search"]["starts"], recipe["settings"]["search"]["rounds"]) == ([6, 6], 1)

    def test_starts_that_agree_on_nothing_are_no_success(
        self, calque: Callable[..., Any], tmp_path: Path, noise_files: Any
    ) -> None:
        # All words are alike here, so all starts end alike, and no word can be told from another.
        same = tmp_path / "same.vec"
        write(Space.of([f"same{row}" for row in range(200)], torch.ones(200, 20)), same)
        result = calque("align", same, noise_files[0], "-o", tmp_path / "run", "--json")
        assert "bug of ours" not in result.err
        assert result.code in (2, 3)
        if result.code == 3:
            assert result.json["verdict"] == "failed"


QUICKEST = """
[settings.deep]
rounds = 0
[settings.search]
words = [120]
dimensions = [30]
starts = [1]
rounds = 1
kinds = ["random"]
"""


@pytest.fixture
def quickest(recipe_file: Callable[[str], Path]) -> Path:
    """One start only."""
    return recipe_file(QUICKEST)


class TestText:
    def test_the_verdict_and_the_folder_are_on_stdout(
        self, calque: Callable[..., Any], noise_files: Any, quickest: Path, tmp_path: Path
    ) -> None:
        run = tmp_path / "deep" / "down" / "run"
        result = calque("align", *noise_files, "-o", run, "--recipe", quickest, "--limit", 150)
        assert (result.code, result.err) == (3, "")
        first, *reasons, last = result.out.splitlines()
        assert (first, last) == ("verdict: failed", f"run: {run}")
        assert reasons
        assert len(Alignment.load(run).source) == 150

    def test_after_success_stderr_says_what_to_try_and_quiet_does_not(
        self, aligned: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        from calque.cli.align import Align, print_result

        alignment = Alignment.load(aligned.folder)
        for quiet in (False, True):
            command = Align(source=Path("a"), target=Path("b"), output=tmp_path, quiet=quiet)
            print_result(command, alignment, 0.0)
            out, err = capsys.readouterr()
            assert out.startswith("verdict: aligned\n")
            assert out.endswith(f"run: {tmp_path}\n")
            assert err == ("" if quiet else f"calque: now try: calque translate {tmp_path} fuente0099\n")

    def test_a_share_and_its_percent_sign_stay_on_one_line(
        self, aligned: Any, capsys: pytest.CaptureFixture[str]
    ) -> None:
        from calque.cli.align import WIDTH, print_verdict

        alignment = Alignment.load(aligned.folder)
        for filled in range(WIDTH - 40, WIDTH - 5):
            reason = f"{'x' * filled} (failed starts: 48 %)"
            verdict = replace(alignment.verdict, reasons=(reason,))
            print_verdict(replace(alignment, verdict=verdict))
            lines = capsys.readouterr().out.splitlines()
            assert sum("48 %" in line for line in lines) == 1
            assert reason in re.sub(r"\n? +", " ", "\n".join(lines))

    def test_verbose_says_what_was_read(
        self, calque: Callable[..., Any], noise_files: Any, quickest: Path, tmp_path: Path
    ) -> None:
        result = calque("align", *noise_files, "-o", tmp_path / "run", "--recipe", quickest, "-v", "--json")
        assert result.json["verdict"] == "failed"
        assert [line for line in result.err.splitlines() if "400 words of 20 dimensions (word2vec)" in line] == [
            f"calque: {path}: 400 words of 20 dimensions (word2vec)" for path in noise_files
        ]

    def test_a_bar_is_drawn_on_a_terminal_only_and_never_on_stdout(
        self,
        calque: Callable[..., Any],
        noise_files: Any,
        quickest: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        arguments = ("align", *noise_files, "-o", tmp_path / "run", "--recipe", quickest, "--json", "--overwrite")
        drawn = calque(*arguments)
        assert "searching" in drawn.err
        assert drawn.json["verdict"] == "failed"
        assert calque(*arguments, "-q").err == ""


class TestInput:
    def test_notes_about_a_file_are_on_stderr_unless_quiet(
        self, calque: Callable[..., Any], noise_files: Any, quickest: Path, tmp_path: Path
    ) -> None:
        twice = tmp_path / "twice.vec"
        lines = noise_files[0].read_text().splitlines(keepends=True)
        twice.write_text("".join([lines[0], lines[1], *lines[1:-1]]))
        arguments = ("align", twice, noise_files[1], "-o", tmp_path / "run", "--recipe", quickest, "--overwrite")
        noted = calque(*arguments, "--json")
        assert noted.err.startswith(f"calque: {twice}: ")
        assert noted.err.count("\n") == 1
        assert noted.json["verdict"] == "failed"
        assert calque(*arguments, "-q").err == ""

    def test_counts_are_read_and_kept(
        self, calque: Callable[..., Any], noise_files: Any, quickest: Path, tmp_path: Path
    ) -> None:
        counts = tmp_path / "counts.txt"
        counts.write_text("".join(f"one{row:03} {1000 - row}\n" for row in range(400)))
        run = tmp_path / "run"
        arguments = ("align", *noise_files, "-o", run, "--recipe", quickest, "--source-counts", counts)
        assert calque(*arguments).code == 3
        alignment = Alignment.load(run)
        assert alignment.source.counts is not None
        assert alignment.source.counts.tolist() == [1000 - row for row in range(400)]
        assert alignment.target.counts is None

    def test_reduced_dimensions_are_noted(
        self, calque: Callable[..., Any], noise_files: Any, quickest: Path, tmp_path: Path
    ) -> None:
        wide = tmp_path / "wide.vec"
        words = [f"wide{row}" for row in range(300)]
        write(Space.of(words, torch.randn(300, 30, generator=torch.Generator().manual_seed(4))), wide)
        run = tmp_path / "run"
        told = calque("align", noise_files[0], wide, "-o", run, "--recipe", quickest, "--limit", 150, "--json").json
        assert len(told["notes"]) == 1
        assert "20 and 30 dimensions to at most 25" in told["notes"][0]
        assert Alignment.load(run).record.notes == tuple(told["notes"])
        maps = load_file(run / "maps.safetensors")
        assert (maps["source.map"].shape, maps["target.map"].shape) == ((20, 20), (30, 20))


class TestOverwrite:
    def test_an_earlier_run_is_kept_without_it(self, refused: Callable[..., str], files: Any, run_copy: Path) -> None:
        told = refused("align", files.source, files.target, "-o", run_copy)
        assert f"{run_copy}: is already there" in told
        assert "--overwrite" in told

    def test_an_earlier_run_is_replaced_with_it(
        self, calque: Callable[..., Any], noise_files: Any, quickest: Path, run_copy: Path
    ) -> None:
        assert calque("align", *noise_files, "-o", run_copy, "--recipe", quickest, "--overwrite").code == 3
        assert Alignment.load(run_copy).source.words[0] == "one000"
        assert [each.name for each in run_copy.parent.iterdir() if each.name.startswith(".")] == []

    def test_what_is_no_run_is_never_replaced(self, refused: Callable[..., str], files: Any, tmp_path: Path) -> None:
        mine = tmp_path / "thesis"
        mine.mkdir()
        (mine / "chapter.txt").write_text("years of work")
        assert "was not made by calque" in refused("align", files.source, files.target, "-o", mine, "--overwrite")
        told = refused("align", files.source, files.target, "-o", mine / "chapter.txt", "--overwrite")
        assert "was not made by calque" in told

    def test_the_inputs_cannot_be_the_output(self, refused: Callable[..., str], files: Any, tmp_path: Path) -> None:
        source = Path(shutil.copy(files.source, tmp_path / "source.vec"))
        told = refused("align", source, files.target, "-o", source, "--overwrite")
        assert "was not made by calque" in told


class TestRefusedInput:
    def test_a_missing_file(self, refused: Callable[..., str], files: Any, tmp_path: Path) -> None:
        missing = tmp_path / "none.vec"
        assert str(missing) in refused("align", missing, files.target, "-o", tmp_path / "run")
        assert str(missing) in refused("align", files.source, missing, "-o", tmp_path / "run")

    def test_a_folder(self, refused: Callable[..., str], files: Any, tmp_path: Path) -> None:
        assert str(tmp_path) in refused("align", tmp_path, files.target, "-o", tmp_path / "run")

    @pytest.mark.parametrize(
        "content",
        [b"", b"%PDF-1.7\n\x00\xff\xfe", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b'{"a": [1, 2]}\n', b"word,count\nthe,12\n"],
        ids=["empty", "pdf", "png", "json", "csv"],
    )
    def test_a_file_of_another_kind(
        self, refused: Callable[..., str], files: Any, tmp_path: Path, content: bytes
    ) -> None:
        other = tmp_path / "other.vec"
        other.write_bytes(content)
        assert f"calque: {other}" in refused("align", other, files.target, "-o", tmp_path / "run")

    def test_a_line_of_the_wrong_dimension_is_named_by_number(
        self, refused: Callable[..., str], files: Any, tmp_path: Path
    ) -> None:
        lines = files.source.read_bytes().splitlines(keepends=True)
        lines[41] = lines[41].rsplit(b" ", 1)[0] + b"\n"
        wrong = tmp_path / "wrong.vec"
        wrong.write_bytes(b"".join(lines))
        told = refused("align", wrong, files.target, "-o", tmp_path / "run")
        assert f"{wrong}:42:" in told
        assert "found 19 numbers" in told

    def test_too_few_words(self, refused: Callable[..., str], files: Any, tmp_path: Path) -> None:
        told = refused("align", files.source, files.target, "-o", tmp_path / "run", "--limit", 99)
        assert "99 words are too few" in told

    def test_a_limit_of_nothing(self, refused: Callable[..., str], files: Any, tmp_path: Path) -> None:
        assert "limit is 0" in refused("align", files.source, files.target, "-o", tmp_path / "run", "--limit", 0)

    def test_counts_of_another_language(self, refused: Callable[..., str], files: Any, tmp_path: Path) -> None:
        counts = tmp_path / "counts.txt"
        counts.write_text("autre 12\nlangue 3\n")
        arguments = ("align", files.source, files.target, "-o", tmp_path / "run")
        assert str(counts) in refused(*arguments, "--source-counts", counts)
        assert str(counts) in refused(*arguments, "--target-counts", counts)

    def test_a_gpu_that_is_not_there(
        self, refused: Callable[..., str], files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        told = refused("align", files.source, files.target, "-o", tmp_path / "run", "--device", "cuda")
        assert "no GPU" in told

    def test_an_output_below_a_file(self, refused: Callable[..., str], files: Any, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        assert "not a folder" in refused("align", files.source, files.target, "-o", tmp_path / "file" / "run")


class TestRefusedRecipes:
    @pytest.fixture
    def told(self, refused: Callable[..., str], noise_files: Any, tmp_path: Path) -> Callable[..., str]:
        return lambda recipe: refused("align", *noise_files, "-o", tmp_path / "run", "--recipe", recipe)

    def test_an_unknown_name_lists_the_choices(self, told: Callable[..., str]) -> None:
        assert "'defualt' (did you mean default?); there are: default" in told("defualt")

    def test_a_missing_file(self, told: Callable[..., str], tmp_path: Path) -> None:
        assert str(tmp_path / "none.toml") in told(tmp_path / "none.toml")

    @pytest.mark.parametrize(
        ("text", "named"),
        [
            ("settings = [", "TOML"),
            ("colour = 3", "'colour'"),
            ("settings = 3", "expected a table"),
            ("[settings]\nwurds = 3", "'wurds'; there are: preprocessing, identical, search, deep"),
            ("[settings.search]\nround = 3", "settings.search has no 'round'"),
            ("[settings]\nsearch = 3", "settings.search is 3; expected a table"),
            ("[settings]\nwords = 'many'", "settings.words is 'many'; expected int"),
            ("[settings]\nwords = 2.5", "settings.words is 2.5; expected int"),
            ("[settings.search]\nrounds = true", "settings.search.rounds is True; expected int"),
            ("[settings.search]\nrounds = 0", "at least 1"),
            ("[settings.search]\nkinds = ['luck']", "'luck'; there are: profiles, random"),
            ("[settings.search]\nkinds = []", "kinds"),
            ("[settings.search]\ndimensions = []", "dimensions"),
            ("[settings]\npreprocessing = ['unit', 'polish']", "polish"),
            ("[settings]\npreprocessing = ['polish', 'unit']", "polish"),
            ("base = 'best'", "'best'"),
        ],
    )
    def test_what_is_wrong_is_named(
        self, told: Callable[..., str], recipe_file: Callable[[str], Path], text: str, named: str
    ) -> None:
        assert named in told(recipe_file(text))

    def test_a_recipe_that_starts_from_itself(self, told: Callable[..., str], tmp_path: Path) -> None:
        path = tmp_path / "circle.toml"
        path.write_text(f"base = '{path}'\n")
        assert str(path) in told(path)

    def test_a_lexicon_for_a_recipe_that_learns_from_none(
        self, refused: Callable[..., str], files: Any, tmp_path: Path
    ) -> None:
        asked = "-o", tmp_path / "run", "--lexicon", files.lexicon, "--recipe", "conneau2017"
        told = refused("align", files.source, files.target, *asked)
        assert "'conneau2017' learns from no lexicon" in told

    @pytest.mark.parametrize("option", [("--identical", "no"), ("--effort", "thorough")])
    def test_a_search_asked_of_a_recipe_that_has_none(
        self, refused: Callable[..., str], files: Any, tmp_path: Path, option: tuple[str, str]
    ) -> None:
        asked = "-o", tmp_path / "run", "--recipe", "conneau2017", *option
        told = refused("align", files.source, files.target, *asked)
        assert "'conneau2017' has no search; leave out --identical and --effort" in told


class TestKnownPairs:
    def test_the_default_recipe_uses_them_and_says_what_they_did(
        self, calque: Callable[..., Any], files: Any, tmp_path: Path
    ) -> None:
        gold = files.lexicon.read_bytes().split(b"\n")
        (tmp_path / "known.tsv").write_bytes(b"\n".join([*gold[:60], b"nowhere\tnothing"]) + b"\n")
        run = tmp_path / "run"
        told = calque(
            "align", files.source, files.target, "-o", run, "--lexicon", tmp_path / "known.tsv", "--json"
        ).json
        assert told["verdict"] == "aligned"
        hints = told["evidence"]["hints"]
        assert hints["used"] == 60
        assert hints["given"] == 61
        low, high = hints["interval"]
        assert 0 <= low <= hints["accuracy"] <= high <= 1
        assert any("60 of 61 known pairs were used" in reason for reason in told["reasons"])
        assert Alignment.load(run).verdict.evidence["hints"]["used"] == 60


ENDLESS = """
[settings.search]
words = [900]
dimensions = [30]
starts = [1, 1]
rounds = 1000000
clear = 1e9
"""
"""A search that only an interruption ends."""


class Terminal:
    """A command whose stderr is a terminal."""

    def __init__(self, process: subprocess.Popen[bytes], screen: int) -> None:
        self.process, self.screen, self.seen = process, screen, b""

    def wait_for(self, text: bytes, seconds: float = 60.0) -> None:
        """Until the terminal has shown this."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            ready, _, _ = select.select([self.screen], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{text!r} did not come in {seconds} s; there was {self.seen!r}"
            self.seen += os.read(self.screen, 4096)

    def interrupt(self) -> None:
        """As Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)

    def end(self, seconds: float = 60.0) -> tuple[int, str]:
        """Its exit code and stdout."""
        out, _ = self.process.communicate(timeout=seconds)
        return self.process.returncode, out.decode()


@contextmanager
def on_a_terminal(*arguments: object) -> Iterator[Terminal]:
    screen, inside = pty.openpty()
    command = [sys.executable, "-c", "from calque.cli.main import entry; entry()", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=inside)
    os.close(inside)
    try:
        yield Terminal(process, screen)
    finally:
        process.kill()
        process.wait()
        os.close(screen)


@pytest.fixture(scope="module")
def long_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Noise enough that a start takes a while."""
    folder, generator = tmp_path_factory.mktemp("long"), torch.Generator().manual_seed(2)
    paths = folder / "one.npz", folder / "other.npz"
    for path in paths:
        write(Space.of([f"{path.stem}{row}" for row in range(1500)], torch.randn(1500, 30, generator=generator)), path)
    return paths


@pytest.mark.skipif(sys.platform == "win32", reason="terminals and signals of Unix")
class TestInterruption:
    def test_the_first_keeps_the_best_so_far(
        self, long_files: Any, recipe_file: Callable[[str], Path], tmp_path: Path
    ) -> None:
        run = tmp_path / "run"
        with on_a_terminal("align", *long_files, "-o", run, "--json", "--recipe", recipe_file(ENDLESS)) as terminal:
            terminal.wait_for(b"searching")
            terminal.interrupt()
            terminal.wait_for(b"finishing with the best so far")
            code, out = terminal.end()
        assert code == 130
        assert json.loads(out)["verdict"] == "failed"
        assert json.loads(out)["evidence"]["gave_up"] == "it was interrupted"
        assert any("interrupted" in reason for reason in json.loads(out)["reasons"])
        assert {each.name for each in run.iterdir()} == RUN_FILES
        alignment = Alignment.load(run)
        assert alignment.record.interrupted
        assert len(alignment.translate(["one0"], k=3)[0].candidates) == 3

    def test_the_second_stops_at_once_and_leaves_nothing(
        self, long_files: Any, recipe_file: Callable[[str], Path], tmp_path: Path
    ) -> None:
        recipe = recipe_file(ENDLESS)
        with on_a_terminal("align", *long_files, "-o", tmp_path / "run", "--recipe", recipe) as terminal:
            terminal.wait_for(b"searching")
            terminal.interrupt()
            terminal.wait_for(b"finishing with the best so far")
            terminal.interrupt()
            terminal.wait_for(b"calque: interrupted")
            code, out = terminal.end()
        assert (code, out) == (130, "")
        assert b"Traceback" not in terminal.seen
        assert [each.name for each in tmp_path.iterdir()] == [recipe.name]


class TestLexicon:
    """Recipes that learn from word pairs."""

    @pytest.fixture
    def learn(self, calque: Callable[..., Any], files: Any, tmp_path: Path) -> Callable[..., Any]:
        arguments = ("align", files.source, files.target, "-o", tmp_path / "run", "--recipe", "xing2015")
        return lambda *more: calque(*arguments, *more)

    def test_a_recipe_that_learns_from_pairs_finds_those_it_was_not_shown(
        self, learn: Callable[..., Any], problem: Any, tmp_path: Path
    ) -> None:
        few = tmp_path / "few.tsv"
        few.write_text("".join(f"{word}\t{right}\n" for word, right in list(problem.pairs.items())[100:160]))
        result = learn("--lexicon", few, "--limit", 200, "--json")
        assert (result.code, result.json["verdict"]) == (0, "aligned")
        alignment = Alignment.load(tmp_path / "run")
        assert alignment.record.recipe["name"] == "xing2015"
        asked = [word for word in alignment.source.words[:100] if problem.pairs[word] in alignment.target]
        found = [each.candidates[0].word for each in alignment.translate(asked, k=1)]
        right = [problem.pairs[word] == given for word, given in zip(asked, found, strict=True)]
        assert sum(right) > 0.9 * len(asked) > 80
        assert sorted(each.name for each in tmp_path.iterdir()) == ["few.tsv", "run"]

    def test_what_is_wrong_in_a_lexicon_is_noted_and_left_out(
        self, learn: Callable[..., Any], files: Any, tmp_path: Path
    ) -> None:
        bad = tmp_path / "bad.tsv"
        bad.write_bytes(files.lexicon.read_bytes() + b"a line of no pair\n")
        result = learn("--lexicon", bad, "--limit", 99)
        assert f"{bad}:601: left out" in result.err
        assert result.code == 0

    @pytest.fixture
    def told(self, refused: Callable[..., str], files: Any, tmp_path: Path) -> Callable[..., str]:
        arguments = ("align", files.source, files.target, "-o", tmp_path / "run", "--recipe", "artetxe2016")
        return lambda *more: refused(*arguments, *more)

    def test_a_missing_lexicon(self, told: Callable[..., str]) -> None:
        line = told()
        assert "'artetxe2016' learns from word pairs" in line
        assert "--lexicon FILE" in line

    @pytest.mark.parametrize("content", ["", "\n\n", "three words here\n"], ids=["empty", "blank", "no pair"])
    def test_a_lexicon_without_a_pair(self, told: Callable[..., str], tmp_path: Path, content: str) -> None:
        empty = tmp_path / "empty.tsv"
        empty.write_text(content)
        assert f"{empty}: no word pairs found" in told("--lexicon", empty)

    def test_a_lexicon_that_is_not_there(self, told: Callable[..., str], tmp_path: Path) -> None:
        assert f"{tmp_path / 'none.tsv'}: cannot be read" in told("--lexicon", tmp_path / "none.tsv")

    def test_a_lexicon_of_another_language(self, told: Callable[..., str], tmp_path: Path) -> None:
        other = tmp_path / "other.tsv"
        other.write_text("chien\tHund\nchat\tKatze\n")
        line = told("--lexicon", other)
        assert f"{other}: none of its 2 words" in line
        assert "letter case" in line

    def test_a_missing_lexicon_is_said_before_the_vectors_are_read(
        self, refused: Callable[..., str], tmp_path: Path
    ) -> None:
        unreadable = tmp_path / "none.vec"
        unreadable.write_bytes(b"%PDF-1.7")
        told = refused("align", unreadable, unreadable, "-o", tmp_path / "run", "--recipe", "joulin2018")
        assert "learns from word pairs" in told


TRAINING = """
base = "paper"
[settings]
batch = 128
steps = 5
look = 1
[settings.gan]
starts = 2
batch = 64
hidden = 16
critic_steps = 2
steps = 4
"""
"""The paper's training, cut to nine looks."""

KILLED = """
import os, signal, sys
from functools import partial
from calque.recipes import running
from calque.recipes.checkpoint import FileCheckpoint

class Killed(FileCheckpoint):
    saves = 0
    def save(self, stage, tensors, finished=False):
        super().save(stage, tensors, finished)
        self.saves += 1
        if self.saves == {saves}:
            os.kill(os.getpid(), signal.SIGKILL)

running.FileCheckpoint = partial(Killed, seconds=0.0)
from calque.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
"""The command, keeping its state at every look, and killed by the system after so many."""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
class TestKilled:
    @pytest.fixture
    def small(self, noise_files: Any, recipe_file: Callable[[str], Path]) -> tuple[object, ...]:
        """Too few words to put a map to the test: the training alone matters here."""
        return ("align", *noise_files, "--recipe", recipe_file(TRAINING), "--limit", 99, "--device", "cpu", "--seed", 3)

    def kill(self, saves: int, *arguments: object) -> None:
        command = [sys.executable, "-c", KILLED.format(saves=saves), *map(str, arguments)]
        ended = subprocess.run(command, capture_output=True, timeout=120, check=False)
        assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
        assert ended.stdout == b""

    def test_run_again_it_goes_on_to_the_same_maps_to_the_byte(
        self, calque: Callable[..., Any], small: tuple[object, ...], tmp_path: Path
    ) -> None:
        whole, run, state = tmp_path / "whole", tmp_path / "run", tmp_path / "run.checkpoint"
        assert calque(*small, "-o", whole).code == 0
        self.kill(3, *small, "-o", run)
        assert not run.exists()
        assert [each.name.split(".")[0] for each in state.iterdir()] == ["adversary"]
        self.kill(5, *small, "-o", run)
        assert {each.name.split(".")[0] for each in state.iterdir()} == {"adversary", "transport"}
        again = calque(*small, "-o", run)
        assert again.code == 0
        assert f"{state}: is there from an earlier run" in again.err
        assert not state.exists()
        assert {each.name for each in run.iterdir()} == RUN_FILES
        for name in ("maps.safetensors", "vectors.safetensors", "words.source.txt", "words.target.txt"):
            assert (run / name).read_bytes() == (whole / name).read_bytes()
        looks = [(each["stage"], each["number"]) for each in Alignment.load(run).record.log]
        assert looks == [("transport", 4), ("transport", 5)]

    def test_after_success_nothing_is_left_beside_the_run(
        self, calque: Callable[..., Any], small: tuple[object, ...], tmp_path: Path
    ) -> None:
        result = calque(*small, "-o", tmp_path / "run", "--json")
        assert (result.code, result.json["verdict"], result.err) == (0, "doubtful", "")
        assert "too small" in result.json["reasons"][0]
        assert sorted(each.name for each in tmp_path.iterdir()) == ["recipe.toml", "run"]

    def test_a_folder_of_ones_own_beside_the_run_is_left_alone(
        self, calque: Callable[..., Any], small: tuple[object, ...], tmp_path: Path
    ) -> None:
        mine = tmp_path / "run.checkpoint"
        mine.mkdir()
        (mine / "epoch-3.safetensors").write_text("days of training")
        assert calque(*small, "-o", tmp_path / "run").code == 0
        assert [each.name for each in mine.iterdir()] == ["epoch-3.safetensors"]

    def test_a_state_of_another_run_is_not_gone_on_from(
        self, calque: Callable[..., Any], small: tuple[object, ...], tmp_path: Path
    ) -> None:
        self.kill(3, *small, "-o", tmp_path / "run")
        other = (*small[:-1], 4)
        assert calque(*other, "-o", tmp_path / "run").code == 0
        assert calque(*other, "-o", tmp_path / "whole").code == 0
        name = "maps.safetensors"
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
