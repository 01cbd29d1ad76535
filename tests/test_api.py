from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import calque
from calque.errors import (
    CalqueError,
    DataWarning,
    FormatError,
    LexiconError,
    RunError,
    SettingsError,
    SpaceError,
    UnknownWordError,
)
from calque.progress import Step
from calque.recipes import Recipe, read_recipe

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
def quickest(recipe_file: Callable[[str], Path]) -> Recipe:
    """One start only, for tests of what surrounds the search."""
    return read_recipe(recipe_file(QUICKEST))


@pytest.fixture(scope="module")
def alignment(problem: Any) -> calque.Alignment:
    return calque.align(problem.source, problem.target, seed=0)


@pytest.fixture(scope="module")
def aligner(problem: Any) -> calque.Aligner:
    """Fitted to arrays of another float than ours."""
    source, target = problem.source.vectors.numpy(), problem.target.vectors.numpy()
    return calque.Aligner().fit(source.astype(np.float16), target.astype(np.float16))


def ran(code: str) -> str:
    """What a fresh Python prints: imports here must not depend on what other tests have imported."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout


class TestNames:
    def test_importing_calque_imports_nothing_heavy(self) -> None:
        told = ran("import sys, calque; print([name for name in ('torch', 'numpy', 'scipy') if name in sys.modules])")
        assert told == "[]\n"

    def test_everything_promised_is_there(self) -> None:
        for name in calque.__all__:
            assert getattr(calque, name) is not None
        assert set(calque.__all__) <= set(dir(calque))

    def test_an_unknown_name(self) -> None:
        with pytest.raises(AttributeError, match="module 'calque' has no attribute 'algin'"):
            calque.algin  # noqa: B018
        with pytest.raises(ImportError):
            exec("from calque import algin")

    def test_align_is_a_function_however_often_it_is_asked_for(self) -> None:
        assert ran("import calque; print(callable(calque.align), callable(calque.align))") == "True True\n"

    def test_align_is_a_function_whatever_was_used_before(self) -> None:
        assert ran("import calque; calque.Aligner; print(callable(calque.align))") == "True\n"
        assert ran("import calque.methods.default.search; import calque; print(callable(calque.align))") == "True\n"
        assert ran("from calque import Aligner, align; print(callable(align))") == "True\n"


class TestAlign:
    def test_the_right_words(self, alignment: calque.Alignment, problem: Any) -> None:
        found = alignment.translate(problem.source.words, k=1)
        assert alignment.verdict.label == str(alignment.verdict) == "aligned"
        assert problem.right({each.word: each.candidates[0].word for each in found}) > 0.98

    def test_both_ways(self, alignment: calque.Alignment, problem: Any) -> None:
        back = alignment.translate(list(problem.pairs.values()), k=1, back=True)
        assert problem.right({each.candidates[0].word: each.word for each in back}) > 0.98

    def test_a_single_word_is_a_word(self, alignment: calque.Alignment) -> None:
        [found] = alignment.translate("palabra", k=4)
        assert found.word == "palabra"
        assert found.candidates[0].word == "word"
        assert len(found.candidates) == 4

    def test_no_words(self, alignment: calque.Alignment) -> None:
        assert alignment.translate([]) == []

    def test_an_unknown_word(self, alignment: calque.Alignment) -> None:
        with pytest.raises(UnknownWordError, match="'palabro' is not among the 600 words; did you mean palabra"):
            alignment.translate(["palabra", "palabro"])

    def test_there_and_back_is_shrunk_by_how_far_the_sides_agree(
        self, problem: Any, recipe_file: Callable[[str], Path]
    ) -> None:
        """Both maps hold S^½ at a shrinkage of ¾: their product is similar to S, correlations between 0 and 1."""
        recipe = recipe_file("[settings.contrast]\nsteps = 0\n")
        alignment = calque.align(problem.source, problem.target, recipe=recipe)
        strengths = torch.linalg.eigvals(alignment.forward.then(alignment.backward).matrix.double())
        assert float(strengths.imag.abs().max()) < 1e-3
        assert float(strengths.real.min()) > 0.9
        assert float(strengths.real.max()) < 1 + 1e-3

    def test_where_both_sides_are_shrunk_alike_the_way_back_is_the_inverse(
        self, problem: Any, recipe_file: Callable[[str], Path]
    ) -> None:
        recipe = recipe_file("[settings.refinement]\nshrinkage = 0.5\n[settings.contrast]\nsteps = 0\n")
        alike = calque.align(problem.source, problem.target, recipe=recipe)
        assert torch.allclose(alike.forward.then(alike.backward).matrix, torch.eye(20), atol=1e-3)

    def test_it_follows_paper_maps(self, alignment: calque.Alignment, problem: Any) -> None:
        prepared = alignment.source_side.preprocessing.apply(problem.source.vectors)
        wanted = alignment.target_side.preprocessing.apply(problem.target.vectors)
        there = torch.nn.functional.normalize(alignment.forward.apply(prepared))
        rights = [problem.target.index[problem.pairs[word]] for word in problem.source.words]
        assert float((there * wanted[rights]).sum(dim=1).median()) > 0.9

    def test_every_step_is_told_and_can_be_the_last(self, problem: Any) -> None:
        heard: list[Step] = []
        stopped = calque.align(
            problem.source, problem.target, listen=heard.append, stopped=lambda: any(s.number > 2 for s in heard)
        )
        assert heard[0].stage == "search"
        assert [s.number for s in heard if s.stage == "search"] == list(
            range(1, stopped.verdict.evidence["starts"] + 1)
        )
        assert [s.stage for s in heard].count("alternate") == 1
        assert stopped.record.interrupted

    def test_recipes_by_name_by_path_and_by_value(
        self, problem: Any, quickest: Recipe, recipe_file: Callable[[str], Path]
    ) -> None:
        path = recipe_file(QUICKEST)
        by_value = calque.align(problem.source, problem.target, recipe=quickest)
        by_path = calque.align(problem.source, problem.target, recipe=path)
        assert by_value.record.recipe == by_path.record.recipe
        assert by_value.verdict.evidence["starts"] == 1
        with pytest.raises(SettingsError, match="'fast'; there are: default"):
            calque.align(problem.source, problem.target, recipe="fast")

    def test_seeds(self, noise_files: Any, quickest: Recipe) -> None:
        noise = [calque.load(each) for each in noise_files]
        one, same, other = (
            calque.align(*noise, recipe=quickest, seed=seed).source_side.map.matrix for seed in (3, 3, 4)
        )
        assert torch.equal(one, same)
        assert not torch.allclose(one, other, atol=1e-3)

    def test_an_interruption_is_told_in_words(self, problem: Any) -> None:
        stopped = calque.align(problem.source, problem.target, stopped=lambda: True)
        assert stopped.record.interrupted
        assert stopped.verdict.label != "aligned"
        assert any("interrupted" in each for each in (*stopped.verdict.reasons, *stopped.record.notes))

    def test_what_is_given_is_left_alone(self, problem: Any, quickest: Recipe) -> None:
        before = problem.source.vectors.clone(), torch.get_num_threads(), torch.is_grad_enabled()
        calque.align(problem.source, problem.target, recipe=quickest)
        assert torch.equal(problem.source.vectors, before[0])
        assert (torch.get_num_threads(), torch.is_grad_enabled()) == before[1:]

    def test_the_global_generator_is_left_alone(self, problem: Any, quickest: Recipe) -> None:
        torch.manual_seed(11)
        before = torch.get_rng_state()
        calque.align(problem.source, problem.target, recipe=quickest)
        assert torch.equal(torch.get_rng_state(), before)

    @pytest.mark.parametrize("device", ["tpu", "cuda:0", ""])
    def test_an_unknown_device(self, problem: Any, device: str) -> None:
        with pytest.raises(SettingsError, match="expected auto, cpu or cuda"):
            calque.align(problem.source, problem.target, device=device)

    def test_too_few_words(self, problem: Any) -> None:
        with pytest.raises(SpaceError, match=r"source: 99 words are too few"):
            calque.align(problem.source.head(99), problem.target)

    def test_unequal_dimensions_meet_in_the_smaller_number(self, problem: Any) -> None:
        generator = torch.Generator().manual_seed(5)
        mixing = torch.linalg.qr(torch.randn(30, 30, generator=generator)).Q
        faint = 0.02 * torch.randn(600, 10, generator=generator)
        wide = calque.Space(problem.target.words, torch.cat([problem.target.vectors, faint], dim=1) @ mixing)
        found = calque.align(problem.source, wide)
        assert found.record.notes == ()
        assert found.source.dimension == found.target.dimension == 20
        best = {each.word: each.candidates[0].word for each in found.translate(problem.source.words, k=1)}
        assert found.verdict.label == "aligned"
        assert problem.right(best) > 0.95
        assert found.map_target(wide.vectors.numpy()).shape == (600, 20)


class TestMapping:
    def test_numpy_in_numpy_out(self, alignment: calque.Alignment, problem: Any) -> None:
        mapped = alignment.map_source(problem.source.vectors.numpy())
        assert isinstance(mapped, np.ndarray)
        assert mapped.dtype == np.float32
        assert np.allclose(mapped, alignment.source.vectors.numpy(), atol=1e-5)

    def test_torch_in_torch_out(self, alignment: calque.Alignment, problem: Any) -> None:
        mapped = alignment.map_target(problem.target.vectors)
        assert isinstance(mapped, torch.Tensor)
        assert torch.allclose(mapped, alignment.target.vectors, atol=1e-5)

    @pytest.mark.parametrize("dtype", [np.float16, np.float64])
    def test_other_floats(self, alignment: calque.Alignment, problem: Any, dtype: type) -> None:
        exact = problem.source.vectors.numpy()
        for given in (exact.astype(dtype), torch.from_numpy(exact.astype(dtype))):
            assert np.allclose(np.asarray(alignment.map_source(given)), alignment.source.vectors.numpy(), atol=0.01)

    def test_lengths_do_not_matter_and_come_out_as_one(self, alignment: calque.Alignment, problem: Any) -> None:
        some = problem.source.vectors[:20]
        assert torch.allclose(alignment.map_source(3 * some), alignment.map_source(some), atol=1e-5)
        assert torch.allclose(alignment.map_source(some).norm(dim=1), torch.ones(20), atol=1e-5)

    def test_corresponding_words_meet(self, alignment: calque.Alignment, problem: Any) -> None:
        rights = problem.target.lookup([problem.pairs[word] for word in problem.source.words])
        near = (alignment.map_source(problem.source.vectors) * alignment.map_target(rights)).sum(dim=1)
        assert float(near.median()) > 0.9

    def test_the_wrong_dimension_is_our_error_not_of_torch(self, alignment: calque.Alignment) -> None:
        with pytest.raises(CalqueError, match="20"):
            alignment.map_source(np.ones((3, 7), dtype=np.float32))


class TestSaving:
    def test_it_comes_back_the_same(self, alignment: calque.Alignment, problem: Any, tmp_path: Path) -> None:
        alignment.save(tmp_path / "run")
        loaded = calque.Alignment.load(str(tmp_path / "run"))
        words = problem.source.words[:200]
        for retrieval in ("nn", "csls", "isf"):
            assert loaded.translate(words, retrieval=retrieval) == alignment.translate(words, retrieval=retrieval)
        assert loaded.translate(["word"], back=True) == alignment.translate(["word"], back=True)
        assert loaded.lexicon() == alignment.lexicon()
        assert loaded.verdict == alignment.verdict
        some = problem.source.vectors[:9].numpy() + 0.1
        assert np.array_equal(loaded.map_source(some), alignment.map_source(some))
        assert (loaded.source.name, loaded.target.name) == ("source", "target")
        assert (loaded.record.seed, dict(loaded.record.inputs)) == (0, dict(alignment.record.inputs))

    def test_saving_again_gives_the_same_maps(self, alignment: calque.Alignment, tmp_path: Path) -> None:
        alignment.save(tmp_path / "one")
        calque.Alignment.load(tmp_path / "one").save(tmp_path / "two")
        for name in ("maps.safetensors", "vectors.safetensors", "words.source.txt", "config.json"):
            assert (tmp_path / "two" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()

    def test_saving_again_keeps_the_log(self, alignment: calque.Alignment, tmp_path: Path) -> None:
        alignment.save(tmp_path / "one")
        calque.Alignment.load(tmp_path / "one").save(tmp_path / "two")
        assert (tmp_path / "two" / "log.jsonl").read_bytes() == (tmp_path / "one" / "log.jsonl").read_bytes()

    def test_nothing_is_replaced_unasked(self, alignment: calque.Alignment, tmp_path: Path) -> None:
        alignment.save(tmp_path / "run")
        with pytest.raises(RunError, match="already there"):
            alignment.save(tmp_path / "run")
        alignment.save(tmp_path / "run", overwrite=True)
        assert calque.Alignment.load(tmp_path / "run").verdict.label == "aligned"

    def test_what_is_no_run(self, tmp_path: Path) -> None:
        with pytest.raises(RunError, match="expected a run folder"):
            calque.Alignment.load(tmp_path)


class TestLoading:
    def test_a_file(self, files: Any, problem: Any) -> None:
        space = calque.load(files.source, limit=50)
        assert isinstance(space, calque.Space)
        assert space.words == problem.source.words[:50]
        assert torch.equal(space.vectors, problem.source.vectors[:50])

    def test_what_was_mended_is_warned_about(self, tmp_path: Path) -> None:
        (tmp_path / "some.vec").write_text("3 2\na 3 4\nb 0 1\na 1 1\n")
        with pytest.warns(DataWarning, match=r"some\.vec"):
            assert calque.load(tmp_path / "some.vec").words == ("a", "b")

    def test_there_and_back(self, problem: Any, tmp_path: Path) -> None:
        calque.write(problem.source, tmp_path / "copy.npz")
        assert torch.equal(calque.load(str(tmp_path / "copy.npz")).vectors, problem.source.vectors)


class TestArrays:
    def test_rows_are_numbered(self, problem: Any, quickest: Recipe) -> None:
        source, target = problem.source.vectors.numpy(), problem.target.vectors
        found = calque.align_arrays(source, target, recipe=quickest, seed=5)
        assert found.source.words == tuple(str(row) for row in range(600))
        assert found.record.seed == 5
        assert torch.allclose(found.map_target(target), found.target.vectors, atol=1e-5)

    def test_what_is_no_array_of_vectors(self) -> None:
        with pytest.raises(SpaceError, match="source: vectors have shape"):
            calque.align_arrays(np.ones(200), np.ones((200, 4)))
        with pytest.raises(SpaceError, match=r"target: .*NaN"):
            calque.align_arrays(np.ones((200, 4)), np.full((200, 4), np.nan))


class TestAligner:
    def test_half_floats_are_aligned(self, aligner: calque.Aligner, problem: Any) -> None:
        assert aligner.verdict_.label == "aligned"
        source, target = problem.source.vectors.numpy(), problem.target.vectors.numpy()
        similarity = aligner.transform(source) @ aligner.transform_target(target).T
        best = {problem.source.words[s]: problem.target.words[t] for s, t in enumerate(similarity.argmax(axis=1))}
        assert problem.right(best) > 0.95

    def test_fit_gives_itself_and_fit_transform_the_vectors(
        self, problem: Any, recipe_file: Callable[[str], Path]
    ) -> None:
        source, target = problem.source.vectors.numpy(), problem.target.vectors.numpy()
        made = calque.Aligner(recipe=str(recipe_file(QUICKEST)))
        assert made.fit(source, target) is made
        assert np.array_equal(made.transform(source), made.fit_transform(source, target))

    def test_parameters(self) -> None:
        made = calque.Aligner(seed=4)
        assert made.get_params() == {"recipe": "default", "seed": 4, "device": "auto"}
        assert made.set_params(seed=7, device="cpu") is made
        assert calque.Aligner(**made.get_params()).get_params() == made.get_params()
        assert (made.seed, made.device) == (7, "cpu")
        with pytest.raises(CalqueError, match="no parameter 'sede'; there are: recipe, seed, device"):
            made.set_params(sede=3)

    @pytest.mark.parametrize("use", ["transform", "transform_target"])
    def test_it_must_be_fitted_first(self, use: str) -> None:
        with pytest.raises(CalqueError, match=r"call fit\(X, Y\) first"):
            getattr(calque.Aligner(), use)(np.ones((2, 2)))
        with pytest.raises(CalqueError, match=r"call fit\(X, Y\) first"):
            calque.Aligner().verdict_  # noqa: B018


class TestDoors:
    """What align takes beside two spaces."""

    @pytest.mark.parametrize("door", ["path", "text", "tuple", "gensim", "pandas", "polars"])
    def test_all_doors_lead_to_the_same_maps(self, door: str, problem: Any, files: Any, quickest: Recipe) -> None:
        # Frames hold no broken UTF-8, which some words of the problem are.
        words = tuple(word if word.isprintable() else f"word{row}" for row, word in enumerate(problem.source.words))
        space, made = calque.Space(words, problem.source.vectors), None
        if door in ("path", "text"):
            space, made = problem.source, files.source if door == "path" else str(files.source)
        elif door == "tuple":
            made = (list(space.words), space.vectors.numpy())
        elif door == "gensim":
            pytest.importorskip("gensim")
            made = space.to_gensim()
        else:
            frames = pytest.importorskip(door)
            columns = {f"d{number}": column for number, column in enumerate(space.vectors.numpy().T)}
            made = frames.DataFrame({"word": list(space.words), **columns})
        plain = calque.align(space, problem.target, recipe=quickest)
        entered = calque.align(made, problem.target, recipe=quickest)
        assert entered.source.words == space.words
        assert torch.equal(entered.source_side.map.matrix, plain.source_side.map.matrix)


def test_a_missing_file_is_refused_by_its_name(tmp_path: Path, problem: Any) -> None:
    with pytest.raises(FormatError, match=r"es\.vec: no such file"):
        calque.align(tmp_path / "es.vec", problem.target)


def test_an_array_alone_is_refused_with_the_way_to_a_space() -> None:
    with pytest.raises(CalqueError, match=r"expected a Space; calque\.load reads files, align_arrays takes arrays"):
        calque.align(np.zeros((200, 3)), np.zeros((200, 3)))


@pytest.mark.parametrize("given", ["gold.tsv", {"perro": "dog"}, [("perro", "dog")]])
def test_a_lexicon_of_another_type_is_refused_in_one_line(given, problem):
    with pytest.raises(LexiconError, match=r"expected a Lexicon; calque\.read_lexicon\(path\)\.lexicon is one"):
        calque.align(problem.source, problem.target, recipe="xing2015", lexicon=given)
