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


def model_card(config: Mapping[str, Any], name: str, examples: Sequence[Example] = ()) -> str:
    """Of an alignment; ``examples`` are translations that nobody picked."""
    word = next((each for each, *_ in examples if _plain(each)), "WORD")
    return _joined(
        f"# {_cell(name)}: an alignment of two word-vector spaces",
        "Maps between the word vectors of two languages, both ways, and both vocabularies in one common space. "
        + _sentence(config),
        _verdict(config["verdict"]),
        _examples(examples),
        _USE.format(
            name=_argument(name),
            text=json.dumps(name, ensure_ascii=False),
            word=shlex.quote(word),
            quoted=json.dumps(word, ensure_ascii=False),
        ),
        _FILES,
        _inputs(config["inputs"]),
        _notes(config["notes"]),
        _LIMITS,
    )


def family_card(config: Mapping[str, Any], name: str) -> str:
    """The same for several languages in one space."""
    languages = config["languages"]
    return _joined(
        f"# {_cell(name)}: {len(languages)} word-vector spaces in one",
        "Maps between every two of these languages, and one map a language into a space that all share. "
        + _sentence(config),
        _verdict(config["verdict"]),
        _pairs(config["pairs"]),
        _FAMILY_USE.format(
            name=_argument(name), text=json.dumps(name, ensure_ascii=False), one=languages[0], two=languages[1]
        ),
        _inputs(config["inputs"]),
        _notes(config["notes"]),
        _LIMITS,
    )


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def _sentence(config: Mapping[str, Any]) -> str:
    seconds = sum(config["seconds"].values())
    versions = ", ".join(f"{name} {version}" for name, version in config["versions"].items() if name != "calque")
    recipe = _cell(str(config["recipe"].get("name", "")))
    return (
        f"Made by calque {config['versions'].get('calque', '')} with the recipe {recipe}, "
        f"seed {config['seed']}, on {config['device']}, in {seconds:.1f} s"
        f"{f' ({versions})' if versions else ''}. `config.json` has every setting."
    )


TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Signs that turn the direction of all that follows."""
MEANING = {
    "aligned": "Starts that know nothing of each other found this map, and it stands clear of the others: use it.",
    "doubtful": "Something speaks for this map, but not enough: look at words that you know before you use it.",
    "failed": "Nothing speaks for this map. Do not use it: its translations are guesses.",
}


def _verdict(verdict: Mapping[str, Any]) -> str:
    reasons = "\n".join(f"- {reason}" for reason in verdict["reasons"])
    return f"## Verdict: {verdict['label']}\n\n{reasons}\n\n{MEANING.get(verdict['label'], '')}".rstrip()


def _examples(examples: Sequence[Example]) -> str:
    if not examples:
        return ""
    rows = [f"| {_cell(word)} | {_cell(best)} | {score:.3f} |" for word, best, score in examples]
    return (
        "## Some of its translations\n\nWords at even steps among the frequent ones, picked by nobody, with their best "
        "translations and the CSLS scores of those.\n\n| word | best translation | score |\n|---|---|---|\n"
        + "\n".join(rows)
    )


def _pairs(pairs: Sequence[Mapping[str, Any]]) -> str:
    rows = [f"| {'-'.join(each['languages'])} | {each['verdict']['label']} | {each['found']} |" for each in pairs]
    return "## Pairs\n\n| pair | verdict | found |\n|---|---|---|\n" + "\n".join(rows)


def _inputs(inputs: Mapping[str, Mapping[str, Any]]) -> str:
    rows = [
        f"| {side} | {_cell(str(each.get('name', '')))} | {each.get('words', '')} | {each.get('dimension', '')} "
        f"| {'yes' if each.get('counts') else 'no'} | {str(each.get('sha256', ''))[:16]} |"
        for side, each in inputs.items()
    ]
    head = "| side | file | words | dimensions | counts | sha256 of words and vectors |\n|---|---|---|---|---|---|\n"
    return "## Inputs\n\n" + head + "\n".join(rows)


def _notes(notes: Sequence[str]) -> str:
    return "## Notes\n\n" + "\n".join(f"- {_cell(note)}" for note in notes) if notes else ""


def _plain(word: str) -> bool:
    """Whether a word can stand in a command, in quotes if need be."""
    return bool(word) and not word.startswith("-") and all(each.isprintable() and each != "`" for each in word)


def _argument(name: str) -> str:
    """A folder as it is typed; one that begins like a flag is told to be a path."""
    return shlex.quote(f"./{name}" if name.startswith("-") else name)


def _cell(text: str) -> str:
    """Text as text: nothing in it becomes markup, and what cannot be shown is the sign for that."""
    hidden = {each for each in text if unicodedata.category(each) in ("Cs", "Cc")} | TURNING
    shown = "".join("\ufffd" if each in hidden else each for each in text)
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
