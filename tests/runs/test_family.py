"""A family of languages: pairs that know of each other, one space for all, and an honest word where that fails."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest
import torch

import calque
from calque.data.space import Space
from calque.errors import RunError, SettingsError
from calque.runs.family import Family, is_family
from calque.runs.lookup import Lookup
from made_languages import DIMENSION, NAMES, WORDS, languages


def right(found: torch.Tensor) -> float:
    return float((found == torch.arange(len(found))).float().mean())


@pytest.fixture(scope="module")
def spaces() -> dict[str, Space]:
    return languages()


@pytest.fixture(scope="module")
def family(spaces) -> Family:
    return calque.align_many(spaces)


@pytest.fixture(scope="module")
def folder(family, tmp_path_factory):
    place = tmp_path_factory.mktemp("families") / "run"
    family.save(place)
    return place


def test_every_pair_translates_in_both_directions(family):
    assert (family.verdict.label, family.left_out) == ("aligned", ())
    for one in NAMES:
        for two in set(NAMES) - {one}:
            alignment = family.pair(one, two)
            found = alignment.neighbours(alignment.spaces()[0].vectors, 1).indices[:, 0]
            assert right(found) > 0.9


def test_a_pair_turned_round_is_the_same_pair(family):
    there, turned = family.pair("en", "es"), family.pair("es", "en")
    words = ["en5", "en77"]
    assert there.translate(words) == turned.translate(words, back=True)
    assert torch.equal(there.penalty("csls", True), turned.penalty("csls", False))


def test_penalties_are_those_of_the_pairs(family):
    """They are computed without mapping all words of the language that asks."""
    for (asking, asked), penalty in family.penalties.items():
        fresh = replace(family.pair(asking, asked), penalties={})
        assert torch.allclose(penalty, fresh.penalty("csls", back=False), atol=1e-6)
    assert len(family.penalties) == 6


def test_every_vocabulary_is_hashed_once_and_mapped_once_a_direction(spaces, monkeypatch):
    from calque.recipes import many

    hashed, mapped = [], []
    described, map_space = many.described, many.map_space
    monkeypatch.setattr(many, "described", lambda space: hashed.append(space.name) or described(space))
    monkeypatch.setattr(many, "map_space", lambda space, side: mapped.append(space.name) or map_space(space, side))
    calque.align_many(spaces, recipe=calque_quick())
    assert sorted(hashed) == sorted(space.name for space in spaces.values())
    assert sorted(mapped) == sorted(2 * hashed), "each language is asked by two others"


def test_all_meet_in_the_shared_space(family):
    shared = {name: family.shared(name).vectors for name in NAMES}
    for one in NAMES:
        for two in set(NAMES) - {one}:
            assert right((shared[one] @ shared[two].mT).argmax(dim=1)) > 0.85


def test_the_triangle_is_told(family):
    assert list(family.triangles) == [NAMES]
    assert family.triangles[NAMES] > 0.8
    assert any("come back to themselves" in reason for reason in family.relations["en", "es"].verdict.reasons)


def test_saved_and_loaded_it_is_the_same(family, folder):
    again = Family.load(folder)
    assert (again.names, again.verdict, again.triangles) == (family.names, family.verdict, family.triangles)
    one, other = (each.pair("pt-br", "es").translate(["pt-br3"], k=3) for each in (family, again))
    assert one == other
    assert torch.equal(family.shared("es").vectors, again.shared("es").vectors)
    assert again.record.inputs["en"]["words"] == WORDS


def test_of_a_saved_one_only_the_languages_asked_for_are_read(folder):
    opened = Family.load(folder)
    opened.pair("en", "es")
    assert set(opened.spaces.read) == {"en", "es"}


def test_its_card_names_every_pair_and_loads_as_it_says(folder, monkeypatch):
    card = (folder / "README.md").read_text()
    assert all(f"| {pair} | aligned | direct |" in card for pair in ("en-es", "en-pt-br", "es-pt-br"))
    monkeypatch.chdir(folder.parent)
    code = card.split("```python\n")[1].split("```")[0].replace('["word"]', '["en4"]')
    made: dict[str, object] = {}
    exec(code, made)
    assert isinstance(made["family"], Family)


def test_into_leaves_the_vectors_of_one_language_where_they_are(spaces):
    turned = calque.align_many(spaces, into="es", recipe=calque_quick())
    kept = turned.shared("es").vectors
    plain = turned.shared_side("es").preprocessing.apply(spaces["es"].vectors)
    assert torch.allclose(kept, plain, atol=1e-6)
    english = turned.shared_side("en").preprocessing.apply(spaces["en"].vectors)
    inner = english[:50] @ english[:50].mT
    assert torch.allclose(turned.shared("en").vectors[:50] @ turned.shared("en").vectors[:50].mT, inner, atol=1e-5)


def calque_quick():
    """The default recipe; turning needs nothing else, but a failed pair would be searched for longer."""
    from calque.recipes import RECIPES

    recipe = RECIPES["default"]
    return replace(recipe, settings=replace(recipe.settings, deep=replace(recipe.settings.deep, rounds=0)))


def test_a_language_of_noise_is_left_out_and_the_others_are_not_harmed(spaces):
    noise = torch.randn(WORDS, DIMENSION, generator=torch.Generator().manual_seed(9))
    given = spaces | {"noise": Space.of([f"n{row}" for row in range(WORDS)], noise, name="noise")}
    found = calque.align_many(given, recipe=calque_quick())
    assert found.left_out == ("noise",)
    assert found.verdict.label == "failed"
    assert found.verdict.reasons[0] == "noise is left out: no trusted pair connects it with the others"
    assert found.relations["en", "noise"].found == "alone"
    alignment = found.pair("en", "es")
    assert alignment.verdict.label == "aligned"
    assert right(alignment.neighbours(alignment.source.vectors, 1).indices[:, 0]) > 0.9
    with pytest.raises(RunError, match="noise is not in the shared space"):
        found.shared("noise")


def test_a_pair_whose_own_search_fails_is_found_by_way_of_the_others(spaces, monkeypatch):
    from calque.recipes import many
    from calque.verdict import Verdict

    honest, seeds = many._direct_result, []

    def blind(recipe, task, settings):
        seeds.append(task.seed)
        result = honest(recipe, task, settings)
        if {task.source.name, task.target.name} == {"en.vec", "es.vec"}:
            pairs = replace(result.dictionary, target=result.dictionary.target.flip(0))
            return replace(result, dictionary=pairs, verdict=Verdict("failed", ("made to fail",), {}))
        return result

    monkeypatch.setattr(many, "_direct_result", blind)
    found = calque.align_many(spaces, recipe=calque_quick())
    assert len(set(seeds)) == 3, "triangles are evidence only of searches that are independent"
    relation = found.relations["en", "es"]
    assert (relation.found, relation.verdict.label) == ("others", "aligned")
    assert relation.verdict.reasons[0] == "found by way of other languages: its own search failed"
    alignment = found.pair("en", "es")
    assert right(alignment.neighbours(alignment.source.vectors, 1).indices[:, 0]) > 0.9


def test_a_language_called_shared_is_a_language(family, tmp_path):
    """Maps of pairs and of the shared space are kept apart, whatever languages are called."""
    names = dict(zip(NAMES, ("shared", "pairs", "vectors"), strict=True))
    renamed = replace(
        family,
        spaces={names[name]: each for name, each in family.spaces.items()},
        shared_sides={"shared": family.shared_sides["en"]},
        relations={(names[one], names[two]): each for (one, two), each in family.relations.items()},
        triangles={},
        penalties={},
    )
    renamed.save(tmp_path / "run")
    again = Family.load(tmp_path / "run")
    assert again.left_out == renamed.left_out == ("pairs", "vectors")
    assert again.verdict == renamed.verdict
    assert again.pair("shared", "pairs").translate(["en5"]) == renamed.pair("shared", "pairs").translate(["en5"])


def test_asked_to_stop_at_once_nothing_is_claimed(spaces):
    found = calque.align_many(spaces, stopped=lambda: True)
    assert found.record.notes[-1] == "interrupted before these pairs were aligned: en-es, en-pt-br, es-pt-br"
    assert found.record.interrupted
    assert found.verdict.label == "failed"
    assert found.left_out == NAMES or len(found.left_out) == len(NAMES) - 1
    with pytest.raises(RunError, match="interrupted before it came to that pair"):
        found.pair("en", "es")


class TestRefusals:
    def test_the_same_language_twice(self, spaces):
        again = spaces | {"again": replace(spaces["en"], name="copy.vec")}
        with pytest.raises(SettingsError, match="en and again have the same words and vectors; leave one of them out"):
            calque.align_many(again)

    @pytest.mark.parametrize("name", ["a/b", "", "x\ny", ".hidden", "a" * 81])
    def test_names_that_cannot_stand_in_a_file_name(self, spaces, name):
        with pytest.raises(SettingsError, match="is no name for a language"):
            calque.align_many(spaces | {name: spaces["en"]})

    def test_names_of_which_two_pairs_would_be_called_alike(self, spaces):
        named = dict(zip(("a", "b-c", "a-b"), spaces.values(), strict=True))
        with pytest.raises(SettingsError, match="'a-b-c' would be a with b-c and a-b with c; rename one"):
            calque.align_many(named | {"c": spaces["en"]})

    def test_two_languages_are_a_pair(self, spaces):
        with pytest.raises(SettingsError, match="2 languages were given; expected at least 3"):
            calque.align_many({name: spaces[name] for name in NAMES[:2]})

    def test_into_must_be_one_of_them(self, spaces):
        with pytest.raises(SettingsError, match="--into is 'fr', which is none of the languages; there are: en, es"):
            calque.align_many(spaces, into="fr")

    def test_a_recipe_that_learns_from_a_lexicon(self, spaces):
        with pytest.raises(SettingsError, match="learns from a lexicon"):
            calque.align_many(spaces, recipe="xing2015")

    @pytest.mark.parametrize(
        ("one", "two", "said"), [("en", "fr", "no language is called 'fr'"), ("en", "en", "twice")]
    )
    def test_a_pair_that_is_none(self, family, one, two, said):
        with pytest.raises(SettingsError, match=said):
            family.pair(one, two)

    def test_names_with_a_dash_are_told_apart(self, family):
        assert family.named_pair("en-pt-br") == ("en", "pt-br")
        assert family.named_pair("pt-br-es") == ("pt-br", "es")
        with pytest.raises(SettingsError, match="expected two of the languages en, es, pt-br joined by a dash"):
            family.named_pair("en-br")

    def test_a_family_is_no_pair_and_a_pair_no_family(self, folder, family, tmp_path):
        assert is_family(folder)
        for opened in (Lookup.open, calque.Alignment.load):
            with pytest.raises(
                RunError, match="holds a family of languages, expected one pair; name one, such as --pair"
            ):
                opened(folder)
        family.pair("en", "es").save(tmp_path / "pair")
        assert not is_family(tmp_path / "pair")
        with pytest.raises(RunError, match="holds one pair, not a family"):
            Family.load(tmp_path / "pair")

    @pytest.mark.parametrize("damage", ["maps.safetensors", "words.es.txt", "vectors.safetensors", "config.json"])
    def test_a_damaged_folder_is_told_in_one_line(self, folder, tmp_path, damage):
        broken = tmp_path / "run"
        shutil.copytree(folder, broken)
        path = broken / damage
        if damage == "config.json":
            config = json.loads(path.read_text())
            del config["pairs"]
            path.write_text(json.dumps(config))
        else:
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with pytest.raises(RunError) as told:
            Family.load(broken).pair("en", "es")
        assert str(broken) in str(told.value)
        assert "\n" not in str(told.value)
