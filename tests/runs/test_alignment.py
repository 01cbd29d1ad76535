from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from calque.data.lexicon import Lexicon
from calque.data.space import Space
from calque.errors import CalqueError, RunError, SettingsError, UnknownWordError
from calque.evaluate import score_similarity, score_translation
from calque.evaluate.similarity import Judged
from calque.linear.maps import LinearMap, Milestone, NetworkMap, Preprocessing, Side, fit, map_space
from calque.runs.alignment import Alignment, Record
from calque.runs.model_card import model_card
from calque.verdict import Verdict

STEPS = ("unit", "center", "unit")
VERDICT = Verdict("doubtful", ("one reason", "another"), {"cost": 0.5, "confirmed": False, "gave_up": "time"})
RECORD = Record(
    recipe={"name": "default", "settings": {"words": 5, "kinds": ["profiles", "random"]}},
    seed=3,
    versions={"calque": "0.1.0"},
    inputs={"source": {"name": "es.vec", "words": 60, "dimension": 6, "counts": True, "sha256": "ab" * 32}},
    seconds={"search": 1.5, "refine": 0.25},
    notes=("reduced 8 and 6 dimensions",),
    interrupted=True,
    log=({"stage": "search", "number": 1, "cost": 0.5}, {"stage": "refine", "number": 1, "pairs": 40.0}),
)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def side(vectors: torch.Tensor, common: int, seed: int) -> Side:
    matrix = torch.randn(vectors.shape[1], common, generator=seeded(seed)) + 2 * torch.eye(vectors.shape[1], common)
    return Side(fit(vectors, STEPS)[0], LinearMap(matrix))


def spaces(dimensions: tuple[int, int] = (6, 6)) -> tuple[Space, Space]:
    generator = seeded(0)
    source, target = (torch.randn(n, d, generator=generator) for n, d in zip((60, 75), dimensions, strict=True))
    counts = torch.arange(60, 0, -1)
    return (
        Space.of([f"s{row}" for row in range(60)], source, counts, "es.vec"),
        Space.of([f"t{row}" for row in range(75)], target, name="en.vec"),
    )


def made(dimensions: tuple[int, int] = (6, 6), common: int = 6) -> Alignment:
    pair = spaces(dimensions)
    sides = side(pair[0].vectors, common, 1), side(pair[1].vectors, common, 2)
    return Alignment.of(pair, sides, VERDICT, RECORD)


@pytest.fixture
def alignment() -> Alignment:
    return made()


def plain(source: Space, target: Space) -> Alignment:
    """Vectors that are in the common space as they are."""
    sides = tuple(
        Side(Preprocessing(()), LinearMap.identity(each.dimension, each.vectors)) for each in (source, target)
    )
    return Alignment.of((source, target), sides, VERDICT, Record())


def test_there_and_back_is_where_one_began(alignment):
    eye = torch.eye(6)
    assert torch.allclose(alignment.forward.then(alignment.backward).matrix, eye, atol=1e-4)
    assert torch.allclose(alignment.backward.then(alignment.forward).matrix, eye, atol=1e-4)


def test_forward_takes_a_source_vector_to_what_the_target_side_maps_alike(alignment):
    """G W_y = W_x: going by the target's coordinates ends at the same place of the common space."""
    prepared = alignment.source_side.preprocessing.apply(spaces()[0].vectors)
    direct = alignment.source_side.map.apply(prepared)
    assert torch.allclose(alignment.target_side.map.apply(alignment.forward.apply(prepared)), direct, atol=1e-4)
    assert not torch.allclose(alignment.forward.matrix, alignment.backward.matrix, atol=0.1)


def test_forward_and_backward_have_the_shapes_of_unequal_sides():
    got = made((8, 6), 5)
    assert got.forward.matrix.shape == (8, 6)
    assert got.backward.matrix.shape == (6, 8)


