"""Accuracy against the number of known pairs, on pairs of spaces of every kind; with none it is the search alone.

    python bench/pairs.py --pairs real:tr-en-glove,europarl:es-en --known 0,25,100 --seeds 5
    python bench/pairs.py --known 0 --identical no        # what the search finds without words spelled alike

Known pairs are the first n query words of the training lexicon with all their answers; the test lexicons share no query
word with it. `exists` is the map that 5,000 known words lead to. Accuracy@1 in %, nn / csls, there · back, mean over
seeds; in brackets how many runs were called aligned. Data is looked for in $CALQUE_DATA (default ../shared/data).
"""

from __future__ import annotations

import argparse
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

import calque
from calque.data.lexicon import Lexicon
from calque.data.space import Space
from calque.evaluate import score_translation
from calque.recipes import find, run
from common import FOUR, headline, keep, machine, markdown, parser, store

REAL = [f"real:{language}-en-{english}" for language in ("fr", "tr", "zh", "ru") for english in ("md", "glove")]
MADE = ["europarl:es-en", "europarl:de-en", "europarl:it-en", "hard:zh-en", "we-z:es-en", "we-z:it-en", "we-z:zh-en"]


def main() -> None:
    """Run every pair with every number of known words, print a table, keep it."""
    asked = arguments()
    jobs = [(pair, known, seed) for pair in asked.pairs for known in asked.known for seed in range(asked.seeds)]
    runs = list[dict[str, Any]]()
    if asked.workers > 1:
        with ProcessPoolExecutor(asked.workers) as pool:
            for result in pool.map(partial(measure, asked), jobs):
                runs.append(result)
                print(result, flush=True)
    else:
        for job in jobs:
            runs.append(measure(asked, job))
            print(runs[-1], flush=True)
    text = f"{headline(asked.device)}\n\n{table(runs, asked.known)}"
    keep(asked.output, asked.name, {"machine": machine(asked.device), "runs": runs}, text)
    store(asked, asked.name, table(runs, asked.known))


def measure(asked: argparse.Namespace, job: tuple[str, int, int]) -> dict[str, Any]:
    """One alignment and its score by the test lexicons."""
    pair, known, seed = job
    torch.set_num_threads(asked.threads or torch.get_num_threads())
    source, target, train, there, back = read(asked.data, pair)
    recipe = find(asked.recipe)
    if asked.recipe == "default":
        deep = recipe.settings.deep if asked.rounds is None else replace(recipe.settings.deep, rounds=asked.rounds)
        recipe = replace(recipe, settings=replace(recipe.settings, identical=asked.identical, deep=deep))
    lexicon = first_words(train, source, target, known) if known else None
    began = time.monotonic()
    alignment = run(recipe, source, target, seed, asked.device, lexicon=lexicon)
    seconds = time.monotonic() - began
    score = score_translation(alignment, there, back, ks=(1,))
    accuracy = [100 * way[kind].accuracy(1) for way in (score.forward, score.backward) for kind in ("nn", "csls")]
    evidence = alignment.verdict.evidence
    return {
        "pair": pair,
        "known": known,
        "seed": seed,
        "accuracy": [round(value, 1) for value in accuracy],
        "verdict": alignment.verdict.label,
        "seconds": round(seconds, 1),
        "starts": evidence.get("starts"),
        "agreeing": evidence.get("agreeing"),
        "clearance": round(float(evidence.get("clearance", 0)), 1),
        "stages": {name: round(value, 1) for name, value in alignment.record.seconds.items()},
        "hints": (evidence.get("hints") or {}).get("accuracy"),
    }


def read(data: Path, pair: str) -> tuple[Space, Space, Lexicon, Lexicon, Lexicon]:
    """Both spaces, the training lexicon, and the test lexicons of both directions."""
    group, name = pair.split(":")
    if group == "real":
        language, english = name.split("-en-")
        gold = data / "real" / "gold"
        files = data / "real" / f"{language}.npz", data / "real" / f"en-{english}.npz"
        lexicons = [gold / f"{name}{end}.tsv" for end in (".train", f".{language}-en.test", f".en-{language}.test")]
    else:
        one, two = name.split("-")
        files = {
            "we-z": (data / "we-z" / name / f"word2vec.{one}", data / "we-z" / name / f"word2vec.{two}"),
            "europarl": (data / "europarl" / f"{one}.vec.gz", data / "europarl" / f"{two}.vec.gz"),
            "hard": (data / "hard" / name / f"{one}.vec.gz", data / "hard" / name / f"{two}.vec.gz"),
        }[group]
        muse = data / "lexicons" / "muse"
        lexicons = [muse / f"{end}.tsv" for end in (f"{name}.train", f"{name}.test", f"{two}-{one}.test")]
    train, there, back = (calque.read_lexicon(path).lexicon for path in lexicons)
    return calque.load(files[0]), calque.load(files[1]), train, there, back


def first_words(train: Lexicon, source: Space, target: Space, words: int) -> Lexicon:
    """The first so many query words that have an answer in both vocabularies, with all their answers."""
    usable = {
        word: answers
        for word, given in train.answers.items()
        if word in source and (answers := tuple(answer for answer in given if answer in target))
    }
    return Lexicon(dict(list(usable.items())[:words]), f"{words} words")


def table(runs: list[dict[str, Any]], known: list[int]) -> str:
    """A row a pair, a column a number of known words."""
    rows = []
    for pair in dict.fromkeys(result["pair"] for result in runs):
        cells = []
        for count in known:
            some = [result for result in runs if (result["pair"], result["known"]) == (pair, count)]
            mean = [statistics.mean(result["accuracy"][place] for result in some) for place in range(len(FOUR))]
            aligned = sum(result["verdict"] == "aligned" for result in some)
            seconds = statistics.median(result["seconds"] for result in some)
            shown = "{:.1f} / {:.1f} · {:.1f} / {:.1f}".format(*mean)
            cells.append(f"{shown} ({aligned} of {len(some)}, {seconds:.0f} s)")
        rows.append([pair, *cells])
    return markdown(["pair", *(f"{count} words" if count else "no hint" for count in known)], rows)


def arguments() -> argparse.Namespace:
    """The command line."""
    made = parser(__doc__)
    made.add_argument("--pairs", default=",".join(REAL + MADE), help="GROUP:PAIR, separated by commas")
    made.add_argument("--known", default="0,25,100,500,1000,5000", help="numbers of known words, separated by commas")
    made.add_argument("--seeds", type=int, default=5)
    made.add_argument("--recipe", default="default")
    made.add_argument("--identical", default="auto", choices=("auto", "yes", "no"))
    made.add_argument("--rounds", type=int, default=None, help="rounds of the deep search")
    made.add_argument("--device", default="auto")
    made.add_argument("--workers", type=int, default=1, help="processes side by side")
    made.add_argument("--threads", type=int, default=0, help="threads of each; 0: as many as torch takes")
    made.add_argument("--name", default="pairs", help="how the table's files are called")
    asked = made.parse_args()
    asked.pairs, asked.known = asked.pairs.split(","), [int(count) for count in asked.known.split(",")]
    return asked


if __name__ == "__main__":
    main()
