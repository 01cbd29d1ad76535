from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calque.experiments.sources.catalogue import Catalogue, DataError, read_catalogue
from calque.experiments.sources.state import amount, survey

DATA = Path(os.environ.get("CALQUE_DATA", "../shared/data"))


@pytest.fixture(scope="module")
def shipped() -> Catalogue:
    return read_catalogue()


def paths(catalogue: Catalogue, table: str, only: str = "") -> set[str]:
    return {file.path for file in catalogue.needed(table, only)}


class TestShipped:
    """It names what the tables of the paper need."""

    def test_the_tables(self, shipped: Catalogue) -> None:
        assert list(shipped.tables) == ["lex-z", "lex-c", "similarity", "ablation"]

    def test_lex_z_needs_vectors_frequencies_and_two_lexicons_a_direction(self, shipped: Catalogue) -> None:
        for language in ("es", "it", "zh"):
            pair = f"{language}-en"
            vectors = {f"we-z/{pair}/{kind}.{each}" for kind in ("word2vec", "vocab-freq") for each in (language, "en")}
            lexicons = {f"lexicons/{kind}/{each}.tsv" for kind in ("muse", "omw") for each in (pair, f"en-{language}")}
            assert vectors | lexicons <= paths(shipped, "lex-z")
        assert len(paths(shipped, "lex-z")) == 24

    def test_lex_c_needs_nine_languages_and_both_directions(self, shipped: Catalogue) -> None:
        others = ("de", "es", "fr", "it", "bg", "ca", "sv", "lv")
        vectors = {f"fasttext/wiki.{other}.vec" for other in ("en", *others)}
        directions = [each for language in others for each in (f"{language}-en", f"en-{language}")]
        lexicons = {
            f"lexicons/muse/{direction}.{part}.txt" for direction in directions for part in ("0-5000", "5000-6500")
        }
        assert paths(shipped, "lex-c") == vectors | lexicons

    def test_similarity_needs_vectors_training_words_and_judgements(self, shipped: Catalogue) -> None:
        others = ("de", "es", "fa", "it")
        vectors = {f"fasttext/wiki.{other}.vec" for other in ("en", *others)}
        lexicons = {f"lexicons/muse/{other}-en.0-5000.txt" for other in others}
        judged = {f"similarity/semeval17/en-{other}-SEMEVAL17.txt" for other in others}
        assert paths(shipped, "similarity") == vectors | lexicons | judged

    def test_ablation_needs_what_lex_z_needs(self, shipped: Catalogue) -> None:
        assert paths(shipped, "ablation") == paths(shipped, "lex-z")

    def test_every_file_has_a_size_a_licence_and_a_way_to_it(self, shipped: Catalogue) -> None:
        for file in shipped.files:
            assert file.size or file.about
            assert file.licence
            assert file.source.page.startswith(("http://", "https://"))
            assert bool(file.url) != bool(file.source.by_hand)

    def test_publishers_addresses(self, shipped: Catalogue) -> None:
        addresses = {file.path: file.url for file in shipped.files}
        vectors, lexicons = (
            "https://dl.fbaipublicfiles.com/fasttext/vectors-wiki",
            "https://dl.fbaipublicfiles.com/arrival",
        )
        assert addresses["fasttext/wiki.bg.vec"] == f"{vectors}/wiki.bg.vec"
        assert addresses["lexicons/muse/en-lv.5000-6500.txt"] == f"{lexicons}/dictionaries/en-lv.5000-6500.txt"
        assert addresses["lexicons/muse/es-en.tsv"] == f"{lexicons}/dictionaries/es-en.txt"

    def test_europarl_serves_where_it_covers_a_language(self, shipped: Catalogue) -> None:
        substitutes = {file.path: file.substitute for file in shipped.files if file.substitute}
        languages = ("en", "de", "es", "it")
        assert substitutes == {f"fasttext/wiki.{language}.vec": f"europarl/{language}.vec.gz" for language in languages}

    def test_what_is_not_to_be_had_is_said(self, shipped: Catalogue) -> None:
        assert [absent.name for absent in shipped.never("lex-z")] == ["the LEX-Z lexicons", "we-z/tr-en/word2vec.en"]
        assert shipped.never("lex-c") == ()

    def test_only(self, shipped: Catalogue) -> None:
        assert paths(shipped, "lex-c", "wiki.e") == {"fasttext/wiki.en.vec", "fasttext/wiki.es.vec"}
        with pytest.raises(DataError, match="no file of lex-z has 'wiki' in its path"):
            shipped.needed("lex-z", "wiki")

    def test_an_unknown_table(self, shipped: Catalogue) -> None:
        with pytest.raises(DataError, match="'lexz'; there are: lex-z, lex-c, similarity, ablation"):
            shipped.needed("lexz")

    @pytest.mark.skipif(not (DATA / "we-z").is_dir(), reason=f"the paper's data is not at {DATA}")
    def test_it_agrees_with_the_data_that_is_here(self, shipped: Catalogue) -> None:
        states = {state.file.path: state for state in survey(shipped.needed("lex-z"), DATA)}
        assert {value.state for value in states.values()} == {"present"}
        for value in states.values():
            assert value.size is not None
            assert value.file.about is not None
            assert 1 / 2 < value.size / value.file.about < 2


