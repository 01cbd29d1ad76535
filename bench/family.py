"""Four languages in one space: every direction by its own pair, with the help of the others, and in the shared space.

    python bench/family.py --seeds 3

Accuracy@1 by CSLS and by nearest neighbour on Europarl's en, es, de and it (data folder in $CALQUE_DATA, default
../shared/data), mean over seeds. Directions with English are judged by MUSE's test lexicons. For the others there is
none, so the gold pairs are those that lead through an English word: the source words of the test lexicon, their
English translations, and the translations of those; noisy, but alike for all columns. With --made, or without the
data, languages are made: four blurred copies of one space.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Mapping
from itertools import combinations, permutations
from typing import Any

import torch

import calque
from calque.data.lexicon import Lexicon, read_lexicon
from calque.data.space import Space
from calque.evaluate import score_translation
from calque.runs.alignment import Alignment
from calque.runs.family import Family
from common import clustered, headline, keep, machine, markdown, parser, store

LANGUAGES = "en", "es", "de", "it"
HUB = "en"
COLUMNS = "direct", "family", "shared", "into"
"""By its own pair; by the pair's maps in the family; in the shared space; in the space of English."""
KINDS = "csls", "nn"


def main() -> None:
    """Measure, print, keep."""
    asked = _arguments()
    runs = []
    for seed in range(asked.seeds):
        spaces, gold = _made(seed) if asked.made else _europarl(asked)
        runs.append(measure(spaces, gold, seed, asked.device))
        keep(asked.output, asked.name, {"machine": machine(asked.device), "runs": runs}, report(runs, asked.device))
    store(asked, asked.name, report(runs, asked.device))


def measure(spaces: Mapping[str, Space], gold: Mapping[str, Lexicon], seed: int, device: str) -> dict[str, Any]:
    """All directions of all columns, with one seed."""
    began = time.monotonic()
    direct = {
        pair: calque.align(spaces[pair[0]], spaces[pair[1]], seed=seed, device=device)
        for pair in combinations(spaces, 2)
    }
    middle = time.monotonic()
    family = calque.align_many(spaces, seed=seed, device=device)
    seconds = {"direct": middle - began, "family": time.monotonic() - middle}
    turned = calque.align_many(spaces, into=HUB, seed=seed, device=device)
    scores: dict[str, dict[str, dict[str, float]]] = {}
    for pair in combinations(spaces, 2):
        of = {
            "direct": direct[pair],
            "family": family.pair(*pair),
            "shared": shared(family, pair),
            "into": shared(turned, pair),
        }
        for column, alignment in of.items():
            score = score_translation(alignment, gold["-".join(pair)], gold["-".join(reversed(pair))], KINDS, (1,))
            for way, by_retrieval in (("-".join(pair), score.forward), ("-".join(reversed(pair)), score.backward)):
                for kind in KINDS:
                    scores.setdefault(way, {}).setdefault(column, {})[kind] = 100 * by_retrieval[kind].accuracy(1)
    verdicts = {"-".join(pair): str(relation.verdict) for pair, relation in family.relations.items()}
    shares = {"-".join(triangle): share for triangle, share in family.triangles.items()}
    return {"seed": seed, "scores": scores, "seconds": seconds, "verdicts": verdicts, "triangles": shares}


def shared(family: Family, pair: tuple[str, str]) -> Alignment:
    """Two languages by one map each."""
    one, two = pair
    sides = family.shared_side(one), family.shared_side(two)
    return Alignment.of((family.spaces[one], family.spaces[two]), sides, family.verdict, family.record)