@pytest.mark.parametrize("dimensions", [(6, 6), (8, 6)])
def test_mapping_the_training_vectors_gives_the_stored_ones(dimensions):
    got, (source, target) = made(dimensions), spaces(dimensions)
    assert torch.allclose(got.map_source(source.vectors), got.source.vectors, atol=1e-5)
    assert torch.allclose(got.map_target(target.vectors), got.target.vectors, atol=1e-5)
    assert torch.allclose(got.source.vectors.norm(dim=1), torch.ones(60), atol=1e-5)


def test_a_side_by_hand():
    """(3, 4) → (0.6, 0.8) → minus (0.6, 0) → (0, 0.8) → times 2 on the second → unit: (0, 1)."""
    shift = torch.tensor([0.6, 0.0]), torch.ones(2)
    made_by_hand = Side(Preprocessing((None, shift)), LinearMap(torch.tensor([[1.0, 0.0], [0.0, 2.0]])))
    assert torch.allclose(made_by_hand.apply(torch.tensor([[3.0, 4.0]])), torch.tensor([[0.0, 1.0]]), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_goes_in_as_numpy_comes_out_as_numpy(alignment, dtype):
    given = spaces()[0].vectors.numpy().astype(dtype)
    got = alignment.map_source(given)
    assert isinstance(got, np.ndarray)
    np.testing.assert_allclose(got, alignment.source.vectors.numpy(), atol=1e-5)
    assert isinstance(alignment.map_target(spaces()[1].vectors), torch.Tensor)
    assert torch.equal(alignment.map_source(spaces()[0].vectors.double()), alignment.map_source(spaces()[0].vectors))


def test_vectors_of_another_dimension_are_refused_in_words(alignment):
    with pytest.raises(CalqueError, match="7"):
        alignment.map_source(np.zeros((3, 7), np.float32))


def test_long_vocabularies_are_mapped_in_blocks_without_a_seam():
    vectors = torch.randn(65_540, 2, generator=seeded(3))
    one_side = side(vectors, 2, 4)
    mapped = map_space(Space.of([str(row) for row in range(65_540)], vectors), one_side)
    assert torch.allclose(mapped.vectors, one_side.apply(vectors), atol=1e-5)


def cosines(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    one, other = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (one, other))
    return one @ other.T


def csls(alignment: Alignment, back: bool = False) -> np.ndarray:
    """2 cos(x, y) - r(y), with r(y) the mean cosine of y to its ten nearest asking words; the rest is the query's."""
    asking, asked = alignment.source.vectors.numpy(), alignment.target.vectors.numpy()
    if back:
        asking, asked = asked, asking
    similarity = cosines(asking.astype(np.float64), asked.astype(np.float64))
    return 2 * similarity - np.sort(similarity, axis=0)[-10:].mean(axis=0)


@pytest.mark.parametrize("back", [False, True])
def test_translate_equals_brute_force_csls(alignment, back):
    asking, asked = (alignment.target, alignment.source) if back else (alignment.source, alignment.target)
    scores = csls(alignment, back)
    got = alignment.translate(asking.words, k=4, back=back)
    assert [each.word for each in got] == list(asking.words)
    for row, each in enumerate(got):
        best = np.argsort(-scores[row])[:4]
        assert [candidate.word for candidate in each.candidates] == [asked.words[column] for column in best]
        assert [candidate.score for candidate in each.candidates] == pytest.approx(scores[row, best], abs=1e-5)


@pytest.mark.parametrize("back", [False, True])
def test_translate_by_nearest_neighbour(alignment, back):
    asking, asked = (alignment.target, alignment.source) if back else (alignment.source, alignment.target)
    best = cosines(asking.vectors.numpy(), asked.vectors.numpy()).argmax(axis=1)
    got = alignment.translate(asking.words, k=1, back=back, retrieval="nn")
    assert [each.candidates[0].word for each in got] == [asked.words[row] for row in best]


def test_translate_one_word_none_and_more_than_there_are(alignment):
    assert alignment.translate("s3") == alignment.translate(["s3"])
    assert alignment.translate([]) == []
    (got,) = alignment.translate(["s3"], k=500)
    assert sorted(each.word for each in got.candidates) == sorted(alignment.target.words)


def test_an_unknown_retrieval_or_k_below_one_is_refused(alignment):
    with pytest.raises(SettingsError, match="csls"):
        alignment.translate(["s3"], retrieval="magic")
    with pytest.raises(SettingsError, match="k is 0"):
        alignment.translate(["s3"], k=0)


def test_an_unknown_word_is_named_with_close_spellings():
    words = ["perro", "perros", "gato", "casa"]
    got = plain(Space.of(words, torch.eye(4), name="es.vec"), Space.of(["dog", "cat", "house", "car"], torch.eye(4)))
    with pytest.raises(UnknownWordError, match=r"es\.vec: 'perrro'.*did you mean perro, perros\?"):
        got.translate(["gato", "perrro"])
    with pytest.raises(UnknownWordError, match=r"'hose'.*did you mean house\?"):
        got.translate(["hose"], back=True)
    with pytest.raises(UnknownWordError) as caught:
        got.translate(["xyz"])
    assert "did you mean" not in str(caught.value)


def test_the_lexicon_is_the_mutual_pairs_of_brute_force(alignment):
    there, back = csls(alignment).argmax(axis=1), csls(alignment, back=True).argmax(axis=1)
    expected = [(f"s{row}", f"t{column}") for row, column in enumerate(there) if back[column] == row]
    got = alignment.lexicon()
    assert 10 < len(expected) < 60
    assert [(each.source, each.target) for each in got] == expected
    assert all(each.mutual for each in got)


def test_every_word_gets_a_line_and_only_mutual_ones_are_called_so(alignment):
    there, mutual = csls(alignment).argmax(axis=1), alignment.lexicon()
    got = alignment.lexicon(every=True)
    assert [(each.source, each.target) for each in got] == [
        (f"s{row}", f"t{column}") for row, column in enumerate(there)
    ]
    assert [each for each in got if each.mutual] == mutual
    assert all(0 <= each.confidence <= 1 for each in got)


def test_confidence_is_the_geometric_mean_of_both_preferences_or_half_of_one(alignment):
    """A preference: the share of the best among the ten best, by softmax of ten times the score."""
    shares, best = {}, {}
    for back in (False, True):
        scores = csls(alignment, back)
        top = np.exp(10 * -np.sort(-scores, axis=1)[:, :10])
        shares[back], best[back] = top[:, 0] / top.sum(axis=1), scores.argmax(axis=1)
    for row, each in enumerate(alignment.lexicon(every=True)):
        column = best[False][row]
        mutual = math.sqrt(shares[False][row] * shares[True][column])
        expected = mutual if best[True][column] == row else shares[False][row] / 2
        assert each.confidence == pytest.approx(expected, abs=1e-4)


def test_confidence_by_hand():
    """Two words a side on the axes: scores 2·1 - ½ and 2·0 - ½, so the best takes e^15 / (e^15 + e^-5) both ways."""
    got = plain(Space.of(["uno", "dos"], torch.eye(2)), Space.of(["one", "two"], torch.eye(2))).lexicon()
    share = 1 / (1 + math.exp(-20))
    assert [(each.source, each.target) for each in got] == [("uno", "one"), ("dos", "two")]
    assert [each.confidence for each in got] == pytest.approx([share, share], abs=1e-6)


def test_two_equal_candidates_halve_the_confidence_and_a_third_word_left_over_halves_it_again():
    source = Space.of(["a", "b"], [[1.0, 0.0], [1.0, 0.0]])
    target = Space.of(["x", "y"], [[1.0, 0.0], [1.0, 0.0]])
    first, second = plain(source, target).lexicon(every=True)
    assert first.confidence == pytest.approx(0.5 if first.mutual else 0.25)
    assert second.confidence == pytest.approx(0.5 if second.mutual else 0.25)
    assert first.mutual != second.mutual


def test_a_surer_pair_has_more_confidence():
    angles = torch.tensor([0.0, 1.5, 3.0, 3.05])
    vectors = torch.stack([angles.cos(), angles.sin()], dim=1)
    got = plain(Space.of(list("abcd"), vectors), Space.of(list("wxyz"), vectors)).lexicon(every=True)
    sure = {each.source: each.confidence for each in got}
    assert min(sure["a"], sure["b"]) > max(sure["c"], sure["d"])


class Spelled:
    """A subword model that makes a vector of how many a's and b's a word has."""

    def vector(self, word: str) -> np.ndarray:
        return np.asarray([word.count("a"), word.count("b"), 0, 0, 0, 1], np.float32)


@pytest.mark.parametrize("back", [False, True])
def test_unseen_words_go_the_way_of_the_seen_ones(alignment, back):
    space = Space(("x",), torch.ones(1, 6), subwords=Spelled())
    got = alignment.with_subwords(space, back)
    asked, one_side = (got.target, got.target_side) if back else (got.source, got.source_side)
    expected = one_side.apply(torch.tensor([[2.0, 1.0, 0.0, 0.0, 0.0, 1.0]]))
    assert torch.allclose(asked.lookup(["aab"]), expected, atol=1e-6)
    (translated,) = got.translate(["aab"], k=1, back=back, retrieval="nn")
    other = (got.source if back else got.target).vectors
    assert translated.candidates[0].word.endswith(str(int((expected @ other.mT).argmax())))
    assert translated.candidates[0].score == pytest.approx(float((expected @ other.mT).max()), abs=1e-5)


def test_a_subword_model_serves_its_own_side_only_and_leaves_known_words_and_the_original_alone(alignment):
    space = Space(("x",), torch.ones(1, 6), subwords=Spelled())
    got = alignment.with_subwords(space)
    assert got.translate(["s5"]) == alignment.translate(["s5"])
    with pytest.raises(UnknownWordError):
        got.translate(["aab"], back=True)
    with pytest.raises(UnknownWordError):
        alignment.translate(["aab"])
    with pytest.raises(UnknownWordError):
        got.with_subwords(spaces()[0]).translate(["aab"])


def test_a_space_with_subwords_brings_them_along():
    pair = spaces()
    modelled = Space(pair[0].words, pair[0].vectors, subwords=Spelled())
    one_side = side(pair[0].vectors, 6, 1)
    got = map_space(modelled, one_side)
    assert torch.allclose(got.lookup(["ab"]), one_side.apply(torch.tensor([[1.0, 1, 0, 0, 0, 1]])), atol=1e-6)


def assert_same(one: Alignment, other: Alignment) -> None:
    for left, right in ((one.source, other.source), (one.target, other.target)):
        assert (left.words, left.name) == (right.words, right.name)
        assert torch.equal(left.vectors, right.vectors)
        assert (left.counts is None) == (right.counts is None)
        assert left.counts is None or torch.equal(left.counts, right.counts)
    fresh = torch.randn(5, 6, generator=seeded(8))
    assert torch.equal(one.map_source(fresh), other.map_source(fresh))
    assert torch.equal(one.map_target(fresh), other.map_target(fresh))
    assert one.verdict == other.verdict


def test_what_is_saved_is_loaded(alignment, tmp_path):
    alignment.save(tmp_path / "run")
    got = Alignment.load(tmp_path / "run")
    assert_same(got, alignment)
    assert got.translate(["s1", "s2"]) == alignment.translate(["s1", "s2"])
    assert got.translate(["t1"], back=True) == alignment.translate(["t1"], back=True)
    assert got.lexicon(every=True) == alignment.lexicon(every=True)


def test_the_maps_of_earlier_stages_come_back_in_order_and_of_their_kind(alignment, tmp_path):
    network = NetworkMap((torch.eye(6), 2 * torch.eye(6)), (torch.zeros(6), torch.ones(6)))
    first, second = LinearMap(3 * torch.eye(6)), LinearMap(4 * torch.eye(6))
    earlier = *(Milestone(stage, first, second) for stage in ("z", *"abcdefghij")), Milestone("last", first, network)
    replace(alignment, earlier=earlier).save(tmp_path / "run")
    got = Alignment.load(tmp_path / "run").earlier
    assert [each.stage for each in got] == ["z", *"abcdefghij", "last"]
    assert torch.equal(got[0].target.matrix, second.matrix)
    assert torch.equal(got[-1].target.apply(torch.ones(2, 6)), network.apply(torch.ones(2, 6)))
    alignment.save(tmp_path / "run", overwrite=True)
    assert Alignment.load(tmp_path / "run").earlier == ()


def test_the_record_comes_back_whole(alignment, tmp_path):
    """The log too: an alignment that is loaded and saved elsewhere must not lose it."""
    alignment.save(tmp_path / "run")
    got = Alignment.load(str(tmp_path / "run")).record
    for name in ("recipe", "seed", "device", "versions", "inputs", "seconds", "notes", "interrupted", "log"):
        assert getattr(got, name) == getattr(RECORD, name), name


def test_the_log_is_one_event_a_line(alignment, tmp_path):
    alignment.save(tmp_path / "run")
    lines = (tmp_path / "run" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == list(RECORD.log)


def test_the_card_tells_verdict_inputs_and_use(alignment, tmp_path):
    alignment.save(tmp_path / "es-en")
    card = (tmp_path / "es-en" / "README.md").read_text()
    assert card.startswith("# es-en: ")
    assert "## Verdict: doubtful (interrupted)\n\n- one reason\n- another\n" in card
    assert "| source | es.vec | 60 | 6 | yes | abababababababab |" in card
    assert "seed 3, on cpu, in 1.8 s" in card
    assert "- reduced 8 and 6 dimensions" in card
    assert 'calque.Alignment.load("es-en")' in card


def test_the_card_shows_words_at_even_steps_with_their_best_translations(alignment, tmp_path):
    alignment.save(tmp_path / "run")
    card = (tmp_path / "run" / "README.md").read_text()
    table = card.split("|---|---|---|\n")[1].split("\n\n")[0].splitlines()
    shown = [alignment.source.words[row] for row in range(4, 60, 5)]
    best = [each.candidates[0] for each in alignment.translate(shown, 1)]
    expected = zip(shown, best, strict=True)
    assert table == [f"| {word} | {found.word} | {found.score:.3f} |" for word, found in expected]


@pytest.mark.parametrize(
    ("word", "shown", "typed"),
    [
        ("<b>x</b>|`y`", r"\<b\>x\</b\>\|\`y\`", "WORD"),
        ("\udce9t\n", "\ufffdt\ufffd", "WORD"),
        ("a_b*c*", r"a\_b\*c\*", "'a_b*c*'"),
        ("http://www.x.de", r"http\://www\.x.de", "http://www.x.de"),
        ("-k", "-k", "WORD"),
        ("\u202eabc", "\ufffdabc", "WORD"),
    ],
)
def test_words_in_a_card_are_text_and_never_markup(word, shown, typed):
    config = {**RECORD.as_json(), "verdict": {"label": "failed", "reasons": ["none"]}}
    card = model_card(config, "it's", [(word, word, 0.5)])
    assert f"| {shown} | {shown} | 0.500 |" in card
    assert f"calque translate 'it'\"'\"'s' {typed}\n" in card
    assert "Do not use it" in card


def test_names_and_notes_in_a_card_are_text_too():
    told = {**RECORD.as_json(), "notes": ["of <script>.tsv"], "verdict": {"label": "failed", "reasons": ["none"]}}
    told["recipe"] = {"name": "mine\n\n# more"}
    card = model_card(told, "-<b>")
    assert card.startswith(r"# -\<b\>: an alignment")
    assert r"- of \<script\>.tsv" in card
    assert "\n# more" not in card
    assert "calque translate './-<b>' WORD" in card


def test_a_lexicon_ends_where_somebody_asks_to_stop():
    alignment = made()
    assert alignment.lexicon(stopped=lambda: False) == alignment.lexicon()
    with pytest.raises(RunError, match="asked to stop"):
        alignment.lexicon(stopped=lambda: True)


def test_a_card_without_notes_has_no_heading_for_them(tmp_path):
    plain(*spaces()).save(tmp_path / "run")
    assert "## Notes" not in (tmp_path / "run" / "README.md").read_text()


def test_saving_twice_needs_leave(alignment, tmp_path):
    alignment.save(tmp_path / "run")
    with pytest.raises(RunError, match="already there"):
        made((8, 6)).save(tmp_path / "run")
    assert_same(Alignment.load(tmp_path / "run"), alignment)
    made((8, 6)).save(tmp_path / "run", overwrite=True)
    assert Alignment.load(tmp_path / "run").source_side.map.matrix.shape[0] == 8


def test_a_space_aligned_with_itself_is_saved_and_translates_into_itself(tmp_path):
    space = spaces()[0]
    one_side = side(space.vectors, 6, 1)
    alignment = Alignment.of((space, space), (one_side, one_side), VERDICT, RECORD)
    alignment.save(tmp_path / "run")
    got = Alignment.load(tmp_path / "run")
    assert_same(got, alignment)
    assert [each.candidates[0].word for each in got.translate(space.words, retrieval="nn")] == list(space.words)
    shared = Alignment(alignment.source, alignment.source, one_side, one_side, VERDICT, RECORD)
    shared.save(tmp_path / "shared")
    assert_same(Alignment.load(tmp_path / "shared"), shared)


@pytest.mark.parametrize("odd", ["a b", "東京", "\udcff", "a\u2028b", "a\rb", "", "{name}", "a\nb"])
def test_odd_words_come_back_as_they_were_or_are_refused(odd, tmp_path):
    """A line feed cannot stand in a file of one word a line; then nothing must be written."""
    try:
        got = plain(Space.of([odd, "z"], torch.eye(2)), Space.of(["x", "y"], torch.eye(2)))
        got.save(tmp_path / "run")
    except CalqueError:
        assert not (tmp_path / "run").exists()
        return
    assert Alignment.load(tmp_path / "run").source.words == (odd, "z")


def test_no_run_folder_is_said_to_be_none(tmp_path):
    with pytest.raises(RunError, match=r"config\.json.*expected a run folder"):
        Alignment.load(tmp_path)


def test_a_folder_of_another_format_is_refused(alignment, tmp_path):
    alignment.save(tmp_path / "run")
    config = tmp_path / "run" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"format": 2}))
    with pytest.raises(RunError, match="format 2, expected 1"):
        Alignment.load(tmp_path / "run")