SMALL = """
[tables]
one = "Table 1"
[[sources]]
title = "vectors"
page = "http://a.example"
licence = "MIT"
tables = ["one"]
base = "https://a.example/files/"
files = [{ path = "some/a.vec" }]
"""


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], Catalogue]:
    """A catalogue of this text."""

    def run(text: str) -> Catalogue:
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        return read_catalogue(path)

    return run


class TestReading:
    def test_what_a_source_says_holds_for_its_files(self, read: Callable[[str], Catalogue]) -> None:
        (file,) = read(SMALL).files
        assert (file.path, file.url, file.tables) == ("some/a.vec", "https://a.example/files/a.vec", ("one",))
        assert (file.licence, file.source.title) == ("MIT", "vectors")

    def test_a_file_may_differ(self, read: Callable[[str], Catalogue]) -> None:
        (file,) = read(SMALL.replace('a.vec" }', 'a.vec", url = "http://b.example/x", licence = "PDDL" }')).files
        assert (file.url, file.licence) == ("http://b.example/x", "PDDL")

    @pytest.mark.parametrize(
        "path",
        [
            "/etc/passwd",
            "../a",
            "a/../../b",
            "a/..",
            "a//b",
            "",
            ".",
            "a/./b",
            "a\\\\b",
            "C:/a",
            "a\\nb",
            "a\\u0000",
            "a/",
        ],
    )
    @pytest.mark.parametrize("key", ["path", "also", "substitute", "archive"])
    def test_no_path_leaves_the_folder(self, read: Callable[[str], Catalogue], key: str, path: str) -> None:
        entry = (
            f'{{ path = "{path}" }}' if key == "path" else f'{{ path = "a.vec", {key} = "{path}", columns = ["x"] }}'
        )
        with pytest.raises(DataError, match="does not stay below the data folder"):
            read(SMALL.replace('{ path = "some/a.vec" }', entry))

    @pytest.mark.parametrize(
        "url",
        [
            "file:///etc/passwd",
            "ftp://a.example/b",
            "http:///b",
            "http://a:x/b",
            "http://[a/b",
            "data:,a",
            "http://a/b c",
        ],
    )
    def test_only_addresses_on_the_web(self, read: Callable[[str], Catalogue], url: str) -> None:
        with pytest.raises(DataError, match="expected http:// or https://"):
            read(SMALL.replace('a.vec" }', f'a.vec", url = "{url}" }}'))

    @pytest.mark.parametrize(
        ("old", "new", "told"),
        [
            ("title", "titel", "sources has no 'titel'; there are: title, page"),
            ('licence = "MIT"\n', "", "sources has no 'licence', which must be there"),
            ('licence = "MIT"', "licence = 3", "sources.licence is 3; expected str"),
            ('[{ path = "some/a.vec" }]', '"some/a.vec"', "sources.files is 'some/a.vec'; expected"),
            ('{ path = "some/a.vec" }', '"some/a.vec"', "sources.files is 'some/a.vec'; expected a table"),
            ('{ path = "some/a.vec" }', '{ path = "a", size = "big" }', "sources.files.size is 'big'; expected int"),
            ('{ path = "some/a.vec" }', '{ path = "a", size = true }', "sources.files.size is True; expected int"),
            ('{ path = "some/a.vec" }', '{ path = "a", sha256 = "abc" }', "expected 64 hexadecimal digits"),
            ('{ path = "some/a.vec" }', '{ path = "a", archive = "b" }', "'archive' and 'columns' go together"),
            ('{ path = "some/a.vec" }', '{ path = "a" }, { path = "a" }', "'a' is there twice"),
            ('{ path = "some/a.vec" }', "", "names no file"),
            ('tables = ["one"]', 'tables = ["two"]', "'some/a.vec' is for 'two'; there are: one"),
            ('tables = ["one"]', "tables = []", "'some/a.vec' is for no table"),
            ('tables = ["one"]', "tables = [[]]", "sources.tables is []; expected str"),
            ('base = "https://a.example/files/"\n', "", "has no address"),
            ("[tables]", "[tables", "cannot be read as TOML"),
        ],
    )
    def test_what_is_refused(self, read: Callable[[str], Catalogue], old: str, new: str, told: str) -> None:
        assert old in SMALL
        with pytest.raises(DataError) as raised:
            read(SMALL.replace(old, new))
        assert told in str(raised.value)
        assert "mine.toml: " in str(raised.value)
        assert "\n" not in str(raised.value)

    def test_no_such_file(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="cannot be read"):
            read_catalogue(tmp_path / "none.toml")


class TestAmounts:
    @pytest.mark.parametrize(
        ("size", "told"),
        [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1000, "1.0 kB"),
            (20_480, "20 kB"),
            (999_600, "1.0 MB"),
            (6_600_000_000, "6.6 GB"),
        ],
    )
    def test_examples(self, size: int, told: str) -> None:
        assert amount(size) == told

    @given(st.integers(1, 10**15))
    def test_they_are_right_to_five_in_a_hundred(self, size: int) -> None:
        number, unit = amount(size).split()
        assert float(number) * 1000 ** ["bytes", "kB", "MB", "GB", "TB"].index(unit) == pytest.approx(size, rel=0.05)
