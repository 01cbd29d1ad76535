"""The paper's method on the paper's WE-Z vectors: accuracy of every seed, all seeds as one batch, and the time.

Run it with the data folder in $CALQUE_DATA (default ../shared/data):

    python bench/paper.py --seeds 10 --device cuda

Accuracy@1 on the whole MUSE lexicons, which the method has not seen. A seed succeeds where the nearest neighbour is
right for at least 5 % of the words.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

from calque.data.formats import read
from calque.data.lexicon import read_lexicon
from calque.evaluate import TranslationScore, score_translation
from calque.recipes import find, run_seeds
from calque.runs.alignment import Alignment
from common import keep, machine, markdown, parser, store

PAIRS = ("es-en", "it-en", "zh-en")
SUCCESS = 0.05


def main() -> None:
    """Measure and print."""
    asked = _arguments()
    recipe = find(asked.recipe)
    rows = []
    for pair in asked.pairs:
        folder, (source, target) = asked.data / "we-z" / pair, pair.split("-")
        spaces = [
            read(folder / f"word2vec.{language}", counts=folder / f"vocab-freq.{language}").space
            for language in (source, target)
        ]
        began = time.monotonic()
        alignments = run_seeds(recipe, spaces[0], spaces[1], range(asked.seeds), asked.device)
        rows.append(row(pair, asked.data, alignments, time.monotonic() - began))
    where = f"{machine(asked.device)}, recipe {recipe.name}, {asked.seeds} seeds at once"
    head = ["pair", "succeeded", "forward nn / csls", "backward nn / csls", "aligned", "seconds, whole batch"]
    keep(asked.output, "paper", {"machine": where, "rows": rows}, f"{where}\n\n{markdown(head, rows)}")
    store(asked, "paper", markdown(head, rows))


def row(pair: str, data: Path, alignments: list[Alignment], seconds: float) -> list[str]:
    """One line of the table: means over the seeds that succeeded, the lowest in brackets."""
    source, target = pair.split("-")
    folder = data / "lexicons" / "muse"
    lexicons = [read_lexicon(folder / f"{way}.tsv").lexicon for way in (pair, f"{target}-{source}")]
    scores = [score_translation(alignment, lexicons[0], lexicons[1], ks=(1,)) for alignment in alignments]
    good = [score for score in scores if score.forward["nn"].accuracy(1) >= SUCCESS]
    aligned = sum(alignment.verdict.label == "aligned" for alignment in alignments)
    cells = [_cell(good, way) for way in ("forward", "backward")]
    counts = [f"{count} of {len(alignments)}" for count in (len(good), aligned)]
    return [pair, counts[0], *cells, counts[1], f"{seconds:.0f}"]


def _cell(scores: list[TranslationScore], way: str) -> str:
    cells = []
    for retrieval in ("nn", "csls"):
        values = [100 * getattr(score, way)[retrieval].accuracy(1) for score in scores]
        cells.append(f"{statistics.mean(values):.1f} ({min(values):.1f})" if values else "failed")
    return " / ".join(cells)


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--pairs", type=lambda text: text.split(","), default=list(PAIRS))
    options.add_argument("--seeds", type=int, default=10)
    options.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    options.add_argument("--recipe", default="paper", help="a recipe's name, or a TOML file with other settings")
    asked = options.parse_args()
    if not asked.data.is_dir():
        options.error(f"{asked.data} is not a folder; set CALQUE_DATA to the one with we-z and lexicons in it")
    return asked


if __name__ == "__main__":
    main()