@pytest.mark.parametrize("key", ["format", "verdict", "names", "seed", "notes"])
def test_a_config_with_something_missing_is_called_damaged(alignment, tmp_path, key):
    alignment.save(tmp_path / "run")
    config = tmp_path / "run" / "config.json"
    table = json.loads(config.read_text())
    del table[key]
    config.write_text(json.dumps(table))
    with pytest.raises(RunError, match=f"damaged.*{key}"):
        Alignment.load(tmp_path / "run")


def test_a_word_missing_from_its_file_is_called_damage_of_the_folder(alignment, tmp_path):
    alignment.save(tmp_path / "run")
    words = tmp_path / "run" / "words.source.txt"
    words.write_text("".join(words.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(RunError, match="damaged"):
        Alignment.load(tmp_path / "run")


def network(matrix: torch.Tensor, seed: int) -> NetworkMap:
    """Six dimensions, a hidden layer of nine, six again: near this matrix where tanh is nearly a straight line."""
    biases = [0.1 * torch.randn(size, generator=seeded(seed)) for size in (9, 6)]
    return NetworkMap((0.3 * torch.eye(6, 9), torch.eye(9, 6) @ matrix / 0.3), (biases[0], biases[1]))


def two_maps(hidden: bool = False) -> Alignment:
    """As the paper's method leaves it: queries stay; F maps candidates there, and G, not its inverse, back."""
    pair = spaces()
    befores = [fit(each.vectors, ("standardise",))[0] for each in pair]
    there, blur = (torch.randn(6, 6, generator=seeded(each)) for each in (31, 32))
    back = (torch.linalg.inv(there) + 0.2 * blur).contiguous()
    g, f = (network(there, 40), network(back, 50)) if hidden else (LinearMap(there), LinearMap(back))
    stay = LinearMap(torch.eye(6))
    way_there, way_back = (Side(befores[0], stay), Side(befores[1], f)), (Side(befores[0], g), Side(befores[1], stay))
    return Alignment.of(pair, way_there, VERDICT, RECORD, way_back)


@pytest.fixture(params=[False, True], ids=["linear", "network"])
def twofold(request) -> Alignment:
    return two_maps(request.param)


def ways(alignment: Alignment) -> dict[bool, np.ndarray]:
    """Cosines of the words that ask with those that answer, by whether it is the way back, from the sides alone."""
    source, target = (each.vectors for each in spaces())
    way = alignment.returning
    assert way is not None
    there = alignment.source_side.apply(source), alignment.target_side.apply(target)
    back = way.target_side.apply(target), way.source_side.apply(source)
    return {False: cosines(*(each.numpy() for each in there)), True: cosines(*(each.numpy() for each in back))}


def csls_of(similarity: np.ndarray) -> np.ndarray:
    return 2 * similarity - np.sort(similarity, axis=0)[-10:].mean(axis=0)


@pytest.mark.parametrize("back", [False, True])
def test_each_way_translates_by_its_own_map(twofold, back):
    similarity = ways(twofold)[back]
    words, others = (twofold.target.words, twofold.source.words)[:: 1 if back else -1]
    for retrieval, scores in (("nn", similarity), ("csls", csls_of(similarity))):
        got = twofold.translate(words, k=1, back=back, retrieval=retrieval)
        assert [each.candidates[0].word for each in got] == [others[row] for row in scores.argmax(axis=1)]
    assert [ways(twofold)[back].shape] == [(len(words), len(others))]


def test_the_two_ways_are_not_each_others_transpose(twofold):
    there, back = ways(twofold).values()
    assert not np.allclose(there, back.T, atol=0.1)


def test_the_lexicon_of_two_maps_holds_what_both_ways_choose(twofold):
    there, back = (csls_of(each).argmax(axis=1) for each in ways(twofold).values())
    expected = [(f"s{row}", f"t{column}") for row, column in enumerate(there) if back[column] == row]
    assert 1 <= len(expected) < 60
    assert [(each.source, each.target) for each in twofold.lexicon()] == expected


def test_each_way_is_scored_by_its_own_map(twofold):
    lexicon = Lexicon.of([(f"s{row}", f"t{row}") for row in range(60)])
    score = score_translation(twofold, lexicon, ks=(1, 5))
    for back, found in ((False, score.forward), (True, score.backward)):
        similarity = ways(twofold)[back][:60]
        for retrieval, scores in (("nn", similarity), ("csls", csls_of(ways(twofold)[back])[:60])):
            rank = [int((row > row[place]).sum()) for place, row in enumerate(scores)]
            assert found[retrieval].right == {k: sum(each < k for each in rank) for k in (1, 5)}
            assert found[retrieval].asked == 60


def test_similarity_is_that_of_the_way_there(twofold):
    judged = [Judged(f"s{row}", f"t{row + 3}", float(row % 7)) for row in range(40)]
    found = score_similarity(twofold, judged)
    ours = [ways(twofold)[False][row, row + 3] for row in range(40)]
    assert found.pearson == pytest.approx(float(np.corrcoef(ours, [each.score for each in judged])[0, 1]), abs=1e-5)


def test_two_maps_are_saved_and_loaded(twofold, tmp_path):
    twofold.save(tmp_path / "run")
    got = Alignment.load(tmp_path / "run")
    assert_same(got, twofold)
    assert got.returning is not None
    assert_same(got.returning, twofold.returning)
    for back in (False, True):
        words = (twofold.target if back else twofold.source).words
        for retrieval in ("nn", "csls"):
            expected = twofold.translate(words, back=back, retrieval=retrieval)
            assert got.translate(words, back=back, retrieval=retrieval) == expected
    assert got.lexicon(every=True) == twofold.lexicon(every=True)
    assert [type(each.map) for each in (got.source_side, got.target_side)] == [LinearMap, type(twofold.target_side.map)]


def test_a_folder_saved_again_is_the_same(twofold, tmp_path):
    twofold.save(tmp_path / "run")
    Alignment.load(tmp_path / "run").save(tmp_path / "again")
    for name in ("maps.safetensors", "vectors.safetensors", "config.json"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


@pytest.mark.parametrize("back", [False, True])
def test_unseen_words_go_the_way_of_the_words_that_ask(twofold, back):
    got = twofold.with_subwords(Space(("x",), torch.ones(1, 6), subwords=Spelled()), back)
    vector = torch.tensor([[2.0, 1.0, 0.0, 0.0, 0.0, 1.0]])
    way = twofold.returning if back else twofold
    asking, asked = (way.target_side, way.source) if back else (way.source_side, way.target)
    best = int((asking.apply(vector) @ asked.vectors.mT).argmax())
    (translated,) = got.translate(["aab"], k=1, back=back, retrieval="nn")
    assert translated.candidates[0].word == asked.words[best]
    with pytest.raises(UnknownWordError):
        got.translate(["aab"], back=not back)
    with pytest.raises(UnknownWordError):
        twofold.translate(["aab"], back=back)


def test_a_space_with_subwords_brings_them_along_both_ways():
    pair = [Space(each.words, each.vectors, subwords=Spelled()) for each in spaces()]
    before = two_maps()
    sides = (before.source_side, before.target_side), (before.returning.source_side, before.returning.target_side)
    got = Alignment.of((pair[0], pair[1]), sides[0], VERDICT, RECORD, sides[1])
    vector = torch.tensor([[2.0, 1.0, 0.0, 0.0, 0.0, 1.0]])
    for back, side in ((False, sides[0][0]), (True, sides[1][1])):
        assert torch.allclose(got.spaces(back)[0].lookup(["aab"]), side.apply(vector), atol=1e-6)


def test_g_and_f_are_the_two_maps():
    got = two_maps()
    assert torch.allclose(got.forward.matrix, got.returning.source_side.map.matrix, atol=1e-6)
    assert torch.allclose(got.backward.matrix, got.target_side.map.matrix, atol=1e-6)
    assert not torch.allclose(got.forward.then(got.backward).matrix, torch.eye(6), atol=0.1)


@pytest.mark.parametrize("way", ["forward", "backward"])
def test_a_map_with_hidden_layers_has_no_matrix_and_says_so_in_one_line(way):
    with pytest.raises(SettingsError, match=r"hidden layers.*map_source and map_target") as caught:
        getattr(two_maps(hidden=True), way)
    assert "\n" not in str(caught.value)


def test_vectors_of_another_dimension_are_refused_by_a_network_too():
    with pytest.raises(CalqueError, match="expected 6 dimensions"):
        two_maps(hidden=True).map_target(np.zeros((3, 7), np.float32))


def test_a_way_back_of_another_length_is_called_damage(tmp_path):
    two_maps().save(tmp_path / "run")
    path = tmp_path / "run" / "vectors.safetensors"
    tensors = load_file(path)
    tensors["back.target"] = tensors["back.target"][:-1].clone()
    save_file(tensors, path)
    with pytest.raises(RunError, match="damaged"):
        Alignment.load(tmp_path / "run")


def test_it_is_shown_in_a_line():
    alignment = made()
    assert repr(alignment) == f"Alignment({alignment.source!r}, {alignment.target!r}, doubtful)"
