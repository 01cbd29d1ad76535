"""Wrong arguments to what a Python user calls: the library's own error, in one line, with the argument's name."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import calque
from calque.data.lexicon import Lexicon
from calque.data.space import Space
from calque.errors import CalqueError, SpaceError, UnknownWordError
from calque.evaluate import score_translation
from calque.recipes import find, run
from calque.retrieval.induction import LexiconEntry


@pytest.fixture(scope="module")
def alignment(problem: Any, files: Any) -> calque.Alignment:
    return run(find(str(files.quick)), problem.source, problem.target, device="cpu")


NO_PATH = [5, None, b"es.vec", 3.5, ["es.vec"], {}, object()]
NO_COUNT = [0, -1, "3", 2.5, None, True, [3], float("nan"), 1j]
NO_WORDS = [5, None, [None], ["casa", 3], [b"casa"], 3.5, [["casa"]]]


def refused(call: Callable[[], Any], argument: str) -> None:
    """The call raises an error of ours that names the argument on one line."""
    with pytest.raises(CalqueError) as caught:
        call()
    assert argument in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", NO_PATH, ids=repr)
def test_what_is_no_path(value, tmp_path, problem, alignment):
    refused(lambda: calque.load(value), "path")
    refused(lambda: calque.read(value), "path")
    refused(lambda: calque.read_lexicon(value), "path")
    refused(lambda: calque.write(problem.source, value), "path")
    refused(lambda: calque.Alignment.load(value), "path")
    refused(lambda: calque.Family.load(value), "path")
    refused(lambda: alignment.save(value), "path")
    if value is not None:
        (tmp_path / "x.vec").write_text("1 1\na 1\n")
        refused(lambda: calque.load(tmp_path / "x.vec", counts=value), "counts")


@pytest.mark.parametrize("value", NO_COUNT, ids=repr)
def test_what_is_no_number_of_words(value, files, problem, alignment):
    refused(lambda: alignment.translate(["word"], back=True, k=value), "k is")
    refused(lambda: alignment.lookup().translate([problem.source.words[0]], k=value), "k is")
    refused(lambda: alignment.neighbours(alignment.source.vectors[:1], value), "k is")
    refused(lambda: score_translation(alignment, Lexicon.of(problem.pairs.items()), ks=(value,)), "k is")
    if value is not True:
        refused(lambda: problem.source.head(value), "head")
    if value is not None:
        refused(lambda: calque.load(files.source, limit=value), "limit")


@pytest.mark.parametrize("value", NO_WORDS, ids=repr)
def test_what_is_no_word(value, problem, alignment):
    refused(lambda: problem.source.lookup(value), "words")
    refused(lambda: alignment.translate(value), "words")
    refused(lambda: alignment.lookup().translate(value), "words")


def test_one_word_alone_is_a_list_of_one(problem, alignment):
    word = problem.source.words[0]
    assert torch.equal(problem.source.lookup(word), problem.source.lookup([word]))
    assert alignment.translate(word) == alignment.translate([word])
    assert alignment.lookup().translate(word) == alignment.lookup().translate([word])
    with pytest.raises(UnknownWordError, match="'casa' is not among"):
        problem.source.lookup("casa")


@pytest.mark.parametrize("value", [2**63, 2**64, -(2**70), "7", 1.5, None, [1]], ids=repr)
def test_what_is_no_seed(value, problem):
    refused(lambda: calque.align(problem.source, problem.target, seed=value), "seed")
    refused(lambda: calque.align_arrays(np.ones((200, 3)), np.ones((200, 3)), seed=value), "seed")
    spaces = {"a": problem.source, "b": problem.target, "c": problem.source.head(300)}
    refused(lambda: calque.align_many(spaces, seed=value), "seed")


@pytest.mark.parametrize("value", [5, None, "cuda:7", ["cpu"], b"cpu"], ids=repr)
def test_what_is_no_device_recipe_or_retrieval(value, problem, alignment):
    refused(lambda: calque.align(problem.source, problem.target, device=value), "device")
    refused(lambda: calque.align(problem.source, problem.target, recipe=value), "recipe")
    refused(lambda: alignment.translate(["word"], back=True, retrieval=value), "retrieval")
    refused(lambda: alignment.lookup().translate([problem.source.words[0]], retrieval=value), "retrieval")


@pytest.mark.parametrize("name", ["listen", "stopped"])
def test_what_is_no_function(name, problem):
    refused(lambda: calque.align(problem.source, problem.target, **{name: 3}), name)


@pytest.mark.parametrize("value", [5, None, np.zeros((200, 3)), ["a.vec"], (1, 2, 3), {"a": [1]}], ids=type)
def test_what_is_no_space(value, problem, tmp_path):
    refused(lambda: calque.align(value, problem.target), "source")
    refused(lambda: calque.align(problem.source, value), "target")
    refused(lambda: calque.align_many({"es": problem.source, "en": value, "pt": problem.target}), "en")
    refused(lambda: calque.write(value, tmp_path / "x.vec"), "Space")
    if not isinstance(value, dict):
        refused(lambda: calque.align_many(value), "spaces")


@pytest.mark.parametrize("pairs", [5, ["ab"], [("a",)], [("a", None)], [(1, 2)], [("a", "b", "c")], "ab"], ids=repr)
def test_what_is_no_lexicon(pairs):
    refused(lambda: Lexicon.of(pairs), "pair")


VECTORS = np.ones((3, 2))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a", "b\nc", "d"], "line feed"),
        (["a", None, "d"], r"words\[1\] is None"),
        (["a", 5, "d"], r"words\[1\] is 5, of type int"),
        ([b"a", "b", "d"], r"words\[0\] is b'a', of type bytes"),
        (["a", ["b"], "d"], r"words\[1\]"),
        (["a", float("nan"), "d"], r"words\[1\] is nan"),
        (["a", "b\ud800", "d"], "half a character"),
        ("abc", "a list of words"),
        (b"abc", "a list of words"),
        (None, "a list of words"),
        (3, "a list of words"),
    ],
)
def test_words_are_checked_when_the_space_is_made(words, said):
    with pytest.raises(SpaceError, match=said):
        Space.of(words, VECTORS)


@pytest.mark.parametrize("values", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.float32, np.float64, torch.tensor, list])
def test_new_vectors_that_are_no_numbers_are_refused(values, kind, alignment):
    rows = alignment.source_side.map.inputs * [[0.5]]
    vectors = np.array(rows).T.repeat(3, axis=0)
    vectors[1, 2] = values
    given = vectors.tolist() if kind is list else kind(vectors)
    for use in (alignment.map_source, alignment.map_target):
        with pytest.raises(SpaceError, match="vectors have NaN or infinite values in row 1"):
            use(given)


@pytest.mark.parametrize("vectors", ["text", None, object(), [["a", "b"]], [[1], [2, 3]]], ids=repr)
def test_new_vectors_that_are_no_array(vectors, alignment):
    refused(lambda: alignment.map_source(vectors), "vectors")


def every_error() -> list[type[Exception]]:
    """Every exception class of the package that one can raise."""
    classes = set()
    for module in pkgutil.walk_packages(calque.__path__, "calque."):
        try:
            members = vars(importlib.import_module(module.name)).values()
        except ImportError:
            continue
        classes |= {
            item
            for item in members
            if inspect.isclass(item) and issubclass(item, Exception) and item.__module__.startswith("calque")
        }
    return sorted(classes, key=lambda item: item.__qualname__)


@pytest.mark.parametrize("error", every_error(), ids=lambda item: item.__qualname__)
def test_errors_cross_from_one_process_to_another(error):
    own = error.__init__ if "__init__" in vars(error) else None
    made = error("some text") if own is None else error(*list(inspect.signature(own).parameters)[1:])
    again = pickle.loads(pickle.dumps(made))
    assert type(again) is error
    assert str(again) == str(made)
    assert vars(again) == vars(made)


def test_a_tab_inside_a_word_stays_in_its_column():
    line = LexiconEntry("a\tb", "c\td", 0.5, True).line
    assert line == "a\\tb\tc\\td\t0.5000"
    assert len(line.split("\t")) == 3
