"""The model card that stands in every run folder: what it is, from what, how good, how to use it, where it ends."""

from __future__ import annotations

import json
import re
import shlex
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

Example = tuple[str, str, float]
"""A source word, its best translation, and the score of that."""
TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that turn the writing direction of the text after them."""
MEANING = {
    "aligned": "Independent starts found this map, and it is far better than the others: use it.",
    "doubtful": "Something speaks for this map, but not enough: look at words that you know before you use it.",
    "failed": "Nothing speaks for this map. Do not use it: its translations are guesses.",
}


def model_card(config: Mapping[str, Any], name: str, examples: Sequence[Example] = ()) -> str:
    """The card of an alignment; ``examples`` are translations that nobody picked."""
    word = next((source for source, *_ in examples if _can_be_typed(source)), "WORD")
    title = f"# {_text(name)}: an alignment of two word-vector spaces"
    opening = "Maps between the word vectors of two languages, both ways, and both vocabularies in one common space."
    translations = ""
    if examples:
        rows = (f"| {_text(source)} | {_text(best)} | {score:.3f} |" for source, best, score in examples)
        translations = (
            "## Some of its translations\n\nWords at even steps among the frequent ones, picked by nobody, with their "
            "best translations and the CSLS scores of those.\n\n| word | best translation | score |\n|---|---|---|\n"
            + "\n".join(rows)
        )
    text, quoted = json.dumps(name, ensure_ascii=False), json.dumps(word, ensure_ascii=False)
    use = _USE.format(name=_argument(name), text=text, word=shlex.quote(word), quoted=quoted)
    return _card(config, title, opening, translations, f"{use}\n\n{_FILES}")


def family_card(config: Mapping[str, Any], name: str) -> str:
    """The card of several languages in one space."""
    languages = config["languages"]
    title = f"# {_text(name)}: {len(languages)} word-vector spaces in one"
    opening = "Maps between every two of these languages, and one map a language into a space that all share."
    interrupted = _interrupted(config)
    rows = (
        f"| {'-'.join(pair['languages'])} | {pair['verdict']['label']}{interrupted} | {pair['found']} |"
        for pair in config["pairs"]
    )
    pairs = "## Pairs\n\n| pair | verdict | found |\n|---|---|---|\n" + "\n".join(rows)
    text = json.dumps(name, ensure_ascii=False)
    use = _FAMILY_USE.format(name=_argument(name), text=text, one=languages[0], two=languages[1])
    return _card(config, title, opening, pairs, use)


def _card(config: Mapping[str, Any], title: str, opening: str, *results_and_use: str) -> str:
    """The parts that the cards of pairs and of families share, around those that they do not."""
    versions = ", ".join(f"{name} {version}" for name, version in config["versions"].items() if name != "calque")
    origin = (
        f"Made by calque {config['versions'].get('calque', '')} with the recipe "
        f"{_text(str(config['recipe'].get('name', '')))}, seed {config['seed']}, on {config['device']}, "
        f"in {sum(config['seconds'].values()):.1f} s{f' ({versions})' if versions else ''}. "
        "`config.json` has every setting."
    )
    label, reasons = config["verdict"]["label"], "\n".join(f"- {reason}" for reason in config["verdict"]["reasons"])
    verdict = f"## Verdict: {label}{_interrupted(config)}\n\n{reasons}\n\n{MEANING.get(label, '')}".rstrip()
    rows = (
        f"| {side} | {_text(str(file.get('name', '')))} | {file.get('words', '')} | {file.get('dimension', '')} "
        f"| {'yes' if file.get('counts') else 'no'} | {str(file.get('sha256', ''))[:16]} |"
        for side, file in config["inputs"].items()
    )
    inputs = (
        "## Inputs\n\n| side | file | words | dimensions | counts | sha256 of words and vectors |\n"
        "|---|---|---|---|---|---|\n" + "\n".join(rows)
    )
    notes = "\n".join(f"- {_text(note)}" for note in config["notes"])
    parts = (title, f"{opening} {origin}", verdict, *results_and_use, inputs, notes and f"## Notes\n\n{notes}", _LIMITS)
    return "\n\n".join(part for part in parts if part) + "\n"


def _interrupted(config: Mapping[str, Any]) -> str:
    """What stands behind a verdict on a run that somebody asked to stop."""
    return " (interrupted)" if config["interrupted"] else ""


def _can_be_typed(word: str) -> bool:
    """Whether a word can stand in a command, in quotes if need be."""
    return bool(word) and not word.startswith("-") and all(sign.isprintable() and sign != "`" for sign in word)


def _argument(name: str) -> str:
    """A folder as it is typed. A name that begins like a flag is written as a path."""
    return shlex.quote(f"./{name}" if name.startswith("-") else name)


def _text(text: str) -> str:
    """Text in Markdown: nothing in it becomes markup, and signs that cannot be shown are replaced."""
    hidden = {sign for sign in text if unicodedata.category(sign) in ("Cs", "Cc")} | TURNING
    shown = "".join("\ufffd" if sign in hidden else sign for sign in text)
    return re.sub(r"([\\`*_\[\]<>|#~&$:]|(?<=www)\.)", r"\\\1", shown)


_USE = """## Use

In the folder that holds this one:

```sh
calque translate {name} {word}
calque lexicon {name} -o lexicon.tsv
calque export {name} -o shared-space
```

`calque explore {name}` shows it in the browser, `calque evaluate {name} --lexicon FILE` scores it. In Python:

```python
import calque

alignment = calque.Alignment.load({text})
alignment.translate([{quoted}], k=5)
alignment.source, alignment.target  # both vocabularies in the common space
```

`alignment.map_source` and `alignment.map_target` carry new vectors of either side, as they came, into that space."""

_FILES = """## Files

| file | what |
|---|---|
| `config.json` | recipe with every setting, seed, versions, hashes of the inputs, verdict with its evidence |
| `maps.safetensors` | for each side and direction what was done to its vectors, and its map into the common space |
| `vectors.safetensors`, `words.*.txt` | both vocabularies in the common space, most frequent word first |
| `stages.safetensors`, `log.jsonl` | the maps after each stage, and every step, where the method tells them |"""

_FAMILY_USE = """## Use

In the folder that holds this one:

```sh
calque lexicon {name} --pair {one}-{two} -o lexicon.tsv
calque export {name} -o shared-space
```

`calque translate {name} --pair {one}-{two} WORD` translates. In Python:

```python
import calque

family = calque.Family.load({text})
alignment = family.pair("{one}", "{two}")
alignment.translate([alignment.source.words[0]], k=5)
family.shared("{one}")
```"""

_LIMITS = """## Limits

The verdict is a judgement without labels: it says whether the spaces were matched, not that every word is right.
Rare words, words of several meanings and words without a counterpart are translated worst. The confidences of
`calque lexicon` rank pairs; they are not calibrated probabilities. What the vectors were trained on, with its gaps and
its prejudices, is in the maps too."""
