"""What the judges say of an alignment: the test half of each direction, and people's scores of similarity."""

from __future__ import annotations

from collections.abc import Mapping

from calque.errors import LexiconError
from calque.evaluate import DirectionScore, SimilarityScore, score_similarity, score_translation
from calque.experiments.jobs import RETRIEVALS, Score
from calque.experiments.reproduce.inputs import Inputs
from calque.experiments.reproduce.shelf import Shelf
from calque.runs.alignment import Alignment


def judge(shelf: Shelf, inputs: Inputs, alignment: Alignment, supervised: bool, seed: int) -> Score:
    """By every judge that is there; one that cannot be used does not hold up the others.

    What learned from the lexicon of one direction is asked in that direction only, as the paper did.
    """
    errors: dict[str, str] = {}
    translation: Mapping[str, Mapping[str, DirectionScore]] = {}
    similarity: SimilarityScore | None = None
    directions = inputs.directions(supervised)
    try:
        translation = _translation(shelf, inputs, alignment, directions, seed)
    except LexiconError as error:
        errors |= dict.fromkeys(directions, str(error))
    try:
        similarity = _similarity(shelf, inputs, alignment)
    except LexiconError as error:
        errors["similarity"] = str(error)
    return Score(translation, similarity, errors)


def _translation(
    shelf: Shelf, inputs: Inputs, alignment: Alignment, directions: tuple[str, ...], seed: int
) -> dict[str, Mapping[str, DirectionScore]]:
    if not all(inputs.part("test", each) in inputs.files for each in directions):
        return {}
    forward, *rest = (shelf.test(inputs, each, seed) for each in directions)
    score = score_translation(alignment, forward, rest[0] if rest else None, RETRIEVALS)
    return dict(zip(directions, (score.forward, score.backward), strict=False))


def _similarity(shelf: Shelf, inputs: Inputs, alignment: Alignment) -> SimilarityScore | None:
    return score_similarity(alignment, shelf.judged(inputs)) if "judged" in inputs.files else None