def report(runs: list[dict[str, Any]], device: str) -> str:
    """A row a direction, and the means."""
    ways = list(runs[0]["scores"])
    rows = [[way, *(f"{_mean(runs, way, column, kind):.1f}" for kind in KINDS for column in COLUMNS)] for way in ways]
    means = [[statistics.mean(_mean(runs, way, column, kind) for way in ways) for column in COLUMNS] for kind in KINDS]
    worst = [
        [min(_mean(runs, way, column, kind) - _mean(runs, way, "direct", kind) for way in ways) for column in COLUMNS]
        for kind in KINDS
    ]
    rows.append(["mean", *(f"{value:.1f}" for kind in means for value in kind)])
    rows.append(["worst beside direct", *(f"{value:+.1f}" for kind in worst for value in kind)])
    head = ["direction", *(f"{kind}, {column}" for kind in KINDS for column in COLUMNS)]
    times = {name: statistics.mean(run["seconds"][name] for run in runs) for name in ("direct", "family")}
    notes = (
        f"{len(runs)} seeds; aligning all pairs by themselves took {times['direct']:.0f} s, the family "
        f"{times['family']:.0f} s; words that find their way round a triangle: {_range(runs)}"
    )
    return f"{headline(device)}\n\n{markdown(head, rows)}\n\n{notes}"


def _mean(runs: list[dict[str, Any]], way: str, column: str, kind: str) -> float:
    return float(statistics.mean(run["scores"][way][column][kind] for run in runs))


def _range(runs: list[dict[str, Any]]) -> str:
    shares = [share for run in runs for share in run["triangles"].values()]
    return f"{min(shares):.1%} to {max(shares):.1%}"


def _europarl(asked: argparse.Namespace) -> tuple[dict[str, Space], dict[str, Lexicon]]:
    spaces = {language: calque.load(asked.data / "europarl" / f"{language}.vec.gz") for language in LANGUAGES}
    muse = asked.data / "lexicons" / "muse"
    read = {path.stem: read_lexicon(path).lexicon for path in muse.glob("*-*.tsv") if path.stem.count(".") == 0}
    tests = {path.name: read_lexicon(path).lexicon for path in muse.glob("*.test.tsv")}
    gold = {}
    for one, other in permutations(LANGUAGES, 2):
        if HUB in (one, other):
            gold[f"{one}-{other}"] = tests[f"{one}-{other}.test.tsv"]
        else:
            words = tests[f"{one}-{HUB}.test.tsv"].answers
            gold[f"{one}-{other}"] = _through(words, read[f"{one}-{HUB}"], read[f"{HUB}-{other}"])
    return spaces, gold


def _through(words: Mapping[str, Any], first: Lexicon, second: Lexicon) -> Lexicon:
    """What these words mean in a third language."""
    return Lexicon.of(
        (word, last)
        for word in words
        for middle in first.answers.get(word, ())
        for last in second.answers.get(middle, ())
    )


def _made(seed: int, words: int = 1000, dimension: int = 20) -> tuple[dict[str, Space], dict[str, Lexicon]]:
    """Four blurred copies of one space, each turned otherwise."""
    generator = torch.Generator().manual_seed(seed)
    vectors = clustered(words, dimension, generator)
    noise = 0.35 * float(vectors.norm(dim=1).mean()) / dimension**0.5
    spaces = {}
    for name in LANGUAGES:
        turn = torch.linalg.qr(torch.randn(dimension, dimension, generator=generator)).Q
        blurred = vectors + noise * torch.randn(vectors.shape, generator=generator)
        spaces[name] = Space.of([f"{name}{row}" for row in range(words)], blurred @ turn, name=name)
    gold = {
        f"{one}-{other}": Lexicon.of((f"{one}{row}", f"{other}{row}") for row in range(words))
        for one, other in permutations(LANGUAGES, 2)
    }
    return spaces, gold


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--device", choices=("auto", "cpu", "cuda"), default="cpu")
    options.add_argument("--made", action="store_true", help="made languages, which need no data")
    options.add_argument("--name", default="family", help="what its files are called")
    asked = options.parse_args()
    if not asked.made and not asked.data.is_dir():
        print(f"{asked.data} is no folder: made languages are measured; CALQUE_DATA names the one with europarl in it")
        asked.made = True
    return asked


if __name__ == "__main__":
    main()
